#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The table of instructions for each call of the core, in docs/evidence/safety-manual.md.

usage: cost_table.py [--write]

Runs tests/embed/costs.c, built by the presets embed and embed-m0plus, in the emulator. Ends with
status 1 if the page has other numbers; --write puts them there.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/evidence/safety-manual.md"
MARKS = ("<!-- from tests/embed/costs.c: scripts/cost_table.py --write -->", "<!-- to here -->")
BOARDS = {"embed-m0plus": "microbit", "embed": "mps2-an386"}


def costs_on(preset):
    """(call, instructions with 8 blocks, and with 64) in their order."""
    program = ROOT / "build" / preset / "tests/embed/embed_costs.elf"
    done = subprocess.run(
        ["qemu-system-arm", "-M", BOARDS[preset], "-display", "none", "-monitor", "none",
         "-serial", "none", "-semihosting-config", "enable=on,target=native,arg=run",
         "-icount", "shift=10,sleep=off", "-kernel", program],
        capture_output=True, text=True, check=True)
    found = re.findall(r"^(\S.*?) +(\d+) +(\d+)$", done.stdout + done.stderr, re.M)
    return [(name, int(small), int(large)) for name, small, large in found]


def cell(small, large):
    return f"{large:,}" if small == large else f"{small:,} to {large:,}"


def table():
    m0plus, m4 = (costs_on(preset) for preset in BOARDS)
    if not m4 or [row[0] for row in m0plus] != [row[0] for row in m4]:
        sys.exit("the two boards tell of different calls")
    yield "| pool, call, and the worst state for it | Cortex-M0+ | Cortex-M4 |"
    yield "|---|--:|--:|"
    for (name, *on_m0plus), (_, *on_m4) in zip(m0plus, m4):
        yield f"| {name} | {cell(*on_m0plus)} | {cell(*on_m4)} |"


def main():
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(MARKS[0])
    _, behind = rest.split(MARKS[1])
    made = before + "\n".join([MARKS[0], *table(), MARKS[1]]) + behind
    if "--write" in sys.argv:
        PAGE.write_text(made, encoding="utf-8")
    elif made != page:
        print(f"{PAGE} has other numbers: scripts/cost_table.py --write, and read the difference")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
