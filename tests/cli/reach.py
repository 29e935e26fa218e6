#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Blocks that are lost at the end of a program, and those that it can still reach: for each program
in leaks.cpp `eggbox run --check track` must agree with its comments and with LeakSanitizer.

usage: reach.py EGGBOX LIBRARY C++-COMPILER
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

EGGBOX, LIBRARY, CXX = sys.argv[1:4]
SOURCE = pathlib.Path(__file__).resolve().parent / "leaks.cpp"
KINDS = {"lost": "directly lost", "indirect": "indirectly lost", "reachable": "still reachable"}
# LeakSanitizer does not look at memory that the program mapped, nor after _exit().
ONLY_OURS = ("mapped", "reserved", "slab", "coroutine", "below", "returned", "library", "aside",
             "damaged", "read_only", "shared", "sparse")
# The loader's search for a function at its first call would write over the words that "below"
# leaves on the stack, or not, by chance.
MEMORY_FILE = os.memfd_create("memory", 0)
ENVIRONMENT = {**os.environ, "EGGBOX_MALLOC_LIB": LIBRARY, "LD_BIND_NOW": "1",
               "MEMORY_FILE": str(MEMORY_FILE)}
failures = []


def check(truth, what, *seen):
    if not truth:
        failures.append(what + "".join(f"\n    {each}" for each in seen))


def expected():
    """Bytes by line and kind, of each program."""
    out = collections.defaultdict(collections.Counter)
    for number, line in enumerate(SOURCE.read_text().splitlines(), 1):
        for name, kind, count in re.findall(r"(\w+): (lost|indirect|reachable): (\d+)", line):
            line_of = 0 if kind == "reachable" else number  # several lines may share one sum
            out[name][line_of, KINDS[kind]] += int(count)
    return out


def compile_to(program, *options):
    return subprocess.Popen([CXX, "-std=c++17", "-O0", "-g", "-w", "-fno-builtin", *options,
                             SOURCE, "-o", program, "-lpthread"])


def of_eggbox(folder, program, name):
    report = folder / f"{name}.json"
    done = subprocess.run([EGGBOX, "run", "--check", "track", "--report", report, "--", program,
                           name], capture_output=True, text=True, check=False,
                          env=ENVIRONMENT, pass_fds=(MEMORY_FILE,))
    process = json.loads(report.read_text())["processes"][0]
    out = collections.Counter()
    if "leaks" not in process:
        check(False, f"{name}: it left no report", done.stderr)
        return out, done.stderr
    for leak in process["leaks"]:
        places = [each for each in leak.get("stack", []) if
                  each.get("file", "").endswith("leaks.cpp")]
        if places and "ld-linux" not in leak["site"]["module"]:  # it keeps data of threads
            line = 0 if leak["reach"] == "still reachable" else places[0]["line"]
            out[line, leak["reach"]] += leak["bytes"]
    sums = {kind: sum(each["bytes"] for each in process["leaks"] if each["reach"] == kind)
            for kind in KINDS.values()}
    check(process["leaked"]["bytes"] == sums["directly lost"] + sums["indirectly lost"] and
          process["indirect"]["bytes"] == sums["indirectly lost"] and
          process["reachable"]["bytes"] == sums["still reachable"], f"{name}: sums", process)
    return out, done.stderr


def of_sanitizer(program, name):
    """None: it cannot look, as under a debugger."""
    done = subprocess.run([program, name], capture_output=True, text=True, check=False,
                          env={**os.environ, "LSAN_OPTIONS": "detect_leaks=1"})
    if "LeakSanitizer has encountered a fatal error" in done.stderr:
        return None
    out = collections.Counter()
    leak = r"^(Direct|Indirect) leak of (\d+) byte.*\n((?:    #.*\n)*)"
    for kind, count, stack in re.findall(leak, done.stderr, re.M):
        line = int(re.search(r"leaks\.cpp:(\d+)", stack).group(1))
        out[line, f"{kind.lower()}ly lost"] += int(count)
    return out


def compare(folder, name, right):
    """False: LeakSanitizer did not look."""
    seen, said = of_eggbox(folder, folder / "leaks", name)
    check(seen == right, name, right, seen, said)
    if name in ONLY_OURS:
        return True
    other = of_sanitizer(folder / "lsan", name)
    lost = {key: count for key, count in right.items() if key[0] != 0}
    check(other in (None, lost), f"LeakSanitizer: {name}", lost, other)
    return other is not None


def what_is_said(folder, program):
    _, said = of_eggbox(folder, program, "list")
    check("eggbox: LEAKS: 32 bytes in 1 block directly lost, and 96 bytes in 3 blocks indirectly, "
          "by allocation site:\n" in said and "  96 bytes in 3 blocks, indirectly, oldest " in said,
          "a list", said)
    _, said = of_eggbox(folder, program, "circle")
    check("eggbox: LEAKS: 160 bytes in 2 blocks indirectly lost, by allocation site:\n" in said,
          "blocks that lead to each other", said)
    _, said = of_eggbox(folder, program, "library")
    check("eggbox: LEAKS: 177 bytes in 1 block directly lost" in said, "of the C library", said)
    _, said = of_eggbox(folder, program, "keep")
    check("eggbox: no leaks: every tracked block was freed, except:\n" in said and
          re.search(r"eggbox:   [\d,]+ bytes in \d+ blocks? still reachable at the end, no leak\n",
                    said), "a block that is kept", said)


def no_memory_was_made():
    kib = os.fstat(MEMORY_FILE).st_blocks // 2
    check(0 < kib <= 4096, "pages that nobody had touched are there", kib)  # two of 2 MiB at most


def what_cannot_be_read(folder, program):
    """An error is no reason to call a block lost."""
    done = subprocess.run([EGGBOX, "run", "--check", "track", "--report", folder / "blind.json",
                           "--", program, "blind"], capture_output=True, text=True, check=False,
                          env=ENVIRONMENT)
    check("144 bytes in 1 block never freed" in done.stderr and "lost" not in done.stderr,
          "a sandbox without lseek()", done.stderr)


def main():
    os.truncate(MEMORY_FILE, 1 << 30)
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path).resolve()
        compiling = [compile_to(folder / "leaks"), compile_to(folder / "lsan", "-fsanitize=leak")]
        check([each.wait() for each in compiling] == [0, 0], "leaks.cpp does not compile")
        with concurrent.futures.ThreadPoolExecutor(4) as several:
            compared = list(several.map(lambda item: compare(folder, *item), expected().items()))
        no_memory_was_made()
        what_is_said(folder, folder / "leaks")
        what_cannot_be_read(folder, folder / "leaks")
    print("\n".join(failures) or
          ("as LeakSanitizer says" if all(compared) else "LeakSanitizer cannot look here"))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
