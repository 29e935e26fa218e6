#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`eggbox compare` with a stand-in for the library. It tests only times that a busy machine cannot
change: a program that sleeps takes at least as long. The judgement of the numbers is tested in
test_compare.cpp.

usage: compare.py EGGBOX DOUBLE C_COMPILER
"""

import json
import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile

EGGBOX, DOUBLE, CC = sys.argv[1:4]
PYTHON = [sys.executable, "-S", "-E", "-c"]
failures = []


def check(truth, what, *seen):
    if not truth:
        failures.append(what + "".join(f"\n    {each!r}" for each in seen))


def compare(command, *options, **more):
    environment = {**os.environ, "EGGBOX_MALLOC_LIB": DOUBLE, **more.pop("extra", {})}
    return subprocess.run([EGGBOX, "compare", *options, "--", *command], capture_output=True,
                          text=True, check=False, timeout=600, env=environment, **more)


def the_page(folder):
    done = compare(["true"], "--runs", "3")
    text = re.sub(r"\d[\d,]*\.?\d*", "N", done.stdout)
    text = re.sub(r" +", " ", text)
    text = re.sub(r"N (ms|s)", "T", re.sub(r"N [KM]iB", "B", text))
    head, *rest = text.splitlines()
    check(re.match("eggbox is (as fast as glibc, as far as these runs show"
                   "(, but takes N ± N times the CPU time)?"
                   "|N ± N times as (slow|fast) as glibc), with N times the memory.$", head),
          "the answer comes first", done.stdout)
    check(rest == ["",
                   " time ± spread min max CPU time relative ± CPU ± resident faults",
                   "glibc T T T T T N N B N",
                   "eggbox T T T T T N N N N B N",
                   "",
                   "N runs of each, in turns, after N warm-up run. Times and faults are those of "
                   "the program",
                   "and its children; resident is the peak of the largest process.",
                   "",
                   "Next: eggbox run --report report.json -- true"], "the page", rest)
    check(done.returncode == 0 and done.stderr == "", "talk", done)


def the_data(folder):
    """The certain facts: sleep takes its time, memory is that of the largest process, children
    count."""
    program = ("import os, time, sys\n"
               "slow = 'double' in os.environ.get('LD_PRELOAD', '')\n"
               "child = os.fork()\n"
               "if child == 0:\n"
               "    data = bytearray(64 << 20)\n"
               "    for i in range(0, len(data), 4096): data[i] = 1\n"
               "    os._exit(0)\n"
               "os.waitpid(child, 0)\n"
               "time.sleep(0.3 if slow else 0)\n")
    done = compare([*PYTHON, program], "--runs", "4", "--warmup", "0", "--json")
    data = json.loads(done.stdout)
    glibc, pools = data["variants"]
    names = [each["name"] for each in data["variants"]]
    check(data["schema"] == 1 and names == ["glibc", "eggbox"], "names", names)
    check(pools["library"] == DOUBLE and len(pools["wall_times_s"]) == 4, "samples", pools)
    check(pools["wall_s"]["min"] >= 0.3, "the time", data)
    for each in (glibc, pools):
        times = each["wall_times_s"]
        mean = sum(times) / 4
        deviation = (sum((t - mean) ** 2 for t in times) / 3) ** 0.5
        check(abs(each["wall_s"]["mean"] - mean) < 1e-9 and
              abs(each["wall_s"]["stddev"] - deviation) < 1e-9 and
              each["wall_s"]["min"] == min(times) and each["wall_s"]["max"] == max(times),
              "mean and spread", each)
        check(64 << 20 < each["peak_resident_bytes"]["min"] < 120 << 20, "memory of a child", each)
        check(each["minor_faults"]["min"] > 1000, "faults of a child", each)
    check(glibc["relative"] == 1 and abs(pools["relative"] - pools["wall_s"]["mean"] /
                                         glibc["wall_s"]["mean"]) < 1e-9, "relative", data)


def small_programs_look_small(folder):
    """Linux counts the memory of the process that started a program as the program's."""
    data = json.loads(compare(["true"], "--runs", "2", "--json").stdout)
    own = max(v["peak_resident_bytes"]["max"] for v in data["variants"])
    check(own < 4 << 20, "the peak of true is not eggbox's own", own)


def turns_and_environment(folder):
    log = folder / "log"
    program = ("import os; open(os.environ['LOG'], 'a').write("
               "os.environ.get('LD_PRELOAD', 'none') + ' ' + "
               "('report' if 'EGGBOX_REPORT' in os.environ else '') + chr(10))")
    compare([*PYTHON, program], "--runs", "2", "--warmup", "1", extra={"LOG": str(log)})
    lines = [line.replace(DOUBLE, "pools").strip() for line in log.read_text().splitlines()]
    check(lines == ["pools report", "none", "pools", "pools", "none", "none", "pools"],
          "one proof, then turns, the first one changing", lines)


def input_and_output(folder):
    data = folder / "input"
    data.write_text("some\n")
    read = ["sh", "-c", "read line && test $line = some"]
    done = compare(read, "--runs", "1", "--input", data, extra={"DOUBLE_SILENT": "1"})
    check(done.returncode == 2, "a program that leaves no report", done)
    read = [*PYTHON, "import sys; raise SystemExit(sys.stdin.read() != 'some\\n')"]
    done = compare(read, "--runs", "2", "--input", data)
    check(done.returncode == 0, "--input is read each time", done)
    done = compare(read, "--runs", "1")
    check(done.returncode == 2 and "ended with exit status 1" in done.stderr, "no input", done)
    check(compare(read, "--runs", "1", "--ignore-failure").returncode == 0, "--ignore-failure")
    check(compare(read, "--input", folder / "nothing").returncode == 2, "a missing input")

    same = [*PYTHON, "print('x' * 200000)"]
    done = compare(same, "--runs", "2", "--check-output")
    check(done.returncode == 0 and "All outputs were the same." in done.stdout, "same", done)
    other = [*PYTHON, "import os; print('x' * 200000 + str('LD_PRELOAD' in os.environ))"]
    done = compare(other, "--runs", "2", "--check-output", extra={"LD_PRELOAD": ""})
    check(done.returncode == 0, "an empty LD_PRELOAD is one too", done)
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    done = subprocess.run([EGGBOX, "compare", "--check-output", "--", *other], capture_output=True,
                          text=True, check=False, env={**environment, "EGGBOX_MALLOC_LIB": DOUBLE})
    check(done.returncode == 2 and "printed different output" in done.stderr, "other output", done)
    fails = [*PYTHON, "import sys; print('why', file=sys.stderr); raise SystemExit(3)"]
    done = compare(fails)
    check("on eggbox and on glibc the program ended with exit status 3" in done.stderr and
          "\n    why" in done.stderr, "its last words", done)
    fails = [*PYTHON, "import os; raise SystemExit('double' in os.environ.get('LD_PRELOAD', ''))"]
    done = compare(fails)
    check("on eggbox the program ended" in done.stderr, "only on eggbox", done)
    changes = [*PYTHON, "import os; print(os.getpid())"]
    done = compare(changes, "--check-output")
    check("even without eggbox" in done.stderr, "never the same", done)


def others(folder):
    libc = next(line.split()[2] for line in subprocess.run(
        ["ldd", sys.executable], capture_output=True, text=True, check=True).stdout.splitlines()
        if "libc.so.6" in line)
    done = compare(["true"], "--runs", "1", "--json", "--with", libc, "--with", libc)
    check([v["name"] for v in json.loads(done.stdout)["variants"]] ==
          ["glibc", "eggbox", "libc.so.6", "libc.so.6"], "--with, twice", done)
    for library, words in (("/no/where.so", "No such file"), (__file__, "not a shared library"),
                           (DOUBLE, "that defines malloc")):
        done = compare(["true"], "--with", library)
        check(done.returncode == 2 and words in done.stderr, f"--with {library}", done)
    done = compare(["/sbin/ldconfig", "--version"])
    check(done.returncode == 2 and "statically linked" in done.stderr, "a static program", done)
    done = compare(["no-such-program"])
    check(done.returncode == 2 and "cannot run no-such-program: No such file" in done.stderr,
          "no program", done)


def bare_names(folder):
    """A library without a folder is looked for where the loader looks; a file here comes first."""
    done = compare(["true"], "--runs", "1", "--json", "--with", "libc.so.6")
    found = json.loads(done.stdout or "{}").get("variants", [{}])[-1]
    check(found.get("name") == "libc.so.6" and
          pathlib.Path(found["library"]).name.startswith("libc.so"), "from the loader", done)
    done = compare(["true"], "--runs", "1", "--json", "--with", "libother.so")
    check(done.returncode == 2 and "libother.so: No such file" in done.stderr, "nowhere", done)
    (folder / "libother.so").write_bytes(pathlib.Path(found["library"]).read_bytes())
    done = compare(["true"], "--runs", "1", "--json", "--with", "libother.so", cwd=folder)
    check(f"{folder.resolve()}/libother.so" in done.stdout, "from here", done)


def own_allocators(folder):
    """A program that comes with jemalloc does not run on glibc's malloc when it is left alone."""
    fake, program, source = folder / "libjemalloc.so.2", folder / "program", folder / "source.c"
    for text, options, to in (("int fake;\n", ["-shared", "-fPIC"], fake),
                              ("extern int fake; int main(void) { return fake; }\n", [fake],
                               program)):
        source.write_text(text)
        subprocess.run([CC, source, *options, "-o", to], check=True)
    script = folder / "script"
    script.write_text(f"#!/bin/sh\n{program}\n")
    script.chmod(0o755)
    for command in (program, script):
        data = json.loads(compare([command], "--runs", "3", "--json").stdout)
        base, pools = data["variants"]
        check(base["name"] == "libjemalloc.so.2" and base["library"] == base["answer"] == "" and
              "libjemalloc.so.2" in pools["answer"], "the base is its own", data)
        check(data["notes"] == [f"{program.resolve()} comes with libjemalloc.so.2, which serves "
                                "its malloc unless another library is preloaded."],
              "and it is said", data)
    page = compare([program], "--runs", "3").stdout
    check("comes with libjemalloc.so.2" in page and "glibc" not in page, "on the page", page)
    check(json.loads(compare(["true"], "--json").stdout)["notes"] == [], "true brings none")


def on_a_terminal(**more):
    child, terminal = pty.fork()
    if child == 0:
        for name, value in {"EGGBOX_MALLOC_LIB": DOUBLE, "TERM": "xterm", "NO_COLOR": "",
                            **more}.items():
            os.environ[name] = value
        os.execv(EGGBOX, [EGGBOX, "compare", "--runs", "2", "--", "true"])
    seen = b""
    try:
        while part := os.read(terminal, 4096):
            seen += part
    except OSError:  # the other end is closed
        pass
    os.waitpid(child, 0)
    os.close(terminal)
    return seen


def progress_on_a_terminal(folder):
    """On a terminal a line says how far it is, and is gone at the end; elsewhere there is none."""
    seen = on_a_terminal()
    check(b"run 6 of 6: " in seen, "progress", seen)
    check(b"\r\x1b[K\x1b[1m2 runs " in seen, "the line is wiped, the answer is bold", seen)
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        seen = on_a_terminal(**{name: value})
        check(b"\r\x1b[K2 runs " in seen and b"\x1b[1m" not in seen, f"{name}={value}", seen)


def main():
    for test in (the_page, the_data, small_programs_look_small, turns_and_environment,
                 input_and_output, others, bare_names, own_allocators,
                 progress_on_a_terminal):
        with tempfile.TemporaryDirectory() as name:
            before = len(failures)
            test(pathlib.Path(name))
            print(f"{test.__name__}: {'ok' if len(failures) == before else 'FAILED'}")
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
