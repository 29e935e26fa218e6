#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`eggbox report --html`: the page is one file that loads nothing, its figures are those of
`report --json`, no name is more than text, and its length has a limit.

usage: html_page.py EGGBOX
"""

import html.parser
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

EGGBOX = pathlib.Path(sys.argv[1]).resolve()
RUNS = pathlib.Path(__file__).resolve().parent / "runs"
failures = []


def check(truth, what, *seen):
    if not truth:
        failures.append(what + "".join(f"\n    {each}" for each in seen))


def report(*arguments, status=0):
    done = subprocess.run([EGGBOX, "report", *arguments], cwd=RUNS, capture_output=True, text=True,
                          encoding="utf-8", check=False)
    check(done.returncode == status, f"exit status of {arguments}", done)
    return done.stdout if status == 0 else done.stderr


class Elements(html.parser.HTMLParser):
    """The elements of a page as a browser finds them, with their attributes and texts."""

    def __init__(self, text):
        super().__init__()
        self.all, self.texts = [], {}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.all.append((tag, dict(attrs)))

    def handle_data(self, data):
        tag = self.all[-1] if self.all else ("", {})
        key = tag[1].get("id", tag[0])
        self.texts[key] = self.texts.get(key, "") + data


def page_of(folder, *files):
    page = folder / "page.html"
    check(report(*files, "--html", page) == "", "nothing on stdout")
    return page.read_text(encoding="utf-8")


def data_of(text):
    return json.loads(Elements(text).texts["data"])


SVG = "http://www.w3.org/2000/svg"  # a name of elements, and no address


def it_loads_nothing(text, name):
    text = text.replace(SVG, "")
    check(re.search(r"https?:|@import|url\(|fetch\(|XMLHttp|import\(|\beval\b|innerHTML|"
                    r"document\.write", text) is None, f"{name}: it may load or write something")
    for tag, attributes in Elements(text).all:
        for key in ("src", "href", "action", "data", "srcset", "poster"):
            value = attributes.get(key)
            check(value is None or value.startswith("#") or value == "data:,",
                  f"{name}: an address", tag, attributes)
        check(not any(key.startswith("on") for key in attributes), f"{name}: a handler", tag)
    policy = next(attributes["content"] for tag, attributes in Elements(text).all
                  if attributes.get("http-equiv") == "Content-Security-Policy")
    check(policy.startswith("default-src 'none';"), f"{name}: the policy", policy)


def tags(text):
    return [tag for tag, _ in Elements(text).all]


def sums_are_those_of_json(folder, *files):
    data, truth = data_of(page_of(folder, *files)), json.loads(report("--json", *files))
    sums = data["totals"]
    for key in ("runs", "processes", "silent_processes", "duration_s", "requests", "from_pools",
                "peak_resident_bytes", "library"):
        check(sums[key] == truth[key], f"{files}: {key}", sums[key], truth[key])
    check(sums["misuse"] == sum(each["count"] for each in truth["misuse"]), f"{files}: misuse")
    if truth.get("leaked"):
        check((sums["leaked_blocks"], sums["leaked_bytes"]) ==
              (truth["leaked"]["blocks"], truth["leaked"]["bytes"]), f"{files}: leaked", sums)
        samples = data["stacks"]["leaked"]["samples"]
        check(sum(each[2] for each in samples) == truth["leaked"]["bytes"],
              f"{files}: bytes by stack", samples)
    kinds = {"size class": truth["size_classes"], "pool": truth["pools"]}
    for kind, pools in kinds.items():
        rows = [row for row in data["pools"]["rows"] if row["kind"] == kind]
        for ours, theirs in (("requests",) * 2, ("peak",) * 2, ("bytes_held",) * 2,
                             ("in_use_at_end",) * 2, ("refused",) * 2):
            check(sum(row[ours] for row in rows) == sum(pool[theirs] for pool in pools),
                  f"{files}: {ours} of {kind}")
    everything = sum(row["requests"] for row in data["pools"]["rows"]) + \
        data["pools"]["folded_requests"]
    check(everything == sums["requests"] + sums["to_own_pools"], f"{files}: all requests")
    by_process = sum(row["requests"] or 0 for row in data["processes"]["rows"])
    check(by_process + data["processes"]["folded_requests"] == sums["requests"],
          f"{files}: requests by process", by_process)
    first = report(*files).splitlines()[0]
    check(data["answer"]["headline"] == first, f"{files}: the headline", data["answer"], first)
    check(data["answer"]["next"] == "" or data["answer"]["next"] in report(*files).splitlines(),
          f"{files}: the next command", data["answer"])


EVIL = ["</script><script>alert(1)</script>", "\x1b[2J\x1b]0;x\x07", "\"'`<!--", "{{script}}",
        "\u2028\u202eevil", "__proto__"]


def of_a_run_that_a_signal_ended(folder):
    """Its blocks are in use. Each list says from how many samples it is."""
    site = {"module": "/bin/shop", "offset": 7}
    stack = [{**site, "function": "serve", "file": "shop.c", "line": 3}]
    in_use = [{"site": stack[0], "stack": stack, "pool": "heap 64", "blocks": 5, "bytes": 320,
               "oldest_ms": 1, "reach": "unknown", "samples": 2}]
    run = json.loads((RUNS / "found.json").read_text())
    process = {**run["processes"][0], "level": "sample", "signal": 15, "leaks": in_use,
               "leaked": {"places": 1, "blocks": 5, "bytes": 320, "samples": 2},
               "allocated": [{**in_use[0], "blocks": 90, "bytes": 5760, "samples": 30}],
               "sampling": {"places": 1, "blocks": 90, "bytes": 5760, "samples": 30, "lost": 0,
                            "period_bytes": 512}}
    process.pop("indirect", None)
    process.pop("reachable", None)
    run["processes"] = [process]
    file = folder / "ended.json"
    file.write_text(json.dumps(run))
    stacks = data_of(page_of(folder, file))["stacks"]
    check([each[1:] for each in stacks["in_use"]["samples"]] == [[5, 320]] and
          "missing" in stacks["leaked"], "in use", stacks)
    check(stacks["in_use"]["estimate"].endswith("; 2 samples") and
          stacks["allocated"]["estimate"].endswith("; 30 samples"), "samples", stacks)


def timeline(samples, names):
    rising = list(range(samples))
    return {"at_s": rising, "processes": rising, "bytes_in_use": rising, "bytes_held": rising,
            "bytes_resident": rising,
            "pools": [{"name": each, "bytes_in_use": rising} for each in names]}


def memory_over_time_is_that_of_the_run(folder):
    run = json.loads((RUNS / "monday.json").read_text(encoding="utf-8"))
    run["timeline"] = timeline(400, ["heap 64"])
    file = folder / "time.json"
    file.write_text(json.dumps(run), encoding="utf-8")
    check(data_of(page_of(folder, file))["over_time"] == [{"run": 1, **run["timeline"]}], "samples")
    text = report(file)
    check("\nHighest at 399 s: 399 B in use, 399 B held, 399 B resident, in 399 processes.\n"
          in text, "the highest moment", text)
    run["timeline"] = timeline(1001, ["heap 64"])
    file.write_text(json.dumps(run), encoding="utf-8")
    data = data_of(page_of(folder, file))
    check(data["over_time"] == [], "more samples than a run has")
    check(data["over_time_left_out"] == "Left out: 1 run with more than 1,000 samples.",
          "a long time line", data["over_time_left_out"])
    for name, wrong in (("at_s", [2, 1]), ("processes", [1]), ("bytes_held", [1, -1]),
                        ("pools", [{"name": "x", "bytes_in_use": [1]}])):
        run["timeline"] = {**timeline(2, []), name: wrong}
        file.write_text(json.dumps(run), encoding="utf-8")
        said = report(file, status=2)
        check("timeline." + name in said, f"a wrong {name}", said)


def time_lines_left_out_are_counted(folder):
    run = json.loads((RUNS / "monday.json").read_text(encoding="utf-8"))
    run["timeline"] = timeline(3, ["heap 64"] * 8)
    file, wide, plain = folder / "time.json", folder / "wide.json", RUNS / "monday.json"
    file.write_text(json.dumps(run), encoding="utf-8")
    run["timeline"] = timeline(3, ["heap 64"] * 10)
    wide.write_text(json.dumps(run), encoding="utf-8")
    for files, expected in (
            ([plain], ""), ([file] * 8 + [plain], ""), ([file] * 9, "Left out: 1 more run."),
            ([wide, file, wide], "Left out: 4 pools."),
            ([plain, *[wide] * 10], "Left out: 2 more runs, 16 pools.")):
        data = data_of(page_of(folder, *files))
        check(data["over_time_left_out"] == expected, f"{len(files)} files",
              data["over_time_left_out"])
        check(len(data["over_time"]) <= 8 and
              all(len(each["pools"]) == 8 for each in data["over_time"]), "the limits")


def hostile_names_are_text(folder):
    plain = tags(page_of(folder, "monday.json"))
    run = json.loads((RUNS / "found.json").read_text(encoding="utf-8"))
    run["command"] = EVIL
    for at, process in enumerate(run["processes"]):
        process["program"], process["arguments"] = EVIL[at % len(EVIL)], EVIL
        process["no_report"] = EVIL[0]
        process["not_served"] = [{"reason": each, "count": 1} for each in EVIL]
        for place in (each["site"] for each in process.get("leaks", [])):
            place.update(function=EVIL[0], file=EVIL[0], module=EVIL[0])
        for at_pool, pool in enumerate(process["pools"]):
            if not pool["is_size_class"]:
                pool.update(name=EVIL[at_pool % len(EVIL)], allocations=1, peak=1)
    run["timeline"] = timeline(3, EVIL)
    file = folder / "evil.json"
    file.write_text(json.dumps(run), encoding="utf-8")
    for each in (file, "evil.json"):
        text = page_of(folder, each)
        it_loads_nothing(re.sub(r"<script type.*?</script>", "", text, flags=re.S), each)
        check(tags(text) == plain, f"{each}: a name became an element", tags(text))
        check(re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202e]", text) is None,
              f"{each}: a control character")
    text = page_of(folder, file)
    raw = text.partition('id="data">')[2].partition("</script>\n<script>\n// SPDX")[0]
    check("<" not in raw, "the data has an opening bracket")
    check(json.loads(raw)["command"].startswith(f"'{EVIL[0]}'"), "the name", raw[:200])
    check(text.count("function flameTree") == 1, "a name is taken for a part of the page")


def long_reports_are_folded(folder):
    run = json.loads((RUNS / "found.json").read_text(encoding="utf-8"))
    one = run["processes"][0]
    stacks = [{"site": {"module": "/bin/x", "offset": at},
               "stack": [{"module": "/bin/x", "offset": at, "function": f"f{at}" + "y" * 300}],
               "pool": "heap 64", "blocks": 1, "bytes": at + 1, "oldest_ms": 1}
              for at in range(10000)]
    pool = next(each for each in one["pools"] if each["is_size_class"])
    pools = [{**pool, "name": f"own {at}", "is_size_class": False} for at in range(3000)]
    leaked = {"places": 10000, "blocks": 10000, "bytes": sum(each["bytes"] for each in stacks)}
    small = {**one, "pools": [pool], "leaks": [], "leaked": {"places": 0, "blocks": 0, "bytes": 0}}
    run["processes"] = [{**one, "pools": one["pools"] + pools, "leaks": stacks, "leaked": leaked,
                         "started_ns": 1}]
    run["processes"] += [{**small, "pid": 1000 + at, "started_ns": 1 + at} for at in range(999)]
    file = folder / "long.json"
    file.write_text(json.dumps(run), encoding="utf-8")
    text = page_of(folder, file)
    data = data_of(text)
    check(len(text) < 4e6, "the length", len(text))
    check((len(data["processes"]["rows"]), data["processes"]["folded"]) == (500, 500), "processes")
    check(len(data["pools"]["rows"]) == 1000 and data["pools"]["folded"] > 2000, "pools")
    leaks = data["stacks"]["leaked"]
    check(len(leaks["samples"]) == 2001 and leaks["folded"] == 8000 and
          leaks["frames"][leaks["samples"][-1][0][0]][0] == "(8,000 smaller stacks)", "stacks")
    check(sum(each[2] for each in leaks["samples"]) == leaked["bytes"], "bytes of all stacks")
    for key in ("pools", "processes"):
        requests = sum(row["requests"] for row in data[key]["rows"]) + data[key]["folded_requests"]
        own = data["totals"]["to_own_pools"] if key == "pools" else 0
        check(requests == data["totals"]["requests"] + own, f"all requests of {key}", requests)


def what_cannot_be_written(folder):
    missing = folder / "none" / "page.html"
    text = report("monday.json", "--html", missing, status=2)
    check("cannot be written: No such file or directory" in text, "a folder that is not there",
          text)
    check(not missing.parent.exists(), "it made the folder")
    before = sorted(os.listdir(folder))
    report("no-such-file.json", "--html", folder / "new.html", status=2)
    check(sorted(os.listdir(folder)) == before, "a file is left", os.listdir(folder))
    text = report("monday.json", "--html", "/dev/full", status=2)
    check("No space left" in text, "a full disk", text)
    for more in (["--json"], ["--format", "folded"], ["--diff", "monday.json"]):
        check("excludes" in report("monday.json", "--html", folder / "new.html", *more, status=1),
              f"--html with {more}")
    check("is empty" in report("monday.json", "--html", "", status=1), "an empty name")
    for _ in range(2):  # a page is replaced, a report is not
        page_of(folder, "monday.json")
    other = folder / "other.json"
    other.write_text((RUNS / "tuesday.json").read_text())
    check("is JSON, and would be lost" in report("monday.json", "--html", other, status=1) and
          other.read_text() == (RUNS / "tuesday.json").read_text(), "a report is lost")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for file in ("monday", "found", "evil", "nothing", "silent", "recorded-odd", "pools"):
            it_loads_nothing(page_of(folder, f"{file}.json"), file)
        for files in (["monday.json"], ["monday.json", "tuesday.json"], ["found.json"],
                      ["recorded.json"], ["recorded-odd.json"], ["pools.json"], ["written"],
                      ["silent.json"], ["nothing.json"]):
            sums_are_those_of_json(folder, *files)
        of_a_run_that_a_signal_ended(folder)
        memory_over_time_is_that_of_the_run(folder)
        time_lines_left_out_are_counted(folder)
        hostile_names_are_text(folder)
        long_reports_are_folded(folder)
        what_cannot_be_written(folder)
    print("\n".join(failures) or "every page holds every figure, and loads nothing")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
