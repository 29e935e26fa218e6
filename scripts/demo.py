#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The demo: real, unmodified programs on glibc and on pools, the report of `eggbox` on one of them,
and a pipeline written for pools. All files are written to build/demo.

usage: demo.py FOLDER [RUNS]   where the release preset was built; how often each program runs, 5
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "demo"
FOLDERS = ("demo", "docs", "include", "src", "tests", "tools")  # their words are the rows
SUFFIXES = (".c", ".cpp", ".h", ".hpp", ".py", ".md")
RUNS = int(sys.argv[2]) if len(sys.argv) > 2 else 5

failures = []


def title(text):
    print(f"\n==== {text}\n", flush=True)


def write_words(to):
    """A row for each word of the sources: the word, its file and its line. Returns their number."""
    count = 0
    with open(to, "w", encoding="utf-8") as out:
        for folder in FOLDERS:
            for path in sorted((ROOT / folder).rglob("*")):
                if path.suffix not in SUFFIXES:
                    continue
                text = path.read_text(encoding="utf-8")
                for number, line in enumerate(text.splitlines(), 1):
                    for word in re.findall(r"[A-Za-z_]+", line):
                        out.write(f"{word}\t{path.relative_to(ROOT)}\t{number}\n")
                        count += 1
    return count


def prepare():
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    words = write_words(WORK / "words.tsv")
    script = (ROOT / "demo/programs/words.sql").read_text(encoding="utf-8")
    (WORK / "words.sql").write_text(script.replace("@FOLDER@", str(WORK)), encoding="utf-8")
    return words


def programs(words):
    """name, description, command, options of `eggbox compare`"""
    include = f"-I{ROOT}/include"
    same = ["--check-output"]
    return [
        ("sqlite3", f"imports {words:,} rows, indexes and asks them",
         ["sqlite3"], [*same, "--input", str(WORK / "words.sql")]),
        ("python3", "parses its own library, with JSON between",
         ["/usr/bin/python3", "-I", str(ROOT / "demo/programs/library.py")], same),
        ("gcc", "compiles this library, as one file",
         ["gcc", "-std=c11", "-O1", include, "-S", "-o", "-", str(ROOT / "src/eggbox.c")], same),
        ("g++", "compiles a part of the command eggbox",
         ["g++", "-std=c++17", "-O0", include, "-S", "-o", "-",
          f"-I{ROOT}/tools/eggbox", str(ROOT / "tools/eggbox/size/size.cpp")], same),
        # Debian's redis comes with jemalloc: glibc's malloc has to be put before that.
        ("redis", "a server, under redis-benchmark",
         [str(ROOT / "demo/programs/redis.sh"), "100000"], ["--with", "libc.so.6"]),
    ]


def milliseconds(spread):
    return f"{spread['mean'] * 1e3:,.0f} ± {spread['stddev'] * 1e3:,.0f}"


def resident(variant):
    return f"{variant['peak_resident_bytes']['mean'] / 2 ** 20:.1f}"


def compare(eggbox, name, work, command, options):
    """Runs it, and returns the lines of the table."""
    print(f"{name}: {work}", flush=True)
    done = subprocess.run([eggbox, "compare", "--json", "--runs", str(RUNS), *options, "--",
                           *command], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        failures.append(f"eggbox compare of {name} failed")
        return []
    found = json.loads(done.stdout)
    for variant in found["variants"][1:]:
        print(f"    {variant['answer']}", flush=True)
    rows = []
    for variant in found["variants"]:
        is_base = variant is found["variants"][0]
        rows.append((name if is_base else "", variant["name"],
                     milliseconds(variant["wall_s"]), milliseconds(variant["user_s"]),
                     "1.00" if is_base else f"{variant['relative']:.2f} ± "
                     f"{variant['relative_spread']:.2f}",
                     resident(variant), f"{variant['minor_faults']['mean']:,.0f}"))
    return rows


def print_table(head, rows):
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, *rows]:
        left = [text.ljust(width) for text, width in zip(row[:2], widths[:2])]
        right = [text.rjust(width) for text, width in zip(row[2:], widths[2:])]
        print("  ".join([*left, *right]).rstrip())


def compare_all(eggbox, words):
    title("Programs that know nothing of eggbox, on their own malloc and on pools")
    rows = []
    for each in programs(words):
        rows += compare(eggbox, *each)
    print()
    print_table(("", "malloc", "wall ms", "user ms", "relative", "MiB", "faults"), rows)
    print(f"""
Wall and user time are means of {RUNS} runs, in turns, after one that was not counted; ± is the
spread of single runs. Relative is wall time over that of the first row: less than 1 is faster. MiB
is the most that was resident, of the largest process. All but redis printed the same, byte for
byte, on each. One such table in full: eggbox compare -- PROGRAM""", flush=True)


def run(command, **more):
    """Shows a command as it would be typed, and its output."""
    print("$ " + shlex.join(command), flush=True)
    done = subprocess.run(command, cwd=WORK, check=False, **more)
    if done.returncode != 0:
        failures.append(f"{shlex.join(command)}: exit status {done.returncode}")
    print(flush=True)


def one_program(eggbox):
    title("One of them from the run to the answer")
    environment = dict(os.environ, PATH=f"{pathlib.Path(eggbox).parent}:{os.environ['PATH']}")
    with open(WORK / "words.sql", encoding="utf-8") as script:
        run(["eggbox", "run", "--report", "sqlite3.json", "--", "sqlite3"], stdin=script,
            stdout=subprocess.DEVNULL, env=environment)
    run(["eggbox", "report", "sqlite3.json"], env=environment)
    run(["eggbox", "size", "--cover", "99", "sqlite3.json"], env=environment)
    with open(WORK / "sqlite3_pools.h", "w", encoding="utf-8") as header:
        run(["eggbox", "size", "--emit", "c", "sqlite3.json"], stdout=header, env=environment)
    print("This header, build/demo/sqlite3_pools.h, is a malloc of static pools. It compiles:\n")
    run(["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function",
         f"-I{ROOT}/include", "-x", "c", "-c", "-o", "sqlite3_pools.o", "sqlite3_pools.h"])
    run(["eggbox", "size", "--check", "sqlite3_pools.h", "sqlite3.json"],
        stdout=subprocess.DEVNULL, env=environment)
    print("And it holds what was recorded: exit status 0, which would be 3 if it did not.")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    built = pathlib.Path(sys.argv[1]).resolve()
    begin = time.monotonic()
    words = prepare()
    compare_all(str(built / "tools/eggbox/eggbox"), words)
    one_program(str(built / "tools/eggbox/eggbox"))
    title("A program written for pools: a packet pipeline, the same code on malloc and on pools")
    run([str(built / "demo/eggbox-demo"), "--runs", "3"])
    print(f"The demo took {time.monotonic() - begin:.0f} s, and wrote to build/demo only.")
    for each in failures:
        print(f"FAILED: {each}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
