#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The manifests of packages agree with the build by CMake: versions, sources, and names of files.

usage: manifests.py ROOT
"""

import ast
import json
import re
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

# The other places of the version: each match must be the version of CMakeLists.txt.
VERSIONS = {
    "CHANGELOG.md": r"^## (\S+?),? ",
    "MODULE.bazel": r'name = "eggbox", version = "([^"]+)"',
    "bindings/python/eggbox/__init__.py": r'^__version__ = "([^"]+)"',
    "bindings/python/pyproject.toml": r'^version = "([^"]+)"',
    "idf_component.yml": r'^version: "([^"]+)"',
    "library.json": r'"version": "([^"]+)"',
    "meson.build": r"\bversion: '([^']+)'",
    "packaging/arduino/library.properties": r"^version=(.+)",
    "packaging/cmsis/eggbox.eggbox.pdsc": r'\b(?:release v|Cv)ersion="([^"]+)"',
    "packaging/debian/changelog": r"^eggbox \((\S+)\)",
    "packaging/vcpkg/eggbox/vcpkg.json": r'"version": "([^"]+)"',
}
# Manifests that compile the one-file build, and therefore name no other source.
ONE_FILE = ("BUILD.bazel", "library.json", "meson.build", "packaging/esp-idf/component.cmake",
            "zephyr/CMakeLists.txt")
PACK = "packaging/cmsis/eggbox.eggbox.pdsc"


def version_problems(root):
    project = (root / "CMakeLists.txt").read_text()
    version = re.search(r"^project\(eggbox VERSION (\S+)", project, re.M)[1]
    for path, pattern in VERSIONS.items():
        found = re.findall(pattern, (root / path).read_text(), re.M)
        # The first entry of a change log is the newest one.
        newest = found[:1] if "changelog" in path.lower() else found
        if not newest or set(newest) != {version}:
            named = ", ".join(newest) or "not found"
            yield f"{path}: version {named}, CMakeLists.txt has {version}"
    header = (root / "include/eggbox/base.h").read_text()
    macros = ".".join(re.findall(r"#define EGB_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))
    if macros != version:
        yield f"include/eggbox/base.h: version {macros}, CMakeLists.txt has {version}"
    for page in sorted((root / "docs/man").glob("*.1")):
        if f'"eggbox {version}"' not in page.read_text():
            yield f"docs/man/{page.name}: not of version {version}"


def cmake_sources(root):
    """The sources of the library, and of compat, as CMake lists them for any system."""
    text = (root / "CMakeLists.txt").read_text()
    sources = set(re.findall(r"src/([\w/]+\.c)", text))
    for names in re.findall(r"(?:set\(|APPEND )system ([^)]+)\)", text):
        sources |= {f"os/{name}" for name in names.split()}
    compat = (root / "cmake/compat.cmake").read_text()
    variants = {f"compat/{name}" for name in re.findall(r"set\(xallocator (\w+\.c)\)", compat)}
    return sources, variants | set(re.findall(r"src/(compat/\w+\.c)", compat))


def included(file):
    return set(re.findall(r'^\s*#include "([\w/]+\.c)"', file.read_text(), re.M))


def difference(what, found, wanted):
    for name in sorted(found ^ wanted):
        yield f"{what}: {'no' if name in wanted else 'not in CMake:'} {name}"


def source_problems(root):
    sources, compat = cmake_sources(root)
    yield from difference("src/eggbox.c", included(root / "src/eggbox.c"), sources)
    yield from difference("src/eggbox_compat.c", included(root / "src/eggbox_compat.c"), compat)
    core = {name for name in sources if name.startswith("core/")}
    # The library for the Arduino IDE is the whole folder.
    yield from difference("src/core", {f"core/{path.name}" for path in
                                       (root / "src/core").glob("*.c")}, core)
    pack = xml.parse(root / PACK)
    listed = {file.get("name") for file in pack.iter("file") if file.get("category") == "sourceC"}
    yield from difference(PACK, listed, {f"src/{name}" for name in core})
    for path in ONE_FILE:
        named = set(re.findall(r"[\w/]+\.c\b", (root / path).read_text()))
        if {Path(name).name for name in named} != {"eggbox.c"}:
            yield f"{path}: names {', '.join(sorted(named))}, and should name src/eggbox.c alone"
    folders = re.search(r"for folder in (\[.*?\])", (root / "BUILD.bazel").read_text())
    yield from difference("BUILD.bazel", set(ast.literal_eval(folders[1])),
                          {name.split("/")[0] for name in sources})


def file_problems(root):
    library = json.loads((root / "library.json").read_text())
    named = {"library.json": library["export"]["include"] + [library["build"]["extraScript"]],
             PACK: [file.get("name") for file in xml.parse(root / PACK).iter("file")]}
    for manifest, names in named.items():
        for name in names:
            if not (root / name).exists():
                yield f"{manifest}: there is no {name}"
    json.loads((root / "packaging/vcpkg/eggbox/vcpkg.json").read_text())


def main(root):
    found = [*version_problems(root), *source_problems(root), *file_problems(root)]
    print("\n".join(found) or f"{len(VERSIONS)} manifests agree with CMake")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
