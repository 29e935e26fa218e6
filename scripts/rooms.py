#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that the rooms of a folder use each other only as their table allows.

usage: rooms.py TABLE FOLDER [OBJECT...] [--nm NM] [--outside FILE]... [--arrows]

A room is a sub-folder of FOLDER. TABLE is a Markdown file, and the one place that says which rooms
there are: the first table of it whose head begins with "room".

    | room | is | may use |
    |---|---|---|
    | `shop/` | sells | `store/`, `text/`, core |
    | `store/` | keeps | `text/` |
    | `text/` | words | |

The last cell names in backticks the rooms that this room may use; other words there are for people.
A room may use only rooms below it in the table, so that there can be no circle.

Includes are read from the sources. Symbols are read from OBJECTs by nm: object files, or folders
that are searched for them. The path of an object file ends with the path of its source in FOLDER
and ".o" or ".obj", as CMake makes it. With any OBJECT each source needs one. A symbol counts if
exactly one room defines it, and not weakly: inline functions and templates are no room's own.
"""

import argparse
import collections
import pathlib
import re
import shutil
import subprocess
import sys

SOURCES = {".c", ".cc", ".cpp"}
HEADERS = {".h", ".hpp"}
INCLUDE = re.compile(r'\s*#\s*include\s*"([^"]+)"')
DEFINED = set("TDBRSGCi")  # as nm prints them: strong definitions that other files can use
WANTED = set("Uwv")


def read_table(path):
    """[(room, [rooms it may use])], from the top of the table to its end."""
    rows = []
    in_table = False
    for line in path.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            if in_table:
                break
        elif cells[0] == "room":
            in_table = True
        elif in_table and not set(cells[0]) <= set("-: "):
            names = re.findall(r"`([^`]+)`", cells[0])
            uses = re.findall(r"`([^`]+)`", cells[-1])
            if len(names) != 1 or len(cells) < 3:
                sys.exit(f"{path}: not a row of rooms: {line}")
            rows.append((names[0].strip("/"), [name.strip("/") for name in uses]))
    if not rows:
        sys.exit(f"{path}: no table whose head begins with \"room\"")
    return rows


def table_problems(rows):
    names = [name for name, _ in rows]
    for at, (name, uses) in enumerate(rows):
        if name in names[:at]:
            yield f"{name}/ has two rows"
        for used in uses:
            if used not in names:
                yield f"{name}/ may use {used}/, which has no row"
            elif used not in names[at + 1:]:
                yield f"{name}/ may use {used}/, which is not below it in the table"


def room_of(path, names):
    """The room of a path in the folder; None: it is in no room."""
    found = [name for name in names if path.startswith(name + "/")]
    return max(found, key=len, default=None)


def place_problems(folder, files, names, outside):
    for name in names:
        if not any(room_of(file, names) == name for file in files):
            yield f"{name}/ has a row, but no file"
    for file in files:
        if room_of(file, names) is None and file not in outside:
            yield f"{folder / file}: in no room"


def resolve(file, included, files, names):
    """The files of the folder that an include may mean."""
    beside = (pathlib.PurePosixPath(file).parent / included).as_posix()
    while re.search(r"[^/]+/\.\./", beside):
        beside = re.sub(r"[^/]+/\.\./", "", beside, count=1)
    if beside in files:
        return [beside]
    if included in files:
        return [included]
    return [f"{name}/{included}" for name in names if f"{name}/{included}" in files]


def include_uses(folder, files, names):
    """(room, used room, how) of each include of a file of another room."""
    for file in files:
        room = room_of(file, names)
        for line in (folder / file).read_text().splitlines() if room else []:
            found = INCLUDE.match(line)
            targets = resolve(file, found.group(1), files, names) if found else []
            for target in targets:
                there = room_of(target, names)
                if there not in (None, room):
                    yield room, there, f"{file} includes {target}"


def objects_by_source(given, files):
    """Each source, and its object files."""
    objects = []
    for path in given:
        objects += [path] if path.is_file() else \
            [file for file in sorted(path.rglob("*")) if file.suffix in (".o", ".obj")]
    out = collections.defaultdict(list)
    for path in objects:
        for file in files:
            if path.as_posix().endswith((f"/{file}.o", f"/{file}.obj")):
                out[file].append(path)
    return out


def read_symbols(nm, path):
    result = subprocess.run([nm, "-P", "-g", path], capture_output=True, text=True, check=True)
    rows = [line.split() for line in result.stdout.splitlines()]
    return [(row[0], row[1]) for row in rows if len(row) >= 2]


def shown(names):
    """Names as the source has them, where there is a tool that knows."""
    tool = shutil.which("c++filt")
    if tool is None:
        return {name: name for name in names}
    result = subprocess.run([tool], input="\n".join(names), capture_output=True, text=True,
                            check=True)
    return dict(zip(names, result.stdout.splitlines()))


def symbol_uses(nm, objects, names):
    """(room, used room, how) of each use of a symbol that one other room defines; and problems."""
    owners = collections.defaultdict(set)
    wanted = []
    for file, paths in sorted(objects.items()):
        for path in paths:
            for symbol, kind in read_symbols(nm, path):
                if kind in DEFINED:
                    owners[symbol].add(room_of(file, names))
                elif kind in WANTED:
                    wanted.append((file, symbol))
    crossing = [(file, symbol, *owners[symbol]) for file, symbol in sorted(set(wanted))
                if len(owners[symbol]) == 1 and room_of(file, names) not in owners[symbol]]
    text = shown(sorted({symbol for _, symbol, _ in crossing}))
    uses = [(room_of(file, names), there, f"{file} uses {text[symbol]}")
            for file, symbol, there in crossing]
    return uses, [] if owners else ["the object files define nothing"]


def circles(arrows):
    """Each circle once that a search through the arrows closes, as the rooms on it."""
    out = []

    def visit(room, path):
        if room in path:
            circle = path[path.index(room):]
            if not any(set(circle) == set(other) for other in out):
                out.append(circle)
            return
        for there in sorted(arrows.get(room, ())):
            visit(there, path + [room])

    for start in sorted(arrows):
        visit(start, [])
    return out


def check(options, rows):
    """The problems; and the uses between rooms, wrong uses included."""
    names = [name for name, _ in rows]
    folder = options.folder
    files = {file.relative_to(folder).as_posix(): None for file in sorted(folder.rglob("*"))
             if file.suffix in SOURCES | HEADERS}
    found = list(table_problems(rows)) + list(place_problems(folder, files, names, options.outside))
    uses = list(include_uses(folder, files, names))
    if options.objects:
        sources = [file for file in files
                   if pathlib.PurePath(file).suffix in SOURCES and room_of(file, names)]
        objects = objects_by_source(options.objects, sources)
        found += [f"{folder / file}: no object file" for file in sources if file not in objects]
        more, problems = symbol_uses(options.nm, objects, names)
        uses += more
        found += problems
    allowed = dict(rows)
    found += [f"{room}/ may not use {there}/: {how}"
              for room, there, how in uses if there not in allowed[room]]
    arrows = collections.defaultdict(set)
    for room, there, _ in uses:
        arrows[room].add(there)
    found += ["a circle: " + " > ".join(circle + circle[:1]) for circle in circles(arrows)]
    return found, uses


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("objects", type=pathlib.Path, nargs="*")
    parser.add_argument("--nm", default="nm")
    parser.add_argument("--outside", action="append", default=[],
                        help="a file of FOLDER that belongs to no room")
    parser.add_argument("--arrows", action="store_true", help="print who uses whom, and how often")
    options = parser.parse_args()
    rows = read_table(options.table)
    found, uses = check(options, rows)
    if options.arrows:
        for (room, there), count in sorted(collections.Counter(use[:2] for use in uses).items()):
            print(f"{room} > {there}: {count}")
    what = "includes and symbols" if options.objects else "includes"
    print("\n".join(found) or
          f"{len(rows)} rooms, {len(uses)} uses of others ({what}), all allowed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
