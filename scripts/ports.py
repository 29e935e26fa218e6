#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles and links the one-file build for systems that no preset has. Nothing runs.

usage: ports.py [TARGET...]

The compiler is `zig cc`, which has the headers and libraries of all of them: zig from PATH, or from
PyPI (package ziglang), installed under build/ports. The first run of a target compiles its C
library, which takes minutes.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/ports"
EXAMPLE = "packet_server"
TARGETS = ("x86_64-freebsd", "aarch64-macos")


def zig():
    if shutil.which("zig"):
        return ["zig"]
    python = BUILD / "venv/bin/python"
    if not python.exists():
        venv.create(BUILD / "venv", with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "ziglang"], check=True)
    return [python, "-m", "ziglang"]


def fault_of(compiler, target):
    """What went wrong; None: nothing."""
    program = BUILD / f"{EXAMPLE}-{target}"
    done = subprocess.run(
        [*compiler, "cc", "-target", target, "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror",
         "-I", ROOT / "include", ROOT / "src/eggbox.c", ROOT / f"examples/{EXAMPLE}.c",
         "-o", program],
        capture_output=True, text=True, check=False,
        env=os.environ | {"ZIG_GLOBAL_CACHE_DIR": str(BUILD / "cache")})
    return done.stderr if done.returncode != 0 else None


def main():
    BUILD.mkdir(parents=True, exist_ok=True)
    compiler, failed = zig(), 0
    for target in sys.argv[1:] or TARGETS:
        fault = fault_of(compiler, target)
        failed += fault is not None
        print(f"{target}: {fault or 'compiles and links'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
