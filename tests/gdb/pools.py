#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The gdb commands, in a process that stands still and in its core file.

usage: pools.py GDB C_COMPILER ROOT
"""

import pathlib
import re
import subprocess
import sys
import tempfile

GDB, CC, ROOT = sys.argv[1:4]
COMMANDS = ["eggbox pools", "eggbox blocks requests 3", "eggbox owner first",
            "eggbox owner (char*)freed+5", "eggbox owner (char*)large+70000",
            "eggbox owner &outside", "eggbox blocks quick", "eggbox blocks nobody",
            "eggbox blocks watched", "eggbox owner", "eggbox blocks",
            "eggbox blocks requests x"]
LINES = [
    r" *in use +block +held +level +name",
    r" +0 +16 +0 +check +heap",
    r" +1 +100 +65,536 +track +watched",
    r" +1 +32 +65,536 +off +quick",
    r" +1 +400 +65,536 +check +session",
    r" +500 +64 +65,536 +check +  requests",
    r"(?P<first>0x\w+)", r"0x\w+", r"0x\w+",
    r"500 blocks in use of 64 bytes",
    r"(?P=first) is byte 0 of block (?P=first), in use, of pool requests, 64 bytes a block",
    r"0x\w+ is byte 5 of block 0x\w+, free, of pool requests, 64 bytes a block",
    r"0x\w+ is byte 70,000 of a large region of 1,048,576 bytes at 0x\w+",
    r"0x\w+ is in no memory of eggbox",
    r'the pool has level "off": it does not know its blocks in use',
    r"there is no pool with the name nobody",
    r"0x\w+",
    r"1 blocks in use of 100 bytes",
    r"usage: eggbox owner ADDRESS",
    r"usage: eggbox blocks NAME \[MOST\]",
    r"usage: eggbox blocks NAME \[MOST\]",
]


def gdb(before, commands, *words):
    """The output of the commands, errors included, without gdb's own lines."""
    script = ["set pagination off", f"source {ROOT}/tools/gdb/eggbox.py", *before, "echo \\n--\\n",
              *(f"python\ntry: gdb.execute({each!r})\nexcept gdb.error as e: print(e)\nend"
                for each in commands)]
    with tempfile.NamedTemporaryFile("w", suffix=".gdb") as file:
        file.write("\n".join(script) + "\n")
        file.flush()
        done = subprocess.run([GDB, "-nx", "-batch", "-x", file.name, *map(str, words)],
                              capture_output=True, text=True, check=False, timeout=600)
    return done.stdout.split("\n--\n")[-1], done


def expect(what, output, done, failures):
    if not re.fullmatch("\n".join(LINES) + "\n", output):
        failures.append(f"{what}:\n{output}\n{done.stdout}\n{done.stderr}")


def main():
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        program, core = pathlib.Path(folder, "pools"), pathlib.Path(folder, "core")
        build = [CC, "-O1", f"-I{ROOT}/include", f"{ROOT}/tests/gdb/pools.c",
                 f"{ROOT}/src/eggbox.c", "-o", str(program), "-pthread"]
        subprocess.run([*build, "-g"], check=True)
        output, done = gdb(["break stop_here", "run", f"generate-core-file {core}"], COMMANDS,
                           program)
        expect("process", output, done, failures)
        output, done = gdb([], COMMANDS, program, core)
        expect("core file", output, done, failures)
        subprocess.run(build, check=True)
        output, done = gdb(["break stop_here", "run"], ["eggbox pools"], program)
        if "debug information (-g)" not in output:
            failures.append(f"without debug information: {output}\n{done.stderr}")
    print("\n".join(failures) or "a process, its core file, and a program without -g")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
