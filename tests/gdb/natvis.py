#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tools/natvis/eggbox.natvis: its elements are those of the format, in their places, and each class
and member that it names is in the headers, as gdb sees them in a program.

usage: natvis.py ROOT C++-COMPILER GDB
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

ROOT, CXX, GDB = sys.argv[1:4]
FILE = pathlib.Path(ROOT, "tools/natvis/eggbox.natvis")
SPACE = "{http://schemas.microsoft.com/vstudio/debugger/natvis/2010}"
# The part of the schema that the file uses: the elements allowed in each one, and the attributes.
INSIDE = {
    "AutoVisualizer": {"Type"},
    "Type": {"DisplayString", "Expand"},
    "DisplayString": set(),
    "Expand": {"Item", "ExpandedItem", "ArrayItems", "CustomListItems"},
    "Item": set(), "ExpandedItem": set(), "Size": set(), "ValuePointer": set(), "Variable": set(),
    "Break": set(), "Exec": set(),
    "ArrayItems": {"Size", "ValuePointer"},
    "CustomListItems": {"Variable", "Size", "Loop"},
    "Loop": {"Break", "If", "Exec"},
    "If": {"Item"},
}
ATTRIBUTES = {"Type": {"Name"}, "DisplayString": {"Condition"}, "Item": {"Name", "Condition"},
              "Expand": {"HideRawView"}, "ArrayItems": {"Condition"}, "If": {"Condition"},
              "Break": {"Condition"}, "Variable": {"Name", "InitialValue"},
              "CustomListItems": {"Condition", "MaxItemsPerView"}}
# A variable of each type, in the order of the file.
PROGRAM = """
#include <eggbox/eggbox.hpp>
#include <eggbox/heap.hpp>
#include <eggbox/shared.hpp>
#include <eggbox/slots.hpp>
egb_fixed v0; egb_pool v1; egb_slots v2;
eggbox::fixed_pool<long, 4> v3; eggbox::pool_handle<long> v4; eggbox::pool<long> v5;
eggbox::handle<long> v6; eggbox::slots<long, 4> v7; eggbox::growing_slots<long> v8;
eggbox::heap v9; eggbox::frame v10; eggbox::shared_pool v11; eggbox::shared_pool_of<long> v12;
int main() { return 0; }
"""
failures = []


def check(truth, what, *seen):
    if not truth:
        failures.append(what + "".join(f"\n    {each}" for each in seen))


def name_of(element):
    return element.tag.replace(SPACE, "")


def check_places(element):
    name = name_of(element)
    check(set(element.keys()) <= ATTRIBUTES.get(name, set()), f"attributes of {name}",
          element.keys())
    for each in element:
        check(name_of(each) in INSIDE.get(name, set()), f"{name_of(each)} in {name}")
        check_places(each)


def expressions(kind):
    """The expressions in a type's view, as C++ for the debugger."""
    for each in kind.iter():
        name, text = name_of(each), each.text or ""
        if name == "DisplayString":
            yield from re.findall(r"\{([^}]*)\}", text)
        elif name in ("Item", "ExpandedItem", "Size", "ValuePointer") and text.strip():
            yield text
        yield from (each.get(key) for key in ("Condition",) if each.get(key))


def for_gdb(expression, number):
    """With the variable of the type in front of each member."""
    expression = expression.replace("nullptr", "0").replace("$T1", "long")
    expression = re.sub(r"\bindex\b", "0", expression) if "store_" in expression else expression
    expression = re.sub(r"\bthis\b", f"(&v{number})", expression)
    members = r"(?<![\w.:&])(?!long\b|eggbox::)[a-z]\w*"
    return re.sub(members, rf"v{number}.\g<0>", expression)


def main():
    tree = xml.parse(FILE).getroot()
    check(tree.tag == SPACE + "AutoVisualizer", "the root", tree.tag)
    check_places(tree)
    kinds = list(tree)
    check(len(kinds) == PROGRAM.count(" v"), "a variable of each type", len(kinds))
    wanted = [for_gdb(each, number) for number, kind in enumerate(kinds)
              for each in expressions(kind)]
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder, "kinds.cpp"), pathlib.Path(folder, "kinds.o")
        source.write_text(PROGRAM)
        subprocess.run([CXX, "-std=c++17", "-g", "-fno-eliminate-unused-debug-types", "-c",
                        f"-I{ROOT}/include", source, "-o", program], check=True)
        script = [word for each in wanted for word in ("-ex", f"whatis {each}")]
        done = subprocess.run([GDB, "-nx", "-batch", *script, program], capture_output=True,
                              text=True, check=False, timeout=600)
    check(done.stdout.count("type = ") == len(wanted) and len(wanted) > 40 and not done.stderr,
          "each member is there", *wanted, done)
    print("\n".join(failures) or f"{len(kinds)} types, {len(wanted)} expressions")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
