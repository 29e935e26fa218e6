#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every command ends with the next command: a shell runs it, and the next one of that, to the end.

usage: nexts.py EGGBOX DOUBLE
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

EGGBOX, DOUBLE = sys.argv[1], sys.argv[2]
HERE = pathlib.Path(__file__).resolve().parent
RUNS, GOLDEN = HERE / "runs", HERE / "golden"
NEXT = re.compile(r"^(?:Next: |eggbox: next: )(eggbox .*)$", re.M)
# 2 is doctor's answer for a program that cannot run on pools; run ends as its program does.
STATUS = {"doctor": (0, 2), "run": (0, -6)}
failures, seen = [], set()


def shell(command, folder, **more):
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "EGGBOX_MALLOC_LIB": DOUBLE, **more}
    return subprocess.run(["bash", "-c", command], cwd=folder, env=environment,
                          capture_output=True, text=True, errors="replace", check=False)


def follow(folder, command, status=0, **more):
    """Runs a command, and the ones behind it. Returns the names of all."""
    done = shell(command, folder, **more)
    chain = [command.split()[1]]
    if done.returncode not in STATUS.get(chain[0], (status,)):
        failures.append(f"{command}: {done}")
    text = done.stdout + done.stderr
    found = NEXT.findall(text)
    if len(found) != len(re.findall("(?i)next: ", text)) or len(found) > 1:
        failures.append(f"{command}: no line of its own for the next command\n{text}")
    if found and found[0] not in seen:
        seen.add(found[0])
        chain += follow(folder, found[0], **more)
    return chain


def expect(folder, command, chain, status=0, **more):
    seen.clear()
    followed = follow(folder, command, status, **more)
    if followed != chain.split():
        failures.append(f"{command}: leads to {followed}, not {chain}")


def reports(folder):
    def each(name, chain, command="report"):
        expect(folder, f"eggbox {command} {RUNS}/{name}", chain)
    for name in ("recorded.json", "recorded-odd.json", "monday.json", "tuesday.json", "grown.json",
                 "process.json", "found.json", "pools.json", "pools-grown.json", "written",
                 f"monday.json {RUNS}/written"):
        each(name, "report size size")
        each(name, "size size", "size --cover 90 --headroom 0.5 --name other")
    each("evil.json", "report size")  # too large for any header
    each("silent.json", "report")
    each("nothing.json", "report doctor")
    each("served-nothing.json", "report")
    for name in ("grown.json", "recorded-odd.json"):
        for plan in ("size-c", "size-cpp", "size-cover.json", "recorded-size.json"):
            expect(folder, f"eggbox size --check {GOLDEN}/{plan} {RUNS}/{name}", "size size size",
                   status=3)
    expect(folder, f"eggbox size --check {GOLDEN}/size-pools-c {RUNS}/pools-grown.json",
           "size size size", status=3)
    expect(folder, f"eggbox size --check {GOLDEN}/size-c {RUNS}/monday.json", "size")
    expect(folder, f"eggbox report --diff {RUNS}/monday.json {RUNS}/grown.json",
           "report report size size")


def programs(folder):
    quick = "python3 -S -E -c"
    expect(folder, "eggbox doctor true", "doctor run report size size")
    expect(folder, "eggbox run -- true 'a b' $'\\n'", "run report size size")
    expect(folder, "eggbox compare --runs 1 --warmup 0 -- true", "compare run report size size")
    expect(folder, f"eggbox run -- {quick} 'import os; os.abort()'", "run run")
    expect(folder, "eggbox run -- /sbin/ldconfig --version", "run doctor")
    expect(folder, "eggbox run -- true", "run doctor run", DOUBLE_ABSENT="1")
    expect(folder, "eggbox run -- true", "run", DOUBLE_SILENT="1")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "eggbox").symlink_to(pathlib.Path(EGGBOX).resolve())
        reports(folder)
        programs(folder)
    print("\n".join(failures) or "each leads to the next")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
