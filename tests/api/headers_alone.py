#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every public header compiles alone, without a warning, in every standard it promises.

usage: headers_alone.py ROOT [every|first] --cc COMMAND... --cxx COMMAND...    of which standards
"""

import concurrent.futures
import os
import sys

from compiler import arguments, compile_text

C = ["c11", "c17", "c2x"]
CXX = ["c++17", "c++20", "c++2b"]
COMBINATIONS_MIN = {"every": 60, "first": 27}
# Those of older libraries that were for older compilers.
OLDER = {
    "eggbox/compat/elr_mpl.h": ["gnu89", "c++14"],
    "eggbox/compat/elr_mtx.h": ["c90", "c++14"],
    "eggbox/compat/fb_allocator.h": ["c++14"],
    "eggbox/compat/kenwright.h": ["c++14"],
    "eggbox/compat/Allocator.h": ["c++14"],
    "eggbox/compat/xallocator.h": ["c++14"],
    "eggbox/compat/stl_allocator.h": ["c++14"],
    "eggbox/compat/xmap.h": ["c++14"],
}


def cases(root, cc, cxx, count):
    """(header, compiler, standard, suffix, text), for the first `count` standards."""
    for header in sorted((root / "include").rglob("*.h*")):
        name = header.relative_to(root / "include").as_posix()
        text = f'#include "{name}"\n#include "{name}"\n' \
            "int main(void);\nint main(void) { return 0; }\n"
        older = OLDER.get(name, [])
        yield from ((name, cc, one, ".c", text) for one in older if "++" not in one)
        if header.suffix == ".h" and "C++ only" not in header.read_text():
            yield from ((name, cc, standard, ".c", text) for standard in C[:count])
        text = text.replace("int main(void);\n", "").replace("(void)", "()")
        yield from ((name, cxx, one, ".cpp", text) for one in CXX[:count])
        yield from ((name, cxx, one, ".cpp", text) for one in older if "++" in one)


def main():
    asked, cc, cxx = arguments()
    root = asked.root
    every = list(cases(root, cc, cxx, len(C) if asked.standards == "every" else 1))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        answers = workers.map(lambda case: compile_text(*case[1:], root), every)
        failures = [f"{name} as {standard}:\n{said}"
                    for (name, _, standard, _, _), said in zip(every, answers) if said is not None]
    count = len(every)
    print("\n".join(failures) or f"{count} combinations of header and standard compile")
    return 1 if failures or count < COMBINATIONS_MIN[asked.standards] else 0


if __name__ == "__main__":
    sys.exit(main())
