#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the size of core on Cortex-M0+ and Cortex-M4, function by function, as a markdown table.

Text is the size of the function's section at -Os, its literals included; stack is its own frame, as
the compiler states it, without that of the functions it calls. Then it links tests/embed/whole.c,
a program with one static pool, for each kind of pool. Exits with 1 if a budget on Cortex-M4 is
exceeded, with 2 if something does not compile. docs/embedded.md has the tables: --compare also
exits with 1 if it has other numbers, --write puts them there.
"""

import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORES = ["cortex-m0plus", "cortex-m4"]
FLAGS = ["-std=c11", "-ffreestanding", "-ffunction-sections", "-fdata-sections", "-mthumb", "-Os"]

# Whole programs: name, the macro that defines the pool, which handler, bytes that are enough on M4.
WHOLE = [
    ("unchecked", "EGB_FIXED_DEFINE_UNCHECKED", 0, 250),
    ("marks", "EGB_FIXED_DEFINE_MARKED", 1, 700),
    ("marks, and words for each misuse", "EGB_FIXED_DEFINE_MARKED", 2, 1300),
    ("live bits", "EGB_FIXED_DEFINE", 1, 1000),
]

# The page has its tables between such a line and the last one. They are without some files.
PAGE = ROOT / "docs/embedded.md"
MARKS = {name: f"<!-- {name}: scripts/size_table.py --write -->"
         for name in ("whole programs", "parts", "functions")}
END_MARK = "<!-- to here -->"
NOT_ON_PAGE = re.compile(r"growing|linkable|range|slots")

# The hot halves are always inlined. The library has them as functions in this file.
INLINE_FILE = "fixed.h and slots.h, as functions"
INLINE_SOURCE = ROOT / "src/core/linkable.c"


class Unit:
    """The size of one source file on one core."""

    def __init__(self, compiler, core, source, workplace):
        self.text = {}  # function: bytes
        self.stack = {}  # function: bytes
        self.rodata = self.data = self.bss = 0
        compiled = object_of(compiler, core, source, workplace, "-fstack-usage")
        for kind, name, size in sections_of(compiler, compiled):
            self.count(kind, name, size)
        for line in compiled.with_suffix(".su").read_text().splitlines():
            place, stack, how = line.split("\t")
            if how != "static":
                raise SystemExit(f"{place}: stack use is {how}")
            self.stack[base_name(place.split(":")[-1])] = int(stack)

    def count(self, kind, name, size):
        if kind != "text":
            setattr(self, kind, getattr(self, kind) + size)
        elif size > 0:
            self.text[base_name(name.removeprefix("unlikely."))] = size

    def total(self):
        return sum(self.text.values())


def base_name(function):
    """Without what the compiler appends to its own copies: egb_is_live_.isra.0."""
    return function.split(".")[0]


def run(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stderr, file=sys.stderr)
        raise SystemExit(2)
    return done.stdout


def object_of(compiler, core, source, workplace, *more):
    compiled = workplace / f"{core}-{source.stem}.o"
    include = ["-I", ROOT / "include", "-I", ROOT / "src/core"]
    run([compiler, f"-mcpu={core}", *FLAGS, *include, *more, "-c", source, "-o", compiled])
    return compiled


def sections_of(compiler, binary):
    """(kind, function or "", bytes) of each section that takes memory."""
    size = re.sub(r"gcc(\.exe)?$", "size", compiler)
    for line in run([size, "-A", binary]).splitlines():
        section = re.match(r"\.(text|rodata|data|bss)(?:\.(\S+))?\s+(\d+)", line)
        if section:
            yield section[1], section[2] or "", int(section[3])


def compile_all(compiler, workplace):
    """{file: {core: Unit}} for every file of core, compiled two at a time."""
    sources = {INLINE_FILE: INLINE_SOURCE}
    sources.update({path.name: path for path in sorted((ROOT / "src/core").glob("*.c"))
                    if path != INLINE_SOURCE})
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        units = {
            name: {core: pool.submit(Unit, compiler, core, path, workplace) for core in CORES}
            for name, path in sources.items()
        }
        return {name: {core: unit.result() for core, unit in cores.items()}
                for name, cores in units.items()}


def row(name, units, text, stack):
    cells = [f"{text(units[core])} | {stack(units[core])}" for core in CORES]
    m4 = units["cortex-m4"]
    constant = [m4.rodata, m4.data, m4.bss] if name.startswith("**") else ["", "", ""]
    return f"| {name} | {' | '.join(cells)} | {' | '.join(map(str, constant))} |"


def function_table(files):
    yield "| function | M0+ text | stack | M4 text | stack | rodata | data | bss |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|"
    for file, units in files.items():
        functions = dict.fromkeys(name for core in CORES for name in units[core].text)
        for name in functions:
            # A function may be out of line on one core and inlined on the other.
            yield row(f"`{name}`", units,
                      lambda u: u.text.get(name, "-"), lambda u: u.stack.get(name, "-"))
        yield row(f"**{file}**", units, Unit.total, lambda u: max(u.stack.values()))


def sum_of(files, wanted):
    """Text of [(file, function or None for all)] on each core."""
    sums = []
    for core in CORES:
        texts = [
            files[file][core].text[function] if function else files[file][core].total()
            for file, function in wanted
        ]
        sums.append(sum(texts))
    return sums


def whole_program(compiler, core, library, definition, handler, workplace):
    """Bytes of code and constants of a program without start-up code, linked with `library`."""
    program = object_of(compiler, core, ROOT / "tests/embed/whole.c", workplace,
                        f"-DDEFINE={definition}", f"-DHANDLER={handler}")
    linked = workplace / "whole.elf"
    run([compiler, f"-mcpu={core}", *FLAGS, "-nostdlib", "-Wl,-e,main", "-Wl,--gc-sections",
         program, library, "-lgcc", "-o", linked])
    return sum(size for kind, _, size in sections_of(compiler, linked)
               if kind in ("text", "rodata"))


def sizes_of_whole(compiler, workplace):
    """{program: [bytes on M0+, on M4, on M4 from one file]}"""
    archiver = re.sub(r"gcc(\.exe)?$", "ar", compiler)
    libraries = []  # (core, library)
    for core in CORES:
        library = workplace / f"lib-{core}.a"
        run([archiver, "rc", library, *sorted(workplace.glob(f"{core}-*.o"))])
        libraries.append((core, library))
    one_file = object_of(compiler, CORES[-1], ROOT / "src/eggbox.c", workplace,
                         "-DEGB_FREESTANDING=1")
    libraries.append((CORES[-1], one_file))
    return {name: [whole_program(compiler, core, library, definition, handler, workplace)
                   for core, library in libraries]
            for name, definition, handler, _ in WHOLE}


def whole_table(sizes, budgets):
    yield "| a program with one static pool, bytes | M0+ | M4 | M4, one file | budget, M4 |"
    yield "|---|--:|--:|--:|--:|"
    for name, bytes_of in sizes.items():
        yield f"| {name} | {' | '.join(f'{size:,}' for size in bytes_of)} | {budgets[name]:,} |"


def part_table(files, budgeted):
    report = [("fixed_misuse.c", None), ("fixed_shape.c", "egb_fixed_capacity")]
    modes = [("fixed.c", None), ("fixed_live.c", None), ("fixed_plain.c", None),
             ("fixed_list.c", None)]
    yield "| bytes of text | M0+ | M4 |"
    yield "|---|--:|--:|"
    yield f"| alloc + free + default check + peak | {budgeted[0]:,} | {budgeted[1]:,} |"
    for name, wanted in [
        ("and to describe a misuse to the handler", report),
        ("and the calls for a pool of any mode, with all modes", modes),
        ("and init, resize, clear", [("fixed_make.c", None)]),
    ]:
        sums = sum_of(files, wanted)
        yield f"| {name} | + {sums[0]:,} | + {sums[1]:,} |"


def page_with(tables):
    """The text of the page with these tables: {name: lines}."""
    page = PAGE.read_text(encoding="utf-8")
    for name, lines in tables.items():
        before, rest = page.split(MARKS[name])
        _, behind = rest.split(END_MARK, 1)
        page = before + "\n".join([MARKS[name], *lines, END_MARK]) + behind
    return page


def is_page_right(tables, is_to_write):
    made = page_with(tables)
    if is_to_write:
        PAGE.write_text(made, encoding="utf-8")
    elif made != PAGE.read_text(encoding="utf-8"):
        print(f"{PAGE} has other numbers: scripts/size_table.py --write, and read the difference")
        return False
    return True


def budget_of(text):
    name, _, most = text.rpartition("=")
    return name, int(most)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", default="arm-none-eabi-gcc")
    parser.add_argument("--budget", type=int, default=400, help="bytes on Cortex-M4")
    parser.add_argument("--whole", type=budget_of, action="append", default=[],
                        metavar="NAME=BYTES", help="another budget for a whole program")
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    budgets = {name: most for name, _, _, most in WHOLE} | dict(options.whole)
    with tempfile.TemporaryDirectory() as name:
        workplace = pathlib.Path(name)
        files = compile_all(options.compiler, workplace)
        sizes = sizes_of_whole(options.compiler, workplace)

    hot = [(INLINE_FILE, "egb_fixed_alloc"), (INLINE_FILE, "egb_fixed_free"),
           ("fixed_marked.c", None), ("fixed_shape.c", "egb_fixed_peak")]
    budgeted = sum_of(files, hot)
    on_page = {file: units for file, units in files.items() if not NOT_ON_PAGE.match(file)}
    tables = {"whole programs": [*whole_table(sizes, budgets)],
              "parts": [*part_table(files, budgeted)],
              "functions": [*function_table(on_page)]}
    for lines in ([*function_table(files)], tables["whole programs"], tables["parts"]):
        print("\n".join(lines) + "\n")
    verdict = "kept" if budgeted[1] <= options.budget else "EXCEEDED"
    is_kept = all(bytes_of[1] <= budgets[name] for name, bytes_of in sizes.items())
    print(f"budget, Cortex-M4 -Os: {budgeted[1]} of {options.budget} bytes, {verdict}")
    print(f"budgets of whole programs: {'kept' if is_kept else 'EXCEEDED'}")
    is_right = not (options.compare or options.write) or is_page_right(tables, options.write)
    return 0 if verdict == "kept" and is_kept and is_right else 1


if __name__ == "__main__":
    sys.exit(main())
