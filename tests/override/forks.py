#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Forks and ends of a process at moments that a malloc has to bear.

usage: forks.py LIBRARY STREAMS EXITS
"""

import sys
import tempfile

from both import check, failures, processes, run

LIBRARY, STREAMS, EXITS = sys.argv[1:4]
LEVELS = ("check", "guard", "track", "off")


def ends(what, command, level, folder=None, **more):
    done = run(command, LIBRARY, folder, extra={"EGGBOX_CHECK": level, **more})
    check(done.returncode == 0, f"{what}, {level}, {'a report' if folder else 'no report'}", done)


def main():
    for level in LEVELS:
        ends("forks beside a flush", [STREAMS], level)
        for way in ("forks", "raw", "handler", "caught", "vforks", "twice", "quick_twice", "again",
                    "cancelled"):
            ends(way, [EXITS, way], level)
    ends("handler", [EXITS, "handler"], "track", EGGBOX_LIVE="1")
    with tempfile.TemporaryDirectory() as folder:
        for way in ("raw", "handler", "caught", "watchdog"):
            ends(way, [EXITS, way], "track", folder)
    for way in ("vforks", "twice", "quick_twice", "again", "cancelled"):
        with tempfile.TemporaryDirectory() as folder:
            ends(way, [EXITS, way], "track", folder)
            processes(folder)
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
