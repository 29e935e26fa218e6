#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the older libraries' own benchmarks, for glibc and for ours, and writes a page of results.

Each case runs in a process of its own for each rival, several times; the rivals take turns, and
another one goes first each time. The first pass of a process is cold, the others are warm. glibc
runs twice: as it is, and told not to give memory back to the system between phases. Figures are
medians over processes, of CPU time. The documents' own figures stand beside them, with their
machine and year; no figure is computed from one of theirs and one of ours.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

import bench
import originals_failures
import originals_page
import originals_tables

ENVIRONMENTS = ("glibc", "glibc_no_trim")  # names in bench.MALLOCS
HIDDEN = ("EGGBOX_", "MALLOC_", "LD_PRELOAD", "GLIBC_TUNABLES")
MARKS = ("<!-- of bench/results: scripts/bench_originals.py --from FILE --page -->",
         "<!-- to here -->")
RESULTS = bench.ROOT / "bench" / "results"
DOCUMENT = bench.ROOT / "docs" / "originals.md"


def stop(text):
    sys.exit(f"bench_originals: {text}")


# ---- measuring ---------------------------------------------------------------------------------


def environment_of(name):
    """The environment without the user's own settings of a malloc."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(HIDDEN)}
    return dict(kept, **bench.MALLOCS[name][2])


def run_once(program, case, rival, environment, quick):
    command = [program, case, rival, *(["--quick"] if quick else [])]
    done = subprocess.run(command, env=environment_of(environment), capture_output=True, text=True,
                          check=False)
    if done.returncode != 0 or done.stderr:
        stop(f"{case} failed for {rival}, status {done.returncode}: {done.stderr}")
    report = json.loads(done.stdout)
    if not re.search(r"/libc[.-]", os.path.realpath(report["malloc"])):
        stop(f"malloc came from {report['malloc']}")
    return report


def keep(cases, report, rival):
    """Adds a process: a list of its passes, each a list of columns."""
    for record in report["records"]:
        name = f"{report['case']}/{record['size']}" if record["size"] else report["case"]
        case = cases.setdefault((name, rival), {
            "columns": report["columns"], "unit": report["unit"], "hash": record["hash"],
            "processes": []})
        if case["hash"] != record["hash"]:
            stop(f"{name}: {rival} did other work than the time before")
        case["processes"].append(record["passes"])


def same_work(cases):
    """All rivals of a case have one hash."""
    found = {}
    for (name, rival), case in cases.items():
        if found.setdefault(name, case["hash"]) != case["hash"]:
            stop(f"{name}: {rival} did other work than the others")


def rivals_of(program):
    """case: [(rival, environment), ...]"""
    groups = {}
    for line in bench.output_of(program, "--list").splitlines():
        case, rival = line.split(" ", 1)
        wanted = ENVIRONMENTS if rival in originals_tables.SYSTEM else ENVIRONMENTS[:1]
        groups.setdefault(case, []).extend((rival, one) for one in wanted)
    return groups


def measure(program, rounds, quick, only):
    cases = {}
    groups = {case: rivals for case, rivals in rivals_of(program).items() if re.search(only, case)}
    if not groups:
        stop("no case has such a name")
    for turn in range(rounds):
        print(f"round {turn + 1} of {rounds}", file=sys.stderr, flush=True)
        for case, rivals in groups.items():
            first = turn % len(rivals)
            for rival, environment in rivals[first:] + rivals[:first]:
                name = rival if environment == "glibc" else rival + originals_tables.NO_TRIM
                keep(cases, run_once(program, case, rival, environment, quick), name)
    same_work(cases)
    return cases


# ---- files -------------------------------------------------------------------------------------


def document(cases, built_from, rounds, quick):
    return {
        "schema": 1,
        **built_from,
        "machine": bench.machine(),
        "compiler": bench.output_of("g++", "--version").splitlines()[0],
        "flags": "-O2 -falign-functions=64 -falign-loops=32",
        "libc6": bench.output_of("dpkg-query", "-W", "-f=${Version}", "libc6"),
        "rounds": rounds,
        "quick": quick,
        "unit": "as each case says; processes are in order, and so are their passes",
        "cases": [{"case": name, "rival": rival, **case}
                  for (name, rival), case in sorted(cases.items())],
    }


def cases_of(content):
    keys = "columns", "unit", "hash", "processes"
    return {(one["case"], one["rival"]): {key: one[key] for key in keys}
            for one in content["cases"]}


def write_page(content, sections):
    """The generated part of docs/originals.md."""
    before, rest = DOCUMENT.read_text(encoding="utf-8").split(MARKS[0])
    _, behind = rest.split(MARKS[1])
    made = originals_page.markdown(content, sections)
    text = "\n".join([MARKS[0], "", *made, MARKS[1]])
    DOCUMENT.write_text(before + text + behind, encoding="utf-8")
    print(f"wrote {DOCUMENT}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small numbers, one round: a test")
    parser.add_argument("--rounds", type=int, help="processes for each case and rival (7)")
    parser.add_argument("--only", metavar="REGEX", default="", help="cases with such a name")
    parser.add_argument("--save", metavar="NAME", help="also write bench/results/NAME.json")
    parser.add_argument("--from", metavar="FILE", type=pathlib.Path, dest="source",
                        help="measure nothing: what an earlier run wrote")
    parser.add_argument("--page", action="store_true", help="write the tables of docs/originals.md")
    parser.add_argument("--program", type=pathlib.Path, help="a program that is built already")
    parser.add_argument("--build-dir", type=pathlib.Path, default=bench.ROOT / "build" / "bench")
    parser.add_argument("--output", type=pathlib.Path, help="the folder of what is written")
    arguments = parser.parse_args()
    if arguments.save and not re.fullmatch(r"[A-Za-z0-9._-]+", arguments.save):
        parser.error("NAME is made of letters, digits, dots, dashes and underscores")
    folder = (arguments.output or arguments.build_dir).resolve()

    if arguments.source:
        content = json.loads(arguments.source.read_text(encoding="utf-8"))
    else:
        built_from = bench.source()
        program = arguments.program or bench.build(
            arguments.build_dir.resolve(), "originals/eggbox_originals")
        rounds = arguments.rounds or (1 if arguments.quick else 7)
        cases = measure(program, rounds, arguments.quick, arguments.only)
        content = document(cases, built_from, rounds, arguments.quick)
        bench.write(folder / "originals.json", content)
    if arguments.save:
        bench.write(RESULTS / f"{arguments.save}.json", content)

    sections = originals_tables.sections(cases_of(content))
    print("\n".join(originals_page.text(sections)))
    page = folder / "originals.html"
    failures = originals_failures.part_of(bench.ROOT)
    page.write_text(originals_page.html(content, sections, failures), encoding="utf-8")
    print(f"wrote {page}", file=sys.stderr)
    if arguments.page:
        write_page(content, sections)


if __name__ == "__main__":
    main()
