#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the tests of threads, forks, limits and whole programs again and again, for an hour.

Each round has another seed, for the tests that take one. The first failure ends the run, and prints
how to repeat that round.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TESTS = (
    r"^(stress|override|os|shared)\.|"
    r"^hosted\.(pool_(fork|limits|refused|lanes|model|depot|split|exhausted)|"
    r"chunk_cache|obtain|report|lock|"
    r"heap_(fork|refused|purge|keep|model|large|guard_faults))$|"
    r"^compat\.program\.threads$|^cli\.(run|size_emit)$"
)
CHAOS_EVENTS = "20000"  # events of shared.chaos in each round: about a minute


def run_round(preset, seed):
    """The number of tests that ran, and the output if one of them failed."""
    command = ["ctest", "--preset", preset, "-R", TESTS, "--output-on-failure", "--no-tests=error"]
    environment = {**os.environ, "EGGBOX_SEED": str(seed), "EGGBOX_CHAOS_EVENTS": CHAOS_EVENTS}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    closing = re.search(r"tests failed out of (\d+)", done.stdout)
    count = int(closing.group(1)) if closing else 0
    return count, "" if done.returncode == 0 else done.stdout + done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--preset", default="release", help="what is built already (release)")
    parser.add_argument("--seed", type=int, default=1, help="of the first round (1)")
    options = parser.parse_args()

    start = time.monotonic()
    seed, tests = options.seed, 0
    while time.monotonic() - start < options.minutes * 60:
        count, failure = run_round(options.preset, seed)
        if failure:
            sys.exit(f"{failure}\nsoak: FAILED in the round with --seed {seed}")
        tests += count
        seed += 1
    minutes = (time.monotonic() - start) / 60
    rounds = seed - options.seed
    print(f"soak: {rounds} rounds, {tests} tests in {minutes:.0f} minutes, none failed")


if __name__ == "__main__":
    main()
