#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tables of instructions: of each call of the core, in docs/evidence/safety-manual.md, and of
the older library's benchmark, in docs/embedded.md.

usage: cost_table.py [--write]

Runs tests/embed/costs.c and tests/embed/bench.c, built by the presets embed and embed-m0plus, in
the emulator. Ends with status 1 if a page has other numbers; --write puts them there.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BOARDS = {"embed-m0plus": "microbit", "embed": "mps2-an386"}
# As bench.c names an allocator, and as the page does.
ALLOCATORS = {
    "newlib malloc": "newlib `malloc`", "newlib-nano malloc": "newlib-nano `malloc`",
    "fixed pool, default check": "fixed pool, default check",
    "fixed pool, unchecked": "fixed pool, unchecked",
    "fixed pool, live bits": "fixed pool, live bits",
    "default check, PRIMASK": "for interrupts: default check, PRIMASK"}


def printed_on(preset, name):
    """The output of the program on the board of the preset."""
    program = ROOT / "build" / preset / f"tests/embed/{name}.elf"
    done = subprocess.run(
        ["qemu-system-arm", "-M", BOARDS[preset], "-display", "none", "-monitor", "none",
         "-serial", "none", "-semihosting-config", "enable=on,target=native,arg=run",
         "-icount", "shift=10,sleep=off", "-kernel", program],
        capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def costs_on(preset):
    """(call, instructions with 8 blocks, and with 64) in their order."""
    found = re.findall(r"^(\S.*?) +(\d+) +(\d+)$", printed_on(preset, "embed_costs"), re.M)
    return [(name, int(small), int(large)) for name, small, large in found]


def cell(small, large):
    return f"{large:,}" if small == large else f"{small:,} to {large:,}"


def calls():
    m0plus, m4 = (costs_on(preset) for preset in BOARDS)
    if not m4 or [row[0] for row in m0plus] != [row[0] for row in m4]:
        sys.exit("the two boards tell of different calls")
    yield "| pool, call, and the worst state for it | Cortex-M0+ | Cortex-M4 |"
    yield "|---|--:|--:|"
    for (name, *on_m0plus), (_, *on_m4) in zip(m0plus, m4):
        yield f"| {name} | {cell(*on_m0plus)} | {cell(*on_m4)} |"


def runs_of(text):
    """From an allocator and the number of a run to (total, range of alloc, range of free)."""
    row = re.compile(r"^(\S.*?) +([1-3])(?: +\d+){5} +(\d+) +(\d+) \.\. +(\d+) +(\d+) \.\. +(\d+)$",
                     re.M)
    return {(name, int(run)): (int(total), f"{a}..{b}", f"{c}..{d}")
            for name, run, total, a, b, c, d in row.findall(text)}


def phases():
    runs = runs_of(printed_on("embed", "embed_bench"))
    runs |= runs_of(printed_on("embed", "embed_bench_nano"))
    heaps = [runs[name, 3][0] for name in ALLOCATORS if "malloc" in name]
    yield ("| third run, warm | alloc min..max | free min..max | all five phases | newlib / pool "
           "| newlib-nano / pool | first run: all phases |")
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for name, words in ALLOCATORS.items():
        total, alloc, free = runs[name, 3]
        ratios = ["", ""] if "malloc" in name else [f" {heap / total:.1f}" for heap in heaps]
        yield (f"| {words} | {alloc} | {free} | {total:,} |{ratios[0]} |{ratios[1]} "
               f"| {runs[name, 1][0]:,} |")


TABLES = ((ROOT / "docs/evidence/safety-manual.md", "tests/embed/costs.c", calls),
          (ROOT / "docs/embedded.md", "tests/embed/bench.c", phases))


def is_right(page, source, rows):
    """Whether the page has these rows between its marks; with --write it has them now."""
    marks = (f"<!-- from {source}: scripts/cost_table.py --write -->", "<!-- to here -->")
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(marks[0])
    _, behind = rest.split(marks[1], 1)
    made = before + "\n".join([marks[0], *rows, marks[1]]) + behind
    if "--write" in sys.argv:
        page.write_text(made, encoding="utf-8")
    elif made != text:
        print(f"{page} has other numbers: scripts/cost_table.py --write, and read the difference")
        return False
    return True


def main():
    return 0 if all([is_right(page, source, rows()) for page, source, rows in TABLES]) else 1


if __name__ == "__main__":
    sys.exit(main())
