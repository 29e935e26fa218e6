#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The library's messages on stderr: a misuse has the place of the program's call, whatever function
it called; a setting that the library cannot follow is said to be ignored.

usage: places.py LIBRARY PLACES
"""

import os
import re
import sys

from both import check, failures, run

LIBRARY, PLACES = sys.argv[1:3]
NAME = re.escape(os.path.basename(LIBRARY))
WAYS = ("free", "cfree", "realloc", "larger_realloc", "reallocarray", "free_sized",
        "free_aligned_sized", "delete", "delete_array", "delete_nothrow", "delete_aligned")


def said(way, what, **extra):
    done = run([PLACES, way, what], LIBRARY, extra=extra)
    return done.returncode, done.stderr.decode()


def a_misuse_has_the_place_of_the_programs_call():
    of_program = re.escape(os.path.basename(PLACES)) + r"\+0x[0-9a-f]+"
    for way in WAYS:
        for level, status in (("check", 0), ("guard", -6), ("track", -6)):
            returned, text = said(way, "twice", EGGBOX_CHECK=level)
            what = f"{way} at {level}"
            check(returned == status and text.startswith("eggbox: "), what, returned, text)
            check(re.search(fr"called from \S*{of_program}", text), f"{what}: the place", text)
            check(not re.search(NAME, text), f"{what}: a place in the library", text)
            check(("\n  freed at " in text) == (level == "track"), f"{what}: the free", text)


def what_is_no_block_has_no_pool_and_no_allocation():
    for level in ("check", "guard", "track"):
        for way in ("free", "realloc"):
            _, text = said(way, "foreign", EGGBOX_CHECK=level)
            check(re.match(r"eggbox: free of a pointer that is not from this pool: "
                           r"address 0x[0-9a-f]+, called from \S+\+0x", text), "foreign", text)
            check("allocated" not in text, f"foreign at {level}: there is no allocation", text)
            check((" next: addr2line " in text) == (level != "check"), "and what is next", text)


def a_setting_that_is_ignored_is_told_once():
    nonsense = "eggbox: EGGBOX_PURGE is not calls; it is ignored\n"
    for setting, expected in (("call", nonsense), ("calls", ""), ("", "")):
        seen = said("thread", "", EGGBOX_PURGE=setting)
        check(seen == (0, expected), f"EGGBOX_PURGE={setting}", seen)
    no_malloc = ("eggbox: level passthrough in EGGBOX_CHECK is ignored: this library has no other "
                 "malloc to pass requests on to\n")
    for setting, expected in (("passthrough", no_malloc), ("heap*:passthrough,*:off", no_malloc),
                              ("frames:passthrough", ""), ("frames:passthrough,*:guard", "")):
        seen = said("thread", "", EGGBOX_CHECK=setting)
        check(seen == (0, expected), f"EGGBOX_CHECK={setting}", seen)


def main():
    for test in (a_misuse_has_the_place_of_the_programs_call,
                 what_is_no_block_has_no_pool_and_no_allocation,
                 a_setting_that_is_ignored_is_told_once):
        test()
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
