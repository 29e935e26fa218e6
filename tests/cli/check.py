#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`eggbox run --check` with the real library, under programs with faults on purpose. It must name
each fault and its line, and the program must not notice.

usage: check.py EGGBOX LIBRARY COMPILER
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

EGGBOX, LIBRARY, COMPILER = sys.argv[1:4]
SOURCE = pathlib.Path(__file__).resolve().parent / "faults.c"
LINES = {mark: number for number, line in enumerate(SOURCE.read_text().splitlines(), 1)
         for mark in re.findall(r"// mark: (.*)", line)}
ABORTED = -6
failures = []


def check(truth, what, *seen):
    if not truth:
        failures.append(what + "".join(f"\n    {each}" for each in seen))


def compiled(folder, name, *options):
    program = folder / name
    subprocess.run([COMPILER, "-O0", "-fno-builtin", "-w", *options, SOURCE, "-o", program],
                   check=True)
    return program


def plain(command):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600,
                          cwd=SOURCE.parent)


def run(program, fault, *options):
    done = subprocess.run([EGGBOX, "run", "--report", program.parent / "report.json", *options,
                           "--", program, fault], capture_output=True, text=True, check=False,
                          timeout=600, env={**os.environ, "EGGBOX_MALLOC_LIB": LIBRARY},
                          cwd=SOURCE.parent)
    said = "".join(line[len("eggbox: "):] for line in done.stderr.splitlines(True)
                   if line.startswith("eggbox: "))
    return done, said


def at(mark, function):
    return f"faults.c:{LINES[mark]} ({function})\n"


def stack(*calls):
    """The calls from a mark to main(), the innermost first: each a function and its mark."""
    return " < ".join(f"{function} faults.c:{LINES[mark]}"
                      for mark, function in (*calls, ("run", "main"))) + "\n"


def made_for(function):
    return stack(("made", "make_block"), (f"asked by {function}", function))


def finds(program, fault, status, *words):
    """The words are in what eggbox says, and the report says the same."""
    done, said = run(program, fault, "--check", "track")
    check(done.returncode == status, f"{fault}: exit status", done)
    check(done.stdout == "own output\n", f"{fault}: stdout", done.stdout)
    check(done.stderr.startswith("own words\n"), f"{fault}: stderr", done.stderr)
    page = plain([EGGBOX, "report", program.parent / "report.json"]).stdout
    for each in words:
        check(each in said, f"{fault}: not said: {each!r}", said)
        check(each in page, f"{fault}: not in the report: {each!r}", page)
    return done, said


def leaks(program):
    done, said = finds(
        program, "leaks", 7, "LEAKS: 3,407 bytes in 102 blocks directly lost",
        "  2,400 bytes in 100 blocks, oldest ", stack(("leaked", "make_leaks")),
        "  1,000 bytes in 1 block, oldest ", made_for("make_leaks"),
        ": " + stack(("copied", "make_leaks")))
    untouched = "".join(line for line in done.stderr.splitlines(True)
                        if not line.startswith("eggbox: "))
    check(untouched == "own words\n", "nothing else is on stderr", done.stderr)
    order = [said.find(each) for each in ("  2,400 bytes", "  1,000 bytes", "  7 bytes",
                                          "by the C library")]
    check(-1 not in order and order == sorted(order), "most bytes first, the C library last", said)


def misuse(program):
    finds(program, "overrun", ABORTED, "MISUSE: write past the end of a block, 1 time",
          "found at     " + stack(("overrun found", "overrun")), "byte 44 (counted from 0)",
          "40 bytes in pool heap 48\n", "allocated at " + made_for("overrun"))
    finds(program, "underrun", ABORTED, "write before the start of a block",
          "found at     " + stack(("underrun found", "underrun")),
          "allocated at " + made_for("underrun"))
    finds(program, "twice", ABORTED, "double free:\n",
          "called at    " + stack(("freed again", "twice")),
          "freed at     " + stack(("freed", "twice")),
          "allocated at " + made_for("twice"))
    _, said = run(program, "twice", "--check", "track")
    check("LEAKS" not in said, "where a signal ended it nothing is called a leak", said)


def at_the_end(program):
    """No call met the fault: the exit status stays."""
    finds(program, "late-write", 7, "found at     the end of the program\n",
          "byte 20 (counted from 0)", "freed at     " + stack(("freed early", "late_write")),
          "allocated at " + made_for("late_write"))
    finds(program, "overrun-unseen", 7, "found at     the end of the program\n",
          "byte 40 (counted from 0)", "allocated at " + made_for("overrun_unseen"))


def children(program):
    _, said = finds(program, "child", 7, "700 bytes in 1 block, oldest ",
                    stack(("leaked by the child", "child")))
    check("500 bytes" not in said, "what its parent allocated is no leak of a child", said)


def large_blocks(program):
    finds(program, "large", 7, "LEAKS: 200,000 bytes in 1 block directly lost",
          "  200,000 bytes in 1 block, oldest ", made_for("large"))
    finds(program, "grown", 7, "  300,000 bytes in 1 block, oldest ", stack(("grown", "grown")))


def nothing_wrong(program):
    _, said = finds(program, "none", 7, "no leaks: every tracked block was freed")
    check("MISUSE" not in said and "LEAKS" not in said, "a program without a fault", said)


def other_levels(program):
    done, said = run(program, "twice")
    check(done.returncode == 7 and done.stdout == "own output\nwent on\n", "at level check", done)
    check("called at    " + at("freed again", "twice") in said, "where, at level check", said)
    check(f"next: eggbox run --check track -- {program} twice\n" in said, "a closer look", said)
    done, said = run(program, "overrun", "--check", "guard")
    check(done.returncode == ABORTED and "found at     " + at("overrun found", "overrun") in said
          and "allocated at" not in said, "level guard", done)
    done, said = run(program, "leaks", "--check", "heap 24:track,heap 32:track,*:check")
    report = json.loads((program.parent / "report.json").read_text())["processes"][0]
    levels = {pool["name"]: pool["level"] for pool in report["pools"]}
    check("2,400 bytes in 100 blocks" in said and "1,000 bytes" not in said, "one pool", said)
    check(report["level"] == "mixed" and levels["heap 16"] == "check" and
          "track" in (levels.get("heap 24"), levels.get("heap 32")), "its levels", levels)
    done, said = run(program, "leaks", "--check", "off")
    check("LEAKS" not in said and "no leaks" not in said, "not looked for, not said", said)
    for wrong in ("hard", "heap:hard", "a:b:track", "track,", ""):
        done, said = run(program, "leaks", "--check", wrong)
        check(done.returncode == 1 and done.stdout == "", f"{wrong!r} is no level", done)


def guard_pages(program):
    """At level "check", at the access or by the free; and a text that is no such option."""
    done, said = run(program, "overrun", "--guard-pages", "1/1")
    check(done.returncode == 7 and "found at     " + at("overrun found", "overrun") in said and
          "allocated at " + at("made", "make_block") in said, "within the last 16 bytes", done)
    done, said = run(program, "twice", "--guard-pages", "1/1")
    check(done.returncode == 7 and "freed at     " + at("freed", "twice") in said, "twice", done)
    for fault, options in (("late-write", "1/1"), ("late-write", "large,1/1")):
        done, _ = run(program, fault, "--guard-pages", options)
        check(done.returncode == -11 and "write to a freed block" in done.stderr and
              "  freed at " in done.stderr, "a use after the free ends the program", done)
    done, _ = run(program, "none", "--guard-pages", "large,1/1")
    check(done.returncode == 7 and done.stderr.startswith("own words\n"), "nothing wrong", done)
    for wrong in ("small", "1/0", "1/", "2/1000", "1/1000000000", "large,", ""):
        done, _ = run(program, "none", "--guard-pages", wrong)
        check(done.returncode == 1 and done.stdout == "", f"{wrong!r} is no such block", done)


def without_debug_information(folder):
    program = compiled(folder, "named")
    _, said = run(program, "twice", "--check", "track")
    offset = r"\(named\+0x[0-9a-f]+\)"
    check(re.search(f"called at    twice {offset} < main\n", said), "the function's name", said)
    check(re.search(f"allocated at make_block {offset} < twice < main\n", said),
          "of the allocation", said)
    program = compiled(folder, "bare", "-s")
    _, said = run(program, "twice", "--check", "track")
    check(re.search(rf"called at    {program}\+0x[0-9a-f]+( < bare\+0x[0-9a-f]+)*\n", said),
          "the module, and nothing of the C library", said)


def for_programs(program):
    done, _ = run(program, "leaks", "--check", "track", "--json")
    line = json.loads(done.stderr.splitlines()[-1])
    check(line["leaked"] == {"places": 3, "blocks": 102, "bytes": 3407}, "run --json", line)
    data = json.loads(plain([EGGBOX, "report", "--json", program.parent / "report.json"]).stdout)
    first = data["leaks"][0]
    check((first["site"]["file"], first["site"]["line"], first["site"]["function"],
           first["blocks"], first["bytes"]) ==
          (str(SOURCE), LINES["leaked"], "make_leaks", 100, 2400), "report --json", first)
    run(program, "twice", "--check", "track")
    data = json.loads(plain([EGGBOX, "report", "--json", program.parent / "report.json"]).stdout)
    event = data["events"][0]
    check((event["kind"], event["count"], event["alloc_site"]["line"]) ==
          ("double free", 1, LINES["made"]), "its events", event)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve()
        program = compiled(folder, "faulty", "-g")
        for test in (leaks, misuse, at_the_end, children, large_blocks, nothing_wrong, other_levels,
                     guard_pages, for_programs):
            before = len(failures)
            test(program)
            print(f"{test.__name__}: {'ok' if len(failures) == before else 'FAILED'}")
        without_debug_information(folder)
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
