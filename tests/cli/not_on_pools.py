#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`eggbox run` and `eggbox compare` with the real library, under programs whose malloc it cannot
serve although it is in the process: they say what `eggbox doctor` says, whatever the way the
program ends.

usage: not_on_pools.py EGGBOX LIBRARY COMPILER
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

EGGBOX, LIBRARY, COMPILER = sys.argv[1:4]
OWN = """
static char all[1 << 20];
static unsigned long at;
void* malloc(unsigned long n) { n = (n + 15) / 16 * 16; at += n; return all + at - n; }
void* calloc(unsigned long n, unsigned long m) { return malloc(n * m); }
void* realloc(void* p, unsigned long n) { (void)p; return malloc(n); }
void free(void* p) { (void)p; }
"""
# The library sees no end by a system call of the program's own, but for `kill`.
MAIN = """
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char** words)
{
    const char how = count > 1 ? words[1][0] : 'e';
    if (how == 'k') { kill(getpid(), SIGKILL); }
    if (how == 's') { syscall(SYS_exit_group, 5); }
    if (how == 'c' && fork() == 0) { execl("/bin/sh", "sh", "-c", ":", (char*)0); }
    if (how == 'c') { wait(0); }
    return 5;
}
"""
failures = []


def check(truth, what, *seen):
    if not truth:
        failures.append(what + "".join(f"\n    {each}" for each in seen))


def built(folder, name, text, *options):
    """None: the compiler has not what the options ask for."""
    source = folder / f"{name}.c"
    source.write_text(text)
    done = subprocess.run([COMPILER, "-w", "-fno-builtin", source, "-o", folder / name, *options],
                          check=False, capture_output=True)
    return folder / name if done.returncode == 0 else None


def eggbox(*words):
    environment = {**os.environ, "EGGBOX_MALLOC_LIB": LIBRARY, "ASAN_OPTIONS": "detect_leaks=0"}
    return subprocess.run([EGGBOX, *words], capture_output=True, text=True, check=False,
                          env=environment, timeout=600)


def run(program, how, *options):
    return eggbox("run", "--report", program.parent / "report.json", *options, "--", program, how)


def why_not(program):
    verdict = json.loads(eggbox("doctor", "--json", program).stdout)
    return next(each["text"] for each in verdict["findings"] if each["blocks"])


def is_not_compared(program):
    done = eggbox("compare", "--runs", "1", "--warmup", "0", "--ignore-failure", "--", program)
    check(done.returncode == 2 and done.stdout == "" and
          f"{program} does not run on pools: {why_not(program)}\n" in done.stderr,
          f"{program.name} is not compared", done)


def is_said(program, how, status):
    what = f"{program.name}, {how}"
    reason = why_not(program)
    done = run(program, how)
    check(done.returncode == status, f"{what}: status", done)
    check(f"eggbox: NOT on pools: {program}: {reason}\n" in done.stderr, f"{what}: why",
          done.stderr)
    check("took effect" not in done.stderr and "was on pools" not in done.stderr,
          f"{what}: no proof", done.stderr)
    line = json.loads(run(program, how, "--json").stderr.splitlines()[-1])
    check((line["took_effect"], line["reason"]) == (False, reason), f"{what}: --json", line)
    return done.stderr


def programs_with_a_malloc_of_their_own(folder):
    own = built(folder, "own", OWN + MAIN)
    for how, status in (("end", 5), ("syscall", 5), ("killed", -9)):
        said = is_said(own, how, status)
        check(said.endswith(f"next: eggbox doctor {own}\n"), f"{how}: the next command", said)
    said = is_said(own, "child", 5)
    check("1 child process left a report\n" in said and "next: eggbox report " in said,
          "a child on pools", said)
    is_not_compared(own)
    script = folder / "script"
    script.write_text(f"#!{own}\n")
    script.chmod(0o755)
    is_said(script, "end", 5)


def sanitizers_in_the_program(folder):
    """The marks of one that is linked statically are those of a malloc of its own."""
    program = built(folder, "asan", MAIN, "-fsanitize=address", "-static-libasan")
    if program is None:
        print("-static-libasan: not tested, the compiler has it not")
    elif json.loads(eggbox("doctor", "--json", program).stdout)["findings"][0]["reason"] == \
            "own-malloc":
        is_said(program, "end", 5)


def a_program_without_a_request_is_on_pools(folder):
    """Nothing stands in its way."""
    idle = built(folder, "idle", MAIN)
    done = run(idle, "end")
    check("eggbox: 0 of 0 requests served from pools" in done.stderr and
          "eggbox: took effect: " in done.stderr and "next: eggbox report" in done.stderr,
          "no request", done.stderr)
    line = json.loads(run(idle, "end", "--json").stderr)
    check((line["took_effect"], line["reason"], line["requests"]) == (True, "", 0), "--json", line)
    done = run(idle, "killed")
    check("NOT on pools" not in done.stderr, "no request, killed", done.stderr)


def main():
    for test in (programs_with_a_malloc_of_their_own, sanitizers_in_the_program,
                 a_program_without_a_request_is_on_pools):
        with tempfile.TemporaryDirectory() as name:
            test(pathlib.Path(name))
    print("\n".join(failures) or "what the library cannot serve is said")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
