# SPDX-License-Identifier: MIT
"""Compiles snippets with the compilers of the build under test."""

import argparse
import os
import pathlib
import shutil
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
OLDER = {"c90": ["-Wno-variadic-macros"]}


# With ccache, a source whose headers are as they were is compiled no more. It keeps what a compiler
# wrote, so each source is then a start of its own that writes an object; and with the list of
# headers that the compiler writes (-MD) it needs no start of the preprocessor.
CCACHE = shutil.which("ccache")
CACHED = {**os.environ, "CCACHE_DEPEND": "1"}


def start(words, folder):
    result = subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder,
                            env=CACHED)
    return "" if result.returncode == 0 else result.stderr or "(no message)"


def compile_texts(command, standard, texts, root):
    """Returns what the compiler said about files of these names, or None if it had nothing to say.
    """
    words = command + [f"-std={standard}", *WARNINGS, *OLDER.get(standard, []),
                       f"-I{root.resolve()}/include"]
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            pathlib.Path(folder, name).write_text(text)
        if CCACHE:
            words = [CCACHE, *words, "-MD", "-c", "-o", "object"]
            said = "".join(start([*words, name], folder) for name in texts)
        else:
            said = start([*words, "-fsyntax-only", *texts], folder)
        return said or None


def compile_text(command, standard, suffix, text, root):
    """The same for one file."""
    return compile_texts(command, standard, {"snippet" + suffix: text}, root)
