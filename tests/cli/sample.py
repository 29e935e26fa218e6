#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`eggbox run --check sample` under a program whose allocations are known: the estimates must be
right, say that they are estimates, and be in every form of the report. Tests of the library look
closer at the numbers; the bounds here are more than ten standard deviations for most.

usage: sample.py EGGBOX LIBRARY C-COMPILER
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

EGGBOX, LIBRARY, CC = sys.argv[1:4]
HERE = pathlib.Path(__file__).resolve().parent
ENVIRONMENT = {**os.environ, "EGGBOX_MALLOC_LIB": LIBRARY}
failures = []


def check(truth, what, *seen):
    if not truth:
        failures.append(what + "".join(f"\n    {each}" for each in seen))


def eggbox(*arguments, **variables):
    return subprocess.run([EGGBOX, *arguments], capture_output=True, text=True, check=False,
                          timeout=600, env={**ENVIRONMENT, **variables})


def bytes_of(sites, function):
    """The scaled bytes of the sites that the function is in."""
    return sum(each["bytes"] for each in sites
               if any(function in call.get("function", "") for call in each.get("stack", ())))


def near(seen, expected, what):
    check(0.1 * expected < seen < 3 * expected, f"{what}: {seen:,}, not about {expected:,}")


def record(folder, program, name, *options):
    report = folder / name
    done = eggbox("run", "--report", str(report), "--check", "sample", *options, "--", program)
    check(done.returncode == 0, "the status", done.stderr)
    return report, done.stderr


def numbers(report, text):
    run = json.loads(report.read_text())
    parent, child = run["processes"][0], run["processes"][-1]
    near(bytes_of(parent["leaks"], "stay"), 20000000 + 50 * 200000, "in use")
    near(bytes_of(parent["allocated"], "come_and_go"), 60000000, "came and went")
    near(bytes_of(child["leaks"], "leave_in_child"), 40000000, "in use in the child")
    check(bytes_of(child["leaks"], "stay") == 0 and bytes_of(child["allocated"], "stay") == 0,
          "the child has nothing of its parent", child["leaks"])
    for each in parent, child:
        check(each["level"] == "sample" and each["sampling"]["period_bytes"] == 65536 and
              each["sampling"]["lost"] == 0, "the period", each["sampling"])
        for sites, total in ("leaks", "leaked"), ("allocated", "sampling"):
            check(sum(site["samples"] for site in each[sites]) == each[total]["samples"] > 0,
                  f"the samples of {sites}", each[total])
    check("never freed (sampled, 1 in 64.0 KiB, scaled; " in text or
          "never freed (sampled, 1 in 64 KiB, scaled; " in text, "the summary says it", text)
    check(" samples, oldest " in text and "stay" in text, "a leak has its samples", text)


def forms(folder, report):
    page = eggbox("report", str(report)).stdout
    check("LEAKS: " in page and "(sampled, 1 in 64" in page, "the report says it", page)
    check("ALLOCATED: about " in page and "come_and_go" in page, "what came and went", page)
    data = json.loads(eggbox("report", "--json", str(report)).stdout)
    check(data["sampling"]["samples"] > data["leaked"]["samples"] > 10, "as JSON",
          data["sampling"])
    folded = eggbox("report", str(report), "--format", "folded", "--what", "allocated").stdout
    check("come_and_go" in folded and "stay" in folded, "all stacks", folded)
    folded = eggbox("report", str(report), "--format", "folded").stdout
    check("come_and_go" not in folded and "stay" in folded, "stacks of leaks", folded)
    html = folder / "page.html"
    done = eggbox("report", str(report), "--html", str(html))
    check(done.returncode == 0 and '"estimate":"sampled, 1 in 64' in html.read_text().replace(
        '": "', '":"'), "the page says it", done.stderr)
    quiet = folder / "quiet"
    quiet.write_text("leak:stay\nleak:leave_in_child\n")
    page = eggbox("report", str(report), "--suppress", str(quiet)).stdout
    check("every sampled block was freed" in page, "suppressed leaks", page)


def differences(folder, program, report):
    other, _ = record(folder, program, "other.json", "--sample", "32k")
    page = eggbox("report", "--diff", str(report), str(other)).stdout
    check("leaks are estimates from samples" in page, "the difference says it", page)
    page = eggbox("report", str(report), str(other)).stdout
    check(" and others, scaled; " in page, "different periods", page)


def bad_values(program):
    for value in "0", "k", "-1", "2g", "1x", "", "99999999999999999999":
        done = eggbox("run", f"--sample={value}", "--", program)
        check(done.returncode == 1 and "--sample" in done.stderr, f"--sample={value}", done.stderr)
    done = eggbox("run", "--check", "samples", "--", program)
    check(done.returncode == 1 and "off, check, sample, guard and track" in done.stderr,
          "no such level", done.stderr)
    done = eggbox("run", "--check", "sample", "--", "/bin/true", EGGBOX_SAMPLE="12 potatoes")
    check("EGGBOX_SAMPLE is not a number of bytes" in done.stderr and done.returncode == 0,
          "a bad variable is ignored", done.stderr)


def without_a_report(program):
    """As in production: the library alone, which then says nothing."""
    done = subprocess.run([program], capture_output=True, text=True, check=False, timeout=600,
                          env={**os.environ, "LD_PRELOAD": LIBRARY, "EGGBOX_CHECK": "sample",
                               "EGGBOX_SAMPLE": "64k"})
    check(done.returncode == 0 and done.stderr == "", "nothing on stderr", done.stderr)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = str(folder / "sample")
        subprocess.run([CC, "-g", "-O1", "-fno-builtin", str(HERE / "sample.c"), "-o", program],
                       check=True)
        report, text = record(folder, program, "run.json", "--sample", "64k")
        numbers(report, text)
        forms(folder, report)
        differences(folder, program, report)
        bad_values(program)
        without_a_report(program)
    for each in failures:
        print(each)
    return 1 if failures else 0


sys.exit(main())
