#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""libeggbox-malloc.so for another processor, under a program with threads, on its emulator.

usage: emulated.py LIBRARY ROOT EMULATOR... --cc COMPILER...

ROOT has the processor's C library. A program that is linked statically, as the other tests of such
a build are, cannot load the library.
"""

import pathlib
import sys
import tempfile

import client


def main():
    split = sys.argv.index("--cc")
    library, root, *emulator = sys.argv[1:split]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = folder / "client"
        client.run(*sys.argv[split + 1:], "-std=c11", client.SOURCE, "-o", program)
        print(client.checked(folder, *emulator, "-L", root, "-E", f"LD_PRELOAD={library}",
                             "-E", f"EGGBOX_REPORT={folder}/", program))


if __name__ == "__main__":
    main()
