#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every public header compiles alone, without a warning, in every standard it promises. "first"
tries the least standard of C and of C++ alone, for builds for another processor; "every" tries the
least ones also behind the macros of hostile_macros.h, which are the same on each processor.

usage: headers_alone.py ROOT [every|first] --cc COMMAND... --cxx COMMAND...
"""

import concurrent.futures
import os
import pathlib
import sys

from compiler import arguments, compile_texts

C = ["c90", "c99", "c11", "c17", "c2x"]
CXX = ["c++11", "c++14", "c++17", "c++20", "c++2b"]
COMBINATIONS_MIN = {"every": 500, "first": 95}
# The headers of docs/guide/migrate.md that are for C, too.
OLDER_C = {f"eggbox/compat/{name}.h" for name in (
    "DataTypes", "Fault", "LockGuard", "elr_mpl", "elr_mpl_posix", "elr_mtx", "fb_allocator",
    "stdafx", "x_allocator", "xallocator")}
MACROS = pathlib.Path(__file__).resolve().parent / "hostile_macros.h"
CXX11 = "eggbox/make_once.hpp"
# Ports for a system or a processor, compiled where tests/ports and tests/embed run them.
ELSEWHERE = {f"eggbox/port/{name}.h" for name in (
    "board_malloc", "cmsis_rtos2", "cortex_m", "freertos", "freertos_malloc", "posix", "threadx",
    "zephyr")}
# The code of a program behind the macros, for headers in which a macro could break it.
BEHIND_MACROS = {"eggbox/slots.hpp": (
    "bool use();\n"
    "bool use() { eggbox::fixed_slots<int, 2> some; return some.contains(some.insert(1)); }\n")}


def standards_of(name, header):
    """The standards that a header promises."""
    if header.suffix == ".h":
        is_c = "C++ only" not in header.read_text()
        c = C if name in OLDER_C else C[C.index("c11"):] if is_c else []
        return c + CXX
    return CXX if name == CXX11 else CXX[CXX.index("c++17"):]


def batches(root, is_every):
    """A dict from each standard to its sources, by file name. A header's first is its least."""
    of_standard = {}
    for header in sorted((root / "include").rglob("*.h*")):
        name = header.relative_to(root / "include").as_posix()
        if name in ELSEWHERE:
            continue
        least = set()
        for standard in standards_of(name, header):
            is_cxx = standard in CXX
            if not is_every and is_cxx in least:
                continue
            known = len(least)
            least.add(is_cxx)
            nothing = "" if is_cxx else "void"
            text = f'#include "{name}"\n#include "{name}"\n' \
                f"int main({nothing});\nint main({nothing}) {{ return 0; }}\n"
            file = name.replace("/", "-") + (".cpp" if is_cxx else ".c")
            of = of_standard.setdefault(standard, {})
            of[file] = text
            if is_every and len(least) > known:
                of["macros-" + file] = f'#include "{MACROS}"\n{text}{BEHIND_MACROS.get(name, "")}'
    return of_standard


def main():
    asked, cc, cxx = arguments()
    every = batches(asked.root, asked.standards == "every")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        answers = workers.map(lambda standard: compile_texts(
            cxx if standard in CXX else cc, standard, every[standard], asked.root), every)
        failures = [f"as {standard}:\n{said}" for standard, said in zip(every, answers)
                    if said is not None]
    count = sum(map(len, every.values()))
    print("\n".join(failures) or f"{count} combinations of header and standard compile")
    return 1 if failures or count < COMBINATIONS_MIN[asked.standards] else 0


if __name__ == "__main__":
    sys.exit(main())
