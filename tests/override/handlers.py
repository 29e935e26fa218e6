#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The library's handlers of signals are not seen by programs, and still do their work.

usage: handlers.py LIBRARY HANDLERS
"""

import sys

from both import check, failures, run, same

LIBRARY, HANDLERS = sys.argv[1:3]
SETTINGS = ({"EGGBOX_CHECK": "check"}, {"EGGBOX_CHECK": "guard"},
            {"EGGBOX_GUARD_PAGES": "large,1/5000"})
SETTERS = ("signal", "bsd_signal", "ssignal", "sysv_signal", "__sysv_signal", "sigset")


# A runtime that sets a handler only where there is none, as Rust's does, set none: a stack overflow
# had another exit status, and no message.
def the_handler_for_faults_is_not_seen():
    for extra in SETTINGS:
        same(f"views with {extra}", [HANDLERS, "views"], LIBRARY, extra=extra)
        plain, with_it = (run([HANDLERS, "ends"], library, extra=extra)
                          for library in (None, LIBRARY))
        check(plain.stdout.count(b"signal 11\n") == 5 and b"overflow" in plain.stdout and
              (with_it.returncode, with_it.stdout, with_it.stderr) ==
              (plain.returncode, plain.stdout, plain.stderr), f"ends with {extra}", plain, with_it)


def a_fault_is_told_after_the_default_action_came_back():
    for extra in SETTINGS[1:]:
        for case in ("use_freed", *SETTERS):
            done = run([HANDLERS, case], LIBRARY, extra=extra)
            check((done.returncode == -11 and
                   done.stderr.count(b"eggbox: write to a freed block: byte 3 ") == 1) or
                  (done.returncode == 0 and case in SETTERS[1:]),  # not in this C library
                  f"{case} with {extra}", done)


def main():
    for test in (the_handler_for_faults_is_not_seen,
                 a_fault_is_told_after_the_default_action_came_back):
        test()
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
