#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sizes beyond every size class: the report has those that come again and again, and `eggbox size`
plans a pool for each.

usage: large_sizes.py EGGBOX LIBRARY ROOT C_COMPILER
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

EGGBOX, LIBRARY, ROOT, CC = (pathlib.Path(path).resolve() for path in sys.argv[1:5])
RUNS = pathlib.Path(__file__).resolve().parent / "runs"
FRAME = 3110400
SIZES = 64  # places in the table of large sizes
failures = []

# Argument: frames at one time. Each is taken 40 times. A child has frames of its own. Other sizes,
# more than the table has places, come four times each; one buffer grows.
CAMERA = """
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void take(int frames, int bytes, int times)
{
    void* all[100];
    for (int round = 0; round < times; round++) {
        for (int i = 0; i < frames; i++) { all[i] = malloc(bytes); }
        for (int i = 0; i < frames; i++) { free(all[i]); }
    }
}
int main(int count, char** words)
{
    take(atoi(words[1]), 3110400, 40);
    void* kept = malloc(3110400);
    if (fork() == 0) {
        take(2, 3110400, 3);
        return 0;
    }
    wait(NULL);
    take(3, 500000, 20);
    for (int i = 0; i < 400; i++) { take(1, 100000 + i % 100 * 1000, 1); }
    char* buffer = malloc(200001);
    for (int i = 0; i < 50; i++) { buffer = realloc(buffer, 200001 + i * 100000); }
    return kept == NULL || buffer == NULL;
}
"""

USE = f"""
#include <eggbox/pool.h>
#include <eggbox/fixed.h>
#include <stdio.h>
#include "camera_pools.h"
typedef struct {{ unsigned char pixels[{FRAME}]; }} frame;
camera_large_{FRAME}_FIXED_DEFINE(fixed_frames, frame);
int main(void)
{{
    egb_pool         pool;
    egb_pool_options options = {{.block_bytes = {FRAME}}};
    int              got     = 0;
    camera_large_{FRAME}_static(&options);
    if (egb_pool_create(&pool, &options) != EGB_OK) {{ return 2; }}
    while (egb_pool_alloc(pool) != NULL) {{ got++; }}
    printf("%d\\n", got);
    return 0;
}}
"""


def check(truth, what, *seen):
    if not truth:
        failures.append(what + "".join(f"\n    {each}" for each in seen))


def command(*words, status=0):
    done = subprocess.run([EGGBOX, *map(str, words)], capture_output=True, text=True, check=False,
                          env={**os.environ, "EGGBOX_MALLOC_LIB": str(LIBRARY)})
    check(done.returncode == status, f"{words[:2]}: status {done.returncode}", done)
    return done.stdout


def run(folder, frames):
    report = folder / f"{frames}.json"
    command("run", "--report", report, "--", folder / "camera", frames)
    return report, json.loads(report.read_text())["processes"]


def the_report(processes):
    parent, child = sorted((each["large"] for each in processes),
                           key=lambda large: -large["allocations"])
    sizes = {each["bytes"]: each for each in parent["sizes"]}
    frames = sizes.get(FRAME, {})
    check((frames.get("allocations"), frames.get("peak"), frames.get("in_use")) == (441, 11, 1) and
          frames.get("allocations_over", 0) == 0, "the frames", frames)
    check((sizes[500000]["allocations"], sizes[500000]["peak"], sizes[500000]["in_use"]) ==
          (60, 3, 0), "the second size", sizes[500000])
    check(len(sizes) == SIZES == len(parent["sizes"]), "the table is full", len(sizes))
    check(sum(each["allocations"] for each in sizes.values()) == parent["allocations"] >=
          441 + 60 + 401, "no request is lost", parent["allocations"])
    for bytes_, each in sizes.items():
        true = {FRAME: 441, 500000: 60}.get(bytes_, 4)
        check(each["allocations"] - each.get("allocations_over", 0) <= true and
              each["in_use"] <= 1 and (bytes_ == FRAME or each["in_use"] == 0), "a bound", each)
    own = {each["bytes"]: each for each in child["sizes"]}
    check(child["allocations"] == 6 and own[FRAME]["allocations"] == 6 and
          own[FRAME]["peak"] == 3, "the child's own, beside the frame that it has", child)


def the_plan(folder, report):
    page = command("size", report)
    line = f"\nlarge {FRAME}  3,110,400          14  41.5 MiB       447  peak 11, plus 25 %\n"
    check(line in page, "the page", page)
    check("/camera: 2 pools for large blocks, " in page.splitlines()[0],
          "the program has no such pools", page)
    header = folder / "camera_pools.h"
    header.write_text(command("size", report, "--emit", "c"))
    check('A pool "large N" is for blocks of N bytes' in header.read_text(), "the header says so")
    (folder / "use.c").write_text(USE)
    subprocess.run([CC, "-std=gnu11", "-O1", f"-I{ROOT}/include", f"-I{folder}", folder / "use.c",
                    f"{ROOT}/src/eggbox.c", "-pthread", "-o", folder / "use"], check=True)
    done = subprocess.run([folder / "use"], capture_output=True, text=True, check=False)
    check((done.returncode, done.stdout) == (0, "14\n"), "the pool", done)
    check("large 3110400" in command("size", "--check", header, report), "it fits")
    run_ = json.loads(report.read_text())
    run_["processes"][0]["large"]["sizes"] += [
        {"bytes": bytes_, "allocations": 50, "in_use": 0, "peak": 20}
        for bytes_ in (100016, 1 << 30, 1 << 40, (1 << 64) - 1)]
    other = folder / "other.json"
    other.write_text(json.dumps(run_))
    command("size", "--check", header, other)  # nobody planned these sizes: they fit
    header.write_text(command("size", other, "--emit", "c"))
    run_["processes"][0]["pools"] = [
        {**json.loads((RUNS / "pools.json").read_text())["pools"][0], "is_size_class": kind,
         "allocations": 9} for kind in (True, False)]
    other.write_text(json.dumps(run_))
    page = command("size", other)
    check("/camera: blocks of 1 size, 1 pool of the program and 3 pools for large blocks, " in
          page.splitlines()[0], "pools of both kinds", page)
    check("camera_large_100016_static" in header.read_text() and
          "1099511627776" not in header.read_text(), "sizes that no pool can have")
    more, _ = run(folder, 30)
    check("TOO FEW" in command("size", "--check", header, more, status=3), "a larger input")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve()
        (folder / "camera.c").write_text(CAMERA)
        subprocess.run([CC, "-O1", "-fno-builtin", "-w", folder / "camera.c", "-o",
                        folder / "camera"], check=True)
        report, processes = run(folder, 11)
        the_report(processes)
        the_plan(folder, report)
    print("\n".join(failures) or "the sizes are planned")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
