#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mallinfo2(), mallinfo(), malloc_info() and malloc_stats() tell the same truth of the heap.

usage: mallinfo.py LIBRARY MALLINFO
"""

import re
import sys
from xml.etree import ElementTree

from both import check, failures, run

LIBRARY, MALLINFO = sys.argv[1:3]
IN_USE = 667 * 100  # the bytes of the program's small blocks that it keeps
FREED = 334  # the number of the others
LARGE = 1000000


def of(tree, path, kind, what):
    return int(tree.find(f"{path}[@type='{kind}']").get(what))


def shape(text):
    """The text without numbers and without the sizes of free blocks."""
    return re.sub(r" *\d+", "0", re.sub(r"(?s)<sizes>.*?</sizes>", "", text))


def compare_xml(info, words):
    arena, _, unused, large, large_bytes, *blocks, _ = words
    tree = ElementTree.fromstring(info)
    check(tree.tag == "malloc" and len(tree.findall("heap")) == 1, "one heap", info)
    check(of(tree, "total", "mmap", "count") == large, "large blocks", info, words)
    check(of(tree, "total", "mmap", "size") == large_bytes, "bytes of them", info, words)
    for place in (tree, tree.find("heap")):
        kinds = [of(place, "total", kind, "size") for kind in ("fast", "rest")]
        check(sum(kinds) == unused, "free bytes", info, words)
        check(of(place, "system", "current", "size") == arena, "bytes held", info, words)
        check(of(place, "system", "max", "size") >= arena, "most bytes held", info, words)
        check(of(place, "aspace", "total", "size") == arena, "addresses", info, words)
    sizes = tree.findall("heap/sizes/size")
    counts = [of(tree, "total", kind, "count") for kind in ("fast", "rest")]
    check(blocks == [counts[1], counts[0], of(tree, "total", "fast", "size")],
          "fast bins and the rest", info, words)
    check(sum(int(size.get("count")) for size in sizes) == sum(counts), "free blocks", info)
    check(any(int(size.get("to")) in range(100, 128) for size in sizes), "freed ones", info)


def compare_trimmed(words, trimmed):
    """All unused memory can go; after a trim the freed large block is gone, too."""
    check(words[8] >= words[2] + LARGE, "what can be given back", words)
    check(trimmed[6:8] == [0, 0], "magazines are empty", trimmed)
    check(trimmed[8] == trimmed[2] <= words[8] - LARGE, "what is left", words, trimmed)


def compare_text(stats, words):
    arena, in_use, _, _, large_bytes = words[:5]
    numbers = [int(line.split("=")[1]) for line in stats.splitlines() if "=" in line]
    check(numbers[:4] == [arena, in_use, arena + large_bytes, in_use + large_bytes],
          "malloc_stats", stats, words)
    check(numbers[4] >= 2 and numbers[5] >= 2 * LARGE, "the most large blocks", stats)


def main():
    plain = run([MALLINFO])
    for level in ("off", "check", "guard"):
        done = run([MALLINFO], LIBRARY, extra={"EGGBOX_CHECK": level})
        check(done.returncode == plain.returncode == 0, "status", level, done, plain)
        first, ints, *info, last, trimmed = done.stdout.decode().splitlines()
        words = [int(word) for word in first.split()]
        check(first == last, "the call needs memory itself", level, first, last)
        check(first == ints, "mallinfo() and mallinfo2()", level, first, ints)
        check(IN_USE <= words[1] <= words[0] and words[1] + words[2] == words[0], "bytes", words)
        check(words[3] == 1 and words[4] >= LARGE, "the large block", words)
        check(words[5] + words[6] >= FREED, "free blocks", level, words)
        compare_xml("\n".join(info), words)
        compare_trimmed(words, [int(word) for word in trimmed.split()])
        compare_text(done.stderr.decode(), words)
        # As glibc writes it: its programs have readers.
        known = plain.stdout.decode().split("\n", 2)[2].rsplit("\n", 3)[0]
        check(shape("\n".join(info)) == shape(known), "form", level, info, known)
        check(shape(done.stderr.decode()) == shape(plain.stderr.decode()),
              "form of malloc_stats", level, done.stderr, plain.stderr)
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
