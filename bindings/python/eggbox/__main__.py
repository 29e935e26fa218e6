# SPDX-License-Identifier: MIT
"""`python -m eggbox ...` is the command eggbox, where that is installed: `python -m eggbox run ...`
runs a program on the heap."""

from __future__ import annotations

import os
import shutil
import sys


def main() -> None:
    command = shutil.which("eggbox")
    if command is None:
        sys.exit("python -m eggbox: no command eggbox in PATH; the repository's CMake installs it")
    os.execv(command, [command, *sys.argv[1:]])


main()
