#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`eggbox report --diff OLD NEW`: every figure against the reports, the limit, and the rule for two
places to be the same.

usage: difference.py EGGBOX
"""

import copy
import json
import pathlib
import subprocess
import sys
import tempfile

EGGBOX = pathlib.Path(sys.argv[1]).resolve()
RUNS = pathlib.Path(__file__).resolve().parent / "runs"
FOLDER = tempfile.TemporaryDirectory()
failures = []


def check(truth, what, *seen):
    if not truth:
        failures.append(what + "".join(f"\n    {each}" for each in seen))


def place(function, line, offset):
    return {"module": "/bin/shop", "function": function, "file": "/src/shop.c", "line": line,
            "offset": offset}


def leak(size, *functions, at=10):
    """`functions`: the innermost first."""
    stack = [place(name, at + i, at * 16 + i) for i, name in enumerate(functions)]
    return {"site": stack[0], "stack": stack, "pool": "heap 64", "blocks": 1, "bytes": size,
            "oldest_ms": 1}


def report(*leaks):
    """A run of one process at level track, with sums that are easy to share out."""
    run = json.loads((RUNS / "found.json").read_text(encoding="utf-8"))
    process = run["processes"][0]
    run["processes"] = [process]
    process.update(peak_resident_bytes=1000000, misuse=[], events=[], not_served=[])
    process["large"].update(is_tracked=True, allocations=0, peak_bytes=0)
    heap, size_class = process["pools"][0], process["pools"][2]
    size_class.update(peak=100, allocations=1000)
    process["pools"] = [heap, size_class]
    return with_leaks(run, *leaks)


def with_leaks(run, *leaks):
    run = copy.deepcopy(run)
    run["processes"][0]["leaks"] = list(leaks)
    run["processes"][0]["leaked"] = {"places": len(leaks), "blocks": len(leaks),
                                     "bytes": sum(each["bytes"] for each in leaks)}
    return run


def changed(run, **more):
    """`more`: members of the process; `peak` and `allocations`: of its size class."""
    run = copy.deepcopy(run)
    process = run["processes"][0]
    for name in ("peak", "allocations"):
        if name in more:
            process["pools"][1][name] = more.pop(name)
    process.update(more)
    return run


def diff(old, new, *arguments, status=0):
    files = []
    for name, run in (("old.json", old), ("new.json", new)):
        files.append(pathlib.Path(FOLDER.name) / name)
        files[-1].write_text(json.dumps(run), encoding="utf-8")
    done = subprocess.run([EGGBOX, "report", "--diff", *files, *arguments], capture_output=True,
                          text=True, check=False)
    check(done.returncode == status, f"exit status of {arguments}", done)
    return done.stdout + done.stderr


def figures(old, new, *arguments, status=0):
    data = json.loads(diff(old, new, "--json", *arguments, status=status))
    return data, {each["figure"]: each for each in data["figures"]}


BASE = report(leak(100, "make", "fill", "main"), leak(300, "read", "main"))


def the_same_report_has_no_change():
    data, found = figures(BASE, BASE, "--fail-above", "0")
    check(list(found) == ["peak resident", "peak of blocks", "requests", "misuse", "leaked"],
          "figures", data)
    check(all(each["old"] == each["new"] and each["parts"] == [] for each in found.values()),
          "a change", data)
    check(data["notes"] == [] and data["above"] == 0, "notes", data)
    check("NEW has the figures of OLD." in diff(BASE, BASE), "the answer")


def each_figure_is_that_of_the_reports():
    new = changed(BASE, peak_resident_bytes=1234567, peak=150, allocations=900,
                  misuse=[{"kind": "double free", "count": 2}])
    _, found = figures(BASE, new)

    def expect(name, old, after, *parts):
        one = found[name]
        seen = [(each["what"], each["old"], each["new"]) for each in one["parts"]]
        check((one["old"], one["new"], seen) == (old, after, list(parts)), name, one)
    expect("peak resident", 1000000, 1234567)
    expect("peak of blocks", 6400, 9600, ("size class 64", 6400, 9600))
    expect("requests", 1000, 900, ("size class 64", 1000, 900))
    expect("misuse", 0, 2, ("double free", 0, 2))
    expect("leaked", 400, 400)
    text = diff(new, BASE)
    check("size class 64" in text and "-33.3 %" in text, "the other way round", text)


def memory_that_was_seen_by_chance_is_not_compared():
    """For a killed process the same program has another number in each run."""
    killed = changed(BASE, no_report="signal 9 ended it", peak_resident_bytes=1000)
    more = changed(killed, peak_resident_bytes=5000)
    for old, new, count in ((killed, more, "2 processes"), (BASE, more, "1 process"),
                            (killed, BASE, "1 process")):
        data, found = figures(old, new, "--fail-above", "0")
        check("peak resident" not in found and
              f"peak resident is not compared: {count} left no report" in data["notes"],
              "a number by chance", data)
    child = {**more["processes"][0], "pid": 2, "peak_resident_bytes": 3000000}
    both = copy.deepcopy(BASE)
    both["processes"].append(child)
    data, found = figures(BASE, both)
    check(found["peak resident"]["new"] == 1000000 and "peak resident is that of the processes "
          "with a report: 1 process left no report" in data["notes"], "one with a report", data)


def the_limit_is_a_share_of_the_whole_figure():
    def above(new, percent, status):
        data, found = figures(BASE, new, "--fail-above", percent, status=status)
        check((status == 3) == (data["above"] > 0), "above", data)
        return found
    grown = changed(BASE, peak_resident_bytes=1050000)
    above(grown, "5%", 0)  # as much is not more
    above(changed(BASE, peak_resident_bytes=1050001), "5%", 3)
    above(grown, "4.9", 3)
    above(changed(BASE, peak_resident_bytes=500000), "0", 0)
    above(changed(BASE, misuse=[{"kind": "double free", "count": 1}]), "1000%", 3)  # from nothing
    # A place that grew by half of itself, which is an eighth of all.
    half = with_leaks(BASE, leak(150, "make", "fill", "main"), leak(250, "read", "main"))
    found = above(half, "12", 3)["leaked"]
    check([each["is_above"] for each in found["parts"]] == [True, False] and
          not found["is_above"], "a place is above, all is not", found)
    above(half, "13", 0)
    text = diff(BASE, half, "--fail-above", "12", status=3)
    check("1 figure grew by more than 12 %." in text and "ABOVE: make" in text, "the text", text)


def a_place_is_the_same_when_its_lines_move():
    moved = with_leaks(BASE, leak(100, "make", "fill", "main", at=50),
                       leak(300, "read", "main", at=70))
    _, found = figures(BASE, moved)
    check(found["leaked"]["parts"] == [], "moved lines", found["leaked"])
    other = with_leaks(BASE, leak(100, "make", "other", "main"), leak(300, "read", "main"))
    _, found = figures(BASE, other)
    check([(each["old"], each["new"]) for each in found["leaked"]["parts"]] ==
          [(0, 100), (100, 0)], "another caller", found["leaked"])


def runs_that_differ_are_said():
    def note(expected, old, new):
        data, found = figures(old, new)
        check(any(expected in each for each in data["notes"]), expected, data["notes"])
        return found
    untracked = copy.deepcopy(BASE)
    del untracked["processes"][0]["leaks"], untracked["processes"][0]["leaked"]
    check("leaked" not in note("leaks are not compared: NEW did not run with --check track", BASE,
                               untracked), "leaks of one alone")
    note("leaks are not compared: a signal ended a program of OLD", changed(BASE, signal=15), BASE)
    note("OLD ran at level check, NEW at level track", changed(BASE, level="check"), BASE)
    done = subprocess.run([EGGBOX, "report", "--json", "--diff", "monday.json", "written"],
                          cwd=RUNS, capture_output=True, text=True, check=True)
    check("sums over them" in done.stdout, "numbers of runs", done)


def refusals():
    def refused(expected, *arguments):
        done = subprocess.run([EGGBOX, "report", *arguments], cwd=RUNS, capture_output=True,
                              text=True, check=False)
        check(done.returncode == 1 and expected in done.stderr, f"{arguments}", done)
    refused("--diff takes two reports, OLD and NEW", "--diff", "monday.json")
    refused("--diff takes two reports", "--diff", "monday.json", "monday.json", "monday.json")
    refused("requires --diff", "monday.json", "--fail-above", "5")
    refused("excludes", "--diff", "monday.json", "monday.json", "--format", "folded")
    for text in ("x", "-1", "5%%", "%", "nan", "1e3", "1.2.3", ".", "5 %", "1234567890"):
        refused("is no share", "--diff", "monday.json", "monday.json", "--fail-above", text)


def main():
    with FOLDER:
        the_same_report_has_no_change()
        each_figure_is_that_of_the_reports()
        memory_that_was_seen_by_chance_is_not_compared()
        the_limit_is_a_share_of_the_whole_figure()
        a_place_is_the_same_when_its_lines_move()
        runs_that_differ_are_said()
        refusals()
    print("\n".join(failures) or "every difference is as it should be")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
