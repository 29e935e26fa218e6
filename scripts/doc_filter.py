#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Gives the comments of a public header to Doxygen: what stands in columns there becomes lists.

usage: doc_filter.py HEADER

The comments are written to be read in the header:

    /// `memory`  aligned for a size_t.
    /// Returns   EGB_OK;
    ///           EGB_INVALID if `out` is NULL.
    /// Cost      O(1)

Each line stays one line.
"""

import pathlib
import re
import sys

COMMENT = re.compile(r"( *///) (.*)")
NAMES = re.compile(r"(`[\w, `.]+`) {2,}(\S.*)")
HEADINGS = re.compile(r"(Returns|Misuse|Cost|Threads|Throws|Source) +(\S.*)")
ANSWER = re.compile(r" {3,}((?:EGB_[A-Z_]+|eggbox::\w+|NULL|true|false)\b.*)")


def for_doxygen(text):
    """The text of one line of a comment."""
    if match := NAMES.fullmatch(text):
        return rf"\li {match[1]} {match[2]}"
    if match := HEADINGS.fullmatch(text):
        return rf"\{match[1].lower()}_ {match[2]}"
    if match := ANSWER.fullmatch(text):
        return rf"<br>{match[1]}"
    return text


def main():
    for line in pathlib.Path(sys.argv[1]).read_text(encoding="utf-8").splitlines():
        match = COMMENT.fullmatch(line)
        print(f"{match[1]} {for_doxygen(match[2])}" if match else line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
