#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The functions that the library interposes are looked up once, not at each call.

usage: lookups.py LIBRARY
"""

import pathlib
import re
import sys
import tempfile

from both import check, failures, run

LIBRARY = sys.argv[1]
NAMES = ("pthread_create", "sigaction", "wait4", "dlopen")

# Each round makes a thread, sets a handler, waits for a child and loads a module under a new name.
PROGRAM = """
import ctypes, os, shutil, signal, sys, threading
with open("/proc/self/maps") as maps:
    module = next(line.split()[-1] for line in maps if "libm.so" in line)
for i in range(int(sys.argv[1])):
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    child = os.posix_spawn("/bin/true", ["true"], {})
    os.waitpid(child, 0)
    ctypes.CDLL(shutil.copy(module, f"{sys.argv[2]}/{i}.so"))
"""


def lookups(rounds, folder):
    """How often the loader began to look for each name."""
    work = pathlib.Path(folder, str(rounds))
    work.mkdir()
    debug = {"LD_DEBUG": "symbols", "LD_DEBUG_OUTPUT": f"{folder}/loader-{rounds}"}
    done = run(["/usr/bin/python3", "-c", PROGRAM, rounds, work], LIBRARY, extra=debug)
    check(done.returncode == 0, "the program failed", done)
    text = "".join(each.read_text() for each in pathlib.Path(folder).glob(f"loader-{rounds}.*"))
    return {name: len(re.findall(rf"symbol={name};", text)) for name in NAMES}


def main():
    with tempfile.TemporaryDirectory() as folder:
        few, many = lookups(1, folder), lookups(20, folder)
    for name in NAMES:
        print(f"{name}: {few[name]} lookups in 1 round, {many[name]} in 20")
        check(few[name] > 0, f"{name} was never looked up")
        check(many[name] == few[name], f"{name} is looked up again and again", few, many)
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
