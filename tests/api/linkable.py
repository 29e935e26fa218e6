#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every public function can be found in the shared library by its name, and called from there.

usage: linkable.py ROOT LIBRARY

The names are read from the C headers in ROOT. For each there is a call in linkable_calls.py.
"""

import ctypes
import os
import pathlib
import re
import sys
import traceback

import linkable_calls

# Words before a bracket that are no names of functions.
KEYWORDS = {"if", "return", "sizeof", "tls_model", "void", "volatile", "while", "for"}
NO_NAME = re.compile(r"[A-Z][A-Z0-9_]*|__\w+")


def public_names(root):
    """The functions that the headers of C declare or define, in their order."""
    found = {}
    for header in sorted((root / "include/eggbox").glob("*.h")):
        text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", header.read_text(), flags=re.S)
        text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text).replace("\\\n", " ")
        text = re.sub(r"^#if defined\(__cplusplus\)$.*?^#(?:else|endif)", "", text,
                      flags=re.S | re.M)
        text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
        for name in re.findall(r"\b([A-Za-z_]\w*)\s*\((?!\s*\*)", text):
            if name not in KEYWORDS and not NO_NAME.fullmatch(name) and not name.endswith("_"):
                found[name] = header.name
    return found


class Library:
    """The shared library, with the types of its functions, and a list of the calls made."""

    def __init__(self, path):
        self.shared = ctypes.CDLL(str(path))
        self.called = set()

    def __getattr__(self, name):
        function = self.shared[name]
        result, arguments = linkable_calls.SIGNATURES[name]
        function.restype, function.argtypes = result, arguments

        def call(*values):
            self.called.add(name)
            return function(*values)
        return call


def run_apart(library, names, calls):
    """Runs `calls` in a child process. The fault, or None."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            calls(library)
            missing = [name for name in names if name not in library.called]
            said = f"not called: {', '.join(missing)}" if missing else ""
        except BaseException:  # the parent reports it
            said = traceback.format_exc()
        os.write(writer, said.encode()[:4096])
        os._exit(1 if said else 0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read().decode()
    status = os.waitpid(child, 0)[1]
    return None if status == 0 else said or f"the process ended with status {status}"


def problems(root, path, table):
    library = Library(path)
    names = public_names(root)
    in_table = {name for group, _ in table for name in group}
    for name, header in names.items():
        if not name.startswith("egb_"):
            yield f"{header}: {name}: a public name of ours begins with egb_"
        elif not hasattr(library.shared, name):
            yield f"{header}: {name}: not in the library"
        elif name not in in_table or name not in linkable_calls.SIGNATURES:
            yield f"{header}: {name}: linkable_calls.py has no call"
    for name in sorted((in_table | set(linkable_calls.SIGNATURES)) - set(names)):
        yield f"{name}: linkable_calls.py has it, but no header"
    for group, calls in table:
        if all(hasattr(library.shared, name) for name in group):
            said = run_apart(library, group, calls)
            if said:
                yield f"{', '.join(group)}: {said}"


def main(table=linkable_calls.TABLE):
    root, path = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    for variable in [name for name in os.environ if name.startswith("EGGBOX_")]:
        del os.environ[variable]
    sys.stdout.flush()
    found = list(problems(root, path, table))
    count = len(public_names(root))
    print("\n".join(found) or f"{count} of {count} public functions are linkable, and called")
    return 1 if found or count < 80 else 0


if __name__ == "__main__":
    sys.exit(main())
