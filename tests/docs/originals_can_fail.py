#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The comparison of docs/originals.md with our tests notices each kind of fault.

usage: originals_can_fail.py ROOT
"""

import pathlib
import shutil
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "scripts"))
import originals_failures  # noqa: E402: it is found there

# A file, the change in it, and the required message.
BREAKS = (
    (originals_failures.PAGE, "`elr_bugs.EB8_null_crashed`", "`elr_bugs.EB8`", "no test elr_bugs"),
    (originals_failures.PAGE, "`elr_bugs.EB8_null_crashed`", "", "nothing shows EB-8"),
    (originals_failures.PAGE, "| SB-2 |", "| SB-1 |", "SB-2 is in no row"),
    ("tests/compat/test_elr_bugs.cpp", "EB8_null_crashed)", "null)", "no test elr_bugs.EB8"),
)


def main():
    failures = []
    with tempfile.TemporaryDirectory() as name:
        copy = pathlib.Path(name)
        shutil.copytree(ROOT / "tests", copy / "tests")
        (copy / "docs").mkdir()
        shutil.copy(ROOT / originals_failures.PAGE, copy / "docs")
        if list(originals_failures.problems_of(copy)):
            failures.append("something is said of what is right")
        for path, old, new, expected in BREAKS:
            whole = (copy / path).read_text()
            (copy / path).write_text(whole.replace(old, new, 1))
            said = "\n".join(originals_failures.problems_of(copy))
            if expected not in said or old not in whole:
                failures.append(f"{path}: {old} became {new}, and this was said: {said}")
            (copy / path).write_text(whole)
    print("\n".join(failures) or f"{len(BREAKS)} of {len(BREAKS)} are noticed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
