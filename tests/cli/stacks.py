#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`eggbox run --check track` under a program that leaks: each leak must have the calls that led to
it, from the first one that does not only allocate.

usage: stacks.py EGGBOX LIBRARY C-COMPILER C++-COMPILER
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

EGGBOX, LIBRARY, CC, CXX = sys.argv[1:5]
HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE / "shop.cpp"
LINES = {mark: number for number, line in enumerate(SOURCE.read_text().splitlines(), 1)
         for mark in re.findall(r"// mark: (.*)", line)}
LEAKS = {
    "3,145,728 bytes in 1 block": [("main", "large")],
    "5,000 bytes in 1 block": [("main", "wrapped")],
    "960 bytes in 20 blocks, indirectly": [
        ("shop::item::item", "name"), ("shop::make_item", "new"), ("shop::fill_b", "in b"),
        ("main", "fill b")],
    "777 bytes in 1 block": [("in_thread", "in the thread")],
    "136 bytes in 1 block": [("shop::make_circle", "one"), ("main", "circle")],
    "9 bytes in 1 block": [("main", "copied")],
}
failures = []


def check(truth, what, *seen):
    if not truth:
        failures.append(what + "".join(f"\n    {each}" for each in seen))


def compiled(compiler, source, program, *options):
    subprocess.run([compiler, "-w", "-fno-builtin", *options, source, "-o", program, "-lpthread"],
                   check=True)
    return program


def leaks(*command):
    """The text behind the age of each leak, by the sizes before it, in order."""
    done = subprocess.run([EGGBOX, "run", "--check", "track", "--", *command],
                          capture_output=True, text=True, check=False, timeout=600,
                          env={**os.environ, "EGGBOX_MALLOC_LIB": LIBRARY})
    return dict(re.findall(r"^eggbox:   (.*), oldest [^:]*: (.*)$", done.stderr, re.M)), done


def calls(text):
    return text.replace(" (inlined)", "").split(" < ")


def with_lines(folder, *options):
    found, done = leaks(compiled(CXX, SOURCE, folder / "shop", "-std=c++17", "-g", *options))
    check(next(iter(found), "") == next(iter(LEAKS)), "the largest is first", done.stderr)
    check("without a stack" not in done.stderr, "each stack is known", done.stderr)
    for leak, stack in LEAKS.items():
        expected = [f"{function} shop.cpp:{LINES[mark]}" for function, mark in stack]
        seen = found.get(leak, "")
        check(calls(seen) == expected, f"{options}: {leak}", expected, seen, done.stderr)
    return found


def without_lines(folder):
    found, done = leaks(compiled(CXX, SOURCE, folder / "named", "-std=c++17", "-O0"))
    for leak, stack in LEAKS.items():
        check(calls(re.sub(r" \(named\+0x[0-9a-f]+\)", "", found.get(leak, ""), count=1)) ==
              [function for function, _ in stack], f"names alone: {leak}", done.stderr)
    program = compiled(CXX, SOURCE, folder / "bare", "-std=c++17", "-O2", "-s")
    found, done = leaks(program)
    found = re.fullmatch(rf"{program}\+0x[0-9a-f]+( < bare\+0x[0-9a-f]+)*",
                         found["5,000 bytes in 1 block"])
    check(found, "the program's own calls alone", done.stderr)


def without_an_unwinder(folder):
    """A library without the functions stands before that of the compiler."""
    (folder / "nothing.c").write_text("int nothing;\n")
    compiled(CC, folder / "nothing.c", folder / "libgcc_s.so.1", "-shared", "-fPIC")
    program = compiled(CC, HERE / "faults.c", folder / "faults", "-O0", "-g")
    found, done = leaks("env", f"LD_LIBRARY_PATH={folder}", program, "leaks")
    check(re.fullmatch(r".*faults\.c:[0-9]+ \(make_block\)", found["1,000 bytes in 1 block"]),
          "the site alone", done.stderr)
    check(re.search(r"^eggbox:   [1-9][0-9,]* requests? without a stack$", done.stderr, re.M),
          "the report says how many stacks are not known", done.stderr)


def with_little_room(folder):
    """The stacks' own memory is a part of what the process may have."""
    program = compiled(CC, HERE / "faults.c", folder / "faults", "-O0", "-g")
    found, done = leaks("sh", "-c", f"ulimit -v 300000 && exec {program} leaks")
    check(calls(found["1,000 bytes in 1 block"])[1].startswith("make_leaks"),
          "the calls of the leak", done.stderr)
    check("without a stack" not in done.stderr, "each request has a stack", done.stderr)


def short_names(folder):
    """A short name of C is none of the types of C++ that the same letter stands for."""
    source = folder / "short.c"
    source.write_text("void* malloc(unsigned long);\nvoid* volatile kept;\n"
                      "__attribute__((noinline)) void f(void) { kept = malloc(4321); kept = 0; }\n"
                      "__attribute__((noinline)) void i(void) { f(); kept = 0; }\n"
                      "int main(void) { i(); return 0; }\n")
    for options in ("-g",), ():
        found, done = leaks(compiled(CC, source, folder / "short", "-O1", *options))
        names = re.findall(r"(?:^| < )(\w+)", found.get("4,321 bytes in 1 block", ""))
        check(names == ["f", "i", "main"], "short names", done.stderr)


def between_units(folder):
    """Code without debug information, between two parts of a unit that has some: cold code is
    first in a program. The line at its end, which gcc makes at times, is asked for here; the
    assembler of clang refuses it."""
    (folder / "bare.c").write_text("void* malloc(unsigned long);\nvoid* volatile kept;\n"
                                   "void bare(void) { kept = malloc(4321); kept = 0; }\n")
    (folder / "parts.c").write_text(
        "void bare(void); volatile int count;\n"
        "__attribute__((section(\".text.unlikely\"))) void cold(void) { count++;\n"
        "  __asm__ volatile(\".loc 1 3\\n.loc 1 4\"); __builtin_unreachable(); }\n"
        "int main(void) { if (count == 7) cold(); bare(); count++; return 0; }\n")
    bare = compiled(CC, folder / "bare.c", folder / "bare.o", "-O1", "-c")
    try:
        parts = compiled(CC, folder / "parts.c", folder / "parts", "-O1", "-g", bare)
    except subprocess.CalledProcessError:
        return
    found, done = leaks(parts)
    check(re.fullmatch(r"bare \(parts\+0x\w+\) < main parts\.c:4",
                       found.get("4,321 bytes in 1 block", "")), "between units", done.stderr)


def split_debug_information(folder):
    """The functions of a unit may be described in a .dwo file beside the program."""
    source = folder / "split.c"
    source.write_text("void* malloc(unsigned long);\nvoid* volatile kept;\n"
                      "static inline __attribute__((always_inline)) void* within(void)\n"
                      "{ return malloc(4321); }\n"
                      "__attribute__((noinline)) void around(void) { kept = within(); kept = 0; }\n"
                      "int main(void) { around(); kept = 0; return 0; }\n")
    found, done = leaks(compiled(CC, source, folder / "split", "-O1", "-g", "-gsplit-dwarf"))
    check(found.get("4,321 bytes in 1 block") ==
          "within (inlined) split.c:4 < around split.c:5 < main split.c:6", "split", done.stderr)


def loaded_files(folder):
    """A place is in the file that is loaded: although its path is relative to another folder, or is
    that of another file by now, or the loader was told to run it."""
    there = folder / "there"
    there.mkdir()
    (there / "plug.c").write_text("void* malloc(unsigned long);\nvoid* volatile kept;\n"
                                  "void plug(void) { kept = malloc(4321); kept = 0; }\n")
    (there / "host.c").write_text(
        "#include <dlfcn.h>\n#include <stdio.h>\nint main(int count, char** words) {\n"
        "  void* plug = dlopen(\"./plug.so\", RTLD_NOW);\n"
        "  ((void (*)(void))dlsym(plug, \"plug\"))();\n"
        "  return count > 1 && rename(words[1], \"plug.so\"); }\n")
    host = compiled(CC, there / "host.c", there / "host", "-g", "-ldl")
    for library in "plug.so", "other.so":
        compiled(CC, there / "plug.c", there / library, "-g", "-shared", "-fPIC")
    loader = re.search(rb"/[\w./-]+/ld[\w.-]*\.so\.\d", host.read_bytes())[0].decode()
    names = "plug plug.c:3 < main host.c:5"
    for how, command, expected in (
            ("in another folder", "exec ./host", names),
            ("by the loader", f"exec {loader} ./host", names),
            ("replaced", "exec ./host other.so",
             rf"{there}/plug\.so \(deleted\)\+0x\w+ < main host.c:5")):
        found, done = leaks("sh", "-c", f"cd {there} && {command}")
        check(re.fullmatch(expected, found.get("4,321 bytes in 1 block", "")), how, done.stderr)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve()
        with_lines(folder, "-O0")
        with_lines(folder, "-O2", "-fomit-frame-pointer")
        found = with_lines(folder, "-O2", "-fno-omit-frame-pointer")
        check("shop::make_item (inlined)" in found["960 bytes in 20 blocks, indirectly"],
              "inlined", found)
        without_lines(folder)
        short_names(folder)
        between_units(folder)
        split_debug_information(folder)
        loaded_files(folder)
        without_an_unwinder(folder)
        with_little_room(folder)
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
