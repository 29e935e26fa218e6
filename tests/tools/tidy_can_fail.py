#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The test of the test `layers`: each wrong include, and each other fault, must be noticed."""

import pathlib
import subprocess
import sys
import tempfile

LICENCE = "// SPDX-License-Identifier: MIT\n"

GOOD = {
    "include/eggbox/base.h": LICENCE + "#include <stddef.h>\n",
    "include/eggbox/fixed.h": LICENCE + '#include "eggbox/base.h"\n',
    "include/eggbox/eggbox.hpp": LICENCE + '#include "eggbox/fixed.h"\n#include <memory>\n',
    "src/core/a.c": LICENCE + '#include "eggbox/fixed.h"\n',
    "src/os/os.h": LICENCE + '#include "eggbox/base.h"\n',
    "src/os/posix.c": LICENCE + '#include "os.h"\n#include <unistd.h>\n',
    "tools/eggbox/t.cpp": LICENCE + '#include "eggbox/fixed.h"\n#include <unistd.h>\n',
    "src/compat/c.c": LICENCE + '#include "eggbox/fixed.h"\n#include <pthread.h>\n',
    "tests/data/readme": "data\n",
    "src/hosted/h.c": LICENCE + '#include "os.h"\n#include <stdatomic.h>\n',
}

BAD = [  # (file, line to add, what tidy must say)
    ("src/core/a.c", "#include <stdlib.h>", "<stdlib.h>"),
    ("src/core/a.c", '#include "os.h"', "layer core includes os.h of layer os"),
    ("src/core/a.c", '#include "eggbox/eggbox.hpp"', "of layer faces"),
    ("include/eggbox/base.h", '#include "eggbox/fixed.h"', "layer base includes"),
    ("include/eggbox/fixed.h", "#include <stdio.h>", "<stdio.h>"),
    ("src/os/posix.c", '#include "eggbox/fixed.h"', "layer os includes"),
    ("src/hosted/h.c", "#include <unistd.h>", "<unistd.h>"),
    ("src/hosted/h.c", '#include "nowhere.h"', "no such file"),
    ("src/stray.c", "#include <stddef.h>", "in no layer"),
    ("tools/eggbox/t.cpp", '#include "os.h"', "which is private"),
    ("src/compat/c.c", '#include "os.h"', "which is private"),
    ("src/core/a.c", "x" * 101, "columns"),
    ("src/core/a.c", "\tint x;", "a tab"),
    ("src/core/a.c", "// TO" "DO later", "left over"),
    ("src/core/a.c", "\n" * 601, "lines"),
    ("src/core/a.h", "\n" * 251, "250 are enough"),
    ("src/core/a.c", "{\n" + "    x;\n" * 61 + "}", "a function of"),
    ("src/core/A.c", "", "src/core/a.c: differs from src/core/A.c only in letter case"),
    ("tests/Data/readme", "", "only in letter case"),
]


def run(scripts, files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return subprocess.run([sys.executable, f"{scripts}/tidy.py", folder],
                              capture_output=True, text=True, check=False)


def main():
    scripts = sys.argv[1]
    failures = []
    result = run(scripts, GOOD)
    if result.returncode != 0:
        failures.append(f"a good tree is refused:\n{result.stdout}{result.stderr}")
    for name, line, expected in BAD:
        result = run(scripts, {**GOOD, name: GOOD.get(name, LICENCE) + line + "\n"})
        if result.returncode != 1 or expected not in result.stdout:
            failures.append(f"not noticed: {line[:60]!r} in {name}: {result.stdout}")
    print("\n".join(failures) or f"{len(BAD)} faults are noticed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
