# SPDX-License-Identifier: MIT
"""rooms.py must notice each kind of fault it is there for, by includes and by symbols.

usage: rooms_can_fail.py SCRIPTS CC CXX NM
"""

import pathlib
import subprocess
import sys
import tempfile

TABLE = """Rooms.

| file | holds |
|---|---|
| `a.c` | something else |

| room | is | may use |
|---|---|---|
| `shop/` | sells | `store/`, `text/`, core |
| `store/` | keeps | `text/` |
| `text/` | words | |
"""

GOOD = {
    "README.md": TABLE,
    "shop/sell.cpp": '#include "store/keep.hpp"\nint sell() { return keep(1) + twice(2); }\n',
    "store/keep.hpp": '#include "text/word.h"\nint keep(int);\n'
                      "inline int twice(int a) { return 2 * a; }\n",
    "store/keep.cpp": '#include "keep.hpp"\nint keep(int a) { return twice(word() + a); }\n'
                      "int own() { return 1; }\n",
    "text/word.h": "#ifdef __cplusplus\nextern \"C\"\n#endif\nint word(void);\n",
    "text/word.c": '#include "word.h"\nint word(void) { return 1; }\n',
}

# The change of each fault to the files above, and the required message.
BAD = [
    ("an include upwards", {"text/more.c": '#include "../store/keep.hpp"\n'},
     "text/ may not use store/: text/more.c includes store/keep.hpp"),
    ("an include by its path", {"text/more.h": '#include "shop/sell.h"\n', "shop/sell.h": ""},
     "text/ may not use shop/: text/more.h includes shop/sell.h"),
    ("an include by its name", {"text/more.h": '# include "sell.h"\n', "shop/sell.h": ""},
     "text/ may not use shop/: text/more.h includes shop/sell.h"),
    ("a call upwards without an include", {"text/more.cpp": "int own();\nint b = own();\n"},
     "text/ may not use store/: text/more.cpp uses own()"),
    ("a call upwards in C", {"store/up.c": "int go(void);\nint up(void) { return go(); }\n",
                             "shop/go.c": "int go(void);\nint go(void) { return 1; }\n"},
     "store/ may not use shop/: store/up.c uses go"),
    ("a use of a variable", {"store/up.c": "extern int here;\nint up(void) { return here; }\n",
                             "shop/go.c": "extern int here;\nint here = 1;\n"},
     "store/ may not use shop/: store/up.c uses here"),
    ("a circle", {"text/more.cpp": "int own();\nint b = own();\n"},
     "a circle: store > text > store"),
    ("a row that points upwards", {"README.md": TABLE.replace("words | |", "words | `shop/` |")},
     "text/ may use shop/, which is not below it"),
    ("a row that names no room", {"README.md": TABLE.replace("`text/`, core", "`txet/`, `text/`")},
     "shop/ may use txet/, which has no row"),
    ("a row without files", {"README.md": TABLE + "| `empty/` | is not there | |\n"},
     "empty/ has a row, but no file"),
    ("a row twice", {"README.md": TABLE + "| `text/` | once more | |\n"}, "text/ has two rows"),
    ("a file in no room", {"stray.c": "int stray;\n"}, "stray.c: in no room"),
    ("a folder without a row", {"attic/old.c": "int old;\n"}, "attic/old.c: in no room"),
    ("no table", {"README.md": "Rooms.\n"}, "no table"),
]


def run(tools, files, without_object=None):
    scripts, cc, cxx, nm = tools
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name, "tree")
        built = pathlib.Path(name, "built", "t.dir")
        for file, text in files.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(text)
        for file in files:
            if file.endswith((".c", ".cpp")) and file != without_object:
                made = built / (file + ".o")
                made.parent.mkdir(parents=True, exist_ok=True)
                subprocess.run([cc if file.endswith(".c") else cxx, "-c", "-O0", "-I", folder,
                                folder / file, "-o", made], check=True)
        return subprocess.run([sys.executable, f"{scripts}/rooms.py", folder / "README.md", folder,
                               built, "--nm", nm], capture_output=True, text=True, check=False)


def main():
    tools = sys.argv[1:5]
    failures = []
    result = run(tools, GOOD)
    # By include: shop and store, store and text. By symbol: keep() and word(), not twice().
    if result.returncode != 0 or "3 rooms, 4 uses of others" not in result.stdout:
        failures.append(f"good rooms are refused:\n{result.stdout}{result.stderr}")
    for what, files, expected in BAD:
        result = run(tools, {**GOOD, **files})
        if result.returncode == 0 or expected not in result.stdout + result.stderr:
            failures.append(f"not noticed: {what}\n{result.stdout}{result.stderr}")
    result = run(tools, GOOD, without_object="text/word.c")
    if result.returncode == 0 or "word.c: no object file" not in result.stdout:
        failures.append(f"not noticed: a source without an object file\n{result.stdout}")
    print("\n".join(failures) or f"{len(BAD) + 1} faults are noticed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
