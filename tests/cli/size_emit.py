#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The promise of `eggbox size --emit`: a program on the emitted pools is never refused a block on
the run that was recorded. A random history of mallocs and frees is recorded, sized, emitted, built
and played again.

usage: size_emit.py EGGBOX ROOT C_COMPILER CXX_COMPILER
"""

import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

EGGBOX, ROOT, CC, CXX = sys.argv[1:5]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1"]
LARGEST = 4096

PLAYER = """
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "pools.h"

static const struct { int take; unsigned slot; unsigned bytes; } history[] = {
#include "history.inc"
};
static unsigned char* blocks[SLOTS];
static size_t         sizes[SLOTS];

static void fill(unsigned slot) { memset(blocks[slot], (int)(slot * 7 + 1), sizes[slot]); }

static int is_filled(unsigned slot)
{
    for (size_t i = 0; i < sizes[slot]; i++) {
        if (blocks[slot][i] != (unsigned char)(slot * 7 + 1)) {
            return 0;
        }
    }
    return 1;
}

int main(void)
{
    size_t refused = 0, damaged = 0, misaligned = 0;
    for (size_t i = 0; i < sizeof history / sizeof *history; i++) {
        const unsigned slot = history[i].slot;
        if (history[i].take) {
            sizes[slot]  = history[i].bytes;
            blocks[slot] = (unsigned char*)ALLOC(history[i].bytes);
            refused += blocks[slot] == NULL;
            misaligned += (uintptr_t)blocks[slot] % 16 != 0;
            if (blocks[slot] != NULL) {
                fill(slot);
            }
        } else if (blocks[slot] != NULL) {
            damaged += !is_filled(slot);
            FREE(blocks[slot]);
            blocks[slot] = NULL;
        }
    }
    printf("%zu refused, %zu damaged, %zu misaligned\\n", refused, damaged, misaligned);
    return 0;
}
"""

FUNCTIONS = """
#include <assert.h>
#include <string.h>
#include "pools.h"
int main(void)
{
    char* a = walk_alloc(0);
    assert(a != NULL && walk_bytes(a) == walk_sizes[0].block_bytes);
    char* b = walk_realloc(NULL, 40);
    strcpy(b, "kept");
    char* c = walk_realloc(b, 41);
    assert(c == b);
    c = walk_realloc(b, 1000);
    assert(c != b && strcmp(c, "kept") == 0 && walk_bytes(b) == 48);
    c = walk_realloc(c, 513);
    assert(walk_bytes(c) == 1024);
    b = walk_alloc(48);
    assert(walk_realloc(b, 25) == b);
    b = walk_realloc(b, 24); /* half of it: the heap moves it to a smaller block */
    assert(walk_bytes(b) == 32);
    walk_free(b);
    b = walk_realloc(c, 10);
    assert(b != c && memcmp(b, "kept", 5) == 0 && walk_bytes(b) == 16);
    assert(walk_alloc(4097) == NULL && walk_alloc((size_t)-1) == NULL);
    assert(walk_calloc((size_t)-1 / 2, 3) == NULL);
    assert(walk_realloc(b, 5000) == NULL && memcmp(b, "kept", 5) == 0);
    walk_free(b);
    c = walk_calloc(4, 4);
    assert(c == b && memcmp(c, "\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0", 16) == 0);
    walk_free(NULL);
    assert(walk_bytes(a + 1) == 0 && walk_bytes(&a) == 0 && walk_bytes(NULL) == 0);
    return 0;
}
"""

failures = []


def check(truth, what, *seen):
    if not truth:
        failures.append(what + "".join(f"\n    {each}" for each in seen))


def class_of(size):
    """16-byte steps to 128, then eight classes for each doubling: as a heap has them."""
    step = 16
    while size > step * 8:
        step *= 2
    step = max(16, step // 2) if size > 128 else 16
    return max(16, (size + step - 1) // step * step)


def history(steps):
    """Takes and frees, and the peak of each class."""
    held, free, made, live, peaks, taken = [], [], [], {}, {}, {}
    slots = 0
    for step in range(steps):
        if held and random.random() < (0.45 if step < steps // 2 else 0.55):
            slot, size = held.pop(random.randrange(len(held)))
            made.append((0, slot, 0))
            live[size] -= 1
            free.append(slot)
            continue
        if not free:
            free.append(slots)
            slots += 1
        slot = free.pop()
        wanted = min(LARGEST, int(random.paretovariate(0.6) * 8) - random.randrange(2) * 8)
        size = class_of(wanted)
        made.append((1, slot, wanted))
        held.append((slot, size))
        live[size] = live.get(size, 0) + 1
        taken[size] = taken.get(size, 0) + 1
        peaks[size] = max(peaks.get(size, 0), live[size])
    return made, slots, peaks, taken


def report(peaks, taken):
    pool = {"parent": "heap", "is_size_class": True, "max_blocks": 0, "budget_bytes": 0,
            "capacity": 0, "in_use": 0, "cached": 0, "frees": 0, "failures": 0, "chunks": 1,
            "bytes_held": 65536, "requested_bytes": 0}
    return {"schema": 1, "kind": "eggbox-process", "program": "/bin/walk", "arguments": ["walk"],
            "pid": 1, "parent_pid": 1, "duration_s": 1, "level": "check", "library": "0.1.0",
            "peak_resident_bytes": 0, "minor_faults": 0, "major_faults": 0, "is_measured": False,
            "pools": [{**pool, "name": f"heap {size}", "block_bytes": size, "stride_bytes": size,
                       "peak": peaks[size], "allocations": taken[size]} for size in peaks],
            "large": {"allocations": 0, "frees": 0, "in_use": 0, "peak": 0, "bytes_in_use": 0,
                      "peak_bytes": 0, "failures": 0}, "not_served": [], "misuse": []}


def build(folder, language, source):
    compiler, standard = (CC, "-std=c11") if language == "c" else (CXX, "-std=c++17")
    (folder / f"player.{language}").write_text(source)
    done = subprocess.run([compiler, standard, *WARNINGS, f"-I{ROOT}/include", f"-I{folder}",
                           folder / f"player.{language}", folder / "eggbox.o", "-o",
                           folder / "player"], capture_output=True, text=True, check=False)
    check(done.returncode == 0, f"the {language} header compiles", done.stderr[:3000])
    return done.returncode == 0


def play(folder):
    done = subprocess.run([folder / "player"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or f"status {done.returncode}: {done.stderr}"


def emitted(folder, form, *options):
    done = subprocess.run([EGGBOX, "size", folder / "run.json", "--emit", form, *options],
                          capture_output=True, text=True, check=False)
    check(done.returncode == 0 and done.stderr == "", f"--emit {form}", done.stderr)
    return done.stdout


def c_source(slots):
    return PLAYER.replace("SLOTS", str(slots)).replace("ALLOC", "walk_alloc") \
        .replace("FREE", "walk_free")


def never_refused(folder, seed):
    made, slots, peaks, taken = history(20000)
    (folder / "history.inc").write_text("".join(f"{{{t}, {s}, {b}}},\n" for t, s, b in made))
    (folder / "run.json").write_text(json.dumps(report(peaks, taken)))
    whole = "0 refused, 0 damaged, 0 misaligned"

    # Without headroom: the peaks alone must do.
    text = emitted(folder, "c", "--headroom", "0")
    (folder / "pools.h").write_text(text)
    if build(folder, "c", c_source(slots)):
        check(play(folder) == whole, f"seed {seed}: in C", play(folder))
    if build(folder, "cpp", c_source(slots)):
        check(play(folder) == whole, f"seed {seed}: the C header in C++", play(folder))
    (folder / "pools.h").write_text(emitted(folder, "cpp", "--headroom", "0"))
    if build(folder, "cpp", c_source(slots).replace("walk_", "walk_pools::")):
        check(play(folder) == whole, f"seed {seed}: in C++", play(folder))

    # And fewer do not, or the test would prove nothing: one block less of the largest size, which
    # has no larger one to help it out.
    largest = max(peaks)
    less, count = re.subn(rf"(EGB_FIXED_DEFINE\(walk_{largest}, \w+, )(\d+)\)",
                          lambda m: f"{m[1]}{int(m[2]) - 1})" if int(m[2]) > 1 else "NONE", text)
    check(count == 1, "the largest size is there")
    if "NONE" not in less:
        (folder / "pools.h").write_text(less)
        if build(folder, "c", c_source(slots)):
            check(play(folder) != whole, f"seed {seed}: too few blocks are noticed", play(folder))


def covered_are_never_refused(folder, seed):
    """With --cover the sizes left out are refused, each time, and nothing else is."""
    made, slots, peaks, taken = history(20000)
    (folder / "history.inc").write_text("".join(f"{{{t}, {s}, {b}}},\n" for t, s, b in made))
    (folder / "run.json").write_text(json.dumps(report(peaks, taken)))
    (folder / "pools.h").write_text(emitted(folder, "c", "--headroom", "0", "--cover", "90"))
    plan = json.loads(emitted(folder, "json", "--headroom", "0", "--cover", "90"))
    left_out = sum(row["requests"] for row in plan["left_out"])
    check(0 < left_out <= 2000 and plan["covered_percent"] >= 90, "the share", plan)
    least = min(row["requests"] for row in plan["rows"])
    check((plan["covered"] - least) / plan["requests"] < 0.9, "as few sizes as possible", plan)
    if build(folder, "c", c_source(slots)):
        seen = re.sub(r"\d+ misaligned", "", play(folder))
        check(seen == f"{left_out} refused, 0 damaged, ", f"seed {seed}: --cover", seen, left_out)


def functions_work(folder):
    peaks = {16: 3, 32: 2, 48: 3, 1024: 2, 4096: 2}
    (folder / "run.json").write_text(json.dumps(report(peaks, peaks)))
    (folder / "pools.h").write_text(emitted(folder, "c"))
    if build(folder, "c", FUNCTIONS):
        done = subprocess.run([folder / "player"], capture_output=True, text=True, check=False)
        check(done.returncode == 0, "the functions", done.stderr)


def main():
    first = int(os.environ.get("EGGBOX_SEED", "1"))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([CC, "-std=c11", "-O1", f"-I{ROOT}/include", "-c", f"{ROOT}/src/eggbox.c",
                        "-o", folder / "eggbox.o"], check=True)
        for seed in range(first, first + 3):
            random.seed(seed)
            never_refused(folder, seed)
            covered_are_never_refused(folder, seed)
        functions_work(folder)
    print("\n".join(failures) or "never refused")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
