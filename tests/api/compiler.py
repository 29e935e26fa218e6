# SPDX-License-Identifier: MIT
"""Compiles snippets with the compilers of the build under test."""

import argparse
import pathlib
import subprocess
import tempfile


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("standards", choices=("every", "first"), nargs="?", default="every")
    # The compilers come with the flags of the preset, which look like options of ours.
    known, rest = parser.parse_known_args()
    commands = {"--cc": [], "--cxx": []}
    current = None
    for word in rest:
        if word in commands:
            current = commands[word]
        else:
            current.append(word)
    return known, commands["--cc"], commands["--cxx"]


WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow",
            "-Wundef", "-Wcast-align", "-Werror"]
# Extensions that compilers accept in older standards, with a warning.
OLDER = {
    "gnu89": ["-Wno-variadic-macros"],
    "c++14": ["-Wno-c++17-extensions", "-Wno-c++17-attribute-extensions"],
}


def compile_text(command, standard, suffix, text, root):
    """Returns what the compiler said, or None if it had nothing to say."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "snippet" + suffix)
        source.write_text(text)
        result = subprocess.run(
            command + [f"-std={standard}", *WARNINGS, *OLDER.get(standard, []),
                       f"-I{root}/include", "-c", str(source), "-o", str(source) + ".o"],
            capture_output=True, text=True, check=False)
        return result.stderr or "(no message)" if result.returncode != 0 else None
