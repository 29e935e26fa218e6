#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The library with musl, on a system without the kernel's headers, as Alpine's is.

usage: musl.py ROOT examples|malloc

musl-gcc finds the headers of musl alone. The one-file build serves two examples; the malloc library
serves a program that knows nothing of it, and its report has the requests. Programs whose first
thread ends first come to their end.
"""

import os
import pathlib
import sys
import tempfile

import client
from client import run

ROOT = pathlib.Path(sys.argv[1]).resolve()
COMPILE = ["musl-gcc", "-std=c11", "-O0", "-Wall", "-Wextra", "-Werror", "-I", ROOT / "include"]


def examples(folder):
    run(*COMPILE, "-c", ROOT / "src/eggbox.c", "-o", folder / "eggbox.o")
    for name, said in (("packet_server", "1000 answers"), ("frames_between_threads", "end: ok")):
        run(*COMPILE, "-static", ROOT / f"examples/{name}.c", folder / "eggbox.o", "-o",
            folder / name)
        printed = run(folder / name)
        if said not in printed:
            sys.exit(f"{name} printed {printed}")
    return "two examples run"


# With a thread of the library's, as musl knows the first thread and its end in another way.
def check_ends(folder, library):
    for source, way, said in (("alone.c", "ends", "the last thread ends"),
                              ("alone.c", "child_ends", "the child ends: 0"),
                              ("exits.c", "raw", "3 of 3 processes ended")):
        program = folder / way
        run(*COMPILE, "-D_GNU_SOURCE", ROOT / "tests/override" / source, "-o", program)
        printed = run(program, way, env=os.environ | {"LD_PRELOAD": library})
        if said not in printed:
            sys.exit(f"{source} {way} printed {printed}")


def malloc_library(folder):
    library, program = folder / "libeggbox-malloc.so", folder / "client"
    run(*COMPILE, "-D_GNU_SOURCE", "-DEGB_IS_MALLOC=1", "-shared", "-fPIC", "-fvisibility=hidden",
        "-fno-builtin", "-fexceptions", "-Wl,-Bsymbolic-functions,-z,nodelete,-z,defs",
        ROOT / "src/eggbox.c", *sorted((ROOT / "src/override").glob("[!f]*.c")), "-o", library)
    run(*COMPILE, client.SOURCE, "-o", program)
    check_ends(folder, library)
    return client.checked(folder, program, env=os.environ | {
        "LD_PRELOAD": library, "EGGBOX_REPORT": f"{folder}/"})


def main():
    part = {"examples": examples, "malloc": malloc_library}[sys.argv[2]]
    with tempfile.TemporaryDirectory() as name:
        print(part(pathlib.Path(name)))


if __name__ == "__main__":
    main()
