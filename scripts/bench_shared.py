#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures frames between processes: the shared pool beside Boost.Interprocess and iceoryx2.

usage: bench_shared.py [ROUNDS]      needs build/bench, which `make bench` makes

The ways take turns; a figure is the median of the rounds. iceoryx2 takes part where
cargo finds its crate in the registry, and in Python where its package is installed. Missing
ways are named. A table of Python's ways follows where the package eggbox is installed.
"""

import importlib.util
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build/bench/bench/eggbox_processes"
CRATE = ROOT / "build/bench/iceoryx2"  # a copy: cargo writes there
SIZES = {"64 B": 64, "6 MiB": 6 << 20, "24 MiB": 24 << 20}
READERS = (1, 2, 4)
CYCLE_ROUNDS, FRAMES = 50, 100


def ways():
    """The command of each way that is here."""
    if not PROGRAM.exists():
        sys.exit(f"bench_shared.py: no {PROGRAM}: build eggbox_processes, preset bench")
    found = {"eggbox": [PROGRAM, "eggbox"], "Boost.Interprocess": [PROGRAM, "boost"]}
    if shutil.which("cargo") is None:
        print("no iceoryx2: this machine has no cargo")
        return found
    shutil.copytree(ROOT / "bench/shared/iceoryx2", CRATE, dirs_exist_ok=True)
    done = subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=CRATE,
                          capture_output=True, text=True, check=False)
    if done.returncode == 0:
        found["iceoryx2"] = [CRATE / "target/release/iceoryx2-frames"]
    else:
        print("no iceoryx2: its crate was not built:", done.stderr.strip().split("\n")[0])
    return found


def figures(command, *words):
    done = subprocess.run([*command, *map(str, words)], capture_output=True, text=True,
                          timeout=120, check=False)
    if done.returncode != 0:
        sys.exit(f"bench_shared.py: {' '.join(map(str, words))}: {done.stderr.strip()}")
    return [float(word) for word in done.stdout.split()]


def in_turns(all_ways, rounds, *words):
    """For each way, the columns of its figures, a row for each round."""
    runs = {name: [] for name in all_ways}
    for _ in range(rounds):
        for name, command in all_ways.items():
            runs[name].append(figures(command, *words))
    return {name: list(zip(*rows)) for name, rows in runs.items()}


def print_cycles(all_ways, rounds):
    print("\nalloc, publish, next and release, both ends in one thread; ns: fastest, median")
    for size, count in SIZES.items():
        measured = in_turns(all_ways, rounds, "cycle", count, CYCLE_ROUNDS)
        for name, columns in measured.items():
            fastest, median = min(columns[0]), statistics.median(columns[1])
            print(f"  {size:7} {name:20} {fastest:8.0f} {median:8.0f}", flush=True)


def print_wakes(all_ways, rounds):
    print("\nfrom publish to readers that sleep; us: median, 90 %, 99 %; page faults a frame")
    cases = [(size, 1) for size in SIZES] + [("6 MiB", readers) for readers in READERS[1:]]
    for size, readers in cases:
        words = "wake", SIZES[size], FRAMES, readers
        for name, columns in in_turns(all_ways, rounds, *words).items():
            row = [statistics.median(column) for column in columns]
            print(f"  {size:7} {readers} readers  {name:20} "
                  f"{row[0]:8.1f} {row[1]:8.1f} {row[2]:8.1f} {row[3]:8.2f}", flush=True)


def main(words):
    rounds = int(words[0]) if words else 5
    all_ways = ways()
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, {rounds} rounds in turns")
    print_cycles(all_ways, rounds)
    print_wakes(all_ways, rounds)
    if importlib.util.find_spec("eggbox") is None:
        print("\nno table of Python: this Python has no eggbox (pip install ./bindings/python)")
        return
    print(flush=True)
    shapes = ["1080x1920x3", *map(str, SIZES.values())]
    subprocess.run([sys.executable, ROOT / "bench/shared/frames.py", "300", *shapes], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
