#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`eggbox report --format`: each file is parsed as its tool does it, and must hold every stack with
its blocks and bytes.

usage: formats.py EGGBOX
"""

import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios

EGGBOX = pathlib.Path(sys.argv[1]).resolve()
RUNS = pathlib.Path(__file__).resolve().parent / "runs"
failures = []


def check(truth, what, *seen):
    if not truth:
        failures.append(what + "".join(f"\n    {each}" for each in seen))


def report(*arguments, status=0):
    done = subprocess.run([EGGBOX, "report", *arguments], cwd=RUNS, capture_output=True,
                          check=False)
    check(done.returncode == status, f"exit status of {arguments}", done)
    return done.stdout if status == 0 else done.stderr.decode()


# ---- the report ---------------------------------------------------------------------------------

def place(function, line, offset, inlined=False, file="/src/shop.c"):
    out = {"module": "/bin/shop", "function": function, "file": file, "line": line,
           "offset": offset}
    return {**out, "inlined": True} if inlined else out


MAIN, FILL = place("main", 50, 0x500), place("fill(int)", 40, 0x400)
ITEM = [place("item", 20, 0x300, inlined=True), place("make_item", 30, 0x300)]
BARE = {"module": "/bin/shop", "offset": 0x99}
START = {"module": "/lib/libc.so.6", "function": "__libc_start_main", "offset": 1}
LEAKS = [  # stack, blocks, bytes, the names that are shown, the outermost first
    (ITEM + [FILL, MAIN, START], 20, 640, ("main", "fill", "make_item", "item")),
    ([place("xmalloc", 5, 0x100), FILL, MAIN], 2, 300, ("main", "fill")),
    ([place("g_malloc", 6, 0x110), FILL, MAIN], 1, 30, ("main", "fill")),  # the same, when shown
    ([FILL], 1, 7, ("fill",)),  # the innermost shown call of the one before
    ([BARE, MAIN], 3, 33, ("main", "shop+0x99")),
    ([place("a;b\x1b[2J1", 1, 0x600)], 1, 5, ("a;b\\x1b[2J1",)),
    ([place("deep", 7, 0x700)] * 300, 1, 1, ("deep",) * 256),
]
UNLISTED = ("(sites that the report does not list)",)


def made_up():
    run = json.loads((RUNS / "found.json").read_text(encoding="utf-8"))
    process = run["processes"][0]
    run["processes"] = [process]
    process["large"]["is_tracked"] = True
    process["leaks"] = [{"site": stack[0], "stack": stack, "pool": "heap 64", "blocks": blocks,
                         "bytes": size, "oldest_ms": 1} for stack, blocks, size, _ in LEAKS]
    process["leaked"] = {"places": len(LEAKS) + 2,
                         "blocks": sum(blocks for _, blocks, _, _ in LEAKS) + 4,
                         "bytes": sum(size for _, _, size, _ in LEAKS) + 44}
    return run


def leaked():
    out = {UNLISTED: (4, 44)}
    for _, blocks, size, names in LEAKS:
        before = out.get(names, (0, 0))
        out[names] = before[0] + blocks, before[1] + size
    return out


def without_semicolons(stacks):
    return {tuple(name.replace(";", ":") for name in names): sums
            for names, sums in stacks.items()}


# ---- the parsers: the outermost name first, with blocks and bytes ------------------------------

def add(to, names, blocks, size):
    names = tuple(names)
    check(names not in to, "twice", names)
    to[names] = blocks, size


def folded(data):
    """As flamegraph.pl takes a line apart. A line with two numbers is a difference there."""
    out = {}
    for line in data.decode().splitlines():
        calls, size = re.fullmatch(r"(.*)\s+(\d+)", line).groups()
        check(re.search(r"[\x00-\x1f]", line) is None, "a control character", line)
        check(re.search(r"\s\d+(\.\d*)?$", calls) is None, "two numbers", line)
        add(out, [re.sub(r" [^ ]*:\d+$", "", call) for call in calls.split(";")], None, int(size))
    return out


def heaptrack(data):
    out = {}
    for line in data.decode().splitlines():
        calls, size = re.fullmatch(r"(.*); (\d+)", line).groups()
        add(out, [re.sub(r" \([a-z.]*\)$", "", call) for call in calls.split(";")], None, int(size))
    return out


def number(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at


def message(data):
    """The fields of a protocol buffer: number: [values]."""
    out, at = {}, 0
    while at < len(data):
        key, at = number(data, at)
        value, at = number(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        else:
            check(key & 7 == 0, "kind of a field", key)
        out.setdefault(key >> 3, []).append(value)
    check(at == len(data), "a field is cut")
    return out


def packed(data):
    out, at = [], 0
    while at < len(data):
        value, at = number(data, at)
        out.append(value)
    return out


def pprof(data, types=("leaked_blocks count", "leaked_bytes bytes")):
    """With the field numbers of pprof's profile.proto."""
    top = message(data)
    strings = [each.decode() for each in top[6]]
    check(strings[0] == "", "the first string")

    def numbered(field):
        entries = [message(each) for each in top.get(field, [])]
        check([each[1] for each in entries] == [[i + 1] for i in range(len(entries))], "numbers")
        return {each[1][0]: each for each in entries}

    mappings, locations, functions = numbered(3), numbered(4), numbered(5)
    seen = [" ".join(strings[message(each)[i][0]] for i in (1, 2)) for each in top[1]]
    check(seen == list(types), "types of samples", seen)
    check(strings[top[14][0]] == types[-1].split()[0], "the type that is shown first")
    out = {}
    for sample in map(message, top.get(2, [])):
        names = []
        for location in packed(sample[1][0]):
            of = locations[location]
            check(2 not in of or of[2][0] in mappings, "a mapping", of)
            for line in map(message, of[4]):
                function = functions[line[1][0]]
                names.append(strings[function[2][0]])
        values = packed(sample[2][0])
        check(len(values) == len(types), "values")
        add(out, reversed(names), *(values if len(values) == 2 else (values[0], None)))
    return out


def speedscope(data):
    """With the demands of its file-format-schema.json."""
    top = json.loads(data)
    check(top["$schema"] == "https://www.speedscope.app/file-format-schema.json", "schema")
    frames = [each["name"] for each in top["shared"]["frames"]]
    columns = {}
    for one in top["profiles"]:
        check((one["type"], one["startValue"]) == ("sampled", 0), "kind of profile", one)
        check(one["endValue"] == sum(one["weights"]), "end", one)
        check(len(one["samples"]) == len(one["weights"]), "a weight for each sample", one)
        columns[one["unit"]] = one
    out = {}
    for i, sample in enumerate(columns["none"]["samples"]):
        size = columns["bytes"]["weights"][i] if "bytes" in columns else None
        add(out, [frames[each] for each in sample], columns["none"]["weights"][i], size)
    return out


def name_of(call):
    return re.sub(r" \((in )?/[^()]*\)$", "", re.sub(r"^0x[0-9a-f]+: ", "", call))


def dhat(data):
    """With the checks of buildTree() in dh_view.js."""
    top = json.loads(data)
    check({"mode", "verb", "tu", "Mtu", "cmd", "pid", "te"} <= top.keys(), "fields", top.keys())
    check((top["tu"], top["Mtu"]) == ("µs", "s"), "a million of the one is the other", top["Mtu"])
    check((top["dhatFileVersion"], top["bklt"], top["bkacc"]) == (2, False, False), "version")
    out = {}
    for point in top["pps"]:
        check(0 not in point["fs"], "the root is no frame", point)
        add(out, [name_of(top["ftbl"][each]) for each in reversed(point["fs"])], point["tbk"],
            point["tb"])
    return out


def massif(data):
    """With ms_print, whose tree begins at the innermost call."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        done = subprocess.run(["ms_print", "--threshold=0", file.name], capture_output=True,
                              text=True, check=False, env={**os.environ, "LC_ALL": "C"})
    errors = re.sub(r"^Deep recursion on .*\n", "", done.stderr, flags=re.M)  # perl's, from 100 on
    check(done.returncode == 0 and errors == "", "ms_print", errors)
    nodes = [(len(indent) // 2, int(size.replace(",", "")), name_of(call)) for indent, size, call in
             re.findall(r"^([| ]*)->\d+\.\d+% \(([\d,]+)B\) (.*)$", done.stdout, re.M)]
    total = re.search(r"^100\.00% \(([\d,]+)B\) \(blocks that were never freed\)$", done.stdout,
                      re.M).group(1)
    out, path = {}, []
    for i, (depth, size, call) in enumerate(nodes):
        path[depth:] = [call]
        behind = [each for each in nodes[i + 1:]]
        end = next((j for j, each in enumerate(behind) if each[0] <= depth), len(behind))
        own = size - sum(each[1] for each in behind[:end] if each[0] == depth + 1)
        if own > 0:
            add(out, reversed(path), None, own)
    check(int(total.replace(",", "")) == sum(size for _, size in out.values()), "the sum")
    return out


# ---- the tests ----------------------------------------------------------------------------------

def compare(what, seen, expected):
    for names in {*seen, *expected}:
        blocks, size = seen.get(names, (None, None))
        truth = expected.get(names)
        check(truth is not None and size == truth[1] and blocks in (None, truth[0]),
              f"{what}: {names[:5]}", f"is {seen.get(names)}", f"not {truth}")


def every_leak_is_in_every_format(file):
    expected = leaked()
    for name, parse in (("pprof", pprof), ("speedscope", speedscope), ("dhat", dhat),
                        ("massif", massif)):
        compare(name, parse(report(file, "--format", name)), expected)
    compare("folded", folded(report(file, "--format", "folded")), without_semicolons(expected))
    compare("heaptrack-folded", heaptrack(report(file, "--format", "heaptrack-folded")),
            without_semicolons(expected))


def a_line_of_each_kind(file):
    lines = report(file, "--format", "folded").decode().splitlines()
    check("main shop.c:50;fill shop.c:40;make_item shop.c:30;item shop.c:20 640" in lines,
          "a line of folded", lines)
    lines = report(file, "--format", "heaptrack-folded").decode().splitlines()
    check("main (shop.c);fill (shop.c);make_item (shop.c);item (shop.c); 640" in lines,
          "a line of heaptrack-folded", lines)


def inlined_calls_share_a_location(file):
    top = message(report(file, "--format", "pprof"))
    lines = [len(message(each)[4]) for each in top[4]]
    check(lines.count(2) == 1 and set(lines) == {1, 2}, "functions of each location", lines)


def pools_have_peaks_and_requests():
    run = json.loads((RUNS / "monday.json").read_text(encoding="utf-8"))
    peaks, requests = {}, {}
    for process in run["processes"]:
        root = process["program"]
        entries = [((root, *((pool["parent"],) if pool["parent"] else ()), pool["name"]),
                    pool["peak"], pool["peak"] * pool["block_bytes"], pool["allocations"])
                   for pool in process["pools"]]
        large = process["large"]
        entries.append(((root, "large blocks, from the system"), large["peak"],
                        large["peak_bytes"], large["allocations"]))
        entries += [((root, "not served", each["reason"]), 0, 0, each["count"])
                    for each in process["not_served"]]
        for names, blocks, size, count in entries:
            before = peaks.get(names, (0, 0))
            peaks[names] = max(before[0], blocks), max(before[1], size)
            requests[names] = requests.get(names, (0,))[0] + count, None
    peaks = {names: sums for names, sums in peaks.items() if sums[0] > 0}
    requests = {names: sums for names, sums in requests.items() if sums[0] > 0}
    for name, parse in (("speedscope", speedscope), ("dhat", dhat),
                        ("pprof", lambda data: pprof(data, ("peak_blocks count",
                                                            "peak_bytes bytes")))):
        compare(f"peak, {name}", parse(report("monday.json", "--format", name, "--what", "peak")),
                peaks)
    compare("requests, speedscope",
            speedscope(report("monday.json", "--format", "speedscope", "--what", "requests")),
            requests)
    compare("requests, pprof",
            pprof(report("monday.json", "--format", "pprof", "--what", "requests"),
                  ("requests count",)), requests)
    seen = folded(report("monday.json", "--format", "folded", "--what", "requests"))
    check({names: size for names, (_, size) in seen.items()} ==
          {tuple(re.sub(r" (\d+)$", r"_\1", name) for name in names): count
           for names, (count, _) in requests.items()}, "requests, folded", seen)


def parents_in_a_circle_end(folder):
    run = made_up()
    pool = next(each for each in run["processes"][0]["pools"] if each["peak"] > 0)
    pool["parent"] = pool["name"]
    file = folder / "circle.json"
    file.write_text(json.dumps(run), encoding="utf-8")
    lines = report(file, "--format", "folded", "--what", "peak").decode().splitlines()
    shown = pool["name"].replace(" ", "_")
    check(any(line.count(shown) == 16 for line in lines), "a circle", lines)


def perfetto_has_a_slice_for_each_process(folder):
    run = made_up()
    one = run["processes"][0]
    later = {**one, "pid": 102, "parent_pid": 101, "program": "/bin/late", "duration_s": 0.25,
             "started_ns": 5_000_000_123}
    later["arguments"] = ["late: worker", "", ""]  # a title, and the words that it has cleared
    run["processes"] = [{**one, "started_ns": 3_000_000_123}, later,
                        {**later, "pid": 103, "processes": 7}, {**later, "is_beside": True}]
    file = folder / "tree.json"
    file.write_text(json.dumps(run), encoding="utf-8")
    top = json.loads(report(file, "--format", "perfetto"))
    slices = [each for each in top["traceEvents"] if each["ph"] == "X"]
    names = {each["pid"]: each["args"]["name"] for each in top["traceEvents"] if each["ph"] == "M"}
    check([(each["name"], each["pid"], each["ts"], each["dur"]) for each in slices] ==
          [(one["program"], 101, 0, 1_500_000), ("/bin/late", 102, 2_000_000, 250_000)], "slices",
          slices)
    check(names == {101: one["program"], 102: "/bin/late"}, "names", names)
    check(slices[1]["args"]["command"] == "late: worker", "its title", slices[1])
    requests = sum(pool["allocations"] for pool in one["pools"] if pool["is_size_class"]) + \
        one["large"]["allocations"] + sum(each["count"] for each in one["not_served"])
    check(slices[0]["args"]["requests"] == requests and
          slices[0]["args"]["bytes in use at the end"] == one["leaked"]["bytes"], "figures",
          slices[0])
    check(top["otherData"]["processes without a time"] == 7, "left out", top["otherData"])


def refusals(file):
    def refused(expected, *arguments, status=1):
        text = report(*arguments, status=status)
        check(expected in text, f"message of {arguments}", text)
    refused("there are folded, heaptrack-folded, pprof", file, "--format", "svg")
    refused("there are leaked, in-use, allocated, peak, requests", file, "--format", "folded",
            "--what", "x")
    refused("dhat shows bytes", file, "--format", "dhat", "--what", "requests")
    refused("the peaks of pools are of different", file, "--format", "massif", "--what", "peak")
    refused("allocated counts the blocks of the whole run", file, "--format", "massif", "--what",
            "allocated")
    refused("leave out --what", file, "--format", "perfetto", "--what", "peak")
    refused("does not say when its processes began", file, "--format", "perfetto", status=2)
    refused("--what requires --format", file, "--what", "peak")
    refused("--json excludes --format", file, "--json", "--format", "folded")
    refused("record them with `eggbox run --check track`", "monday.json", "--format", "pprof",
            status=2)
    refused("no pool that served a request", "nothing.json", "--format", "pprof", "--what", "peak",
            status=2)
    main_end, terminal = pty.openpty()
    done = subprocess.run([EGGBOX, "report", file, "--format", "pprof"], stdout=terminal,
                          stderr=subprocess.PIPE, text=True, check=False)
    check(done.returncode == 1 and "send it to a file with >" in done.stderr, "a terminal", done)
    os.close(main_end)
    os.close(terminal)


def on_a_terminal(columns, *words):
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        os.execv(EGGBOX, [str(EGGBOX), *map(str, words)])
    out = b""
    with contextlib.suppress(OSError):  # its end
        while True:
            out += os.read(terminal, 65536)
    os.close(terminal)
    os.waitpid(child, 0)
    return re.sub(r"\x1b\[\d*m", "", out.decode().replace("\r\n", "\n"))


def no_line_is_wider_than_the_terminal(file):
    """Lines to copy are exceptions: paths, and the command to type next."""
    words = on_a_terminal(1000, "report", file).split()
    for columns in (40, 80, 120):
        page = on_a_terminal(columns, "report", file)
        wide = [line for line in page.splitlines() if len(line) > columns and
                not line.startswith("Next: ") and len(line.split()) > 1]
        lost = [word for word in words if word not in page.split() and len(word) < columns / 2]
        check(wide == [] and lost == [], f"{columns} columns", wide, lost, page)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        file = folder / "shop.json"
        file.write_text(json.dumps(made_up()), encoding="utf-8")
        every_leak_is_in_every_format(file)
        a_line_of_each_kind(file)
        inlined_calls_share_a_location(file)
        pools_have_peaks_and_requests()
        parents_in_a_circle_end(folder)
        perfetto_has_a_slice_for_each_process(folder)
        refusals(file)
        no_line_is_wider_than_the_terminal(file)
    print("\n".join(failures) or "every format holds every figure")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
