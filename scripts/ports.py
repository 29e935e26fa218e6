#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles and links the one-file build for systems and processors that no preset has.

usage: ports.py [TARGET...]

The compiler is `zig cc`, which has the headers and libraries of all of them: zig from PATH, or from
PyPI (package ziglang), installed under build/ports. The first run of a target compiles its C
library, which takes minutes. A target with an emulator runs there, too; others do not run. Without
zig and without PyPI nothing is tried.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/ports"
POSIX, ANY = "packet_server", "level_budget"
# The target: an example, more options, an emulator, and what the example prints. Emulators of 7.2
# have no vectors on LoongArch.
TARGETS = {
    "x86_64-freebsd": (POSIX, (), None, None),
    "aarch64-macos": (POSIX, (), None, None),
    "aarch64-windows-gnu": (ANY, (), None, None),
    "loongarch64-linux-musl": (
        POSIX, ("-mcpu=generic_la64-lsx-lasx-ual+f+d", "-static"), "qemu-loongarch64",
        "1000 answers\n"),
}


def zig():
    """The compiler; None: it cannot be had."""
    if shutil.which("zig"):
        return ["zig"]
    python = BUILD / "venv/bin/python"
    if not python.exists():
        venv.create(BUILD / "venv", with_pip=True)
    if subprocess.run([python, "-m", "pip", "install", "-q", "ziglang"], check=False).returncode:
        return None
    return [python, "-m", "ziglang"]


def fault_of(compiler, target):
    """The failure as text; None: there was none."""
    example, options, emulator, printed = TARGETS[target]
    program = BUILD / f"{example}-{target}"
    done = subprocess.run(
        [*compiler, "cc", "-target", target, *options, "-std=c11", "-O0", "-Wall", "-Wextra",
         "-Werror", "-I", ROOT / "include", ROOT / "src/eggbox.c", ROOT / f"examples/{example}.c",
         "-o", program],
        capture_output=True, text=True, check=False,
        env=os.environ | {"ZIG_GLOBAL_CACHE_DIR": str(BUILD / "cache")})
    if done.returncode != 0:
        return done.stderr
    if emulator is None or shutil.which(emulator) is None:
        return None
    done = subprocess.run([emulator, program], capture_output=True, text=True, check=False)
    return None if (done.returncode, done.stdout) == (0, printed) else done.stdout + done.stderr


def what_is_right(target):
    emulator = TARGETS[target][2]
    ran = emulator is not None and shutil.which(emulator) is not None
    return f"compiles and links, and runs under {emulator}" if ran else "compiles and links"


def main():
    BUILD.mkdir(parents=True, exist_ok=True)
    compiler, failed = zig(), 0
    if compiler is None:
        print("skipped: there is no zig, and PyPI does not answer")
        return 0
    for target in sys.argv[1:] or TARGETS:
        fault = fault_of(compiler, target)
        failed += fault is not None
        print(f"{target}: {fault or what_is_right(target)}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
