#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the time of the last run of each preset, and the slowest ten tests.

usage: slowest.py [PRESET...]    all that have run if none is named
"""

import pathlib
import sys
import xml.etree.ElementTree

BUILD = pathlib.Path(__file__).resolve().parent.parent / "build"
SHOWN = 10


def tests_of(preset):
    """The seconds that each test took, as ctest wrote them."""
    root = xml.etree.ElementTree.parse(BUILD / f"{preset}.xml").getroot()
    return [(float(case.get("time")), case.get("name")) for case in root.iter("testcase")]


def main():
    presets = sys.argv[1:] or sorted(path.stem for path in BUILD.glob("*.xml"))
    every = []
    print("\nSeconds of tests, one after the other:")
    for preset in presets:
        tests = tests_of(preset)
        print(f"  {sum(seconds for seconds, _ in tests):7.1f}  {preset}, {len(tests)} tests")
        every += [(seconds, preset, name) for seconds, name in tests]
    print(f"The slowest {SHOWN}:")
    for seconds, preset, name in sorted(every, reverse=True)[:SHOWN]:
        print(f"  {seconds:7.1f}  {preset}: {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
