#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tables of docs/originals.md: faults of the older libraries, and our tests of them.

usage: originals_failures.py ROOT

Looks for each test that a row names, and for each bug among the rows.
"""

import pathlib
import re
import sys

import misuse_catalogue

PAGE = "docs/originals.md"
TITLE = "## Faults of the originals"
# The number of known faults of each library: KB-1, KB-2, ...
BUGS = {"KB": 11, "EB": 10, "NB": 9, "AB": 8, "XB": 8, "FB": 4, "SB": 3}
ROW = re.compile(r"^\| ((?:[KENAXFS]B-\d+(?:, )?)+|-) \|")


def part_of(root):
    """The lines of the tables, with their heading."""
    text = (root / PAGE).read_text(encoding="utf-8")
    _, rest = text.split(TITLE + "\n")
    return [TITLE, *rest.split("\n## ")[0].splitlines()]


def rows_of(root):
    """(bugs, names of tests) of each row"""
    for line in part_of(root):
        found = ROW.match(line)
        if found:
            tests = line.rstrip(" |").split(" | ")[-1]
            yield found.group(1).split(", "), re.findall(r"`([^`]+)`", tests), line


def names_of(root):
    names = misuse_catalogue.tests_of(root)
    for file in (root / "tests").rglob("CMakeLists.txt"):
        text = file.read_text(encoding="utf-8")
        names.update("compat.program." + name for name in
                     re.findall(r"^\s*eggbox_compat_program\((\w+)\.", text, re.M))
        names.update("compat." + name for name in
                     re.findall(r"^\s*compat_program\((\w+) ", text, re.M))
    return names


def problems_of(root):
    names, seen = names_of(root), set()
    for bugs, tests, line in rows_of(root):
        seen.update(bugs)
        if not tests and "no test" not in line:
            yield f"nothing shows {', '.join(bugs)}: {line}"
        for test in tests:
            if test not in names:
                yield f"there is no test {test}"
    for letters, count in BUGS.items():
        for number in range(1, count + 1):
            if f"{letters}-{number}" not in seen:
                yield f"{letters}-{number} is in no row"


def main():
    root = pathlib.Path(sys.argv[1])
    problems = list(problems_of(root))
    print("\n".join(problems) or f"{len(list(rows_of(root)))} rows, all with their tests")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
