# SPDX-License-Identifier: MIT
"""The results of each way to misuse the library: the rows of tests/misuse/catalogue.json.

The rows are the only source. This script makes the tables of docs/misuse.md from them. A test
compares tables and rows, and looks for each test that a row names.
"""

import json
import re
import sys

SOURCE = "tests/misuse/catalogue.json"
PAGE = "docs/misuse.md"
LEVELS = ("off", "check", "guard", "track")
MARKS = ("<!-- from tests/misuse/catalogue.json: scripts/misuse_table.py --catalogue --write -->",
         "<!-- to here -->")

# Results with which the fault is found, or there is no fault.
KEPT = ("reported", "refused", "right")
LOST = ("harmless", "unnoticed", "damage")

KINDS = {
    "off": "found always",
    "check": "found at \"check\"",
    "guard": "found at \"guard\"",
    "track": "found at \"track\"",
    "never": "documented as not to be found",
    "right": "no fault: handled",
}


def kind_of(row):
    """The first level from which on it is found; "right" where there is nothing to be found."""
    cells = [row[level] for level in LEVELS]
    if set(cells) == {"right"}:
        return "right"
    kept = [cell in KEPT for cell in cells]
    return next((level for i, level in enumerate(LEVELS) if all(kept[i:])), "never")


def counts_of(rows):
    kinds = [kind_of(row) for row in rows]
    return {name: kinds.count(kind) for kind, name in KINDS.items()}


def tests_of(root):
    """The names of all tests, as the rows have them."""
    names = set()
    for file in (root / "tests").rglob("*.cpp"):
        names.update(".".join(found) for found in
                     re.findall(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", file.read_text(), re.M))
    for file in (root / "tests").rglob("CMakeLists.txt"):
        text = file.read_text()
        names.update(re.findall(r"^\s*eggbox_script_test\(([\w.]+)", text, re.M))
        names.update("embed." + name for name in re.findall(r"^embed_test\(([\w.]+)", text, re.M))
    faults = (root / "tests/misuse/faults.cpp").read_text()
    names.update("fault " + name for name in
                 re.findall(r'\{"(\w+)",\s*"(?:fault|probe|legal)"', faults))
    return names


def problems_of(root, rows):
    names = tests_of(root)
    numbers = [row["row"] for row in rows]
    if numbers != list(range(1, len(rows) + 1)):
        yield f"rows are not 1, 2, 3, ...: {numbers}"
    for row in rows:
        where = f"row {row['row']}"
        cells = [row[level] for level in LEVELS]
        if not set(cells) <= set(KEPT + LOST):
            yield f"{where}: there is no such word: {cells}"
        found = [cell in KEPT for cell in cells]
        if any(found) and not all(found[found.index(True):]):
            yield f"{where}: a level finds less than the one before it: {cells}"
        for test in row["tests"]:
            if test not in names:
                yield f"{where}: there is no test {test}"
        if not row["tests"] and (not row["note"] or kind_of(row) not in ("right", "never")):
            yield f"{where}: nothing shows it"
        if kind_of(row) == "never" and not row["note"]:
            yield f"{where}: it is never found, and nothing is said about it"


def count_lines(rows):
    yield "| | rows |"
    yield "|---|--:|"
    for name, count in counts_of(rows).items():
        yield f"| {name} | {count} |"
    yield f"| all | {len(rows)} |"


def table_lines(rows):
    yield "| | the misuse, or the case | off | check | guard | track | | tests |"
    yield "|--:|---|---|---|---|---|---|---|"
    for row in rows:
        cells = " | ".join(row[level] for level in LEVELS)
        tests = " ".join(f"`{test}`" for test in row["tests"])
        yield f"| {row['row']} | {row['input']} | {cells} | {row['note']} | {tests} |"


def page_of(text, rows):
    """The page with its generated part made anew."""
    first, last = MARKS
    before, rest = text.split(first)
    _, behind = rest.split(last)
    lines = [first, *count_lines(rows), "", *table_lines(rows), last]
    return before + "\n".join(lines) + behind


def report(root, write):
    """Prints how many rows are found where. Returns 1 if rows or page are not as they should be."""
    rows = json.loads((root / SOURCE).read_text())
    problems = list(problems_of(root, rows))
    page = root / PAGE
    made = page_of(page.read_text(), rows)
    if write and not problems:
        page.write_text(made)
    elif made != page.read_text():
        problems.append(f"{PAGE} is not made of {SOURCE}: scripts/misuse_table.py "
                        "--catalogue --write")
    for name, count in counts_of(rows).items():
        print(f"{count:4}  {name}")
    print(f"{len(rows):4}  all")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0
