#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Coverage of the core: code, branches, and MC/DC, which asks more of a decision with several
conditions: each condition was seen to decide alone (modified condition/decision coverage).

usage: mcdc.py BUILD [--gaps FILE] [--print]

BUILD was compiled with the preset `coverage` and its tests have run. All code must be reached, each
branch taken to both sides, and each condition must have decided alone; or docs/evidence/mcdc.toml
explains why not. An explanation of what is covered is as wrong as a missing one. --print shows all
gaps as entries.
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tomllib

import tidy

ROOT = pathlib.Path(__file__).resolve().parent.parent
GAPS = ROOT / "docs/evidence/mcdc.toml"
# Kinds of regions in clang's records: code, and a condition of a decision.
CODE, CONDITION = 0, 6
MANGLED = re.compile(r"_ZL(\d+)(\w+)")  # a static function that a C++ test has from a header


def core_files():
    for place in tidy.LAYERS["base"][0] + tidy.LAYERS["core"][0]:
        path = ROOT / place
        yield from sorted(path.glob("*.[ch]")) if path.is_dir() else [path]


def records_of(build):
    """The records of the tests of the build, as llvm-cov exports them."""
    raw = sorted((build / "profiles").glob("*.profraw"))
    if not raw:
        sys.exit(f"no profiles in {build}: run its tests first")
    merged = build / "merged.profdata"
    subprocess.run(["llvm-profdata-19", "merge", "-o", merged, *raw], check=True)
    programs = [file for file in sorted((build / "tests").glob("*"))
                if file.is_file() and file.read_bytes()[:4] == b"\x7fELF"]
    objects = [word for program in programs[1:] for word in ("-object", program)]
    done = subprocess.run(["llvm-cov-19", "export", programs[0], *objects,
                           f"-instr-profile={merged}", *core_files()],
                          check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["data"][0]


class Function:
    """A function of the core, as all its copies together were tested."""

    def __init__(self, name, file):
        self.name, self.file = name, file
        self.regions = {}  # place -> times reached
        self.branches = {}  # place -> [times true, times false]
        self.conditions = {}  # (decision, its place, condition) -> whether it decided alone

    def add(self, record):
        for *place, count, file_number, _, kind in record["regions"]:
            if kind == CODE:
                key = (*place, record["filenames"][file_number])
                self.regions[key] = self.regions.get(key, 0) + count
        for number, branch in enumerate(record["branches"]):
            file = record["filenames"][branch[6]]
            counts = self.branches.setdefault((number, *branch[:4], file, branch[8]), [0, 0])
            counts[0] += branch[4]
            counts[1] += branch[5]
        for number, decision in enumerate(record["mcdc_records"]):
            for i, decided in enumerate(decision[6]):
                key = (number, *decision[:4], i)
                self.conditions[key] = self.conditions.get(key, False) or decided

    def is_reached(self):
        return any(self.regions.values())

    def text(self, place, file):
        """The source at a place, which may be in a macro."""
        first, left, last, right = place
        lines = pathlib.Path(file).read_text(encoding="utf-8").splitlines()[first - 1:last]
        lines[-1] = lines[-1][:right - 1]
        lines[0] = lines[0][left - 1:]
        return " ".join(" ".join(lines).split())

    def gaps(self):
        for (*place, file), count in self.regions.items():
            if count == 0:
                yield f"{self.name}: never reached: {self.text(place, file)[:60]}"
        for (_, *place, file, _), counts in self.branches.items():
            text = self.text(place, file)
            for side, count in zip(("true", "false"), counts):
                if count == 0:
                    yield f"{self.name}: never {side}: {text}"
        alone = [branch for branch in self.branches if branch[-1] == CONDITION]
        for branch, decided in zip(alone, self.conditions.values(), strict=True):
            text = self.text(branch[1:5], branch[5])
            if not decided and all(self.branches[branch]):
                yield f"{self.name}: never decides alone: {text}"


def name_of(record):
    name = record["name"].split(":")[-1]
    found = MANGLED.match(name)
    return found.group(2)[:int(found.group(1))] if found else name


def functions_of(records):
    """The functions of the core and its headers. Macros of the headers make others in programs."""
    wanted = {path.as_posix(): path.relative_to(ROOT).as_posix() for path in core_files()}
    shapes = {}
    for record in records["functions"]:
        name, file = name_of(record), wanted.get(record["filenames"][0])
        if file and (file.startswith("src/") or name.startswith("egb_")):
            shape = (name, file, len(record["branches"]), len(record["mcdc_records"]))
            shapes.setdefault(shape, Function(name, file)).add(record)
    # A file that includes an inline function and does not use it has a record without branches.
    reached = {function.name: function for function in shapes.values() if function.is_reached()}
    return [function for function in shapes.values()
            if function.is_reached() or function.name not in reached]


def print_summary(functions):
    print(f"{'':28} code reached  outcomes taken  conditions alone")
    files = collections.defaultdict(list)
    for function in functions:
        files[function.file].append(function)
    files["all of the core"] = functions
    for name, some in files.items():
        alone = [decided for function in some for decided in function.conditions.values()]
        sides = [count > 0 for function in some for both in function.branches.values()
                 for count in both]
        code = [count > 0 for function in some for count in function.regions.values()]
        print(f"{name:28}" + "".join(f"{sum(part):8} of {len(part):4}"
                                     for part in (code, sides, alone)))


def problems_of(gaps, explained):
    yield from (f"not explained: {gap}" for gap in sorted(gaps - set(explained)))
    yield from (f"explained, but covered or gone: {gap}" for gap in sorted(set(explained) - gaps))
    yield from (f"no reason: {gap}" for gap, reason in explained.items() if not reason.strip())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--gaps", type=pathlib.Path, default=GAPS)
    parser.add_argument("--print", action="store_true")
    asked = parser.parse_args()
    records = records_of(asked.build)
    functions = functions_of(records)
    gaps = {gap for function in functions for gap in function.gaps()}
    if asked.print:
        print("\n".join(f"'{gap}' = ''" for gap in sorted(gaps)))
        return 0
    explained = tomllib.loads(asked.gaps.read_text(encoding="utf-8"))
    print_summary(functions)
    print(f"{len(gaps)} outcomes and conditions are not covered, {len(explained)} are explained")
    problems = list(problems_of(gaps, explained))
    print("\n".join(problems) or "the core is covered")
    return 1 if problems or not functions else 0


if __name__ == "__main__":
    sys.exit(main())
