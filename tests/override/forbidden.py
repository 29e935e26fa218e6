#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The library in programs that forbid themselves a system call.

usage: forbidden.py LIBRARY FORBIDDEN
"""

import sys

from both import check, failures, run

LIBRARY, FORBIDDEN = sys.argv[1:3]
# The call, and whether a program with threads survives it, too, when the kernel ends it for that.
# The C library calls madvise at the end of a thread. Among threads the library needs membarrier.
CALLS = {"membarrier": False, "mincore": True, "madvise": False, "clock_gettime": True,
         "openat": True, "prlimit64": True, "sched_getaffinity": True}
# Those that only the library's thread and the end of the program could make: a quick look at each.
CALLS_OF_FEW = ("prctl", "getpid", "gettid", "tgkill", "getrandom", "readlinkat", "readlink")
# Those that the library may need after a filter that nobody announced.
NEEDED_LATE = {"membarrier", "madvise", "openat", "prlimit64", "sched_getaffinity"}


# Not every processor's kernel has readlink().
def is_fine(call, done):
    return (done.returncode, call) == (2, "readlink") or (
        done.returncode == 0 and done.stdout in (b"fine\n", b"no filter\n"))


def check_forbidden(call, ways):
    for how, threads in ways:
        for setting in ({}, {"EGGBOX_CHECK": "guard"}):
            done = run([FORBIDDEN, call, how, threads], LIBRARY, extra=setting)
            check(is_fine(call, done),
                  f"{call}, {how}, {threads} more threads, {setting}", done)


def main():
    for call, has_threads in CALLS.items():
        check_forbidden(call, [(how, threads) for how, threads in
                               (("errno", 0), ("errno", 3), ("kill", 0), ("kill", 3), ("kill", 12))
                               if how == "errno" or threads == 0 or has_threads])
    for call in CALLS_OF_FEW:
        check_forbidden(call, [("kill", 1)])
    for call in (*CALLS_OF_FEW, "clock_nanosleep"):
        done = run([FORBIDDEN, call, "kill", 0, "first"], LIBRARY)
        check(is_fine(call, done), f"{call}, the first thread ends", done)
    # Looks of the library's thread, that is.
    for call in (*CALLS, *CALLS_OF_FEW):
        if call not in NEEDED_LATE:
            done = run([FORBIDDEN, call, "kill", 3, "late"], LIBRARY)
            check(is_fine(call, done), f"{call}, late", done)
    # The first request comes behind the filter. A program in C does not bring the unwinder.
    for level in ("sample", "track"):
        done = run([FORBIDDEN, "openat", "kill", 0], LIBRARY, extra={"EGGBOX_CHECK": level})
        check(done.returncode == 0, f"the unwinder of {level}", done)
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
