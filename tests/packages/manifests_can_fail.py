# SPDX-License-Identifier: MIT
"""manifests.py must notice each kind of fault it is there for.

usage: manifests_can_fail.py ROOT
"""

import contextlib
import io
import shutil
import sys
import tempfile
from pathlib import Path

import manifests

PACK = "packaging/cmsis/eggbox.eggbox.pdsc"
# Each fault: a file, a text in it, the text in its place, and the required message.
BAD = [
    ("CMakeLists.txt", "eggbox VERSION 0.", "eggbox VERSION 7.", "meson.build: version 0."),
    ("meson.build", "version: '", "version: '9", "meson.build: version 9"),
    ("packaging/debian/changelog", "eggbox (", "eggbox (9", "debian/changelog: version 9"),
    ("library.json", '"version"', '"versoin"', "library.json: version not found"),
    ("include/eggbox/base.h", "VERSION_MINOR ", "VERSION_MINOR 9", "base.h: version 0.9"),
    ("docs/man/eggbox.1", '"eggbox 0.', '"eggbox 9.', "docs/man/eggbox.1: not of version"),
    ("CMakeLists.txt", "src/core/range.c", "", f"{PACK}: not in CMake: src/core/range.c"),
    ("CMakeLists.txt", "posix_shared.c", "posix_more.c", "src/eggbox.c: no os/posix_more.c"),
    ("src/eggbox.c", '#include "shared/gc.c"', "", "src/eggbox.c: no shared/gc.c"),
    ("src/eggbox_compat.c", '#include "compat/fault.c"', "", "eggbox_compat.c: no compat/fault.c"),
    (PACK, "src/core/texts.c", "src/core/textx.c", f"{PACK}: there is no src/core/textx.c"),
    (PACK, "</package>", "</pack>", "mismatched tag"),
    ("BUILD.bazel", '"shared"', '"override"', "BUILD.bazel: no shared"),
    ("zephyr/CMakeLists.txt", "src/eggbox.c", "src/core/fixed.c", "should name src/eggbox.c alone"),
    ("library.json", "packaging/platformio", "packaging/pio", "there is no packaging/pio"),
    ("packaging/vcpkg/eggbox/vcpkg.json", "{", "", "JSONDecodeError"),
]
FILES = ("CHANGELOG.md", "CMakeLists.txt", "BUILD.bazel", "LICENSE", "MODULE.bazel", "README.md",
         "idf_component.yml", "library.json", "meson.build", "cmake", "docs", "include",
         "packaging", "src", "zephyr", "bindings/python/pyproject.toml",
         "bindings/python/eggbox/__init__.py")


def check(root):
    """The status of the test, and its output."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            return manifests.main(root), printed.getvalue()
        except (ValueError, SyntaxError) as fault:
            return 1, f"{type(fault).__name__}: {fault}"


def copy(root, tree):
    for name in FILES:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (root / name).is_dir() else shutil.copy)(root / name, tree / name)


def main():
    missed = 0
    with tempfile.TemporaryDirectory() as name:
        tree = Path(name)
        copy(Path(sys.argv[1]), tree)
        assert check(tree)[0] == 0, check(tree)[1]
        for path, old, new, message in BAD:
            good = (tree / path).read_text()
            assert old in good, f"{path} has no {old}"
            (tree / path).write_text(good.replace(old, new))
            status, printed = check(tree)
            (tree / path).write_text(good)
            if status == 0 or message not in printed:
                missed += 1
                print(f"missed: {message!r}, after a change of {path}:\n{printed}")
    print(f"{len(BAD) - missed} of {len(BAD)} faults are noticed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
