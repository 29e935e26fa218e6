#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The library under clang-cl, for Windows on three processors; one of them also runs.

usage: clang_cl.py ROOT MINGW_GCC EMULATOR

The headers and libraries of Windows' SDK are not to be had here. The headers are declarations of
our own, declared/windows. Debian's mingw-w64 has libraries that name the same functions.
"""

import pathlib
import subprocess
import sys
import tempfile

from client import run

ROOT = pathlib.Path(sys.argv[1]).resolve()
MINGW_GCC, EMULATOR = sys.argv[2:]
PROCESSORS = ("x86_64", "i686", "aarch64")
# No code that Microsoft's C runtime serves: /GS- for its check of the stack, /Gs for its probes.
COMPILE = ("clang-19", "--driver-mode=cl", "/c", "/W4", "/WX", "/Od", "/Zl", "/GS-", "/Gs65536",
           "-I", ROOT / "include", "-imsvc", ROOT / "tests/ports/declared/windows")
LIBRARIES = ("msvcrt", "kernel32", "mingw32")  # the last has the table of thread-local variables


def compiled(folder, processor):
    objects = []
    for source, standard in (("src/eggbox.c", "c11"), ("tests/ports/clang_cl.cpp", "c++17")):
        objects.append(folder / f"{processor}-{pathlib.Path(source).stem}.obj")
        run(*COMPILE, f"--target={processor}-pc-windows-msvc", f"/std:{standard}",
            f"/Fo{objects[-1]}", "--", ROOT / source)
    return objects


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        objects = [compiled(folder, processor) for processor in PROCESSORS]
        libraries = [run(MINGW_GCC, f"-print-file-name=lib{library}.a").strip()
                     for library in LIBRARIES]
        program = folder / "program.exe"
        run("lld-link-19", f"/out:{program}", "/subsystem:console", *objects[0], *libraries)
        # No pipe, not even that of ctest: the services that wine starts would hold it open.
        subprocess.run([EMULATOR, program], check=True, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
