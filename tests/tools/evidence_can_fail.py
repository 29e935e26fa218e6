#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The checks of coverage (mcdc.py) and of the MISRA record (misra.py) notice each kind of fault.

usage: evidence_can_fail.py ROOT

Neither runs its tool here: both get records that were made up.
"""

import collections
import pathlib
import sys

ROOT = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(ROOT / "scripts"))
import mcdc  # noqa: E402: it is found there
import misra  # noqa: E402

FILE = str(ROOT / "src/core/range.c")
TRUE, FALSE, BOTH = (1, 0), (0, 1), (1, 1)


def record(name, reached, outcomes, decided):
    """A function with one region, and one decision whose conditions stand on lines 10, 11, ..."""
    branches = [[10 + i, 1, 10 + i, 9, *counts, 0, 0, mcdc.CONDITION]
                for i, counts in enumerate(outcomes)]
    return {"name": name, "filenames": [FILE], "branches": branches,
            "regions": [[1, 1, 2, 1, reached, 0, 0, mcdc.CODE]],
            "mcdc_records": [[10, 1, 12, 9, 0, 5, decided]]}


def gaps_of(*records):
    """The gaps, without the text of the source."""
    functions = mcdc.functions_of({"functions": records})
    return {gap.split(":")[0] + ":" + gap.split(":")[1]
            for function in functions for gap in function.gaps()}


def faults():
    covered = record("f", 3, (BOTH, BOTH), [True, True])
    cases = [
        ((covered,), set()),
        ((record("f", 0, (BOTH,), [True]),), {"f: never reached"}),
        ((record("f", 1, (TRUE, FALSE), [False, False]),), {"f: never false", "f: never true"}),
        ((record("f", 1, (BOTH, BOTH), [True, False]),), {"f: never decides alone"}),
        # A copy of a function may show a case that another copy does not.
        ((record("a.c:f", 1, (TRUE, BOTH), [False, True]),
          record("b.c:f", 1, (FALSE, BOTH), [True, False])), set()),
        ((record("_ZL1fv", 0, (BOTH, BOTH), [True, True]), covered), set()),
    ]
    for records, wanted in cases:
        if gaps_of(*records) != wanted:
            yield f"{wanted} became {gaps_of(*records)}"
    for gaps, explained, wanted in (({"a"}, {"a": "because"}, 0), ({"a"}, {}, 1),
                                    (set(), {"a": "because"}, 1), ({"a"}, {"a": " "}, 1)):
        if len(list(mcdc.problems_of(gaps, explained))) != wanted:
            yield f"gaps {gaps}, explained {explained}: not {wanted} problems"
    for counts, recorded, wanted in (({"8.1": 2}, {"8.1": 2}, 0), ({"8.1": 2}, {"8.1": 3}, 1),
                                     ({"8.1": 2}, {}, 1), ({}, {"8.1": 2}, 1), ({}, {"8.1": 0}, 1)):
        if len(list(misra.problems_of(collections.Counter(counts), recorded))) != wanted:
            yield f"messages {counts}, record {recorded}: not {wanted} problems"


def main():
    found = list(faults())
    print("\n".join(found) or "coverage and record can fail")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
