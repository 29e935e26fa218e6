#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Calls of malloc and its kin need little of a thread's stack, the first ones too.

usage: stack.py LIBRARY STACK
"""

import sys

from both import check, failures, run

LIBRARY, STACK = sys.argv[1:3]
KIB = 1024
# Measured on x86-64: 2.4 KiB at most; 2.6 where stacks are unwound. The unwinder of the compiler's
# library, on other processors, needs more.
BOUNDS = {"off": 3 * KIB, "check": 3 * KIB, "guard": 3 * KIB, "sample": 6 * KIB, "track": 6 * KIB}


def main():
    for level, bound in BOUNDS.items():
        done = run([STACK], LIBRARY, extra={"EGGBOX_CHECK": level, "EGGBOX_SAMPLE": "64k"})
        check(done.returncode == 0, "it could not be measured", level, done)
        steps = [line.split(maxsplit=1) for line in done.stdout.decode().splitlines()]
        check(len(steps) > 10, "steps are missing", level, steps)
        for size, what in steps:
            check(int(size) <= bound, f"{level}: {size} bytes of stack for {what}, {bound} allowed")
        print(level, *max((int(size), what) for size, what in steps))
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
