#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The output of the commands for recorded runs, compared with files that a person has read.

usage: golden.py EGGBOX [--accept]
"""

import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent

CASES = {  # name of the file in golden/: arguments, in the folder runs/; exit status
    # Recorded with libeggbox-malloc.so: sqlite3; python3 with misuse, a refused request, a fork.
    "recorded-report": (["report", "recorded.json"], 0),
    "recorded-report-odd": (["report", "recorded-odd.json"], 0),
    "recorded-report-odd.json": (["report", "--json", "recorded-odd.json"], 0),
    "recorded-size": (["size", "recorded.json"], 0),
    "recorded-size-cover": (["size", "--cover", "99", "recorded.json", "recorded-odd.json"], 0),
    "recorded-size.json": (["size", "--cover", "95", "recorded.json", "--json"], 0),
    "recorded-check": (["size", "--check", "../golden/recorded-size.json", "recorded.json"], 0),
    "recorded-check-odd": (["size", "--check", "../golden/recorded-size.json",
                            "recorded-odd.json"], 3),
    # The others are made up.
    "report": (["report", "monday.json"], 0),
    "report-two-runs": (["report", "monday.json", "tuesday.json"], 0),
    "report-process": (["report", "process.json"], 0),
    "report-nothing": (["report", "nothing.json"], 0),
    "report-silent": (["report", "silent.json"], 0),
    "report-evil": (["report", "evil.json"], 0),
    "report-found": (["report", "found.json"], 0),
    "report-found.json": (["report", "--json", "found.json"], 0),
    "report-pools": (["report", "pools.json"], 0),
    "report-folder": (["report", "written"], 0),
    "diff": (["report", "--diff", "monday.json", "tuesday.json"], 0),
    "diff-found": (["report", "--diff", "found.json", "recorded-odd.json"], 0),
    "diff-pools": (["report", "--diff", "pools.json", "pools-grown.json", "--fail-above", "5%"], 3),
    "diff-evil": (["report", "--diff", "monday.json", "evil.json"], 0),
    "diff-pools.json": (["report", "--json", "--diff", "pools.json", "pools-grown.json",
                         "--fail-above", "5"], 3),
    "diff-nothing": (["report", "--diff", "monday.json", "nothing.json"], 2),
    "report.json": (["report", "--json", "monday.json", "tuesday.json"], 0),
    "size": (["size", "monday.json"], 0),
    "size-two-runs": (["size", "monday.json", "tuesday.json", "--headroom", "10"], 0),
    "size-cover": (["size", "monday.json", "--cover", "99"], 0),
    "size-evil": (["size", "evil.json"], 0),
    "report-evil.json": (["report", "--json", "evil.json"], 0),
    "size.json": (["size", "monday.json", "tuesday.json", "--json"], 0),
    "size-cover.json": (["size", "--cover", "90", "monday.json", "--emit", "json"], 0),
    "size-c": (["size", "monday.json", "--emit", "c", "--name", "shop"], 0),
    "size-cpp": (["size", "monday.json", "--emit", "cpp"], 0),
    "size-pools": (["size", "pools.json"], 0),
    "size-folder": (["size", "written", "--headroom", "0", "--name", "shop"], 0),
    "size-pools-c": (["size", "pools.json", "--emit", "c"], 0),
    "size-pools-cpp": (["size", "pools.json", "--emit", "cpp"], 0),
    "size-pools-compat": (["size", "pools.json", "--emit", "compat"], 0),
    "size-pools.json": (["size", "pools.json", "--json"], 0),
    "check-pools": (["size", "--check", "../golden/size-pools-compat", "pools-grown.json"], 3),
    "check-pools.json": (["size", "--check", "../golden/size-pools.json", "pools-grown.json",
                          "--json"], 3),
    "check-pools-fits": (["size", "--check", "../golden/size-pools-c", "written"], 0),
    "check-fits": (["size", "--check", "../golden/size-c", "monday.json"], 0),
    "check-grown": (["size", "--check", "../golden/size-c", "grown.json"], 3),
    "check-fits.json": (["size", "--json", "--check", "../golden/size.json", "tuesday.json"], 0),
    "check-cpp": (["size", "--check", "../golden/size-cpp", "grown.json"], 3),
    "check-cover": (["size", "--check", "../golden/size-cover.json", "grown.json"], 3),
    "check-cover-fits": (["size", "--check", "../golden/size-cover.json", "tuesday.json"], 0),
    "help": (["--help"], 0),
    "help-run": (["run", "--help"], 0),
    "help-report": (["report", "--help"], 0),
    "help-size": (["size", "--help"], 0),
    "help-compare": (["compare", "--help"], 0),
    "help-doctor": (["doctor", "--help"], 0),
    "help-top": (["top", "--help"], 0),
    "help-ls": (["ls", "--help"], 0),
    "help-gc": (["gc", "--help"], 0),
    "version": (["--version"], 0),
    "no-command": ([], 1),
    "no-such-command": (["bogus"], 1),
    "no-such-option-first": (["--bogus", "run"], 1),
    "no-file": (["report"], 1),
    "no-such-option": (["report", "--whatever", "monday.json"], 1),
    "no-such-form": (["size", "--emit", "rust", "monday.json"], 1),
    "no-such-output": (["report", "monday.json", "--format", "svg"], 1),
    "no-such-share": (["size", "--cover", "101", "monday.json"], 1),
    "no-number-of-percent": (["size", "--headroom", "nan", "monday.json"], 1),
    "no-such-name": (["size", "--name", "a b", "monday.json"], 1),
    "no-such-level": (["run", "--check", "hard", "--", "true"], 1),
    "no-such-levels": (["run", "--check", "frames:heap:track", "--", "true"], 1),
    "no-passthrough": (["run", "--check", "passthrough", "--", "true"], 1),
    "no-program": (["run", "--"], 1),
    "not-there": (["report", "no-such-file.json"], 2),
    "a-folder": (["report", "."], 2),
    "no-json": (["report", "../golden/report"], 2),
    "other-kind": (["report", "../golden/size.json"], 2),
    "no-report": (["size", "--check", "monday.json", "monday.json"], 2),
    "nothing-to-size": (["size", "nothing.json"], 2),
    "no-pool": (["size", "--emit", "compat", "recorded.json"], 2),
    "no-number": (["size", "--check", "../golden/size-pools-c", "nothing.json"], 2),
    "emit-evil": (["size", "--emit", "c", "evil.json"], 2),
}


def outcome(eggbox, arguments):
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "TERM": "xterm"}
    done = subprocess.run([eggbox, *arguments], cwd=HERE / "runs", env=environment,
                          capture_output=True, text=True, encoding="utf-8", check=False)
    text = done.stdout
    if done.stderr:
        text += "-- stderr --\n" + done.stderr
    return done.returncode, text, done.stdout


def problems(eggbox, name, accept):
    arguments, expected = CASES[name]
    status, text, data = outcome(eggbox, arguments)
    file = HERE / "golden" / name
    if status != expected:
        yield f"{name}: exit status {status}, not {expected}\n{text}"
    if accept:
        file.write_text(text, encoding="utf-8")
    elif not file.exists() or file.read_text(encoding="utf-8") != text:
        yield f"{name}: differs from {file}; it is now\n{text}"
    if any(ord(c) < 32 and c != "\n" or 127 <= ord(c) < 160 for c in text):
        yield f"{name}: a control character reaches the terminal"
    if name.endswith(".json") and json.loads(data)["schema"] != 1:
        yield f"{name}: no schema"


def sum_problems():
    """Every request of a recorded run is counted once: in a size class, as large, or as refused."""
    for name in ("recorded", "recorded-odd"):
        run = json.loads((HERE / "runs" / f"{name}.json").read_text(encoding="utf-8"))
        counts = [sum(pool["allocations"] for pool in one["pools"] if pool["is_size_class"]) +
                  one["large"]["allocations"] + sum(each["count"] for each in one["not_served"])
                  for one in run["processes"]]
        page = (HERE / "golden" / name.replace("recorded", "recorded-report")).read_text("utf-8")
        if f" of {sum(counts):,} requests served" not in page:
            yield f"{name}: not {sum(counts):,} requests in all"


def full_disk_problems(eggbox):
    for arguments in (["report", "monday.json"], ["size", "monday.json"], ["--help"]):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([eggbox, *arguments], cwd=HERE / "runs", stdout=full,
                                  stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 2 or "No space left" not in done.stderr:
            yield f"{arguments} on a full disk: {done}"


def main():
    eggbox, accept = pathlib.Path(sys.argv[1]).resolve(), "--accept" in sys.argv
    found = [problem for name in CASES for problem in problems(eggbox, name, accept)]
    found += sum_problems()
    found += full_disk_problems(eggbox)
    stray = {file.name for file in (HERE / "golden").iterdir()} - set(CASES)
    found += [f"golden/{name}: belongs to no case" for name in stray]
    print("\n".join(found) or f"{len(CASES)} outputs are as they should be")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
