#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which calls the stacks of leaks are shown without: those that only allocate for many callers,
whatever their names are; never main(), and never a function that makes objects of one kind.

usage: wrappers.py EGGBOX
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

EGGBOX = pathlib.Path(sys.argv[1]).resolve()
FOUND = pathlib.Path(__file__).resolve().parent / "runs" / "found.json"
failures = []


def check(truth, what, *seen):
    if not truth:
        failures.append(what + "".join(f"\n    {each}" for each in seen))


def place(function, line=10):
    return {"module": "/usr/bin/shop", "offset": line, "file": "/src/shop.c", "line": line,
            "function": function}


def leak(size, *calls):
    """A call is a name, or a name and a line."""
    stack = [place("malloc")] + [place(*each) if isinstance(each, tuple) else place(each)
                                 for each in calls]
    return {"site": stack[0], "stack": stack, "pool": "heap", "blocks": 2, "bytes": 2 * size,
            "oldest_ms": 5}


def pages(folder, leaks, *options):
    """The stacks that the report shows, and all of its text."""
    run = json.loads(FOUND.read_text())
    del run["processes"][1:]
    process = run["processes"][0]
    process["leaks"] = leaks
    process["leaked"] = {"places": len(leaks), "blocks": 2 * len(leaks),
                         "bytes": sum(each["bytes"] for each in leaks)}
    file = folder / "run.json"
    file.write_text(json.dumps(run))
    done = subprocess.run([EGGBOX, "report", file, *options], capture_output=True, text=True,
                          check=True)
    return [re.sub(r" shop\.c:\d+", "", each)
            for each in re.findall(r"oldest [^:]*: (.*)", done.stdout)], done.stdout


def callers(function, count, sizes, lines=1):
    return [leak(100 + i % sizes, (function, 10 + i % lines), f"user_{i}", "main")
            for i in range(count)]


def fronts(folder, leaks, *options):
    return {each.split(" < ")[0] for each in pages(folder, leaks, *options)[0]}


def what_is_folded(folder):
    users = {f"user_{i}" for i in range(8)}
    check(fronts(folder, callers("take_room", 8, 4)) == users, "many callers and sizes")
    check(fronts(folder, callers("my_alloc", 3, 2)) == {"user_0", "user_1", "user_2"}, "a name")
    check(fronts(folder, callers("shop_mem_get", 3, 2, 2)) == {"user_0", "user_1", "user_2"},
          "a name, and a line for a second try")
    nested = [leak(100 + i, "take_room", f"room_{i % 8}", "outer_room", f"user_{i % 8}", "main")
              for i in range(8)]
    check(fronts(folder, nested) == {f"room_{i}" for i in range(8)}, "their callers are none")
    twice = [leak(100 + i, "my_alloc", "my_array_alloc", f"user_{i}", "main") for i in range(4)] + \
            [leak(200 + i, "my_alloc", f"other_{i}", "main") for i in range(4)]
    check(fronts(folder, twice) == {f"{who}_{i}" for who in ("user", "other") for i in range(4)},
          "a wrapper of a wrapper")


def what_is_not(folder):
    for what, leaks in (("one size", callers("make_item", 9, 1)),
                        ("few callers", callers("take_room", 7, 7)),
                        ("few callers, in spite of its name", callers("my_alloc", 2, 2)),
                        ("one size, in spite of its name", callers("my_alloc", 9, 1)),
                        ("many lines", callers("read_all", 9, 9, 3)),
                        ("it calls others, too", callers("take_room", 9, 9) +
                         [leak(50, "make_item", "take_room", "main")])):
        name = leaks[0]["stack"][1]["function"]
        seen = fronts(folder, leaks)
        check(name in seen, what, seen)
    mains = [leak(100 + i, "main") for i in range(9)] + \
            [leak(200 + i, "main", f"user_{i}") for i in range(9)]
    check(fronts(folder, mains) == {"main"}, "main(), even with callers")


def how_to_see_them(folder):
    leaks = callers("take_room", 9, 9)
    stacks, page = pages(folder, leaks)
    check("  left out in front, since they allocate for many callers: take_room; `eggbox report "
          "--all` shows them\n" in page and stacks[0] == "user_8 < main", "what is said", page)
    stacks, page = pages(folder, leaks, "--all")
    check(stacks[0] == "malloc < take_room < user_8 < main" and "left out" not in page, "--all",
          page)
    _, page = pages(folder, leaks, "--format", "folded")
    check("main shop.c:10;user_8 shop.c:10 216\n" in page and "take_room" not in page,
          "another tool", page)
    _, page = pages(folder, leaks, "--format", "folded", "--all")
    check(";user_8 shop.c:10;take_room shop.c:10;malloc shop.c:10 216\n" in page,
          "another tool, all", page)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        what_is_folded(folder)
        what_is_not(folder)
        how_to_see_them(folder)
    print("\n".join(failures) or "the calls that matter are in front")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
