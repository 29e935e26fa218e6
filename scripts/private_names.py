#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every function and variable that other files can see is public, or is private by its name.

usage: private_names.py ROOT OBJECT... [--nm NM]

Public names stand in a header of include/. All other external names of the object files end in an
underscore. A name of a public header that ends in an underscore is private, too.
"""

import argparse
import pathlib
import re
import subprocess
import sys

DEFINED = set("TDBRSGCVW")


def declared_in(root):
    text = "".join(file.read_text() for file in sorted(root.glob("include/**/*.h*")))
    return set(re.findall(r"\b\w+\b", re.sub(r"//[^\n]*", "", text)))


def defined_in(nm, objects):
    out = subprocess.run([nm, "-P", "-g", *objects], capture_output=True, text=True, check=True)
    rows = [line.split() for line in out.stdout.splitlines()]
    return {row[0] for row in rows if len(row) >= 2 and row[1] in DEFINED}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("objects", nargs="+")
    parser.add_argument("--nm", default="nm")
    options = parser.parse_args()
    public = declared_in(options.root)
    defined = defined_in(options.nm, options.objects)
    wrong = sorted(name for name in defined
                   if not name.endswith("_") and name not in public)
    for name in wrong:
        print(f"{name}: in no public header, so its name has to end in an underscore")
    private = sum(name.endswith("_") for name in defined)
    if not wrong:
        print(f"{len(defined)} names: {private} private, {len(defined) - private} public")
    return 1 if wrong or not defined else 0


if __name__ == "__main__":
    sys.exit(main())
