#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The comparison of the headers' clauses with headers, tests and proof notices each kind of fault.

usage: clauses_can_fail.py ROOT
"""

import pathlib
import shutil
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "scripts"))
import clauses  # noqa: E402: it is found there

HEADER = "include/eggbox/fixed.h"
CLAUSES = "docs/evidence/clauses/fixed.toml"
SHOWN = 'tests = ["hot_path", "embed.costs"]'
# A file, the change in it, and the required message. All changes are made at once: of equal texts
# each changes the first that is left.
BREAKS = (
    (HEADER, "/// Gives a block back.", "/// Gives a block away.", "clause: Gives a block away."),
    (HEADER, "/// The same number at run", "/// That number at run", "the header does not say"),
    (HEADER, "/// Takes a block.\n", "/// Takes a block. Never fails.\n", "clause: Never fails."),
    ("include/eggbox/base.h", "// done", "// well done", "in no clause: EGB_OK: well done"),
    ("include/eggbox/misuse.h", "MISUSE_H\n", "MISUSE_H\n\n/// More.\nint egb_x(void);\n",
     "misuse.h: egb_x: in no clause: More."),
    (CLAUSES, "[FIX-001]", "[FIX-1]", "FIX-1: an identifier is"),
    (CLAUSES, SHOWN, "tests = []", "no test shows it: Cost O(1)"),
    (CLAUSES, SHOWN, 'kind = "hope"', "there is no kind hope"),
    (CLAUSES, SHOWN, SHOWN + ' \nkind = "note"', "a note promises nothing, but"),
    (CLAUSES, SHOWN + "\n", 'test = []\n', "unknown keys: ['test']"),
    (CLAUSES, '"cbmc marks"', '"cbmc smudges"', "there is no goal cbmc smudges"),
    (CLAUSES, '"wp egb_fixed_alloc"', '"wp egb_fixed_init"', "there is no goal wp egb_fixed_init"),
    ("docs/evidence/clauses/base.toml", "[BASE-001]", "[FIX-002]", "FIX-002: in base.h"),
    ("tests/core/test_status.cpp", "status, every_value", "status, each", "no test status.every_v"),
    ("tests/CMakeLists.txt", "eggbox_test(core/test_slots.cpp)", "", "no test slots.a_full_table"),
    ("tests/face/tests.cmake", "eggbox_test(face/test_pool.cpp)", "", "no test pool_face.is_live"),
    ("docs/guide/slots.md", "# ", "# FIX-" "999: ", "slots.md: there is no clause FIX"),
)


def said_of(root):
    traces = [clauses.Trace(root, name) for name in clauses.headers_of(root)]
    return "\n".join(clauses.problems_of(root, traces))


def main():
    failures = []
    with tempfile.TemporaryDirectory() as name:
        copy = pathlib.Path(name)
        for folder in ("docs", "include", "proof", "src", "tests"):
            shutil.copytree(ROOT / folder, copy / folder)
        if said_of(copy):
            failures.append(f"something is said of what is right: {said_of(copy)}")
        for path, old, new, _ in BREAKS:
            whole = (copy / path).read_text()
            if old not in whole:
                failures.append(f"{path} has no {old}")
            (copy / path).write_text(whole.replace(old, new, 1))
        (copy / "include/eggbox/new.h").write_text("/// Does more.\nint egb_more(void);\n")
        said = said_of(copy)
        wanted = [message for *_, message in BREAKS] + ["new.h: egb_more: in no clause: Does more."]
        failures += [f"not noticed: {message}" for message in wanted if message not in said]
    print("\n".join(failures) or f"{len(wanted)} of {len(wanted)} are noticed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
