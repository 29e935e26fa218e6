#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""On a processor without 64-bit atomics CMake finds libatomic, and the .pc file names it.

usage: atomic.py ROOT BUILD

Configures for an 80486, and links an example with what the .pc file says. BUILD, for this
machine, needs no such library. The one-file build has no warning where a size_t has 32 bits.
"""

import pathlib
import subprocess
import sys
import tempfile

ROOT, BUILD = (pathlib.Path(word).resolve() for word in sys.argv[1:])
FLAGS = ["-m32", "-march=i486"]


def libraries_of(build):
    """The libraries that the .pc file names besides our own."""
    for line in next(build.glob("pkgconfig/**/eggbox.pc")).read_text().splitlines():
        if line.startswith("Libs:"):
            return line.split("-leggbox")[1].split()
    return sys.exit(f"{build}: no Libs")


def main():
    if libraries_of(BUILD):
        sys.exit(f"this machine needs {libraries_of(BUILD)}")
    with tempfile.TemporaryDirectory() as name:
        old = pathlib.Path(name)
        subprocess.run(["cmake", "-G", "Ninja", "-B", old, "-S", ROOT, "-DEGGBOX_TESTS=OFF",
                        "-DEGGBOX_TOOLS=OFF", f"-DCMAKE_C_FLAGS={' '.join(FLAGS)}"],
                       check=True, capture_output=True)
        libraries = libraries_of(old)
        if libraries != ["-latomic"]:
            sys.exit(f"an 80486 needs -latomic, not {libraries}")
        program = old / "packet_server"
        sources = [ROOT / "src/eggbox.c", ROOT / "examples/packet_server.c"]
        subprocess.run(["gcc", *FLAGS, "-std=c11", "-Wall", "-Wextra", "-Werror", "-I",
                        ROOT / "include", *sources, *libraries, "-o", program], check=True)
        print(subprocess.run([program], check=True, capture_output=True, text=True).stdout)


if __name__ == "__main__":
    main()
