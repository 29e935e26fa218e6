#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The comparison of docs/misuse.md with its rows and their tests notices each kind of fault.

usage: page_can_fail.py ROOT
"""

import contextlib
import io
import pathlib
import shutil
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "scripts"))
import misuse_catalogue  # noqa: E402: it is found there

# A file, the change in it, and the required message.
BREAKS = (
    (misuse_catalogue.PAGE, "| damage | reported |", "| damage | refused |", "is not made of"),
    (misuse_catalogue.SOURCE, '"row": 7,', '"row": 8,', "rows are not"),
    (misuse_catalogue.SOURCE, '"guard": "reported"', '"guard": "unnoticed"', "finds less"),
    (misuse_catalogue.SOURCE, '"guard": "reported"', '"guard": "perhaps"', "no such word"),
    (misuse_catalogue.SOURCE, '"fault free_null"', '"fault free_nil"', "no test fault free_nil"),
    ("tests/hosted/test_heap_misuse.cpp", "a_second_free)", "a_third_free)",
     "no test heap_misuse.a_second_free"),
    ("tests/embed/CMakeLists.txt", "embed_test(interrupts ", "embed_test(other ",
     "no test embed.interrupts"),
)


def said_of(root):
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        status = misuse_catalogue.report(root, False)
    return status, said.getvalue()


def main():
    failures = []
    with tempfile.TemporaryDirectory() as name:
        copy = pathlib.Path(name)
        shutil.copytree(ROOT / "tests", copy / "tests")
        (copy / "docs").mkdir()
        shutil.copy(ROOT / misuse_catalogue.PAGE, copy / "docs")
        if said_of(copy) != (0, ""):
            failures.append("something is said of what is right")
        for path, old, new, expected in BREAKS:
            whole = (copy / path).read_text()
            (copy / path).write_text(whole.replace(old, new, 1))
            status, said = said_of(copy)
            if status != 1 or expected not in said or old not in whole:
                failures.append(f"{path}: {old} became {new}, and this was said: {said}")
            (copy / path).write_text(whole)
    print("\n".join(failures) or f"{len(BREAKS)} of {len(BREAKS)} are noticed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
