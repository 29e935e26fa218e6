#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The library with musl, on a system without the kernel's headers, as Alpine's is.

usage: musl.py ROOT examples|malloc

musl-gcc finds the headers of musl alone. The one-file build serves two examples; the malloc library
serves a program that knows nothing of it, and its report has the requests.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1]).resolve()
COMPILE = ["musl-gcc", "-std=c11", "-O0", "-Wall", "-Wextra", "-Werror", "-I", ROOT / "include"]
REQUESTS = 4 * 20000  # of tests/ports/client.c, besides those of realloc


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"{command[:3]}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def examples(folder):
    run(*COMPILE, "-c", ROOT / "src/eggbox.c", "-o", folder / "eggbox.o")
    for name, said in (("packet_server", "1000 answers"), ("frames_between_threads", "end: ok")):
        run(*COMPILE, "-static", ROOT / f"examples/{name}.c", folder / "eggbox.o", "-o",
            folder / name)
        printed = run(folder / name)
        if said not in printed:
            sys.exit(f"{name} printed {printed}")
    return "two examples run"


def malloc_library(folder):
    library, client = folder / "libeggbox-malloc.so", folder / "client"
    run(*COMPILE, "-D_GNU_SOURCE", "-DEGB_IS_MALLOC=1", "-shared", "-fPIC", "-fvisibility=hidden",
        "-fno-builtin", "-fexceptions", "-Wl,-Bsymbolic-functions,-z,nodelete,-z,defs",
        ROOT / "src/eggbox.c", *sorted((ROOT / "src/override").glob("[!f]*.c")), "-o", library)
    run(*COMPILE, ROOT / "tests/ports/client.c", "-o", client)
    said = run(client, env=os.environ | {"LD_PRELOAD": library, "EGGBOX_REPORT": f"{folder}/"})
    reports = list(folder.glob("*.json"))
    if said != "right\n" or len(reports) != 1:
        sys.exit(f"the client printed {said}, and left {reports}")
    pools = json.loads(reports[0].read_text())["pools"]
    requests = sum(pool["allocations"] for pool in pools)
    if requests < REQUESTS:
        sys.exit(f"only {requests} requests came to the pools")
    return f"{requests} requests of a program went to pools"


def main():
    part = {"examples": examples, "malloc": malloc_library}[sys.argv[2]]
    with tempfile.TemporaryDirectory() as name:
        print(part(pathlib.Path(name)))


if __name__ == "__main__":
    main()
