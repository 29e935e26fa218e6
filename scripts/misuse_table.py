#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a program that misuses malloc under several mallocs, and prints the outcome of each fault.

The program is tests/misuse/faults.cpp: one misuse in each process, then a check for damage. Each
fault runs several times, and the table has the worst outcome:

    message   the process was stopped, and standard error says why
    signal    it was stopped by a signal, without a message
    refused   standard error names the fault; the program went on, and no damage was seen
    -         nothing was noticed, and no damage was seen
    stale     the contents of a free block can be read
    DAMAGE    a block was handed out twice, or at an impossible place, or changed; or a wrong
              answer

No damage seen is no proof that there was none. With --catalogue the script counts the rows of
docs/misuse.md instead: see misuse_catalogue.py.
"""

import argparse
import ctypes.util
import glob
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys

import misuse_catalogue

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/release"
SECONDS_MAX = 60  # for a process; a process that is stuck counts as damage

# name: (the library to preload, the Debian package that has it)
OTHERS = {
    "glibc": (None, "libc6"),
    "jemalloc": ("libjemalloc.so.2", "libjemalloc2"),
    "tcmalloc": ("libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"),
    "mimalloc": ("libmimalloc.so.2", "libmimalloc2.0"),
    "scudo": ("/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.scudo_standalone-x86_64.so",
              "libclang-rt-19-dev"),
}
LEVELS = ("off", "check", "guard", "track")

# The better outcomes first; the table has the last one that happened.
OUTCOMES = ("message", "refused", "signal", "-", "stale", "DAMAGE")
VERDICTS = {3: "DAMAGE", 4: "DAMAGE", 5: "stale"}  # exit statuses of the program


def stop(text):
    print(text, file=sys.stderr)
    sys.exit(2)


def find_library(name):
    """The path of a shared library that a loader would find, or that a pattern fits; else None."""
    if name.startswith("/"):
        found = sorted(glob.glob(name))
        return found[-1] if found else None
    stem = name.removeprefix("lib").split(".so")[0]
    return name if ctypes.util.find_library(stem) else None


def without_cores():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def outcome_of(status, said):
    """The outcome of a process, from its exit status and whether it printed something."""
    if status == 0:
        return "refused" if said else "-"
    if status < 0:
        if status == -signal.SIGKILL:
            raise ValueError("a process was killed from outside")
        return "message" if said else "signal"
    if status not in VERDICTS:
        raise ValueError(f"exit status {status} means nothing: {said}")
    return VERDICTS[status]


def run_once(program, fault, library, extra):
    names = {name: value for name, value in os.environ.items()
             if name != "LD_PRELOAD" and not name.startswith(("EGGBOX_", "MALLOC_", "MIMALLOC_",
                                                              "SCUDO_", "GLIBC_TUNABLES"))}
    names.update(extra)
    if library:
        names["LD_PRELOAD"] = str(library)
    try:
        done = subprocess.run([str(program), fault], env=names, capture_output=True, check=False,
                              timeout=SECONDS_MAX, preexec_fn=without_cores)
    except subprocess.TimeoutExpired:
        return {"outcome": "DAMAGE", "status": None, "said": "stuck"}
    said = done.stderr.decode(errors="replace").strip()
    if "LD_PRELOAD" in said:
        raise ValueError(f"{library} was not preloaded: {said}")
    return {"outcome": outcome_of(done.returncode, said), "status": done.returncode, "said": said}


def run(program, fault, library, extra=None, times=1):
    """The worst outcome of several runs."""
    seen = [run_once(program, fault, library, extra or {}) for _ in range(times)]
    return max(seen, key=lambda one: OUTCOMES.index(one["outcome"]))


def entries_of(program):
    """The faults of the program, in its order: name, kind, description."""
    listed = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    return [dict(zip(("name", "kind", "what"), line.split("\t"))) for line in listed.splitlines()]


def mallocs(arguments):
    """name: (library, environment); None if the library is not installed."""
    out = {}
    for name, (library, _) in OTHERS.items():
        path = library and find_library(library)
        out[name] = None if library and not path else (path, {})
    for level in LEVELS:
        out["eggbox " + level] = (arguments.library, {"EGGBOX_CHECK": level})
    return {name: one for name, one in out.items() if name.startswith(arguments.only)}


def totals_of(entries, seen):
    """The number of faults with each outcome."""
    faults = [seen[entry["name"]]["outcome"] for entry in entries if entry["kind"] == "fault"]
    legal = [seen[entry["name"]]["outcome"] for entry in entries if entry["kind"] == "legal"]
    return {
        "faults": len(faults),
        "stopped with a message": faults.count("message"),
        "stopped by a signal, without": faults.count("signal"),
        "refused with a message": faults.count("refused"),
        "unnoticed, no damage seen": faults.count("-"),
        "damage": faults.count("DAMAGE"),
        "legal calls answered wrongly": sum(one != "-" for one in legal),
    }


def table_of(rows):
    widths = [max(len(str(row[i])) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip()
             for row in rows]
    lines.insert(1, "-" * max(map(len, lines)))
    return lines


def lines_of(entries, results):
    names = list(results)
    rows = [["", *names]]
    for entry in entries:
        rows.append([entry["name"], *("?" if results[name] is None else
                                      results[name][entry["name"]]["outcome"] for name in names)])
    totals = {name: results[name] and totals_of(entries, results[name]) for name in names}
    for what in next(one for one in totals.values() if one):
        rows.append([what, *("?" if totals[name] is None else totals[name][what]
                             for name in names)])
    lines = table_of(rows)
    lines.insert(2 + len(entries), lines[1])
    for name in names:
        if results[name] is None:
            lines.append(f"? {name} is not installed: Debian package {OTHERS[name][1]}")
    return lines


def measure(arguments):
    for needed in (arguments.faults, arguments.library):
        if not needed.is_file():
            stop(f"{needed} is missing: make misuse builds it")
    entries = entries_of(arguments.faults)
    results = {}
    for name, one in mallocs(arguments).items():
        results[name] = one and {
            entry["name"]: run(arguments.faults, entry["name"], *one, times=arguments.runs)
            for entry in entries}
    if not any(results.values()):
        stop("there is no malloc to look at")
    print("\n".join(lines_of(entries, results)))
    if arguments.json:
        written = {"runs": arguments.runs, "faults": entries, "results": results,
                   "totals": {name: seen and totals_of(entries, seen)
                              for name, seen in results.items()}}
        arguments.json.write_text(json.dumps(written, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=pathlib.Path,
                        default=BUILD / "tests/misuse/misuse_faults")
    parser.add_argument("--library", type=pathlib.Path, default=BUILD / "libeggbox-malloc.so")
    parser.add_argument("--only", default="", metavar="NAME", help="mallocs that begin so")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="of each fault (3)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--catalogue", action="store_true", help="count its rows")
    parser.add_argument("--write", action="store_true", help="with it: write docs/misuse.md anew")
    arguments = parser.parse_args()
    if arguments.catalogue:
        return misuse_catalogue.report(ROOT, arguments.write)
    try:
        measure(arguments)
    except ValueError as error:
        stop(f"no table: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
