#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The library beside others that stand before the C library's functions, and called very early.

usage: before.py LIBRARY CLIENT CLIENT_OF_LIBRARY EARLY_CLIENT AUDITOR BEFORE...
"""

import sys

from both import check, failures, run, same

LIBRARY, CLIENT, CLIENT_OF_LIBRARY, EARLY_CLIENT, AUDITOR = sys.argv[1:6]
OTHERS = sys.argv[6:]
RIGHT = b"calls 1\nblocks 1\nthreads 1\n"
# Settings of the library that make it ask for more, with a clock at each request.
SETTINGS = ({}, {"EGGBOX_CHECK": "track", "EGGBOX_GUARD_PAGES": "large,1/50"})


def beside_others():
    for other in OTHERS:
        for order in (f"{other}:{LIBRARY}", f"{LIBRARY}:{other}"):
            for setting in SETTINGS:
                done = run([CLIENT], order, extra=setting)
                check((done.returncode, done.stdout) == (0, RIGHT),  # "track" lists blocks in use
                      f"beside others: {order} {setting}", done)
            same(f"with a report: {order}", [CLIENT], order)


# The library took their clock for the C library's, called it with a lock held, and hung.
def beside_others_and_an_auditor():
    for other in OTHERS:
        done = run([CLIENT], f"{LIBRARY}:{other}", extra={"LD_AUDIT": AUDITOR})
        check((done.returncode, done.stdout) == (0, RIGHT), f"with an auditor: {other}", done)


def before_the_constructors():
    """The resolver of an IFUNC allocates: in the program, and in a library that it needs."""
    for client in (CLIENT_OF_LIBRARY, EARLY_CLIENT):
        for setting in ({}, {"LD_BIND_NOW": "1"}):
            for order in (LIBRARY, *(f"{other}:{LIBRARY}" for other in OTHERS)):
                done = run([client], order, extra=setting)
                check((done.returncode, done.stdout, done.stderr) ==
                      (0, b"chosen 1\n" + RIGHT, b""),
                      f"before the constructors: {client} {order} {setting}", done)


def main():
    beside_others()
    beside_others_and_an_auditor()
    before_the_constructors()
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
