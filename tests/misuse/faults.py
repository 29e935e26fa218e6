#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every fault of faults.cpp under the library, at each level, beside the promise for it.

usage: faults.py SCRIPTS PROGRAM LIBRARY
"""

import sys

sys.path.insert(0, sys.argv[1])
import misuse_table  # noqa: E402: it is found there

PROGRAM, LIBRARY = sys.argv[2:4]

DOUBLE = "double free"
FOREIGN = "free of a pointer that is not from this pool"
INTERIOR = "free of a pointer into the middle of a block"
SIZE = "free with another size or alignment than requested"
OVERRUN = "write past the end of a block"
UNDERRUN = "write before the start of a block"
# A large block stands between two pages without access.
OVERRUN_PAGE = "write to memory past the end of a block"
UNDERRUN_PAGE = "write to memory before a block"
WRITTEN = "write to a freed block"

# The promise for a fault: refused at "check", and the end of the process at "guard" and "track".
SAID_AT_CHECK = {
    "double_free": DOUBLE,
    "double_free_1_between": DOUBLE,
    "double_free_64_between": DOUBLE,
    "double_free_pairs_between": DOUBLE,
    "double_free_large": DOUBLE,
    "double_free_large_between": DOUBLE,
    "double_free_thread_here": DOUBLE,
    "double_free_here_thread": DOUBLE,
    "double_free_threads": DOUBLE,
    "free_stack": FOREIGN,
    "free_static": FOREIGN,
    "free_interior_16": INTERIOR,
    "free_interior_8": INTERIOR,
    "free_interior_1": INTERIOR,
    "free_interior_large": INTERIOR,
    "free_mapping": FOREIGN,
    "free_mapping_interior": FOREIGN,
    "free_wild": FOREIGN,
    "free_small_number": FOREIGN,
    "realloc_free_block": DOUBLE,
    "realloc_free_large": DOUBLE,
    "delete_large_size": SIZE,
    "delete_other_size": SIZE,
    "free_sized_other": SIZE,
    "free_sized_align": SIZE,
}
SAID_AT_GUARD = {
    **SAID_AT_CHECK,
    "overrun_1": OVERRUN,
    "overrun_8": OVERRUN,
    "overrun_64": OVERRUN,
    "overrun_no_bytes": OVERRUN,
    "underrun_1": UNDERRUN,
    "underrun_16": UNDERRUN,
    "overrun_large_1": OVERRUN_PAGE,
    "overrun_large_page": OVERRUN_PAGE,
    "underrun_large_1": UNDERRUN_PAGE,
    "free_write_large": WRITTEN,
    "free_write_large_middle": WRITTEN,
    "free_write_first": WRITTEN,
    "free_write_next": WRITTEN,
    "free_write_middle": WRITTEN,
    "free_write_address": WRITTEN,
}
UNNOTICED = {"free_of_new_array"}  # at every level: the thread that gave a block is not recorded

failures = []


def check(truth, what, *seen):
    if not truth:
        failures.append(what + "".join(f"\n    {each!r}" for each in seen))


def expected_of(entry, level):
    """The outcome, and what the message begins with."""
    said = (SAID_AT_CHECK if level == "check" else SAID_AT_GUARD).get(entry["name"])
    if said:
        return ("refused" if level == "check" else "message"), "eggbox: " + said
    if entry["kind"] == "probe" and level == "check":
        return "stale", ""
    return "-", ""


def look_at(entries, level):
    results = {}
    for entry in entries:
        seen = misuse_table.run(PROGRAM, entry["name"], LIBRARY, {"EGGBOX_CHECK": level})
        outcome, said = expected_of(entry, level)
        check(seen["outcome"] == outcome and seen["said"].startswith(said) and
              (said or not seen["said"]), f"{entry['name']} at {level}: not {outcome}", seen)
        results[entry["name"]] = seen
    return misuse_table.totals_of(entries, results)


def at_off(entries):
    """Legal calls are right. Nothing is promised for the rest. Two do damage, which must be
    seen."""
    handed_out_twice = ("double_free", "realloc_free_block")
    for entry in entries:
        if entry["kind"] == "legal" or entry["name"] in handed_out_twice:
            seen = misuse_table.run(PROGRAM, entry["name"], LIBRARY, {"EGGBOX_CHECK": "off"})
            expected = "-" if entry["kind"] == "legal" else "DAMAGE"
            check(seen["outcome"] == expected, f"{entry['name']} at off: not {expected}", seen)


def main():
    entries = misuse_table.entries_of(PROGRAM)
    names = {entry["name"] for entry in entries if entry["kind"] == "fault"}
    check(names == set(SAID_AT_GUARD) | UNNOTICED, "the faults are those that are known",
          names ^ (set(SAID_AT_GUARD) | UNNOTICED))
    check(len(entries) == 47 and len(names) == 41, "47 inputs, 41 of them faults", len(entries))
    at_off(entries)
    for level, key, least in (("check", "refused with a message", 25),
                              ("guard", "stopped with a message", 40),
                              ("track", "stopped with a message", 40)):
        totals = look_at(entries, level)
        check(totals[key] >= least and totals["damage"] == 0, f"{level}: at least {least}", totals)
        print(level, totals)
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
