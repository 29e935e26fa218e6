#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The test of the test `api.linkable`: each function that cannot be called must be noticed.

usage: linkable_can_fail.py ROOT LIBRARY
"""

import _ctypes
import os
import pathlib
import shutil
import sys
import tempfile

import linkable
from linkable_calls import TABLE

HEADERS = [  # (text to add to a header, the required message, or None for no message)
    ("size_t egb_new(void);", "egb_new: not in the library"),
    ("EGB_INLINE int egb_new(int x)\n{\n    return x;\n}", "egb_new: not in the library"),
    ("EGB_NODISCARD void*\negb_new(\n    int x\n);", "egb_new: not in the library"),
    ("void free(void* block);", "free: a public name of ours begins with egb_"),
    ("size_t egb_pool_wait_(void);", None),
    ("EGB_INLINE int egb_new_(int x)\n{\n    return x;\n}", None),
    ("#define EGB_NEW(x) \\\n    egb_new(x)", None),
    ("// As egb_new().\n/* Not egb_new(). */", None),
    ("typedef void (*egb_new_fn)(void);\nconst char* const egb_text = \"egb_new()\";", None),
    ("#if defined(__cplusplus)\nvoid egb_new(void);\n#endif", None),
]


def with_header(text, library):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        shutil.copytree(pathlib.Path(sys.argv[1], "include"), root / "include")
        (root / "include/eggbox/zz_new.h").write_text(text + "\n")
        return list(linkable.problems(root, library, TABLE))


def tables():
    """(a table with a fault, the required message)"""
    names = TABLE[0][0]
    yield TABLE[1:], f"{names[0]}: linkable_calls.py has no call"
    yield [*TABLE, (["egb_gone"], lambda library: None)], "egb_gone: linkable_calls.py has it"
    yield [(names, lambda library: None), *TABLE[1:]], f"not called: {', '.join(names)}"
    yield [(names, lambda library: os.kill(os.getpid(), 9)), *TABLE[1:]], "the process ended with"
    yield [(names, lambda library: 1 // 0), *TABLE[1:]], "ZeroDivisionError"


def main():
    root, library = pathlib.Path(sys.argv[1]), sys.argv[2]
    failures, count = [], 0
    for text, expected in HEADERS:
        count += 1
        found = "\n".join(with_header(text, library))
        if expected is None and found or expected and expected not in found:
            failures.append(f"with {text!r} in a header: {found!r}")
    for table, expected in tables():
        count += 1
        found = "\n".join(linkable.problems(root, library, table))
        if expected not in found:
            failures.append(f"expected {expected!r}: {found!r}")
    strange = list(linkable.problems(root, _ctypes.__file__, TABLE))
    names = linkable.public_names(root)
    if len(strange) != len(names):
        failures.append(f"a strange library has {len(names) - len(strange)} of the names")
    print("\n".join(failures) or f"{count + 1} faults, and what is none, are told apart")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
