#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`--suppress`: leaks that the user does not want to hear of, in recorded runs and in a real one.

usage: suppress.py EGGBOX LIBRARY COMPILER
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

EGGBOX, LIBRARY = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
COMPILER = sys.argv[3]
FOUND = pathlib.Path(__file__).resolve().parent / "runs" / "found.json"
failures = []


def check(truth, what, *seen):
    if not truth:
        failures.append(what + "".join(f"\n    {each}" for each in seen))


def command(*words, status=0):
    done = subprocess.run([EGGBOX, *map(str, words)], capture_output=True, text=True, check=False,
                          env={**os.environ, "EGGBOX_MALLOC_LIB": str(LIBRARY)})
    check(done.returncode == status, f"{words}: status {done.returncode}", done)
    return done.stdout if status == 0 and words[0] == "report" else done.stderr


def sums(folder, *patterns):
    """Bytes of leaks that are left, and of those that are suppressed."""
    file = folder / "quiet.supp"
    file.write_text("# a comment\n\n" + "".join(f"  leak:{each} \n" for each in patterns))
    found = json.loads(command("report", FOUND, "--json", "--suppress", file))
    check(sum(each["bytes"] for each in found["leaks"]) <= found["leaked"]["bytes"], "the sum",
          patterns)
    return found["leaked"]["bytes"], found["suppressed"]["bytes"]


def patterns(folder):
    all_, cart, prices = 9084, 8464, 448  # as the report without the option has them
    for wanted, quiet in (((), 0), (("cart_add",), cart), (("cart.c",), cart),
                          (("^cart_add$",), cart), (("libprices.so",), prices),
                          (("price_of(char*",), prices),
                          (("cart_add", "price_of"), cart + prices), (("^*_add",), cart),
                          (("cart*add",), cart), (("c*a*r*t*_*a",), cart), (("^art_add",), 0),
                          (("cart_ad$",), 0), (("cart**add",), cart), (("cart.add",), 0)):
        seen = sums(folder, *wanted)
        check(seen == (all_ - quiet, quiet), f"{wanted}", seen)
    everything = sums(folder, "*")  # but those without a name, and those that are not listed
    check(sum(everything) == 13121 + 64 and everything[0] < 60, "all that has a name", everything)
    sums(folder, "*a" * 5000 + "$")  # takes no time


def what_is_said(folder):
    file = folder / "quiet.supp"
    file.write_text("leak:cart_add\n")
    page = command("report", FOUND, "--suppress", file)
    check("  8,464 bytes in 121 blocks suppressed\n" in page and "LEAKS: 620 bytes" in page and
          "cart_add" not in page.partition("LEAKS")[2], "the page", page)
    folded = command("report", FOUND, "--format", "folded", "--suppress", file)
    check("cart_add" not in folded and "price_of" in folded, "another tool's format", folded)
    page = folder / "page.html"
    command("report", FOUND, "--html", page, "--suppress", file)
    check("8,464 bytes in 121 blocks suppressed" in page.read_text(), "the page of a browser")
    command("report", "--diff", FOUND, FOUND, "--suppress", file)
    for text, sentence in (("leak:\n", 'quiet.supp:1: expected "leak:PATTERN", found "leak:"'),
                           ("\nrace:x\n", 'quiet.supp:2: expected "leak:PATTERN"'),
                           ("\x1b[2J\n", 'quiet.supp:1: expected "leak:PATTERN", found "\\x1b[')):
        file.write_text(text)
        said = command("report", FOUND, "--suppress", file, status=2)
        check(sentence in said and "\x1b" not in said, "another line", said)
    said = command("report", FOUND, "--suppress", folder / "none", status=2)
    check("none: " in said, "no such file", said)


def a_real_run(folder):
    source = folder / "shop.c"
    source.write_text("#include <stdlib.h>\n"
                      "__attribute__((noinline)) void* wanted(void) { return malloc(100); }\n"
                      "__attribute__((noinline)) void* forgotten(void) { return malloc(30); }\n"
                      "int main(void) { return wanted() == NULL || forgotten() == NULL; }\n")
    subprocess.run([COMPILER, "-g", "-O1", "-fno-builtin", "-fno-optimize-sibling-calls", source,
                    "-o", folder / "shop"], check=True)
    file = folder / "quiet.supp"
    file.write_text("leak:wanted\n")
    report = folder / "report.json"
    said = command("run", "--check", "track", "--report", report, "--suppress", file, "--",
                   folder / "shop")
    check("30 bytes in 1 block directly lost" in said and "100 bytes in 1 block suppressed" in said,
          "a run", said)
    leaks = json.loads(report.read_text())["processes"][0]["leaks"]
    check({30, 100} <= {each["bytes"] for each in leaks}, "the report has all", leaks)
    file.write_text("nonsense\n")
    said = command("run", "--suppress", file, "--", folder / "shop", status=2)
    check("expected" in said, "before the program starts", said)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        patterns(folder)
        what_is_said(folder)
        a_real_run(folder)
    print("\n".join(failures) or "quiet where it is wanted")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
