# SPDX-License-Identifier: MIT
"""Runs a command without the library and with it, and compares all that can be seen of it."""

import json
import os
import pathlib
import subprocess
import tempfile
import time

failures = []
SECONDS_MAX = 600  # a deadlock
# Variables of the environment that would reach the programs. A make inside a make tells its folder.
FOREIGN = {"LD_PRELOAD", "EGGBOX_REPORT", "EGGBOX_CHECK", "EGGBOX_GUARD_PAGES", "EGGBOX_PURGE",
           "ASAN_OPTIONS", "MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES"}


def check(truth, what, *seen):
    if not truth:
        failures.append(what + "".join(f"\n    {each!r}" for each in seen))


def run(command, library=None, folder=None, **more):
    names = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    names.update(more.pop("extra", {}))
    if library:
        names["LD_PRELOAD"] = str(library)
    if folder:
        names["EGGBOX_REPORT"] = str(folder)
    return subprocess.run([str(word) for word in command], env=names, capture_output=True,
                          check=False, timeout=SECONDS_MAX, **more)


def processes(folder):
    files = sorted(pathlib.Path(folder).iterdir())
    check(all(file.suffix == ".json" for file in files), "half a report is left", files)
    return [json.loads(file.read_text()) for file in files if file.suffix == ".json"]


def requests(process):
    return sum(pool["allocations"] for pool in process["pools"] if pool["is_size_class"])


def same(what, command, library, reports=True, **more):
    """The same with the library, with it and a report, and without."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        try:
            plain = run(command, **more)
            quiet = run(command, library, **more)
            loud = run(command, library, folder, **more)
        except subprocess.TimeoutExpired as error:
            check(False, f"{what}: too slow, or stuck", error.cmd)
            return []
        for name, one in (("with the library", quiet), ("with a report", loud)):
            check((one.returncode, one.stdout, one.stderr) ==
                  (plain.returncode, plain.stdout, plain.stderr), f"{what}: {name}",
                  *[(each.returncode, each.stdout[-500:], each.stderr[-500:])
                    for each in (plain, one)])
        written = processes(folder)
        if reports:
            # The child of a fork may need none before it ends or becomes another program.
            pids = {each["pid"] for each in written}
            idle = [each for each in written if requests(each) == 0 and
                    each["parent_pid"] not in pids]
            check(sum(map(requests, written)) > 0 and not idle, f"{what}: not served", idle)
    print(f"{what}: status {plain.returncode}, {len(written)} reports, "
          f"{time.monotonic() - start:.1f} s", flush=True)
    return written
