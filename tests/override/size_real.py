#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The promise of `eggbox size --emit c` on real programs: a program on the emitted pools is never
refused a block on the run that was recorded. Programs of others run on pools, their runs are sized
without headroom, and they run again with a malloc made of the emitted header.

usage: size_real.py EGGBOX ROOT C_COMPILER
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from both import check, failures, run
from texts import PERL_TEXT, SQL

EGGBOX, ROOT, CC = sys.argv[1:4]
HERE = pathlib.Path(__file__).resolve().parent
PYTHON = shutil.which("python3", path="/usr/bin") or sys.executable  # not a script that finds one

# Without a locale sort asks for 10 to 30 blocks.
os.environ["LC_ALL"] = "C.UTF-8"

# Blocks that become half as large, one by one: the heap moves them, so the pools must do so too.
# For those of the largest size no larger one helps out.
HALVES = """
import ctypes
c = ctypes.CDLL(None)
c.malloc.restype = c.realloc.restype = ctypes.c_void_p
c.malloc.argtypes, c.realloc.argtypes = [ctypes.c_size_t], [ctypes.c_void_p, ctypes.c_size_t]
print(len({c.realloc(c.malloc(size), size // 2) for size in (96, 1024, 32768) for i in range(200)}))
"""

# Programs of one thread and one process.
RUNS = {
    "sqlite3": (["sqlite3"], SQL),
    "perl": (["perl", "-e", PERL_TEXT.split("print `")[0]], ""),
    "python3": ([PYTHON, "-I", "-S", "-c", "import json\n"
                 "words = {str(i): 'x' * (i % 5000) for i in range(3000)}\n"
                 "print(len(json.dumps(words)), len(set(words.values())))"], ""),
    "halves": ([PYTHON, "-I", "-S", "-c", HALVES], ""),
    "sort": (["sort", "-S", "1M", "--parallel=1", f"{ROOT}/docs/benchmarks.md"], ""),
}


def build(folder, text):
    """The emitted header as a library that can be put before a program."""
    (folder / "pools.h").write_text(text)
    library = folder / "pools_malloc.so"
    done = subprocess.run(
        [CC, "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-fPIC",
         "-fno-builtin-malloc", "-fno-builtin-calloc", "-shared", f"-I{ROOT}/include",
         f"-I{folder}", "-DPOOLS_PREFIX(name)=real##name", HERE / "pools_malloc.c",
         folder / "eggbox.o", "-o", library], capture_output=True, text=True, check=False)
    check(done.returncode == 0, "the header compiles", done.stderr[:3000])
    return library


def played(folder, library, command, typed):
    """The output of the program on the emitted pools, and how many blocks were given and
    refused."""
    result = folder / "result"
    result.unlink(missing_ok=True)
    done = run(command, library, input=typed.encode(), extra={"POOLS_RESULT": str(result)})
    text = result.read_text() if result.exists() else "no result"
    found = re.fullmatch(r"(\d+) given, (\d+) refused\n", text)
    return done, [int(number) for number in found.groups()] if found else [0, -1]


def never_refused(folder, name, command, typed):
    report = folder / "run.json"
    plain = run(command, input=typed.encode())
    recorded = run([EGGBOX, "run", "--report", report, "--", *command], input=typed.encode())
    check(recorded.returncode == 0 and recorded.stdout == plain.stdout, f"{name}: recorded",
          recorded.stderr)
    text = run([EGGBOX, "size", report, "--emit", "c", "--headroom", "0", "--name",
                "real"]).stdout.decode()
    done, (given, refused) = played(folder, build(folder, text), command, typed)
    check((done.returncode, done.stdout) == (0, plain.stdout), f"{name}: on the emitted pools",
          done.returncode, done.stderr[-300:])
    check(given > 100 and refused == 0, f"{name}: refused", given, refused)
    few = re.sub(r"(EGB_FIXED_DEFINE\(\w+, \w+, )\d+\)", r"\g<1>1)", text)
    done, (_, refused) = played(folder, build(folder, few), command, typed)
    check(done.stdout == plain.stdout and refused > 0, f"{name}: too few blocks are noticed",
          done.returncode, refused)
    print(f"{name}: {given} blocks given, none refused; by one block of each size: {refused}")


def main():
    for name, (command, _) in RUNS.items():
        if not shutil.which(command[0]):
            sys.exit(f"{name} is missing; run scripts/setup.sh test")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([CC, "-std=c11", "-O1", "-fPIC", f"-I{ROOT}/include", "-c",
                        f"{ROOT}/src/eggbox.c", "-o", folder / "eggbox.o"], check=True)
        for name, (command, typed) in RUNS.items():
            never_refused(folder, name, command, typed)
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
