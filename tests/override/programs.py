#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The library under programs of others. Their output must be the same as without it.

usage: programs.py LIBRARY ROOT [EGGBOX]
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from both import check, failures, requests, run, same
from texts import (ARCHIVE_TEXT, BASH_TEXT, GIT_TEXT, MAKE_TEXT, PERL_TEXT, PYTHON_TEXT, REDIS_TEXT,
                   SERVER_TEXT, SHELL_TEXT, SQL)

LIBRARY, ROOT = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
EGGBOX = sys.argv[3] if len(sys.argv) > 3 else None
PYTHON = shutil.which("python3", path="/usr/bin") or sys.executable  # not a script that finds one

def need(*names):
    missing = [name for name in names if not shutil.which(name)]
    if missing:
        sys.exit(f"these programs are missing: {' '.join(missing)}; run scripts/setup.sh test")


def in_a_folder(script):
    """The script in an empty folder of its own, whose name it does not print."""
    return f'place=$(mktemp -d) && cd "$place" && {{ {script}\n}}; cd / && rm -rf "$place"'


def databases():
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "shop.db"
        script = f".open --new {path}\n{SQL}"  # empty at each run
        same("sqlite3", ["sqlite3"], LIBRARY, input=script.encode())


def interpreters():
    same("python3", [PYTHON, "-c", PYTHON_TEXT], LIBRARY)
    same("python3 without its own pools", [PYTHON, "-c", PYTHON_TEXT], LIBRARY,
         extra={"PYTHONMALLOC": "malloc"})
    same("perl", ["perl", "-e", PERL_TEXT], LIBRARY)
    same("sh", ["sh", "-c", SHELL_TEXT], LIBRARY)
    same("bash", ["bash", "-c", BASH_TEXT], LIBRARY)


def with_guard_pages():
    """Pages that nobody may use, behind all large blocks and many small ones: nobody does."""
    pages = {"EGGBOX_GUARD_PAGES": "large,1/50"}
    with tempfile.TemporaryDirectory() as name:
        script = f".open --new {pathlib.Path(name) / 'shop.db'}\n{SQL}"
        written = same("sqlite3 with guard pages", ["sqlite3"], LIBRARY, input=script.encode(),
                       extra=pages)
        check(written[0]["large"]["allocations"] > 100, "they were there", written[0]["large"])
    same("python3 with guard pages", [PYTHON, "-c", PYTHON_TEXT], LIBRARY,
         extra={**pages, "PYTHONMALLOC": "malloc"})
    same("a threaded server with guard pages", [PYTHON, "-c", SERVER_TEXT], LIBRARY, extra=pages)
    same("bash with guard pages", ["bash", "-c", BASH_TEXT], LIBRARY, extra=pages)


def servers():
    same("a threaded server", [PYTHON, "-c", SERVER_TEXT], LIBRARY)
    written = same("redis", ["sh", "-c", in_a_folder(REDIS_TEXT)], LIBRARY)
    served = [requests(each) for each in written
              if each["arguments"][0].startswith("./redis-server")]
    check(max(served, default=0) > 100000, "the server is on pools", served)


def tools():
    same("make", ["sh", "-c", in_a_folder(MAKE_TEXT)], LIBRARY)
    same("tar, gzip, xz", ["sh", "-c", ARCHIVE_TEXT], LIBRARY, cwd=ROOT)


def repositories():
    always = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
              for what, value in (("NAME", "a"), ("EMAIL", "a@b"),
                                 ("DATE", "2020-01-01T00:00:00Z"))}
    always.update(GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_NOSYSTEM="1", GIT_PAGER="cat")
    same("git", ["sh", "-c", in_a_folder(GIT_TEXT)], LIBRARY, extra=always)


def compilers():
    source = ROOT / "src/hosted/heap/classes.c"
    options = ["-I", ROOT / "include", "-D_GNU_SOURCE", "-S", "-o", "-"]
    same("gcc", ["gcc", "-std=c11", "-O2", *options, source], LIBRARY)
    same("g++", ["g++", "-std=c++17", "-O1", *options, ROOT / "tests/override/client.cpp"], LIBRARY)
    same("clang", ["clang++-19", "-std=c++17", "-O1", *options,
                    ROOT / "tests/override/client.cpp"], LIBRARY)


def the_command():
    """From the program to the answer: eggbox run, and its report."""
    if not EGGBOX:
        return
    with tempfile.TemporaryDirectory() as name:
        report = pathlib.Path(name) / "work.json"
        plain = run(["sqlite3"], input=SQL.encode())
        done = run([EGGBOX, "run", "--report", report, "--", "sqlite3"], input=SQL.encode())
        check((done.returncode, done.stdout) == (plain.returncode, plain.stdout), "eggbox run",
              done.returncode, done.stderr)
        talk = done.stderr.decode()
        check(f"took effect: {LIBRARY}" in talk, "the proof", talk)
        written = json.loads(report.read_text())
        process = written["processes"][0]
        pools = process["pools"]
        check(process["arguments"] == ["sqlite3"] and os.path.basename(process["program"]) ==
              "sqlite3", "who it was", process["program"])
        check(requests(process) > 10000 and process["large"]["peak"] > 0, "its requests",
              requests(process), process["large"])
        check(all(pool["frees"] <= pool["allocations"] and
                  pool["requested_bytes"] <= pool["allocations"] * pool["block_bytes"]
                  for pool in pools if pool["is_size_class"]), "the numbers fit together", pools)
        check(all(pool["peak"] <= pool["allocations"] for pool in pools if pool["is_size_class"]),
              "more in use than ever asked for", pools)
        check(process["misuse"] == [] and process["not_served"] == [], "nothing odd", process)
        for more in (["report", report], ["size", report], ["size", report, "--emit", "c"]):
            answer = run([EGGBOX, *more])
            check(answer.returncode == 0 and answer.stdout, f"eggbox {more[0]}", answer)
        print("eggbox run: done", flush=True)


def main():
    need("sqlite3", "perl", "git", "gcc", "g++", "clang++-19", "sh", "bash", "make", "tar", "gzip",
         "xz", "redis-check-rdb", "redis-cli", "seq", "cksum")
    for test in (databases, interpreters, with_guard_pages, servers, repositories, compilers,
                 tools, the_command):
        test()
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.TimeoutExpired as error:
        sys.exit(f"stuck: {error}")
