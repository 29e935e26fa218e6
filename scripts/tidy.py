#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rules that no compiler checks: the layers above all, and a few about text.

usage: tidy.py ROOT
"""

import pathlib
import re
import sys

# The files of each layer, and the layers and system headers that it may include.
FREESTANDING = {"stdalign.h", "stdarg.h", "stdbool.h", "stddef.h", "stdint.h", "limits.h"}
ANY = None
LAYERS = {
    "base": (["include/eggbox/base.h"], {"base"}, FREESTANDING),
    "core": (["include/eggbox/misuse.h", "include/eggbox/fixed.h", "include/eggbox/fixed_live.h",
              "include/eggbox/fixed_placed.h", "include/eggbox/fixed_shared.h",
              "include/eggbox/fixed_static.h", "include/eggbox/board_heap.h",
              "include/eggbox/growing.h", "include/eggbox/port.h",
              "include/eggbox/slots.h", "src/core/"],
             {"base", "core"}, FREESTANDING),
    "ports": (["include/eggbox/port/"], {"base", "core", "ports"}, ANY),
    "os": (["src/os/"], {"base", "os"}, ANY),
    "hosted": (["include/eggbox/atomic_hot.h", "include/eggbox/guard.h", "include/eggbox/heap.h",
                "include/eggbox/heap_hot.h", "include/eggbox/live.h", "include/eggbox/lock.h",
                "include/eggbox/pool.h",
                "include/eggbox/pool_bytes.h", "include/eggbox/pool_hot.h",
                "include/eggbox/report.h", "include/eggbox/stats.h",
                "src/hosted/"],
               {"base", "core", "os", "hosted"},
               FREESTANDING | {"stdatomic.h", "sys/single_threaded.h"}),
    "shared": (["include/eggbox/shared.h", "src/shared/"], {"base", "core", "os", "shared"},
               FREESTANDING | {"stdatomic.h"}),
    "override": (["src/override/"], {"base", "core", "hosted", "override"}, ANY),
    "compat": (["src/compat/"], {"base", "core", "hosted", "faces", "compat"}, ANY),
    "faces": (["include/eggbox/"], {"base", "core", "hosted", "shared", "faces"}, ANY),
    "tools": (["tools/"], {"base", "core", "hosted", "shared", "faces", "tools"}, ANY),
    "bindings": (["bindings/"], {"base", "shared", "bindings"}, ANY),
    "use": (["tests/", "bench/", "demo/", "examples/", "packaging/", "proof/", "zephyr/"],
            ANY, ANY),
}
ONE_FILE_BUILDS = {"src/eggbox.c", "src/eggbox_compat.c"}  # include sources, and are in no layer

SOURCES = {".c", ".h", ".cpp", ".hpp"}
TEXTS = SOURCES | {".py", ".cmake", ".sh", ".md", ".txt", ".rs"}
LINE_COLUMNS_MAX = 100
PROSE_COLUMNS_MAX = 120
FILE_LINES_MAX = 600
PRIVATE_HEADER_LINES_MAX = 250
FUNCTION_LINES_MAX = 60
INCLUDE = re.compile(r'\s*#\s*include\s*(["<])([^">]+)[">]')


def layer_of(path):
    for name, (places, _, _) in LAYERS.items():
        if any(path == place or (place.endswith("/") and path.startswith(place))
               for place in places):
            return name
    return None


def resolve(root, file, name):
    """The path of an included file of ours, from the root; None if there is no such file."""
    for folder in (file.parent, root / "include", root / "src/core", root / "src/os",
                   root / "tools/eggbox"):
        if (folder / name).is_file():
            return (folder / name).resolve().relative_to(root).as_posix()
    return None


def include_problem(root, file, layer, kind, name):
    _, layers, headers = LAYERS[layer]
    if kind == "<":
        if headers is not ANY and name not in headers:
            return f"layer {layer} includes <{name}>, which is not its to use"
        return None
    if layers is ANY:
        return None
    target = resolve(root, file, name)
    if target is None:
        return f"no such file: {name}"
    there = layer_of(target)
    if layer in ("tools", "override", "compat") and \
            not target.startswith(("include/", "tools/", "src/compat/", "src/override/")):
        return f"layer {layer} includes {name}, which is private"
    if there not in layers:
        return f"layer {layer} includes {name} of layer {there}"
    return None


def line_problems(root, file, path, number, line):
    where = f"{path}:{number}"
    most = PROSE_COLUMNS_MAX if file.suffix == ".md" else LINE_COLUMNS_MAX
    is_table_row = file.suffix == ".md" and line.startswith("|")
    if len(line) > most and not is_table_row:
        yield f"{where}: longer than {most} columns"
    if "\t" in line:
        yield f"{where}: a tab"
    if re.search(r"\b(FIX" r"ME|TO" r"DO|XX" r"X)\b", line):
        yield f"{where}: left over: do it, or open an issue"
    if file.suffix in SOURCES and path not in ONE_FILE_BUILDS:
        found = INCLUDE.match(line)
        layer = layer_of(path)
        if found and layer is None:
            yield f"{where}: this file is in no layer"
        elif found:
            problem = include_problem(root, file, layer, *found.groups())
            if problem:
                yield f"{where}: {problem}"


def function_problems(path, lines):
    """A function's brace stands alone on its line here, so its length is easy to see."""
    start = None
    for number, line in enumerate(lines, start=1):
        if line == "{":
            start = number
        elif line == "}" and start is not None:
            if number - start > FUNCTION_LINES_MAX:
                yield f"{path}:{start}: a function of {number - start} lines"
            start = None


def problems(root, file):
    path = file.relative_to(root).as_posix()
    lines = file.read_text().splitlines()
    if file.suffix in SOURCES | {".py", ".cmake", ".sh", ".rs"} and \
            not any("SPDX-License-Identifier: MIT" in line for line in lines[:3]):
        yield f"{path}: no licence line"
    is_private_header = path.startswith("src/") and file.suffix in {".h", ".hpp"}
    lines_max = PRIVATE_HEADER_LINES_MAX if is_private_header else FILE_LINES_MAX
    if len(lines) > lines_max:
        yield f"{path}: {len(lines)} lines, {lines_max} are enough"
    for number, line in enumerate(lines, start=1):
        yield from line_problems(root, file, path, number, line)
    if file.suffix in {".c", ".cpp"}:
        yield from function_problems(path, lines)


def case_problems(paths):
    """On some systems, names that differ only in letter case are one file."""
    seen = {}
    for path in paths:
        first = seen.setdefault(path.casefold(), path)
        if first != path:
            yield f"{path}: differs from {first} only in letter case"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    everything = [file for file in sorted(root.rglob("*"))
                  if not {"build", ".git"} & set(file.relative_to(root).parts)]
    files = [file for file in everything if file.is_file() and file.suffix in TEXTS]
    found = [problem for file in files for problem in problems(root, file)]
    found += case_problems(file.relative_to(root).as_posix() for file in everything)
    print("\n".join(found) or f"{len(files)} files are tidy")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
