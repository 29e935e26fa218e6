#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program that has a copy of eggbox among its own files, on an ordinary include path, meets
no warning of our headers: not by including any of them, and not by use of their definitions. It has
every warning of the compiler on, but for those that forbid C++11 or the names of older libraries.
In C there are fewer such warnings.

usage: strict_user.py ROOT --cc COMMAND... --cxx COMMAND...
"""

import pathlib
import subprocess
import sys

from compiler import arguments, compile_text, compile_texts
from headers_alone import ELSEWHERE

BOTH = ["-Wcast-qual", "-Wdouble-promotion", "-Wextra-semi", "-Wfloat-equal", "-Wformat=2",
        "-Wmissing-declarations", "-Wnon-virtual-dtor", "-Wold-style-cast", "-Woverloaded-virtual",
        "-Wpadded", "-Wredundant-decls", "-Wswitch-enum", "-Wzero-as-null-pointer-constant"]
GCC = ["-Weffc++", "-Wctor-dtor-privacy", "-Wduplicated-branches", "-Wduplicated-cond",
       "-Wlogical-op", "-Wnoexcept", "-Wstrict-null-sentinel", "-Wsuggest-override",
       "-Wuseless-cast"]
CLANG = ["-Weverything", "-Wno-c++98-compat", "-Wno-c++98-compat-pedantic"]
IN_C = ["-Wbad-function-cast", "-Wc++-compat", "-Wcast-qual", "-Wdeclaration-after-statement",
        "-Wdouble-promotion", "-Wfloat-equal", "-Wformat=2", "-Wmissing-prototypes",
        "-Wnested-externs", "-Wold-style-definition", "-Wpadded", "-Wredundant-decls",
        "-Wstrict-prototypes", "-Wswitch-enum"]
# The names, the objects and the layouts of the older libraries are what their programs expect.
COMPAT = {"clang": ["-Wno-exit-time-destructors", "-Wno-global-constructors", "-Wno-padded",
                    "-Wno-reserved-identifier", "-Wno-reserved-macro-identifier"],
          "gcc": ["-Wno-padded"]}
HERE = {"eggbox/port/posix.h"}  # the headers of ELSEWHERE that compile here, too
STANDARDS = ["c++17", "c++20"]
# Each must be refused, else the flags do not do their work.
REFUSED = ["int f(long x);\nint f(long x) { return (int)x; }\n",
           "struct s { short d; char c; };\nbool f(s x);\nbool f(s x) { return x.d != x.c; }\n"]
REFUSED_IN_C = "int f(int x);\nint f(int x) { x++; int y = x; return y; }\n"


def flags_of(cxx):
    """The compiler's name, and its flags."""
    macros = subprocess.run([*cxx, "-dM", "-E", "-x", "c++", "/dev/null"], capture_output=True,
                            text=True, check=True).stdout
    return ("clang", BOTH + CLANG) if "__clang__" in macros else ("gcc", BOTH + GCC)


def sources(root):
    """The program, a source with every header for new programs, and one with those for older
    ones."""
    include = root / "include"
    names = sorted(file.relative_to(include).as_posix() for file in include.rglob("*.h*"))
    names = [name for name in names if name not in ELSEWHERE - HERE]
    new, old = ("".join(f'#include "{name}"\n' for name in names if ("/compat/" in name) == is_old)
                for is_old in (False, True))
    user = (pathlib.Path(__file__).parent / "strict_user.cpp").read_text()
    return len(names), {"strict_user.cpp": user, "new.cpp": new}, {"old.cpp": old}


def main():
    asked, cc, cxx = arguments()
    name, flags = flags_of(cxx)
    count, new, old = sources(asked.root)
    failures = []
    for standard in STANDARDS:
        failures += [compile_texts(cxx + flags, standard, new, asked.root),
                     compile_texts(cxx + flags + COMPAT[name], standard, old, asked.root)]
    in_c = (pathlib.Path(__file__).parent / "strict_user.c").read_text()
    failures += [compile_text(cc + IN_C, "c11", ".c", in_c, asked.root)]
    failures += [f"accepted: {text}" for text in REFUSED
                 if compile_text(cxx + flags, STANDARDS[0], ".cpp", text, asked.root) is None]
    if compile_text(cc + IN_C, "c11", ".c", REFUSED_IN_C, asked.root) is None:
        failures += [f"accepted: {REFUSED_IN_C}"]
    failures = [said for said in failures if said is not None]
    print("\n".join(failures) or f"no warning of {count} headers")
    return 1 if failures or count < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
