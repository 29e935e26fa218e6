#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles and runs every C and C++ example of the documents.

usage: examples.py ROOT C_COMPILER CXX_COMPILER
"""

import pathlib
import re
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```(c|cpp)\n(.*?)^```$", re.M | re.S)
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2"]


def run(*command):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                            check=False)
    return None if result.returncode == 0 else f"{result.stdout}{result.stderr}"


def main():
    root, cc, cxx = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    failures, count = [], 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        library = folder / "eggbox.o"
        failure = run(cc, "-std=c11", f"-I{root}/include", "-c", root / "src/eggbox.c",
                      "-o", library)
        for page in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
            for language, text in FENCE.findall(page.read_text()):
                count += 1
                source = folder / f"example.{language}"
                source.write_text(text)
                compiler = [cc, "-std=c11"] if language == "c" else [cxx, "-std=c++17"]
                failure = failure or run(*compiler, *WARNINGS, f"-I{root}/include", source, library,
                                         "-o", folder / "example") or run(folder / "example")
                if failure:
                    failures.append(f"{page.relative_to(root)}, example {count}:\n{failure}")
                failure = None
    print("\n".join(failures) or f"{count} examples compile and run")
    return 1 if failures or count < 4 else 0


if __name__ == "__main__":
    sys.exit(main())
