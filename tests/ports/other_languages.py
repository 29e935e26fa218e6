#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a program of examples/other-languages on the library of a build.

usage: other_languages.py go|zig ROOT LIBRARY    77: this machine has no such compiler
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77


def go(folder, root, library):
    (folder / "eggbox.pc").write_text(
        "Name: eggbox\nDescription: of a build\nVersion: 0\n"
        f"Cflags: -I{root}/include\nLibs: -L{library.parent} -leggbox -pthread\n")
    return ["go", "run", "."], {"PKG_CONFIG_PATH": str(folder), "GOTOOLCHAIN": "local",
                                "GOFLAGS": "-mod=mod", "CGO_ENABLED": "1"}


def zig(folder, _, library):
    return ["zig", "run", "eggbox.zig", "-L", library.parent, "-leggbox", "-lc"], {
        "ZIG_LOCAL_CACHE_DIR": str(folder)}


def main():
    language, root, library = sys.argv[1], *(pathlib.Path(word) for word in sys.argv[2:])
    if shutil.which(language) is None:
        print(f"{language} is not on this machine: its example is not tested")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        command, more = {"go": go, "zig": zig}[language](pathlib.Path(name), root, library)
        done = subprocess.run(command, cwd=root / "examples/other-languages" / language,
                              env=os.environ | more, check=False)
    return 0 if done.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
