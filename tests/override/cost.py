#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The cost of the library for a program that allocates nothing, over its cost without the library.

usage: cost.py LIBRARY COST
"""

import statistics
import sys
import tempfile

from both import check, failures, run

LIBRARY, COST = sys.argv[1:3]
INSTRUCTIONS = 140000
NAMES = ("system calls", "page faults", "KiB resident")


def numbers(what, names):
    done = run([COST, what, "/bin/true", *names])
    check(done.returncode == 0, "it could not be measured", done)
    return [int(each) for each in done.stdout.split()]


def cost(*names):
    """Medians: the kernel maps pages of files around each fault, and counts resident ones a
    processor at a time: of one program 0.5 to 1.1 MiB."""
    runs = [numbers("calls", names) for _ in range(9)]
    return [int(statistics.median(each)) for each in zip(*runs)]


def main():
    with tempfile.TemporaryDirectory() as folder:
        plain, preload = cost(), f"LD_PRELOAD={LIBRARY}"
        report = f"EGGBOX_REPORT={folder}"
        # Counted on x86-64: 20 and 66 system calls, 33 or 34 and 47 to 51 faults, by how the files
        # lie in pages.
        for what, bounds, where in (("preloaded", (24, 40, 1024), [preload]),
                                    ("with a report", (68, 56, 1024), [preload, report])):
            more = [one - none for one, none in zip(cost(*where), plain)]
            for name, value, bound in zip(NAMES, more, bounds):
                print(f"{what}: {value} {name} more, {bound} allowed")
                check(0 < value <= bound, f"{what}: {name}", value, bound)
        # Counted on x86-64: 100,000, most of them the loader's.
        (least,), (value,) = numbers("instructions", []), numbers("instructions", [preload])
        print(f"preloaded: {value - least} instructions more, {INSTRUCTIONS} allowed")
        check(0 < value - least <= INSTRUCTIONS, "instructions", value, least)
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
