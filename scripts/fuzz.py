#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds the fuzz targets with libFuzzer, twice, runs them, and prints a table of the results.

usage: fuzz.py [--seconds N | --executions N] [--seed N] [TARGET...]

The first build is fast and does most of the inputs; the second has AddressSanitizer and
UndefinedBehaviorSanitizer, and begins with the inputs that the first one kept. The heap runs at
every level in turn. Inputs that reach new code are kept in build/fuzz-corpus. Ends with 1 at an
input that the library, or the command, handles wrongly; the input is kept in build/fuzz-found.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FUZZ = ROOT / "tests/fuzz"
CORPUS = ROOT / "build/fuzz-corpus"
FOUND = ROOT / "build/fuzz-found"

# A target's share of the requested executions, the longest input, and the folders of inputs. A
# target with small blocks and no system does a hundred times as many in the same time as the
# others.
TARGETS = {
    "fixed": (0.80, 96, ["corpus/fixed"]),
    "pools": (0.06, 96, ["corpus/pools"]),
    "heap": (0.09, 96, ["corpus/heap"]),
    "report": (0.05, 2048, ["corpus/report", "../cli/runs", "../cli/golden"]),
}
LEVELS = {"heap": ["check", "off", "guard", "track"]}
BUILDS = {"fuzz": 1.0, "fuzz-asan": 0.05}  # and the share of the executions for each


def build(preset, targets):
    log = ROOT / f"build/{preset}.log"
    log.parent.mkdir(exist_ok=True)
    commands = [["cmake", "--preset", preset],
                ["cmake", "--build", "--preset", preset, "--target"] +
                [f"fuzz_{target}" for target in targets]]
    with log.open("w") as out:
        for command in commands:
            if subprocess.run(command, cwd=ROOT, stdout=out, stderr=out, check=False).returncode:
                sys.exit(f"{' '.join(command)} failed: see {log}")


def last_number(pattern, text):
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


class Row:
    """The results of one program."""

    def __init__(self, build_name, target, level, text, seconds):
        self.name = target + (f" ({level})" if level else "")
        self.build = build_name
        self.seconds = seconds
        self.executions = last_number(r"stat::number_of_executed_units:\s*(\d+)", text)
        self.edges = last_number(r"cov: (\d+)", text)
        self.edges_all = last_number(r"\((\d+) inline 8-bit counters\)", text)
        self.features = last_number(r" ft: (\d+)", text)


def run(build_name, target, level, limits):
    """Runs one program. Returns its row, and whether it found no fault."""
    _, length, folders = TARGETS[target]
    kept = CORPUS / target
    for folder in (kept, FOUND):
        folder.mkdir(parents=True, exist_ok=True)
    command = [ROOT / "build" / build_name / "tests/fuzz" / f"fuzz_{target}", *limits,
               f"-max_len={length}", "-print_final_stats=1", "-timeout=20",
               f"-artifact_prefix={FOUND}/{target}-", kept]
    dictionary = FUZZ / f"{target}.dict"
    if dictionary.exists():
        command.insert(1, f"-dict={dictionary}")
    command += [FUZZ / folder for folder in folders if (FUZZ / folder).is_dir()]
    environment = dict(os.environ)
    environment.pop("EGGBOX_CHECK", None)
    if level:
        environment["EGGBOX_CHECK"] = level
    before = time.monotonic()
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    row = Row(build_name, target, level, done.stdout, time.monotonic() - before)
    if done.returncode != 0:
        print("\n".join(line for line in done.stdout.splitlines()
                        if not line.startswith(("#", "INFO"))), file=sys.stderr)
    return row, done.returncode == 0


def limits_of(options, target, build_name):
    parts = len(LEVELS.get(target, [None]))
    limits = [f"-seed={options.seed}"]
    if options.executions:
        runs = options.executions * TARGETS[target][0] * BUILDS[build_name] / parts
        return limits + [f"-runs={int(runs) + 1}"]
    return limits + [f"-max_total_time={max(1, options.seconds // parts)}"]


def print_table(rows):
    print("| target | build | executions | a second | edges | of | features |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for row in rows:
        print(f"| {row.name} | {row.build} | {row.executions:,} "
              f"| {row.executions / row.seconds:,.0f} | {row.edges:,} | {row.edges_all:,} "
              f"| {row.features:,} |")
    print(f"| all | | {sum(row.executions for row in rows):,} | | | | |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--seconds", type=int, default=60, help="of each target in each build")
    amount.add_argument("--executions", type=int, help="of all targets together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    options = parser.parse_args()
    targets = options.targets or list(TARGETS)
    for target in targets:
        if target not in TARGETS:
            parser.error(f"no such target: {target}")

    rows = []
    is_right = True
    for build_name in BUILDS:
        build(build_name, targets)
        for target in targets:
            for level in LEVELS.get(target, [None]):
                row, is_one_right = run(build_name, target, level,
                                        limits_of(options, target, build_name))
                rows.append(row)
                is_right = is_right and is_one_right
    print_table(rows)
    if not is_right:
        print(f"Inputs that went wrong are in {FOUND.relative_to(ROOT)}: run "
              "build/fuzz-asan/tests/fuzz/fuzz_TARGET INPUT, and put the input into "
              "tests/fuzz/corpus/TARGET, where every build tries it.", file=sys.stderr)
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
