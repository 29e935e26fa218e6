#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`eggbox top`: running processes, recorded or not, and live files that make no sense.

usage: top.py EGGBOX LIBRARY COMPILER
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

EGGBOX, LIBRARY = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
COMPILER = sys.argv[3]
HERE = pathlib.Path(__file__).resolve().parent
failures = []

# Its memory is what the test says, by the layout of eggbox/live.h.
HOSTILE = """
import fcntl, mmap, os, random, struct, sys
kind = sys.argv[1]
magic, version, slots, start, slot = 0x314556494c474745, 4, 4, 4096, 12288
size = start + slots * slot
file = os.memfd_create("eggbox", os.MFD_ALLOW_SEALING)
header = struct.pack("<QIIQIIIIQ", magic, version + (kind == "version"),
                     10 ** 9 if kind == "slots" else slots, slot, os.getpid(), 0, 0, 0,
                     10 ** 6 if kind == "reports" else 0)
body = random.Random(kind).randbytes(size - len(header))
at = start - len(header)
started = 0  # not known
body = body[:at] + struct.pack("<IIQQ", os.getpid(), 0, 0, started) + body[at + 24:]
if kind == "long":
    body += bytes(20 << 20)
data = random.Random(1).randbytes(size) if kind == "random" else header + body
data = data[:5000] if kind == "short" else data
os.write(file, data)
if kind != "unsealed":
    fcntl.fcntl(file, 1033, 2 | 4)  # F_ADD_SEALS: it cannot shrink nor grow
memory = mmap.mmap(file, len(data))
print("ready", flush=True)
sys.stdin.read()
"""


def check(truth, what, *seen):
    if not truth:
        failures.append(what + "".join(f"\n    {each}" for each in seen))


def top(*words):
    return subprocess.run([EGGBOX, "top", *map(str, words), "--once"], capture_output=True,
                          text=True, errors="surrogateescape", check=False)


class started:
    """A program that has printed its first line; it ends with this block."""

    def __init__(self, *words, **environment):
        self.process = subprocess.Popen(
            words, env={**os.environ, "EGGBOX_MALLOC_LIB": str(LIBRARY), **environment}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            start_new_session=True)
        self.process.stdout.readline()

    def __enter__(self):
        return self.process

    def __exit__(self, *error):
        with contextlib.suppress(ProcessLookupError):  # they have ended by themselves
            os.killpg(self.process.pid, signal.SIGKILL)  # with the program's children
        self.process.communicate()


def look_at_samples(pid, looks):
    """Until `eggbox run` has waited so many times more: it takes a sample after each wait."""
    def waits():
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        return int(re.search(r"\nvoluntary_ctxt_switches:\s*(\d+)", status)[1])
    first = waits()
    while waits() < first + looks:
        time.sleep(0.01)


def under_run(program):
    # Python closes all descriptors of its child: the file is found by that of `eggbox run`.
    script = "import subprocess, sys; subprocess.run(sys.argv[1:])"
    report = program.parent / "report.json"
    with started(EGGBOX, "run", "--report", report, "--", sys.executable, "-c", script, program,
                 "title") as run:
        done = top(program, "--json")
        check(done.returncode == 0, "by its path", done)
        seen = json.loads(done.stdout)["processes"]
        check(len(seen) == 1 and seen[0]["program"] == str(program) and seen[0]["is_measured"],
              "one process", seen)
        check("".join(seen[0]["arguments"]) == "shop: writer", "its title", seen)
        pool = [each for each in seen[0]["pools"] if each["block_bytes"] == 64]
        check(pool[0]["requests"] >= 1000 and pool[0]["requested_bytes"] >= 50000 and
              pool[0]["bytes_held"] > 0 and pool[0]["in_use"] <= 64,  # a batch, since the count
              "its pool", pool)
        done = top(seen[0]["pid"])
        check("1 process is recorded." in done.stdout and
              re.search(r"heap 64 +64 +1,\d\d\d +\d+ +\d+ +64\.0 KiB +0\n", done.stdout),
              "as text", done)
        done = top(run.pid)
        check(done.returncode == 0 and "2 processes are recorded." in done.stdout and
              re.search(rf"\n{seen[0]['pid']} +", done.stdout), "those of the run", done)
        done = top()
        check(re.search(rf"\n{seen[0]['pid']} +\d+ +1,\d\d\d .*  shop: writer\n", done.stdout) and
              "processes are recorded" in done.stdout, "among all", done)
        # A sample each 20 ms at most, and processes are looked at each 500 ms: at least one time.
        look_at_samples(run.pid, 60)
        os.kill(seen[0]["pid"], 9)
        run.wait()
    recorded = json.loads(report.read_text())
    killed = next(each for each in recorded["processes"] if each["program"] == str(program))
    check("".join(killed["arguments"]) == "shop: writer", "its title in the report", killed)
    line = recorded["timeline"]
    lists = [line[name] for name in ("at_s", "processes", "bytes_in_use", "bytes_held",
                                     "bytes_resident")]
    check({len(each) for each in lists} == {len(line["at_s"])} and len(line["at_s"]) >= 5 and
          max(line["processes"]) == 2 and max(line["bytes_held"]) >= 100000 and
          max(line["bytes_resident"]) >= 1000000 and line["at_s"] == sorted(line["at_s"]),
          "memory over time", line)


def as_metrics(program):
    """Each line is of OpenMetrics 1.0, and no series is there twice."""
    series = re.compile(r'(eggbox_pool_\w+)(\{(?:\w+="(?:[^"\\\n]|\\[\\"n])*",?)+\}) (\d+)')
    done = subprocess.run([EGGBOX, "top", program.name, "--once", "--openmetrics"],
                          capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    found = {}
    for line in lines:
        one = series.fullmatch(line)
        check(one or line.startswith(("# TYPE eggbox_", "# HELP eggbox_", "# UNIT eggbox_")) or
              line == "# EOF", "a line", line)
        if one:
            check((one[1], one[2]) not in found, "twice", line)
            found[one[1], one[2]] = int(one[3])
    check(done.returncode == 0 and lines[-1:] == ["# EOF"], "the end", done)
    blocks = [value for (name, labels), value in found.items()
              if name == "eggbox_pool_peak_blocks" and 'pool="heap 64"' in labels]
    check(len(blocks) == 1 and blocks[0] >= 1, "the pool", found)
    check(all(name.endswith("_total") for name, _ in found
              if "failures" in name or "requests" in name), "counters", found)


def by_itself(program):
    with started(program, "wait", LD_PRELOAD=str(LIBRARY), EGGBOX_LIVE="1") as process:
        done = top(program.name, "--json")
        seen = json.loads(done.stdout)["processes"]
        check([each["pid"] for each in seen] == [process.pid] and not seen[0]["is_measured"] and
              any(each["peak"] > 0 for each in seen[0]["pools"]), "by its name", seen)
        as_metrics(program)
    for environment in ({"LD_PRELOAD": str(LIBRARY)}, {}):
        with started(program, "wait", **environment) as process:
            for wanted in (process.pid, program.name):
                done = top(wanted)
                check(done.returncode == 2 and done.stdout == "" and
                      f"{wanted} is not recorded" in done.stderr and
                      "EGGBOX_LIVE=1" in done.stderr, "not recorded", done)
    for wanted in ("no-such-program", "99999999", "-5\x1b[2J"):
        done = top("--", wanted) if wanted[0] == "-" else top(wanted)
        check(done.returncode in (1, 2) and "\x1b" not in done.stderr and done.stdout == "",
              "no such process", done)


def in_namespaces(program):
    """Such as containers': processes are found by the number that they have outside."""
    command = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"]
    if shutil.which("unshare") is None or \
            subprocess.run([*command, "true"], check=False).returncode != 0:
        print("in a namespace: not tested, none can be made here")
        return

    def see(what, names):
        done = top("--json")
        seen = [each for each in json.loads(done.stdout or '{"processes": []}')["processes"]
                if pathlib.Path(each["program"]).parent == program.parent]
        found = sorted(pathlib.Path(each["program"]).name for each in seen)
        check(found == names, what, found, done.stderr)
        for each in seen:
            name = pathlib.Path(f"/proc/{each['pid']}/comm").read_text().strip()
            check(name == pathlib.Path(each["program"]).name[:15], f"{what}: its number outside",
                  name, each["pid"])
    with started(*command, program, "wait", LD_PRELOAD=str(LIBRARY), EGGBOX_LIVE="1"):
        see("in a namespace", [program.name])
    # Each is number 1 of its own namespace, and has the file of the run.
    other = pathlib.Path(shutil.copy(program, f"{program}b"))
    script = f'{" ".join(command)} "$0" wait & sleep 0.1; {" ".join(command)} "$1" wait'
    with started(EGGBOX, "run", "--report", program.parent / "n.json", "--", "sh", "-c", script,
                 other, program) as run:
        run.stdout.readline()  # the line of the second one
        see("in two namespaces", [program.name, other.name])


def nonsense():
    for kind, sentence in (("random", "is no live file"), ("short", "is no live file"),
                           ("unsealed", "is no live file"), ("slots", "is no live file"),
                           ("reports", "is no live file"),
                           ("long", "is no live file"),
                           ("version", "of version 5, and this command knows version 4")):
        with started(sys.executable, "-c", HOSTILE, kind) as process:
            done = top(process.pid)
            check(done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1 and
                  f"process {process.pid} has no live file that can be read: " in done.stderr and
                  sentence in done.stderr, kind, done)
    for seed in ("a", "b", "c"):
        with started(sys.executable, "-c", HOSTILE, seed) as process:
            for more in ([], ["--json"]):
                done = top(process.pid, *more)
                control = [each for each in done.stdout if each < " " and each != "\n"]
                check(done.returncode == 0 and control == [] and len(done.stdout) < 100000,
                      f"random numbers and names {seed}", control, done)


def main():
    with tempfile.TemporaryDirectory() as name:
        program = pathlib.Path(name).resolve() / f"top{os.getpid()}"
        subprocess.run([COMPILER, "-O1", "-fno-builtin", "-w", "-D_GNU_SOURCE", HERE / "ends.c",
                        "-pthread", "-o", program], check=True)
        under_run(program)
        by_itself(program)
        in_namespaces(program)
        nonsense()
    print("\n".join(failures) or "all is well")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
