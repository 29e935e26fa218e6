#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles and runs every example of the documents: those in C, C++ and Python, and where there is
a rustc those in Rust.

usage: examples.py ROOT C_COMPILER CXX_COMPILER
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```(c|cpp|python|rust)\n(.*?)^```$", re.M | re.S)
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2"]


def run(*command, **more):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                            check=False, **more)
    return None if result.returncode == 0 else f"{result.stdout}{result.stderr}"


def run_example(language, source, library, compilers, root):
    """The fault, or None."""
    program = source.parent / "example"
    if language == "python":
        return run(sys.executable, source,
                   env={**os.environ, "LD_LIBRARY_PATH": str(library.parent)})
    if language == "rust":
        command = [compilers[language], "--edition=2021", "-Dwarnings", f"-Clink-arg={library}"]
    else:
        command = [*compilers[language], *WARNINGS, f"-I{root}/include", library]
    return run(*command, source, "-o", program) or run(program)


def main():
    root, cc, cxx = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    compilers = {"c": [cc, "-std=c11"], "cpp": [cxx, "-std=c++17"], "rust": shutil.which("rustc")}
    failures, count, untried = [], 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        library, shared = folder / "eggbox.o", folder / "libeggbox.so.0"
        failure = run(cc, "-std=c11", "-fPIC", f"-I{root}/include", "-c", root / "src/eggbox.c",
                      "-o", library) or run(cc, "-shared", library, "-o", shared)
        for page in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
            for language, text in FENCE.findall(page.read_text()):
                if language == "rust" and compilers[language] is None:
                    untried += 1
                    continue
                count += 1
                source = folder / f"example.{language}"
                source.write_text(text)
                failure = failure or run_example(language, source, library, compilers, root)
                if failure:
                    failures.append(f"{page.relative_to(root)}, example {count}:\n{failure}")
                failure = None
    if untried:
        print(f"without rustc, {untried} in Rust untried")
    print("\n".join(failures) or f"{count} examples compile and run")
    return 1 if failures or count < 4 else 0


if __name__ == "__main__":
    sys.exit(main())
