#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the patterns of bench/heap that have threads, with ever more threads, under several mallocs.

Each thread does the same work however many there are, so a malloc that scales takes the same time
with 16 threads as with 2, up to the number of processors. The mallocs take turns. The number shown
is the median over the rounds of the wall time in ms.

    python3 scripts/scaling.py --threads 2,8,16 --malloc mimalloc3=/path/to/libmimalloc.so
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

import bench
import bench_heap

PATTERNS = ("larson", "handover", "cross_free", "server", "buffers", "short_lives")


def stop(text):
    sys.exit(f"scaling: {text}")


def run(program, pattern, threads, library, settings):
    """Runs one pattern in a process of its own. Returns its numbers."""
    done = subprocess.run(
        [program, pattern, str(threads)],
        env={**os.environ, "LD_PRELOAD": library, **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        stop(f"{pattern} with {threads} threads ended with {done.returncode}: {done.stderr}")
    sample = json.loads(done.stdout)
    if os.path.realpath(sample["malloc"]) != os.path.realpath(library):
        stop(f"malloc came from {sample['malloc']}, and not from {library}")
    return sample


def measure(arguments, mallocs):
    """Returns {(pattern, threads, malloc): [sample, ...]}."""
    samples = {}
    names = list(mallocs)
    for turn in range(arguments.rounds):
        first = turn % len(names)
        for pattern in arguments.patterns:
            for threads in arguments.threads:
                for name in names[first:] + names[:first]:
                    library, settings = mallocs[name]
                    one = run(arguments.program, pattern, threads, library, settings)
                    samples.setdefault((pattern, threads, name), []).append(one)
    return samples


def table(samples, arguments, mallocs, key, unit):
    lines = [f"{'':12}{'threads':>8}" + "".join(f"{name:>12}" for name in mallocs)]
    for pattern in arguments.patterns:
        for threads in arguments.threads:
            line = f"{pattern:12}{threads:8}"
            for name in mallocs:
                of = [one[key] / unit for one in samples[pattern, threads, name]]
                line += f"{statistics.median(of):12,.1f}"
            lines.append(line)
    return "\n".join(lines)


def find_mallocs(arguments):
    """Returns {name: (library, settings)}: glibc's, those installed, those named, and ours."""
    found = {"glibc": (bench_heap.libc(), {})}
    if not arguments.malloc:
        libraries = bench.find_libraries()
        found.update({name: (libraries[name], {}) for name in bench_heap.RIVALS})
    for one in arguments.malloc:
        name, _, path = one.partition("=")
        found[name] = (os.path.abspath(path), {})
    found["eggbox"] = (str(arguments.eggbox.resolve()), {})
    found["eggbox_off"] = (found["eggbox"][0], bench_heap.SETTINGS["eggbox_off"])
    return found


def main():
    folder = bench.ROOT / "build" / "bench"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", default="2,4,8,16", help="even numbers, with commas between")
    parser.add_argument("--patterns", default=",".join(PATTERNS))
    parser.add_argument("--malloc", action="append", default=[], metavar="NAME=FILE",
                        help="instead of the installed ones; more than once")  # fmt: skip
    parser.add_argument("--program", type=pathlib.Path,
                        default=folder / "bench" / "heap" / "eggbox_heap_bench")  # fmt: skip
    parser.add_argument("--eggbox", type=pathlib.Path, default=folder / "libeggbox-malloc.so")
    parser.add_argument("--json", type=pathlib.Path, help="all samples go to this file")
    arguments = parser.parse_args()
    arguments.threads = [int(one) for one in arguments.threads.split(",")]
    arguments.patterns = arguments.patterns.split(",")
    arguments.program = arguments.program.resolve()
    mallocs = find_mallocs(arguments)
    samples = measure(arguments, mallocs)
    print(f"{os.cpu_count()} processors; wall time, ms")
    print(table(samples, arguments, mallocs, "wall_ns", 1e6))
    print("peak of resident memory, MiB")
    print(table(samples, arguments, mallocs, "peak_kib", 1024))
    if arguments.json:
        content = [{"case": list(case), "samples": of} for case, of in samples.items()]
        arguments.json.write_text(json.dumps(content), encoding="ascii")


if __name__ == "__main__":
    main()
