#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`eggbox report` of a folder in which programs left their reports without `eggbox run`.

usage: folder.py EGGBOX LIBRARY
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

EGGBOX, LIBRARY = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
UNSEEN = ("a signal or a system call of its own ended it, or it could not write as another user "
          "or under another root")
failures = []


def check(truth, what, *seen):
    if not truth:
        failures.append(what + "".join(f"\n    {each}" for each in seen))


def start(folder, script, **more):
    environment = {**os.environ, "LD_PRELOAD": str(LIBRARY), "EGGBOX_REPORT": str(folder)}
    return subprocess.Popen(["sh", "-c", script], env=environment, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **more)


def end(folder, script, **more):
    process = start(folder, script, **more)
    process.communicate()
    return process.returncode


def report(*words):
    done = subprocess.run([EGGBOX, "report", *words], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def told(folder):
    return report(folder), json.loads(report("--json", folder))


def killed_beside_others(folder):
    check(end(folder, "exit 3") == 3, "its end")
    for _ in range(2):
        check(end(folder, "kill -9 $$") == -signal.SIGKILL, "the end of the other one")
    page, data = told(folder)
    check("\nThe figures omit 2 processes without a report.\n" in page and
          f"  2  {UNSEEN}\n" in page and
          [data[each] for each in ("silent_processes", "processes", "runs")] == [2, 1, 1],
          "two are missing", page, data)


def killed_alone(folder):
    end(folder, "kill -9 $$")
    page, data = told(folder)
    check(page.startswith("No numbers: no process that was on pools left a report.\n") and
          f"  1  {UNSEEN}\n" in page and data["silent_processes"] == 1, "nothing else", page, data)


def without_room(folder):
    check(end(folder, "ulimit -f 0; exit 3") == 3, "its end")
    page, _ = told(folder)
    check("  1  it could not be written: File too large\n" in page, "why", page)


def still_running(folder):
    with start(folder, "echo here; read line; exit 0", stdin=subprocess.PIPE) as process:
        process.stdout.readline()
        page, _ = told(folder)
        check("  1  still running\n" in page, "it runs", page)
        process.communicate("\n")
    page, data = told(folder)
    check(data["silent_processes"] == 0 and data["processes"] == 1, "it has ended", page, data)


def nothing(folder):
    check(f"no process has left a report there: start the program with EGGBOX_REPORT={folder}" in
          report(folder), "what to do", report(folder))


def of_an_earlier_process(folder):
    """The system uses the number of a process again."""
    with start(folder, "echo here; read line; exit 0", stdin=subprocess.PIPE) as process:
        process.stdout.readline()
        program = os.readlink(f"/proc/{process.pid}/exe")
        (folder / f"{process.pid}-1.begun").symlink_to(program)
        (folder / f"{process.pid}-{2 ** 63}.begun").symlink_to("/nowhere")
        page, data = told(folder)
        check(data["silent_processes"] == 3 and "still running" not in page,
              "other programs, and earlier ones", page)
        (folder / f"{process.pid}-{2 ** 63}.begun").unlink()
        _, data = told(folder)
        check(sorted((each["processes"], each["reason"]) for each in data["silent"]) ==
              [(1, UNSEEN), (1, "still running")], "an earlier one", data["silent"])
        process.communicate("\n")


def a_part_of_a_mark(folder):
    """Somebody has removed the other part."""
    (folder / "1-2.failed").symlink_to("28")
    check("no process has left a report there" in report(folder), "no mark", report(folder))
    end(folder, "exit 3")
    page, data = told(folder)
    check(data["processes"] == 1 and data["silent"] == [], "a report", page, data)


def main():
    for test in (killed_beside_others, killed_alone, without_room, still_running,
                 of_an_earlier_process, a_part_of_a_mark, nothing):
        with tempfile.TemporaryDirectory() as name:
            before = len(failures)
            test(pathlib.Path(name))
            print(f"{test.__name__}: {'ok' if len(failures) == before else 'FAILED'}", flush=True)
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
