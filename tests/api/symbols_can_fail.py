#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests the test `api.symbols`: it must find each wrong name.

usage: symbols_can_fail.py NM COMPILER...
"""

import pathlib
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).with_name("symbols.py")

GOOD = [
    ("main", "int egb_a; static int hidden; int egb_f(void) { return hidden; }"),
    ("compat", "int egb_a; int xmalloc; int ALLOC_Alloc; int elr_mpl_init;"),
    ("malloc", "int malloc; int _Znwm; int _ZdaPvRKSt9nothrow_t;"),
]
BAD = [  # (kind, source, text that must be printed)
    ("main", "int xmalloc(int); int xmalloc(int a) { return a; }", "xmalloc"),
    ("main", "__attribute__((weak)) int xfree(int); int xfree(int a) { return a; }", "xfree"),
    ("main", "int line = 1;", "line"),
    ("main", "extern const char text[]; const char text[] = {1};", "text"),
    ("main", "int my_egb_a;", "my_egb_a"),
    ("main", "static int hidden; int* egb(void); int* egb(void) { return &hidden; }", "egb"),
    ("compat", "int xmalloc_more;", "xmalloc_more"),
    ("compat", "int elr_mpl_other;", "elr_mpl_other"),
    ("malloc", "int egb_malloc;", "egb_malloc"),
    ("malloc", "int xmalloc;", "xmalloc"),
    ("malloc", "int _Znwx;", "_Znwx"),
    ("main", "static int hidden; static int* f(void) { return &hidden; }"
             "enum { USED = sizeof(f()) };", "exports nothing"),
]


def run(nm, *files):
    return subprocess.run([sys.executable, str(SCRIPT), nm, *files],
                          capture_output=True, text=True, check=False)


def compiled(compiler, folder, name, source):
    """Compiles a source to an object, or to a shared library if the name ends with .so."""
    path = pathlib.Path(folder, "part.c")
    path.write_text(source + "\n")
    out = pathlib.Path(folder, name)
    how = ["-fPIC", "-shared"] if out.suffix == ".so" else ["-c"]
    subprocess.run([*compiler, "-w", "-fno-builtin", *how, path, "-o", out], check=True)
    return out


def main():
    nm, compiler = sys.argv[1], sys.argv[2:]
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        files = [f"{kind}={compiled(compiler, folder, f'{kind}.o', source)}"
                 for kind, source in GOOD]
        files.append(f"main={compiled(compiler, folder, 'main.so', GOOD[0][1])}")
        result = run(nm, *files)
        if result.returncode != 0:
            failures.append(f"refused:\n{result.stdout}{result.stderr}")
        bad = [("bad.o", *each) for each in BAD] + [("bad.so", *BAD[0])]
        for name, kind, source, word in bad:
            result = run(nm, *files, f"{kind}={compiled(compiler, folder, name, source)}")
            if result.returncode != 1 or word not in result.stdout:
                failures.append(f"not noticed: {source} in {kind}: {result.stdout}")
        text = pathlib.Path(folder, "no.so")
        text.write_text("no library\n")
        for wrong in ([], [f"main={text}"], [f"main={folder}/nowhere.a"]):
            if run(nm, *wrong).returncode == 0:
                failures.append(f"passes: {wrong}")
    print("\n".join(failures) or f"{len(bad) + 3} faults are noticed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
