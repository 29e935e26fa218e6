#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the tests of a built preset on a busy machine, again and again, and prints what fails.

Each round is one ctest while --load other processes compute. With --jump each test that is a
program of its own is then run once more with a clock that jumps at each look. Fails if a test does.
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
JUMPS_MS = (1, 300, 3000)
SECONDS_MAX = 900


@contextlib.contextmanager
def load(count):
    """This number of processes compute and do nothing else."""
    busy = [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"])
            for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def one_round(preset, only, jobs):
    """Returns the failures as (test, output)."""
    with tempfile.TemporaryDirectory() as folder:
        result = pathlib.Path(folder, "result.xml")
        command = ["ctest", "--preset", preset, "-j", str(jobs), "--output-junit", str(result)]
        done = subprocess.run(command + (["-R", only] if only else []), cwd=ROOT,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        if not result.exists():
            sys.exit(done.stdout)
        cases = list(xml.etree.ElementTree.parse(result).getroot().iter("testcase"))
    failed = [(case.get("name"), case.findtext("system-out") or "") for case in cases
              if case.get("status") not in ("run", "disabled", "notrun")]
    if done.returncode != 0 and not failed:
        failed = [("ctest", done.stdout[-2000:])]
    return len(cases), failed


def tests_of(preset, only):
    """The tests that are programs of ours, as ctest would run them."""
    text = subprocess.run(["ctest", "--preset", preset, "--show-only=json-v1"], cwd=ROOT,
                          capture_output=True, text=True, check=True).stdout
    for test in json.loads(text)["tests"]:
        command = test.get("command", [""])
        properties = {each["name"]: each["value"] for each in test.get("properties", [])}
        is_ours = command[0].startswith(str(ROOT / "build")) and "WILL_FAIL" not in properties
        if is_ours and re.search(only or "", test["name"]):
            yield test["name"], command, properties


def with_jumps(library, milliseconds, name, command, properties):
    """Returns (name, output) if the test fails."""
    variables = dict(each.split("=", 1) for each in properties.get("ENVIRONMENT", []))
    variables |= {"LD_PRELOAD": library, "JUMP_MS": str(milliseconds)}
    # The sanitizer would refuse to be second.
    variables["ASAN_OPTIONS"] = "verify_asan_link_order=0"
    try:
        done = subprocess.run(command, cwd=properties.get("WORKING_DIRECTORY"), check=False,
                              env={**os.environ, **variables}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=SECONDS_MAX)
    except subprocess.TimeoutExpired:
        return name, f"too slow with jumps of {milliseconds} ms"
    text = done.stdout.decode(errors="replace")
    wanted = properties.get("PASS_REGULAR_EXPRESSION")
    is_right = re.search(wanted[0], text, re.S) if wanted else done.returncode == 0
    return None if is_right else (name, f"jumps of {milliseconds} ms, status {done.returncode}:\n"
                                  + text[-3000:])


def jumps(preset, only, jobs):
    with tempfile.TemporaryDirectory() as folder:
        library = f"{folder}/jumping_clock.so"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library,
                        ROOT / "tests/support/jumping_clock.c"], check=True)
        tests = [(library, step, *test) for test in tests_of(preset, only) for step in JUMPS_MS]
        with concurrent.futures.ThreadPoolExecutor(jobs) as workers:
            answers = list(workers.map(lambda test: with_jumps(*test), tests))
    return len(tests), [answer for answer in answers if answer]


def report(what, count, failed):
    print(f"{what}: {count} tests, {len(failed)} failed", flush=True)
    for name, output in failed:
        print(f"--- {name}\n{output}", flush=True)
    return len(failed)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("preset", nargs="?", default="release")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--load", type=int, default=15, help="busy processes beside the tests")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--jump", action="store_true", help="with a clock that jumps, too")
    parser.add_argument("--only", metavar="REGEX", help="the tests whose names match")
    asked = parser.parse_args()
    failures = tests = 0
    with load(asked.load):
        for number in range(1, asked.rounds + 1):
            count, failed = one_round(asked.preset, asked.only, asked.jobs)
            tests += count
            failures += report(f"round {number}", count, failed)
        if asked.jump:
            count, failed = jumps(asked.preset, asked.only, asked.jobs)
            tests += count
            failures += report("with a clock that jumps", count, failed)
    print(f"{tests} tests under a load of {asked.load}: {failures} failed")
    return 1 if failures or tests == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
