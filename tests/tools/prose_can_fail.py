#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The test of the test `prose`: each kind of sentence that it counts must be noticed."""

import pathlib
import subprocess
import sys
import tempfile

PLAIN = "The pool gives each block once. "
GOOD = {
    "src/core/a.c": "// " + PLAIN + "\nint x = 3;  /* The plain comment of a line. */\n",
    "tool.py": '"""' + PLAIN + '"""\n# ' + PLAIN + "\n",
    "CMakeLists.txt": "# " + PLAIN + "\n",
    "README.md": "# Of headings, what is said does not count\n" + PLAIN + "\n\n```c\n"
                 "// Of code in pages nothing counts.\n```\n\nWhat is to be done next?\n",
}

START, CLAUSE = "have a start", "have a clause"
BAD = [  # (file, text to add, what the script must say)
    ("src/core/a.c", "// Of the blocks none is free.\n", "comments", START),
    ("src/core/a.c", "int y;  // where the list ends\n", "comments", START),
    ("src/core/a.c", "/* Short.\n * Who asks gets a block. */\n", "comments", START),
    ("src/core/a.c", "/// But for one block all are free.\n", "comments", START),
    ("src/core/a.c", "// The pool keeps what\n// is left of them.\n", "comments", CLAUSE),
    ("src/core/a.c", "// Only the thread who asks first gets it.\n", "comments", CLAUSE),
    ("tool.py", '\ndef f():\n    """So the pool is full."""\n', "comments", START),
    ("tool.py", "x = 3  # the number of which none is free\n", "comments", CLAUSE),
    ("CMakeLists.txt", "# What the compiler needs.\n", "comments", START),
    ("README.md", "\n- What follows is a list.\n", "docs", START),
    ("README.md", "\n| a | they free what they have |\n", "docs", CLAUSE),
    ("README.md", "\nThe pool takes what is\nfree.\n", "docs", CLAUSE),
]


def run(scripts, files, *options):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return subprocess.run([sys.executable, f"{scripts}/prose.py", *options, folder],
                              capture_output=True, text=True, check=False)


def main():
    scripts = sys.argv[1]
    failures = []
    result = run(scripts, GOOD)
    if result.returncode != 0:
        failures.append(f"a good tree is refused:\n{result.stdout}{result.stderr}")
    if run(scripts, {"empty.c": "int x;\n"}).returncode != 1:
        failures.append("a tree without prose is let through")
    for name, text, kind, expected in BAD:
        files = {**GOOD, name: GOOD[name] + text}
        result = run(scripts, files)
        if result.returncode != 1 or not any(
                kind in line and expected in line for line in result.stdout.splitlines()):
            failures.append(f"not noticed: {text!r} in {name}: {result.stdout}")
        listed = run(scripts, files, "--report", "--list", name)
        if listed.returncode != 0 or f"{name}:" not in listed.stdout:
            failures.append(f"not listed: {text!r} in {name}: {listed.stdout}")
    print("\n".join(failures) or f"{len(BAD)} sentences are noticed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
