#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds and runs the benchmarks, prints tables, writes JSON.

All rivals run in one process with the C library's malloc; malloc alone runs again with other
mallocs preloaded. The mallocs take turns over several rounds, so that a noisy minute hits all of
them, and every number shown is a median over the rounds. Times are CPU time: what another program
takes from the processor is not in them.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCHEMA = 1
NOISE = 0.03  # a smaller difference from Boost.Pool is called none

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
PACKAGES = [package for _, package, _ in MALLOCS.values()] + ["libbenchmark-dev", "libboost-dev"]

ORDER = (
    "none eggbox eggbox_static eggbox_unchecked eggbox_live_bits eggbox_cpp eggbox_cpp_unchecked "
    "boost_pool boost_pool_growing pmr_unsync pmr_sync printed"
).split() + list(MALLOCS)

PAIR_GOALS = (("eggbox_unchecked", 5), ("eggbox", 3), ("eggbox_static", 3), ("eggbox_cpp", 3))

WARM = "^(pair|pair_touched|batch_[a-z]+|churn|create|create_take)/"
WARM_MALLOC = "^(pair|pair_touched|batch_[a-z]+|churn)/[0-9]+/malloc$"

TITLES = {
    "pair": "pair: take one, give it back (block bytes; ns per pair)",
    "pair_touched": "pair, and the block is written and read (block bytes; ns per pair)",
    "batch_lifo": "batch, given back newest first (block bytes; ns per pair)",
    "batch_fifo": "batch, given back oldest first (block bytes; ns per pair)",
    "batch_random": "batch, given back in random order (block bytes; ns per pair)",
    "churn": "churn: replace a random one of N live 64-byte blocks (N; ns per pair)",
    "create": "create and drop a pool of N 16-byte blocks (N; ns)",
    "create_take": "create, take one, give it back, drop (N; ns)",
    "first_touch": "first touch: take and write 64 MiB of new memory (block bytes; ns per block)",
    "ping_pong": "ping-pong in a pool of 1,000,000 blocks of 4 KiB (ns per pair)",
}


def stop(text):
    sys.exit(f"bench: {text}")


def output_of(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.rstrip()


def build(folder):
    for command in (
        ["cmake", "-S", ROOT, "-B", folder, "--preset", "bench"],
        ["cmake", "--build", folder, "--target", "eggbox_bench"],
    ):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.stderr.write(done.stdout + done.stderr)
            stop("the build failed")
    return folder / "bench" / "eggbox_bench"


def find_libraries():
    """The path of every library to preload; all must be there, or the comparison is not one."""
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
        environment = dict(os.environ, **MALLOCS[malloc][2])
        library = self.libraries[malloc]
        if library is not None:
            environment["LD_PRELOAD"] = library
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
            key = (pattern, int(size), rival)
            case = self.cases.setdefault(key, {"samples": []})
            rounds.setdefault(key, []).append(float(f"{one['cpu_time']:.5g}"))
            for counter in ("hash", "pages", "rss_pages", "pool_pages"):
                if counter in one:
                    if counter == "hash" and case.get("hash", one["hash"]) != one["hash"]:
                        stop(f"{one['name']}: {malloc} did other work than the round before")
                    case[counter] = max(one[counter], case.get(counter, one[counter]))
        for key, samples in rounds.items():
            self.cases[key]["samples"].append(samples)

    def names(self, pattern):
        done = output_of(self.program, f"--benchmark_filter={pattern}", "--benchmark_list_tests")
        return done.splitlines()

    def same_work(self):
        """All rivals of a case have one hash, but `none`, which hands out blocks in use."""
        hashes = {}
        for (pattern, size, rival), case in self.cases.items():
            if "hash" in case and rival != "none":
                hashes.setdefault((pattern, size), set()).add(case["hash"])
        for (pattern, size), found in hashes.items():
            if len(found) != 1:
                stop(f"{pattern}/{size}: the rivals did different work")


def measure(runner, rounds, options, heavy):
    """All rounds. The malloc that goes first is another one each time."""
    names = list(MALLOCS)
    cold = [name.split("/iterations")[0] for name in runner.names("^first_touch/")]
    for turn in range(rounds):
        print(f"round {turn + 1} of {rounds}", file=sys.stderr, flush=True)
        for malloc in names[turn % len(names) :] + names[: turn % len(names)]:
            runner.run(malloc, WARM if malloc == "glibc" else WARM_MALLOC, *options)
        # Memory is new only once in a process.
        for name in cold:
            for malloc in names if name.endswith("/malloc") else ["glibc"]:
                runner.run(malloc, f"^{name}/")
    for name in runner.names("^ping_pong/"):
        if heavy or "/boost_pool/" not in name:
            runner.run("glibc", f"^{name.split('/iterations')[0]}/")


def median_of(case):
    return statistics.median(sample for one in case["samples"] for sample in one)


def ratio_of(above, below):
    """How many times longer `above` took. Round by round where both ran in the same process."""
    pairs = zip(above["samples"], below["samples"])
    return statistics.median(statistics.median(a) / statistics.median(b) for a, b in pairs)


# ---- tables ------------------------------------------------------------------------------------


def table(cases, pattern):
    sizes = sorted({size for one, size, _ in cases if one == pattern})
    rivals = [name for name in ORDER if any((pattern, size, name) in cases for size in sizes)]
    lines = [TITLES[pattern], "".join([f"{'':<22}"] + [f"{size:>14,}" for size in sizes])]
    for rival in rivals:
        line = f"{rival:<22}"
        for size in sizes:
            case = cases.get((pattern, size, rival))
            line += f"{median_of(case):>14,.2f}" if case else f"{'':>14}"
        lines.append(line)
    return lines


def ratio_table(cases, pattern):
    """How many times faster than the fastest malloc of the same run."""
    sizes = sorted({size for one, size, _ in cases if one == pattern})
    lines = []
    fastest = {}
    line = f"{'fastest malloc':<22}"
    for size in sizes:
        found = [name for name in MALLOCS if (pattern, size, name) in cases]
        if not found:
            return []
        fastest[size] = min(found, key=lambda name: median_of(cases[pattern, size, name]))
        line += f"{fastest[size]:>14}"
    lines.append(line)
    for rival in ("eggbox", "eggbox_unchecked"):
        line = f"{'  / ' + rival:<22}"
        for size in sizes:
            ours = median_of(cases[pattern, size, rival])
            line += f"{median_of(cases[pattern, size, fastest[size]]) / ours:>13.2f}x"
        lines.append(line)
    return lines


def counter_lines(cases, pattern, counters):
    lines = []
    ordered = sorted(cases.items(), key=lambda case: (ORDER.index(case[0][2]), case[0][1]))
    for (one, size, rival), case in ordered:
        if one == pattern:
            found = [f"{name} {int(case[name]):,}" for name in counters if name in case]
            lines.append(f"  {rival:<20}{size:>14,}  " + "  ".join(found))
    return lines


# ---- the targets -------------------------------------------------------------------------------


def pair_ratios(cases, rival):
    sizes = sorted({size for pattern, size, _ in cases if pattern == "pair"})
    return {
        size: min(
            median_of(cases["pair", size, name]) / median_of(cases["pair", size, rival])
            for name in MALLOCS
        )
        for size in sizes
    }


def verdicts(cases):
    """(met, what was wanted, what was found) for every target."""
    found = []

    faster, equal, slower = [], [], []
    for (pattern, size, rival), case in cases.items():
        if rival != "eggbox_unchecked" or pattern.startswith("create") or pattern == "ping_pong":
            continue
        ratio = ratio_of(cases[pattern, size, "boost_pool"], case)
        kind = equal if abs(ratio - 1) < NOISE else faster if ratio > 1 else slower
        kind.append((ratio, f"{pattern}/{size} {ratio:.2f}x"))
    text = f"faster in {len(faster)}, equal within {NOISE:.0%} in {len(equal)}, "
    text += f"slower in {len(slower)}"
    for name, kind in (("slower", slower), ("equal", equal), ("faster", faster)):
        text += f"\n          {name}: " + (", ".join(words for _, words in sorted(kind)) or "none")
    wanted = "eggbox_unchecked faster than Boost.Pool on every pattern"
    found.append((not slower and not equal, wanted, text))

    for rival, goal in PAIR_GOALS:
        ratios = pair_ratios(cases, rival)
        text = ", ".join(f"{size}: {ratio:.2f}x" for size, ratio in ratios.items())
        wanted = f"{rival}: pairs at least {goal}x faster than the fastest malloc"
        found.append((min(ratios.values()) >= goal, wanted, text))

    for rival in ("eggbox", "eggbox_unchecked", "eggbox_live_bits"):
        counts = sorted(s for pattern, s, name in cases if pattern == "create" and name == rival)
        small, large = (cases["create", size, rival] for size in (counts[0], counts[-1]))
        ratio = ratio_of(large, small)
        wanted = f"{rival}: create takes the same time for {counts[0]} and {counts[-1]:,} blocks"
        pages = int(max(cases["create", size, rival]["pages"] for size in counts))
        text = f"{median_of(small):.1f} and {median_of(large):.1f} ns, {pages} pages touched"
        found.append((0.9 < ratio < 1.1 and pages == 0, wanted + ", touching none", text))

    for (pattern, _, rival), case in cases.items():
        if pattern == "ping_pong" and rival.startswith("eggbox"):
            wanted = f"{rival}: ping-pong grows memory by at most two pages"
            text = f"process {case['rss_pages']:.0f}, pool {case['pool_pages']:.0f}"
            found.append((case["rss_pages"] <= 2 and case["pool_pages"] <= 2, wanted, text))
    return found


def report_lines(cases):
    lines = []
    for pattern in TITLES:
        lines += table(cases, pattern) + ratio_table(cases, pattern)
        if pattern == "create":
            lines.append("pages touched")
            lines += counter_lines(cases, pattern, ("pages",))
        if pattern == "ping_pong":
            lines.append("pages by which the process grew; pages of the pool then in memory")
            lines += counter_lines(cases, pattern, ("rss_pages", "pool_pages"))
        lines.append("")
    lines.append("targets")
    for met, wanted, text in verdicts(cases):
        lines += [f"  {'met   ' if met else 'MISSED'}  {wanted}", f"          {text}"]
    return lines


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
    """What is measured. Asked before the build: the sources may change during a run."""
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
        "unit": "ns of CPU time; samples are grouped by round",
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
    """One case a line, so that two results can be compared with diff."""
    path.parent.mkdir(parents=True, exist_ok=True)
    head = {key: value for key, value in content.items() if key != "cases"}
    lines = [json.dumps(case) for case in content["cases"]]
    text = json.dumps(head, indent=1)[:-2] + ',\n "cases": [\n  ' + ",\n  ".join(lines)
    path.write_text(text + "\n ]\n}\n", encoding="utf-8")
    print(f"wrote {path}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds: half a minute")
    parser.add_argument("--save", metavar="NAME", help="also write bench/results/NAME.json")
    parser.add_argument("--build-dir", type=pathlib.Path, default=ROOT / "build" / "bench")
    parser.add_argument("--rounds", type=int, help="how often everything is run")
    arguments = parser.parse_args()
    if arguments.save and not re.fullmatch(r"[A-Za-z0-9._-]+", arguments.save):
        parser.error("NAME is made of letters, digits, dots, dashes and underscores")
    rounds = arguments.rounds or (2 if arguments.quick else 8)

    libraries = find_libraries()
    built_from = source()
    runner = Runner(build(arguments.build_dir.resolve()), libraries)
    options = [
        f"--benchmark_repetitions={1 if arguments.quick else 3}",
        f"--benchmark_min_time={0.003 if arguments.quick else 0.01}",
        "--benchmark_enable_random_interleaving=true",
    ]
    # Boost.Pool's ping-pong really takes 4 GB.
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if free < 6 << 30:
        print("less than 6 GiB free: Boost.Pool's ping-pong is left out", file=sys.stderr)
    measure(runner, rounds, options, heavy=free >= 6 << 30)
    runner.same_work()

    print("\n".join(report_lines(runner.cases)))
    content = document(runner.cases, built_from, rounds, options)
    write(arguments.build_dir.resolve() / "results.json", content)
    if arguments.save:
        write(ROOT / "bench" / "results" / f"{arguments.save}.json", content)


if __name__ == "__main__":
    main()
