#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A tool that watches memory notices the use of a free block, at every level, and nothing else.

usage: watched.py PROGRAM [VALGRIND]    without VALGRIND the program has AddressSanitizer
"""

import subprocess
import sys

LEVELS = ["off", "check", "guard", "track", "default", "static", "heap", "large", "zero",
          "zero_guard"]

# Below "guard" a free block is soon on a list, and then its first bytes are in use.
FIRST_BYTES_TOO = ["guard", "track", "default", "heap", "large"]

# The heap stays, and static memory is its owner's again.
WITHOUT_END = ["static", "heap", "large"]


def run(program, valgrind, fault, level):
    command = [program, fault, level]
    if valgrind:
        command = [valgrind, "-q", "--error-exitcode=9"] + command
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def is_noticed(valgrind, status, text, knows_free):
    if valgrind:
        return status != 0 and ("Invalid read" in text or "Invalid write" in text) and \
            ("free'd" in text or not knows_free)
    return status != 0 and "use-after-poison" in text


def main():
    program = sys.argv[1]
    valgrind = sys.argv[2] if len(sys.argv) > 2 else None
    failed = 0
    for level in LEVELS:
        for fault in ("none", "read", "write", "read_first", "destroyed"):
            if fault == "read_first" and level not in FIRST_BYTES_TOO:
                continue
            if fault == "destroyed" and level in WITHOUT_END:
                continue
            # Valgrind is not told the owners of large regions and of destroyed pools.
            knows_free = level != "large" and fault != "destroyed"
            status, text = run(program, valgrind, fault, level)
            is_right = status == 0 and "nobody noticed" in text if fault == "none" \
                else is_noticed(valgrind, status, text, knows_free)
            if not is_right:
                failed += 1
                print(f"{level}, {fault}: status {status}\n{text}")
    print(f"{failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
