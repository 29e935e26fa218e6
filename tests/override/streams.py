#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Forks beside a thread that flushes a stream of the program.

usage: streams.py LIBRARY STREAMS
"""

import sys

from both import check, failures, run

LIBRARY, STREAMS = sys.argv[1:3]


def main():
    for setting in ({}, {"EGGBOX_CHECK": "guard"}, {"EGGBOX_CHECK": "off"}):
        done = run([STREAMS], LIBRARY, extra=setting)
        check(done.returncode == 0, f"forks beside a flush, {setting}", done)
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
