#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds and runs the benchmarks, prints tables, writes JSON.

All rivals run in one process with the C library's malloc; malloc alone runs again with other
mallocs preloaded. The mallocs take turns over several rounds, so that a noisy minute hits all of
them, and every number shown is a median over the rounds. Times are CPU time, without the time of
other programs. For several threads it is wall time, which is only as good as the machine is quiet;
their CPU time is in the file.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

from bench_report import median_of, report_lines, verdicts

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCHEMA = 1

# name: (the library to preload, its Debian package, environment)
MALLOCS = {
    "glibc": (None, "libc6", {}),
    # glibc gives the top of the heap back to the system between phases, and faults it in again.
    "glibc_no_trim": (
        None,
        "libc6",
        {"MALLOC_TRIM_THRESHOLD_": "4000000000", "MALLOC_TOP_PAD_": "200000000"},
    ),
    "mimalloc": ("libmimalloc.so.2", "libmimalloc2.0", {}),
    "jemalloc": ("libjemalloc.so.2", "libjemalloc2", {}),
    "tcmalloc": ("libtcmalloc_minimal.so.4", "libtcmalloc-minimal4", {}),
}
PACKAGES = [package for _, package, _ in MALLOCS.values()] + [
    "libbenchmark-dev",
    "libboost-dev",
    "libtbb-dev",
]

# Warm patterns run again and again in one process. Those of the fixed pool are not `--only pool`.
POOL = "pair|pair_touched|batch_[a-z]+|churn|apart_[a-z]+|together_[a-z]+|handover|larson"
POOL += "|frames|tree|tree_take|elr_warm"
WARM = f"^({POOL}|create|create_take|create_static)/"
WARM_POOL = f"^({POOL}|create_static)/[0-9]+/"
WARM_POOL += "(none|eggbox|eggbox_pool|eggbox_pool_off|eggbox_cache|boost_pool[a-z_]*|pmr_[a-z]+"
WARM_POOL += "|tbb_[a-z]+|malloc)(/|$)"
WARM_MALLOC = f"^({POOL})/[0-9]+/malloc(/|$)"
FRAMES = (20, 120)  # the two runs under strace, for the system calls of a frame


def stop(text):
    sys.exit(f"bench: {text}")


def output_of(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.rstrip()


def build(folder, program="eggbox_bench"):
    """Builds a program, given by its path below bench/."""
    for command in (
        ["cmake", "-S", ROOT, "-B", folder, "--preset", "bench"],
        ["cmake", "--build", folder, "--target", pathlib.Path(program).name],
    ):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.stderr.write(done.stdout + done.stderr)
            stop("the build failed")
    return folder / "bench" / program


def find_libraries():
    """The path of every library to preload; all must be there, or the comparison is incomplete."""
    known = output_of("/sbin/ldconfig", "-p") or output_of("ldconfig", "-p")
    paths = {}
    for name, (library, package, _) in MALLOCS.items():
        if library is None:
            paths[name] = None
            continue
        found = re.search(rf"^\s*{re.escape(library)} .*=> (\S+)$", known, re.MULTILINE)
        if found is None:
            stop(f"{library} is missing: install the Debian package {package}")
        paths[name] = found.group(1)
    return paths


class Runner:
    """Runs the benchmark program and keeps every sample."""

    def __init__(self, program, libraries):
        self.program = program
        self.libraries = libraries
        self.cases = {}  # (pattern, size, rival) -> {"samples": [[...], ...], counters}

    def run(self, malloc, pattern, *options):
        """Runs the benchmarks that match; each run is one round of their samples."""
        library = self.libraries[malloc]
        environment = self.environment(malloc)
        with tempfile.NamedTemporaryFile(suffix=".json") as result:
            command = [self.program, f"--benchmark_filter={pattern}", *options]
            command += [f"--benchmark_out={result.name}", "--benchmark_out_format=json"]
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode != 0:
                sys.stderr.write(done.stdout + done.stderr)
                stop(f"the benchmark failed with {malloc}")
            report = json.load(result)
        # The program says which file its malloc came from, so a preload that had no effect shows.
        used = os.path.realpath(report["context"]["malloc"])
        wanted = os.path.realpath(library) if library else None
        if used != wanted and (library or not re.search(r"/libc[.-]", used)):
            stop(f"{malloc}: malloc came from {used}")
        self.keep(malloc, report["benchmarks"])

    def environment(self, malloc):
        library = self.libraries[malloc]
        preload = {"LD_PRELOAD": library} if library is not None else {}
        return dict(os.environ, **MALLOCS[malloc][2], **preload)

    def keep(self, malloc, benchmarks):
        rounds = {}
        for one in benchmarks:
            if one["run_type"] != "iteration":
                continue
            if one.get("error_occurred"):
                stop(f"{one['name']}: {one['error_message']}")
            pattern, size, rival = one["run_name"].split("/")[:3]
            if rival == "malloc":
                rival = malloc
            if pattern == "elr":  # three numbers; none is the time of the benchmark
                for name in ("take", "free", "access"):
                    value = float(f"{one[name + '_cycles']:.5g}")
                    rounds.setdefault((f"elr_{name}", int(size), rival), []).append(value)
                continue
            key = (pattern, int(size), rival)
            case = self.cases.setdefault(key, {"samples": []})
            time = one["real_time" if "/manual_time" in one["run_name"] else "cpu_time"]
            rounds.setdefault(key, []).append(float(f"{time:.5g}"))
            self.keep_counters(malloc, case, one)
        for key, samples in rounds.items():
            self.cases.setdefault(key, {"samples": []})["samples"].append(samples)

    @staticmethod
    def keep_counters(malloc, case, one):
        if "hash" in one and case.setdefault("hash", one["hash"]) != one["hash"]:
            stop(f"{one['name']}: {malloc} did other work than the round before")
        for counter in ("pages", "rss_pages", "pool_pages", "faults"):  # the worst
            if counter in one:
                case[counter] = max(one[counter], case.get(counter, one[counter]))
        if "cpu_ns" in one:
            case.setdefault("cpu_samples", []).append(float(f"{one['cpu_ns']:.5g}"))
            case["cpu_ns"] = statistics.median(case["cpu_samples"])

    def count_calls(self):
        """System calls per frame: strace's count for many frames, less its count for few."""
        for name in self.names("^frames/"):
            pattern, size, rival = name.split("/")[:3]
            for malloc in MALLOCS if rival == "malloc" else ["glibc"]:
                key = (pattern, int(size), malloc if rival == "malloc" else rival)
                if key in self.cases:
                    few, many = (
                        # Twice: now and then there is one call more, in either.
                        min(self.calls(malloc, name, frames) for _ in range(2))
                        for frames in FRAMES
                    )
                    self.cases[key]["calls"] = (many - few) / (FRAMES[1] - FRAMES[0])

    def calls(self, malloc, name, frames):
        environment = self.environment(malloc)
        preload = environment.pop("LD_PRELOAD", None)  # not into strace itself
        command = ["strace", "-f", "-qq"]
        command += ["-E", f"LD_PRELOAD={preload}"] if preload else []
        with tempfile.NamedTemporaryFile(suffix=".strace") as trace:
            command += ["-o", trace.name, self.program, f"--frames={frames}"]
            command += [f"--benchmark_filter=^{name.split('/iterations')[0]}/"]
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode != 0:
                sys.stderr.write(done.stdout + done.stderr)
                stop(f"{name} failed under strace")
            text = pathlib.Path(trace.name).read_text(encoding="utf-8", errors="replace")
        return sum(1 for line in text.splitlines() if not re.search(r"resumed>|[+-]{3} ", line))

    def names(self, pattern):
        done = output_of(self.program, f"--benchmark_filter={pattern}", "--benchmark_list_tests")
        return done.splitlines()

    def same_work(self):
        """All rivals of a case have one hash, except `none`, which hands out blocks in use."""
        hashes = {}
        for (pattern, size, rival), case in self.cases.items():
            if "hash" in case and rival != "none":
                hashes.setdefault((pattern, size), set()).add(case["hash"])
        for (pattern, size), found in hashes.items():
            if len(found) != 1:
                stop(f"{pattern}/{size}: the rivals did different work")


def measure(runner, rounds, options, only, heavy):
    """All rounds. In each round another malloc goes first."""
    names = list(MALLOCS)
    cold = runner.names("^(first_touch|elr_cold|tree_cold)/")
    cold = [name.split("/iterations")[0] for name in cold if not skips(name, only)]
    elr = sorted({name.split("/")[2] for name in runner.names("^elr/")})
    for turn in range(rounds):
        print(f"round {turn + 1} of {rounds}", file=sys.stderr, flush=True)
        warm = WARM_POOL if only == "pool" else WARM
        for malloc in names[turn % len(names) :] + names[: turn % len(names)]:
            runner.run(malloc, warm if malloc == "glibc" else WARM_MALLOC, *options)
        # Memory is new only once in a process.
        for name in cold:
            for malloc in names if name.endswith("/malloc") else ["glibc"]:
                runner.run(malloc, f"^{name}/")
        # All sizes in one process, smallest first, as the authors had it.
        for rival in elr:
            for malloc in names if rival == "malloc" else ["glibc"]:
                runner.run(malloc, f"^elr/[0-9]+/{rival}/")
    if only is None:
        for name in runner.names("^ping_pong/"):
            if heavy or "/boost_pool/" not in name:
                runner.run("glibc", f"^{name.split('/iterations')[0]}/")
    runner.count_calls()


def skips(name, only):
    """Whether to leave a cold benchmark out: each takes a process of its own, and time."""
    pattern, size, _ = name.split("/")[:3]
    if pattern == "elr_cold":
        return int(size) not in (16, 1024, 16384)
    if pattern == "tree_cold":
        return int(size) != 1000
    return only == "pool"


# ---- the file ----------------------------------------------------------------------------------


def machine():
    information = pathlib.Path("/proc/cpuinfo").read_text(encoding="ascii")
    model = re.search(r"^model name\s*:\s*(.*)$", information, re.MULTILINE)
    family = re.search(r"^cpu family\s*:\s*(.*)$", information, re.MULTILINE)
    caches = output_of("lscpu", "-C=NAME,ONE-SIZE").splitlines()[1:]
    pages = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
    return {
        "cpu": model.group(1) if model else platform.machine(),
        "cpu_family": family.group(1) if family else "",
        "cpus": os.cpu_count(),
        "caches": [" ".join(line.split()) for line in caches],
        "virtual": "hypervisor" in information,
        "kernel": platform.release(),
        "huge_pages": pages.read_text(encoding="ascii").strip() if pages.exists() else "",
    }


def versions():
    found = {}
    for package in dict.fromkeys(PACKAGES):
        found[package] = output_of("dpkg-query", "-W", "-f=${Version}", package)
    return found


def source():
    """The measured sources. Asked before the build: they may change during a run."""
    changed = output_of("git", "-C", str(ROOT), "status", "--short", "include", "src")
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": output_of("git", "-C", str(ROOT), "rev-parse", "HEAD"),
        "changed_since": changed.splitlines(),
    }


def document(cases, built_from, rounds, options):
    return {
        "schema": SCHEMA,
        **built_from,
        "machine": machine(),
        "compiler": output_of("g++", "--version").splitlines()[0],
        "flags": "-O2 -falign-functions=64 -falign-loops=32",
        "packages": versions(),
        "rounds": rounds,
        "options": options,
        "unit": "ns of CPU time, of wall time where cpu_ns is given, cycles in elr_take, elr_free "
        "and elr_access; samples are grouped by round",
        "targets": [{"met": m, "target": w, "found": t} for m, w, t in verdicts(cases)],
        "cases": [
            {
                "pattern": pattern,
                "size": size,
                "rival": rival,
                "median": round(median_of(case), 4),
                **case,
            }
            for (pattern, size, rival), case in sorted(cases.items())
        ],
    }


def write(path, content):
    """One case a line, for comparison of two results with diff."""
    path.parent.mkdir(parents=True, exist_ok=True)
    head = {key: value for key, value in content.items() if key != "cases"}
    lines = [json.dumps(case) for case in content["cases"]]
    text = json.dumps(head, indent=1)[:-2] + ',\n "cases": [\n  ' + ",\n  ".join(lines)
    path.write_text(text + "\n ]\n}\n", encoding="utf-8")
    print(f"wrote {path}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds: a minute or two")
    parser.add_argument("--save", metavar="NAME", help="also write bench/results/NAME.json")
    parser.add_argument("--build-dir", type=pathlib.Path, default=ROOT / "build" / "bench")
    parser.add_argument("--rounds", type=int, help="how often everything is run")
    parser.add_argument("--only", choices=["pool"], help="leave out what the fixed pool has alone")
    parser.add_argument("--without-tbb", action="store_true", help="go on where TBB is missing")
    arguments = parser.parse_args()
    if arguments.save and not re.fullmatch(r"[A-Za-z0-9._-]+", arguments.save):
        parser.error("NAME is made of letters, digits, dots, dashes and underscores")
    rounds = arguments.rounds or (2 if arguments.quick else 8)

    libraries = find_libraries()
    built_from = source()
    runner = Runner(build(arguments.build_dir.resolve()), libraries)
    if not runner.names("^pair/64/tbb_pool$") and not arguments.without_tbb:
        stop("TBB is missing: install the Debian package libtbb-dev, or say --without-tbb")
    if shutil.which("strace") is None:
        stop("strace is missing: install the Debian package strace")
    options = [
        f"--benchmark_repetitions={1 if arguments.quick else 3}",
        f"--benchmark_min_time={0.003 if arguments.quick else 0.01}",
        "--benchmark_enable_random_interleaving=true",
    ]
    # Boost.Pool's ping-pong really takes 4 GB.
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if free < 6 << 30:
        print("less than 6 GiB free: Boost.Pool's ping-pong is left out", file=sys.stderr)
    measure(runner, rounds, options, arguments.only, heavy=free >= 6 << 30)
    runner.same_work()

    print("\n".join(report_lines(runner.cases)))
    content = document(runner.cases, built_from, rounds, options)
    write(arguments.build_dir.resolve() / "results.json", content)
    if arguments.save:
        write(ROOT / "bench" / "results" / f"{arguments.save}.json", content)


if __name__ == "__main__":
    main()
