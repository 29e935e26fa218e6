#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds and tests the Rust crates of bindings/rust.

usage: rust.py here BUILD       packages eggbox-sys, builds the package, tests both crates; no
                                network. 77: this machine has no cargo, or not the crates
       rust.py all              rustfmt, clippy, all tests, the core alone, documentation, packages;
                                cargo 1.90 or later, for packages that need each other
       rust.py compare FOLDER   the example words on eggbox and on the system's allocator
"""

import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CRATES = ROOT / "bindings" / "rust"
TARGET = ROOT / "build" / "rust"
OFFLINE = ("--offline", "--locked", "--quiet")
OLDEST = (1, 85)  # rust-version in Cargo.toml
BOTH = ("-p", "eggbox-sys", "-p", "eggbox")
SKIPPED = 77
RUNS = 15
PATTERNS = (r"\b[a-z]+_[a-z]+_t\b", r"\w+")


def cargo(*words, **environment):
    print("+ cargo", *words, flush=True)
    subprocess.run(["cargo", *words], cwd=CRATES, check=True, env={**os.environ, **environment})


def missing():
    """Why this machine cannot build the crates without network; None: it can."""
    if shutil.which("cargo") is None:
        return "this machine has no cargo"
    said = subprocess.run(["cargo", "--version"], capture_output=True, text=True, check=False)
    version = re.match(r"cargo (\d+)\.(\d+)", said.stdout)
    if version is None or tuple(map(int, version.groups())) < OLDEST:
        return f"cargo is not of version {OLDEST[0]}.{OLDEST[1]} or later"
    # Also of crates that no test here builds: cargo resolves all of the workspace or nothing.
    at_hand = subprocess.run(["cargo", "fetch", *OFFLINE], cwd=CRATES, capture_output=True,
                             check=False)
    if at_hand.returncode != 0:
        return "cargo has not all crates of Cargo.lock: cargo fetch, in that folder, gets them"
    return None


def test_here(build):
    reason = missing()
    if reason is not None:
        print(f"bindings/rust is not tested: {reason}")
        return SKIPPED
    target = (*OFFLINE, "--target-dir", str(build.resolve() / "rust-here"))
    cargo("package", "-p", "eggbox-sys", "--allow-dirty", *target, CARGO_PROFILE_DEV_DEBUG="0")
    cargo("test", *BOTH, *target, CARGO_PROFILE_DEV_DEBUG="0")
    return 0


def test_all():
    cargo("fmt", "--check")
    for features in ((), ("--no-default-features",)):
        cargo("clippy", *BOTH, "--all-targets", "--locked", *features, "--", "-D", "warnings")
        cargo("test", *BOTH, "--locked", *features)
    # As a compiler for bare ARM has it by itself: the build has to ask for whole enums.
    cargo("test", "-p", "eggbox-sys", "--test", "layout", "--locked", "--target-dir",
          str(TARGET / "short-enums"), CC="cc -fshort-enums")
    cargo("clippy", "-p", "words", "--all-targets", "--locked", "--", "-D", "warnings")
    cargo("test", "-p", "words", "--locked")
    cargo("doc", *BOTH, "--no-deps", "--locked", RUSTDOCFLAGS="-D warnings")
    cargo("package", *BOTH, "--locked", "--allow-dirty")
    return 0


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_once(program, pattern, folder):
    """Seconds, and seconds of processor time."""
    before = processor_seconds()
    start = time.perf_counter()
    subprocess.run([program, pattern, folder, "2"], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start, processor_seconds() - before


def compare(folder):
    cargo("build", "--release", "-p", "words", "--locked", "--target-dir", str(TARGET))
    programs = [TARGET / "release" / name for name in ("words", "words_system")]
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors, {RUNS} runs each")
    for pattern in PATTERNS:
        runs = {program: [] for program in programs}
        for _ in range(RUNS):
            for program in programs:
                runs[program].append(run_once(program, pattern, folder))
        for program in programs:
            wall, busy = (statistics.median(column) for column in zip(*runs[program]))
            print(f"{pattern:24} {program.name:14} {wall:.3f} s, processor {busy:.3f} s")
    print(f"load {os.getloadavg()[0]:.1f}")
    return 0


def main(words):
    if len(words) == 2 and words[0] == "here":
        return test_here(pathlib.Path(words[1]))
    if words == ["all"]:
        return test_all()
    if len(words) == 2 and words[0] == "compare":
        return compare(words[1])
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
