#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The core against MISRA C:2012, by the addon of cppcheck, and the record of deviations.

usage: misra.py [--write | --list RULE]

Ends with status 1 if the number of messages of a rule is not the one in docs/evidence/misra.md, or
if a rule has no row, and therefore no reason, there. --write puts the numbers into the rows;
--list shows the places of a rule.
"""

import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/evidence/misra.md"
ROW = re.compile(r"^\| (\d+\.\d+) \| (mandatory|required|advisory) \| (\d+) \| (.+) \|$", re.M)
MESSAGE = re.compile(r"^(\S+?):(\d+):(\d+): misra-c2012-(\d+\.\d+)$", re.M)

# The sources are read as standard C, without the extensions that base.h uses where it can. The
# constants of <stdint.h> are those of a 64-bit machine: cppcheck does not read system headers.
COMMAND = ["cppcheck", "--addon=misra", "--std=c11", "--platform=unix64", "--quiet",
           "--template={file}:{line}:{column}: {id}", "-Iinclude", "-Isrc/core",
           "-U__GNUC__", "-U__cplusplus", "-D__STDC_VERSION__=201112L",
           "-DUINT32_C(x)=x##u", "-DUINT64_C(x)=x##ull", "-DUINT32_MAX=4294967295u",
           "-DSIZE_MAX=18446744073709551615ull", "-DUINTPTR_MAX=18446744073709551615ull"]


def messages():
    """(rule, file, line) of each message, once, however many files include the place."""
    sources = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "src/core").glob("*.c"))
    done = subprocess.run([*COMMAND, *sources], cwd=ROOT, capture_output=True, text=True,
                          check=True)
    found = sorted({(rule, file, int(line), int(column))
                    for file, line, column, rule in MESSAGE.findall(done.stderr)})
    if not found:
        sys.exit(f"cppcheck has nothing to say: does it have its addon?\n{done.stderr}")
    return [message[:3] for message in found]


def show(found, wanted):
    for rule, file, line in found:
        if rule == wanted:
            text = (ROOT / file).read_text(encoding="utf-8").splitlines()[line - 1].strip()
            print(f"{file}:{line}: {text}")


def problems_of(counts, recorded):
    for rule in sorted(counts.keys() | recorded.keys()):
        if counts[rule] != recorded.get(rule, 0):
            yield f"rule {rule}: {counts[rule]} messages, {recorded.get(rule, 0)} in the record"
        elif counts[rule] == 0:
            yield f"rule {rule}: a row without messages"


def main():
    found = messages()
    if "--list" in sys.argv:
        show(found, sys.argv[-1])
        return 0
    counts = collections.Counter(rule for rule, _, _ in found)
    page = PAGE.read_text(encoding="utf-8")
    recorded = {rule: int(count) for rule, _, count, _ in ROW.findall(page)}
    if "--write" in sys.argv:
        PAGE.write_text(ROW.sub(
            lambda row: f"| {row[1]} | {row[2]} | {counts[row[1]]} | {row[4]} |", page),
            encoding="utf-8")
        recorded = {rule: counts[rule] for rule in recorded}
    problems = list(problems_of(counts, recorded))
    print("\n".join(problems) or f"{len(found)} messages of {len(counts)} rules, all recorded")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
