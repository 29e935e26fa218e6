#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Damage that is looked for at the ends of a process.

usage: damage.py LIBRARY CLIENT DAMAGED
"""

import json
import pathlib
import resource
import sys
import tempfile

from both import check, failures, processes, run

LIBRARY, CLIENT, DAMAGED = sys.argv[1:4]
DAMAGE = b"write past the end of a block"
ENDS_WITH_DAMAGE = {"damage_that_is_left": 0, "damage_before__exit": 9,
                    "damage_before_quick_exit": 9, "damage_before_abort": -6}


def damage_at_the_end(case, status, level):
    extra = {"EGGBOX_CHECK": level}
    for folder in (None, "/no/where"):
        done = run([DAMAGED, case], LIBRARY, folder, extra=extra)
        check(done.returncode == -6 and done.stderr.count(DAMAGE) == 1,
              f"{case} at {level}, no report", done)
        check(b", found at the end of the program\n" in done.stderr and
              b"called " not in done.stderr, f"{case} at {level}, where", done)
    with tempfile.TemporaryDirectory() as folder:
        done = run([DAMAGED, case], LIBRARY, folder, extra=extra)
        seen = {each["kind"]: each["count"] for each in processes(folder)[-1]["misuse"]}
        check(done.returncode == status and seen == {DAMAGE.decode(): 1},
              f"{case} at {level}, told", done, seen)


def damage_that_the_report_has_no_room_for_is_told_all_the_same():
    """The first report fits, and the one with the damage does not, as on a disk that is all but
    full."""
    case = [DAMAGED, "damage_before__exit"]
    with tempfile.TemporaryDirectory() as folder:
        run(case, LIBRARY, folder, extra={"EGGBOX_CHECK": "guard"})
        bytes_of_all = next(pathlib.Path(folder).iterdir()).stat().st_size
    with tempfile.TemporaryDirectory() as folder:
        most = bytes_of_all - 60  # numbers differ by a few digits
        done = run(case, LIBRARY, folder, extra={"EGGBOX_CHECK": "guard"},
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
        first = [file for file in pathlib.Path(folder).iterdir() if file.suffix == ".json"]
        check(len(first) == 1 and json.loads(first[0].read_text())["misuse"] == [],
              "the first report", first)
        check(done.returncode == -6 and done.stderr.count(DAMAGE) == 1, "no room", done)


def damage_is_looked_for_at_the_end():
    for case, status in ENDS_WITH_DAMAGE.items():
        for level in ("guard", "track"):
            damage_at_the_end(case, status, level)
        done = run([DAMAGED, case], LIBRARY, extra={"EGGBOX_CHECK": "check"})
        check(done.returncode == status and done.stderr == b"", f"{case} at check", done)
    for case, count in (("damage_in_a_child", 1), ("damage_in_a_child_of_vfork", 0)):
        done = run([DAMAGED, case], LIBRARY, extra={"EGGBOX_CHECK": "guard"})
        check(done.returncode == 0 and done.stderr.count(DAMAGE) == count, case, done)


def a_clean_end_says_nothing():
    for level in ("guard", "track"):
        for folder in (None, "/no/where"):
            done = run([CLIENT, "nothing"], LIBRARY, folder, extra={"EGGBOX_CHECK": level})
            check(done.returncode == 0 and b"write" not in done.stderr, f"none at {level}", done)
    for case, status in (("operators", 0), ("at_once", 9), ("quick_exit", 11), ("abort", -6),
                         ("abort_and_go_on", 0), ("forks", 0), ("vforks", 0)):
        done = run([CLIENT, case], LIBRARY, extra={"EGGBOX_CHECK": "guard"})
        check(done.returncode == status and done.stderr == b"", f"{case}, clean, at guard", done)
    done = run([DAMAGED, "ends_in_a_handler"], LIBRARY, extra={"EGGBOX_CHECK": "guard"})
    check(done.returncode == 0 and done.stderr == b"", "ends in a handler", done)


def main():
    for test in (damage_is_looked_for_at_the_end,
                 damage_that_the_report_has_no_room_for_is_told_all_the_same,
                 a_clean_end_says_nothing):
        test()
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
