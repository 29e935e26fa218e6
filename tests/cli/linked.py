#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program that links the library, under `eggbox run` with the real malloc library: the linked
copy answers, too, and each is named.

usage: linked.py EGGBOX MALLOC_LIBRARY ROOT COMPILER [LIBRARY]
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

EGGBOX, MALLOC, ROOT, CC = sys.argv[1:5]
LIBRARY = sys.argv[5:]
SOURCE = pathlib.Path(__file__).resolve().parent / "linked.c"
LINKED = "of the library that the program links"
failures = []


def check(truth, what, *seen):
    if not truth:
        failures.append(what + "".join(f"\n    {each}" for each in seen))


def compiled(*words):
    subprocess.run([CC, "-std=gnu11", "-O1", f"-I{ROOT}/include", *words], check=True)


def programs(folder):
    """The library as one object, as a library of its own, as an archive, and all in one."""
    source = f"{ROOT}/src/eggbox.c"
    compiled("-fPIC", "-c", source, "-o", folder / "eggbox.o")
    compiled("-shared", folder / "eggbox.o", "-o", folder / "libone.so", "-pthread")
    yield "object", folder / "eggbox.o"
    yield "shared", folder / "libone.so"
    yield "static", "-static", folder / "eggbox.o"
    for library in LIBRARY:
        yield "archive", library, f"-Wl,-rpath,{pathlib.Path(library).parent}"


def run(program, how, *options, status=4):
    report = program.parent / "report.json"
    report.unlink(missing_ok=True)
    done = subprocess.run([EGGBOX, "run", "--report", report, *options, "--", program, how],
                          capture_output=True, text=True, check=False,
                          env={**os.environ, "EGGBOX_MALLOC_LIB": MALLOC})
    check(done.returncode == status, f"{program.name} {how}: status {done.returncode}", done)
    check(list(program.parent.glob("eggbox-*")) == [], f"{program.name} {how}: left behind")
    return done.stderr, json.loads(report.read_text()) if report.exists() else {"processes": []}


def pools(process):
    return {pool["name"]: (pool["peak"], pool["allocations"], pool.get("ended", 0), pool["level"])
            for pool in process["pools"] if pool["allocations"] and not pool["is_size_class"]}


def both_appear(program, is_static):
    said, report = run(program, "", "--check", "guard")
    own = {"sessions": (20, 20, 0, "guard"), "level": (12, 33, 3, "guard")}
    check(f"53 requests to 2 pools {LINKED}\n" in said, f"{program.name}: is said", said)
    check(("NOT on pools" if is_static else "took effect") in said, f"{program.name}: malloc", said)
    expected = [(True, False)] if is_static else [(False, False), (True, True)]
    check([(one.get("is_linked", False), one.get("is_beside", False))
           for one in report["processes"]] == expected, f"{program.name}: which is which", report)
    check(pools(report["processes"][-1]) == own, f"{program.name}: its pools", report)
    page = subprocess.run([EGGBOX, "report", program.parent / "report.json"], capture_output=True,
                          text=True, check=True).stdout
    check("53 requests to 2 pools of its own" in page and "1 run, 1 process" in page,
          f"{program.name}: the page", page)


def misuse_is_found(program):
    said, _ = run(program, "twice")
    check("eggbox: MISUSE: double free, 1 time\n" in said, "misuse", said)


def a_child_writes_its_own(program):
    _, report = run(program, "fork")
    own = {one["parent_pid"] in [each["pid"] for each in report["processes"]]: one
           for one in report["processes"] if one.get("is_linked")}
    parent, child = (pools(own[is_child]) for is_child in (False, True))
    check((parent["sessions"], parent["level"]) == ((20, 20, 0, "check"), (12, 33, 3, "check")),
          "of the parent", parent)
    check(child == {"sessions": (30, 30, 0, "check")}, "the child's own", child)
    page = subprocess.run([EGGBOX, "report", program.parent / "report.json"], capture_output=True,
                          text=True, check=True).stdout
    check("83 requests to 2 pools of its own" in page, "nothing is counted twice", page)


def two_heaps_are_two(program):
    _, report = run(program, "heap")
    page = subprocess.run([EGGBOX, "size", program.parent / "report.json"], capture_output=True,
                          text=True, check=True).stdout
    check("and 3 pools of the program" in page, "the linked heap beside malloc", page, report)


def other_ends_are_said(program):
    for how, status in (("_exit", 3), ("again", 4)):
        said, report = run(program, how, status=status)
        check("no numbers of the library that the program links in process " in said and
              "it writes a report at exit() alone\n" in said, f"{how} is said", said)
        check(report["silent"][0]["is_linked"] is True, f"{how}: in the report", report)


def without_a_pool_there_is_nothing(program):
    said, report = run(program, "unused", status=0)
    check(LINKED not in said and "no numbers" not in said, "no pool", said)
    check("silent" not in report, "no mark is left", report)


def without_a_wish_nothing_happens(program):
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "reports"
        trace.mkdir()
        for more in ({}, {"EGGBOX_REPORT": ""}):
            environment = {name: value for name, value in os.environ.items()
                           if not name.startswith("EGGBOX_")}
            done = subprocess.run([program], cwd=trace, capture_output=True, text=True, check=False,
                                  env={**environment, **more})
            check((done.returncode, done.stdout, done.stderr) == (4, "own output\n", ""),
                  "without a wish", done)
        check(not any(trace.iterdir()), "no file", list(trace.iterdir()))
        subprocess.run([program], check=False, env={**environment, "EGGBOX_REPORT": str(trace)},
                       stdout=subprocess.DEVNULL)
        page = subprocess.run([EGGBOX, "report", trace], capture_output=True, text=True,
                              check=False).stdout
        check(": 53 requests to 2 pools of its own." in page, "the folder of the wish", page)


def a_live_view_has_it(program):
    """By its own file, without the malloc library; and in the file of `eggbox run`, beside it."""
    live = {**os.environ, "EGGBOX_LIVE": "1", "EGGBOX_MALLOC_LIB": MALLOC}
    for words in ([program, "wait"], [EGGBOX, "run", "--", program, "wait"]):
        with subprocess.Popen(words, env=live, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              start_new_session=True) as process:
            process.stdout.readline()
            done = subprocess.run([EGGBOX, "top", program.name, "--once", "--json"],
                                  capture_output=True, text=True, check=False)
            os.killpg(process.pid, signal.SIGKILL)
        seen = json.loads(done.stdout)["processes"] if done.returncode == 0 else []
        linked = [{pool["name"]: pool["peak"] for pool in one["pools"]} for one in seen
                  if one["is_linked"]]
        check([list(each) for each in linked] == [["sessions"]] and
              20 <= linked[0]["sessions"] <= 30, f"{words[-3:]}: the pool that is there", done)
        check(len(seen) == (1 if words[0] == program else 2), f"{words}: malloc beside it", seen)


def a_heap_alone_answers(folder, library):
    """An archive gives a program only the files that it calls: each call that begins a heap must
    bring the report."""
    source = folder / "heap_alone.c"
    for call in ("egb_malloc(64)", "egb_calloc(1, 64)", "egb_aligned_alloc(64, 64)",
                 "egb_realloc(NULL, 64)"):
        source.write_text("#include <eggbox/heap.h>\n"
                          f"int main(void) {{ egb_free({call}); return 4; }}\n")
        program = folder / call[:call.index("(")]
        compiled(source, library, f"-Wl,-rpath,{pathlib.Path(library).parent}", "-pthread",
                 "-o", program)
        said, report = run(program, "")
        linked = [one for one in report["processes"] if one.get("is_linked")]
        check([(pool["name"], pool["allocations"]) for one in linked for pool in one["pools"]
               if pool["allocations"]] == [("heap 64", 1)], f"{call} alone", said, report)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for kind, *words in programs(folder):
            program = folder / kind
            compiled(SOURCE, *words, "-pthread", "-o", program)
            both_appear(program, kind == "static")
        program = folder / "object"
        for test in (misuse_is_found, a_child_writes_its_own, two_heaps_are_two,
                     other_ends_are_said, without_a_pool_there_is_nothing,
                     without_a_wish_nothing_happens, a_live_view_has_it):
            test(program)
        for library in LIBRARY:
            a_heap_alone_answers(folder, library)
    print("\n".join(failures) or "the linked library answers")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
