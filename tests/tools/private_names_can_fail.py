#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""private_names.py must notice a private name that looks public, and must not refuse good ones.

usage: private_names_can_fail.py SCRIPTS CC NM
"""

import pathlib
import subprocess
import sys
import tempfile

GOOD = "int egb_open(void);\nint egb_open(void) { return 1; }\nint egb_help_;\n" \
       "static int own(void) { return 2; }\nint egb_two_(void);\n" \
       "int egb_two_(void) { return own(); }\n"
# The addition to the good source, and the name in the required complaint.
BAD = [("int egb_help(void);\nint egb_help(void) { return 1; }\n", "egb_help"),
       ("int egb_count = 1;\n", "egb_count"),
       ("int egb_zero;\n", "egb_zero"),
       ("int helper(void);\nint helper(void) { return 1; }\n", "helper"),
       ("__attribute__((weak)) int egb_weak(void) { return 1; }\n", "egb_weak"),
       ("int egb_commented(void);\nint egb_commented(void) { return 1; }\n", "egb_commented")]


def run(scripts, compiler, nm, source):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "include").mkdir()
        (root / "include/open.h").write_text("int egb_open(void);  // not egb_commented()\n")
        (root / "a.c").write_text(source)
        subprocess.run([compiler, "-c", root / "a.c", "-o", root / "a.o"], check=True)
        return subprocess.run([sys.executable, scripts / "private_names.py", root, root / "a.o",
                               "--nm", nm], capture_output=True, text=True, check=False)


def main():
    scripts, compiler, nm = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    good = run(scripts, compiler, nm, GOOD)
    failures = [] if good.returncode == 0 else [f"the good source: {good.stdout}"]
    for text, name in BAD:
        result = run(scripts, compiler, nm, GOOD + text)
        if result.returncode != 1 or not result.stdout.startswith(name + ":"):
            failures.append(f"{name}: {result.returncode} {result.stdout!r} {result.stderr!r}")
    print("\n".join(failures) or f"{len(BAD)} names were noticed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
