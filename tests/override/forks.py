#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Forks beside a thread that flushes a stream of the program, and beside the end of the process.

usage: forks.py LIBRARY PROGRAM...
"""

import pathlib
import sys

from both import check, failures, run

LIBRARY, *PROGRAMS = sys.argv[1:]


def main():
    for program in PROGRAMS:
        for setting in ({}, {"EGGBOX_CHECK": "guard"}, {"EGGBOX_CHECK": "off"}):
            done = run([program], LIBRARY, extra=setting)
            check(done.returncode == 0, f"{pathlib.Path(program).name}, {setting}", done)
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
