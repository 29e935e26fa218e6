#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs programs under several mallocs: the patterns of bench/heap, and real ones.

Every malloc is preloaded, glibc's too, because a program may be linked with another one. They take
turns over several rounds, and another one goes first each time. Numbers shown are medians over the
rounds: wall time (for redis the CPU time of the server, because its benchmark takes more of the
wall time), and the peak of resident memory.
"""

import argparse
import json
import math
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import bench

RIVALS = ("mimalloc", "jemalloc", "tcmalloc")
NAMES = ("glibc", *RIVALS, "eggbox", "eggbox_off")
# The level is a setting of the one library.
SETTINGS = {"eggbox_off": {"EGGBOX_CHECK": "*:off"}}
ROWS = 400000  # rows of the database
REQUESTS = 200000  # requests of each kind to the server
# This program is a server or a tool by the name it is called by; redis-tools has it, and no
# service.
REDIS = "redis-check-rdb"

SQL = f"""
.bail on
create table t(id integer primary key, name text, value real, tag text);
create index by_tag on t(tag);
with recursive n(i) as (select 1 union all select i + 1 from n where i < {ROWS})
insert into t select i, hex(i * 2654435761 % 4294967296), i / 7.0, 'tag' || (i * 48271 % 9973)
from n;
select count(*), sum(value) from t where tag in (select tag from t where id % 1000 = 0);
select tag, count(*), max(length(name)) from t group by tag order by 2 desc, 1 limit 5;
select count(*) from t a join t b on a.tag = b.tag where a.id < 20000;
select length(group_concat(name)) from (select name from t order by name limit 20000);
"""

PYTHON = """
import ast, json, pathlib
files = sorted(pathlib.Path(ast.__file__).parent.glob("[a-f]*.py"))
trees = [ast.dump(ast.parse(one.read_text())) for one in files]
data = [{"name": str(i), "list": list(range(i % 50)), "text": "x" * (i % 90)} for i in range(30000)]
for _ in range(3):
    data = json.loads(json.dumps(data))
print(sum(map(len, trees)), len(data))
"""

# Objects that mostly live shortly: one in 20 stays for a while.
LUA = """
local kept, sum = {}, 0
for round = 1, 150 do
  for i = 1, 20000 do
    local one = { id = i, name = "object " .. i * round, list = { i, i + 1, i + 2 } }
    sum = sum + #one.name + one.list[3]
    if i % 20 == 0 then
      kept[(round * 1000 + i / 20) % 10000 + 1] = one
    end
  end
end
print(sum, #kept)
"""


def stop(text):
    sys.exit(f"bench_heap: {text}")


def build(folder):
    targets = ["eggbox_heap_bench", "eggbox-malloc"]
    for command in (
        ["cmake", "-S", bench.ROOT, "-B", folder, "--preset", "bench"],
        ["cmake", "--build", folder, "--target", *targets],
    ):
        done = subprocess.run(
            command, cwd=bench.ROOT, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            sys.stderr.write(done.stdout + done.stderr)
            stop("the build failed")
    return folder / "bench" / "heap" / "eggbox_heap_bench", folder / "libeggbox-malloc.so"


def libc():
    maps = pathlib.Path("/proc/self/maps").read_text(encoding="utf-8")
    return re.search(r"/\S*/libc(-[0-9.]+)?\.so\S*", maps).group(0)


# ---- one run -----------------------------------------------------------------------------------


class Runner:
    """Runs cases, and keeps the time and memory of each under each malloc."""

    def __init__(self, program, libraries, work):
        self.program = program
        self.libraries = libraries
        self.work = work
        self.samples = {}  # (case, malloc) -> [{"wall_ns", "peak_kib", ...}, ...]
        self.checks = {}

    def keep(self, case, malloc, sample):
        self.samples.setdefault((case, malloc), []).append(sample)

    def run_pattern(self, name, malloc):
        settings = {"LD_PRELOAD": self.libraries[malloc], **SETTINGS.get(malloc, {})}
        environment = dict(os.environ, **settings)
        done = subprocess.run(
            [self.program, name], env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            sys.stderr.write(done.stdout + done.stderr)
            stop(f"{name} failed with {malloc}")
        sample = json.loads(done.stdout)
        if os.path.realpath(sample["malloc"]) != os.path.realpath(self.libraries[malloc]):
            stop(f"{malloc}: malloc came from {sample['malloc']}")
        if self.checks.setdefault(name, sample["check"]) != sample["check"]:
            stop(f"{name}: {malloc} did other work than the one before")
        self.keep(name, malloc, {"time_ns": sample["wall_ns"], **sample})

    def run_program(self, name, command, malloc):
        """Its output must be the same each time, too."""
        done = subprocess.run(
            [self.program, "run", self.libraries[malloc], *command],
            cwd=self.work,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **PROGRAMS[name].get("environment", {}), **SETTINGS.get(malloc, {})},
        )
        sample = json.loads(done.stdout) if done.returncode == 0 else {"status": 127}
        if sample["status"] != 0:
            sys.stderr.write(done.stdout + done.stderr)
            stop(f"{name} failed with {malloc}")
        if self.checks.setdefault(name, done.stderr) != done.stderr:
            stop(f"{name}: its output under {malloc} is another one")
        self.keep(name, malloc, {"time_ns": sample["wall_ns"], **sample})

    def is_used(self, command, malloc, environment):
        """Whether the loader finds the program's malloc in the library. If a program takes the
        address of its own stub for malloc, libraries use that stub, which is no malloc."""
        with tempfile.TemporaryDirectory() as folder:
            debug = {"LD_DEBUG": "bindings", "LD_DEBUG_OUTPUT": f"{folder}/loader"}
            debug.update({"LD_BIND_NOW": "1", "LD_PRELOAD": self.libraries[malloc]})
            subprocess.run(
                command,
                cwd=self.work,
                env=dict(os.environ, **environment, **debug),
                capture_output=True,
                check=False,
            )
            texts = [one.read_text(errors="replace") for one in pathlib.Path(folder).iterdir()]
        used = re.findall(r"to (\S+\.so\S*) \[0\]: normal symbol `malloc'", "\n".join(texts))
        wanted = os.path.realpath(self.libraries[malloc])
        return bool(used) and all(os.path.realpath(one) == wanted for one in used)

    def run_redis(self, malloc):
        """The server is measured; its benchmark always runs on glibc."""
        path = self.work / f"redis-{malloc}.sock"
        server = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--appendonly"]
            + ["no", "--daemonize", "no", "--dir", self.work],
            executable=shutil.which(REDIS),
            env=dict(os.environ, LD_PRELOAD=self.libraries[malloc], **SETTINGS.get(malloc, {})),
            stdout=subprocess.DEVNULL,
        )
        try:
            wait_for(path)
            for kind in ("set,get,incr", "lpush,rpop,sadd,hset,zadd,lrange_100"):
                subprocess.run(
                    ["redis-benchmark", "-s", path, "-q", "-c", "8", "-P", "16", "-t", kind]
                    + ["-r", "100000", "-d", "100", "-n", str(REQUESTS)],
                    check=True,
                    stdout=subprocess.DEVNULL,
                )
            self.keep("redis", malloc, server_numbers(server.pid))
            maps = pathlib.Path(f"/proc/{server.pid}/maps").read_text(encoding="utf-8")
            if os.path.realpath(self.libraries[malloc]) not in maps:
                stop(f"redis: {malloc} is not loaded")
        finally:
            server.terminate()
            server.wait()


def wait_for(path):
    for _ in range(500):
        try:
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(os.fspath(path))
            return
        except OSError:
            time.sleep(0.01)
    stop("redis-server does not answer")


def server_numbers(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    ticks = int(fields[11]) + int(fields[12])  # user, system
    return {
        "time_ns": ticks * 1000000000 // os.sysconf("SC_CLK_TCK"),
        "peak_kib": int(re.search(r"VmHWM:\s*(\d+)", status).group(1)),
        "faults": int(fields[7]),
    }


# The programs, and their input.
PROGRAMS = {
    "sqlite": {"command": ["sqlite3", "-init", "input.sql", ":memory:", ".quit"]},
    "python": {"command": ["/usr/bin/python3", "input.py"]},
    # Python's own small-block allocator is left out.
    "python_malloc": {
        "command": ["/usr/bin/python3", "input.py"],
        "environment": {"PYTHONMALLOC": "malloc"},
    },
    "lua": {"command": ["lua5.4", "input.lua"]},
    "gcc": {"command": ["gcc", "-O2", "-c", "-o", "out.o", "-I", "include", "src/eggbox.c"]},
    "g++": {"command": ["g++", "-std=c++17", "-O1", "-c", "-o", "out.o", "input.cpp"]},
}


def prepare(work):
    (work / "input.sql").write_text(SQL, encoding="ascii")
    (work / "input.lua").write_text(LUA, encoding="ascii")
    (work / "input.py").write_text(PYTHON, encoding="ascii")
    text = (bench.ROOT / "bench" / "heap" / "containers.cpp").read_text(encoding="ascii")
    (work / "input.cpp").write_text(text.replace('"heap.hpp"', '"bench/heap/heap.hpp"'))
    for name in ("include", "src", "bench"):
        os.symlink(bench.ROOT / name, work / name)
    PROGRAMS["g++"]["command"] += ["-I", "."]


# ---- the results -------------------------------------------------------------------------------


def middle(runner, case, malloc, key):
    return statistics.median(one[key] for one in runner.samples[case, malloc])


def mean_ratio(runner, cases, malloc, key):
    """The geometric mean over the cases, relative to glibc."""
    logs = [
        math.log(middle(runner, case, malloc, key) / middle(runner, case, "glibc", key))
        for case in cases
    ]
    return math.exp(sum(logs) / len(logs))


def table(runner, cases, key, title, unit):
    lines = [title, f"{'':16}{'glibc':>12}" + "".join(f"{name:>11}" for name in NAMES[1:])]
    for case in cases:
        base = middle(runner, case, "glibc", key)
        ratios = [middle(runner, case, name, key) / base for name in NAMES[1:]]
        lines.append(
            f"{case:16}{base / unit:12,.1f}" + "".join(f"{one:11.2f}" for one in ratios)
        )
    means = [mean_ratio(runner, cases, name, key) for name in NAMES[1:]]
    lines.append(f"{'geometric mean':28}" + "".join(f"{one:11.3f}" for one in means))
    return "\n".join(lines) + "\n"


def verdict(runner, cases):
    times = [mean_ratio(runner, cases, name, "time_ns") for name in RIVALS]
    peaks = [mean_ratio(runner, cases, name, "peak_kib") for name in RIVALS]
    our_time = mean_ratio(runner, cases, "eggbox", "time_ns")
    our_peak = mean_ratio(runner, cases, "eggbox", "peak_kib")
    best, median = min(times), statistics.median(peaks)
    unchecked = mean_ratio(runner, cases, "eggbox_off", "time_ns")
    return [
        f"{'met   ' if our_time <= best else 'MISSED'}  time at or below the best of "
        f"{', '.join(RIVALS)}: {our_time:.3f} against {best:.3f}",
        f"{'met   ' if our_peak <= median else 'MISSED'}  peak of resident memory at or below "
        f"their median: {our_peak:.3f} against {median:.3f}",
        f"{'met   ' if our_time <= 1.05 * unchecked else 'MISSED'}  level check at most 5 % above "
        f"off: {our_time:.3f} against {unchecked:.3f}",
    ]


def report(runner, cases):
    return "\n".join(
        [
            table(runner, cases, "time_ns", "time: glibc in ms, others relative to it", 1e6),
            table(runner, cases, "peak_kib", "peak of resident memory: glibc in MiB, others "
                  "relative to it", 1024),
            *verdict(runner, cases),
        ]
    )  # fmt: skip


def measure(runner, cases, rounds):
    for turn in range(rounds):
        print(f"round {turn + 1} of {rounds}", file=sys.stderr, flush=True)
        first = turn % len(NAMES)
        for case in cases:
            for malloc in NAMES[first:] + NAMES[:first]:
                if case == "redis":
                    runner.run_redis(malloc)
                elif case in PROGRAMS:
                    runner.run_program(case, PROGRAMS[case]["command"], malloc)
                else:
                    runner.run_pattern(case, malloc)


def check_programs(runner, cases):
    for case in cases:
        if case in PROGRAMS:
            one = PROGRAMS[case]
            for malloc in NAMES:
                if not runner.is_used(one["command"], malloc, one.get("environment", {})):
                    stop(f"{case}: its malloc is not {malloc}'s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="how often everything is run")
    parser.add_argument("--only", metavar="REGEX", default="", help="cases with such a name")
    parser.add_argument("--build-dir", type=pathlib.Path, default=bench.ROOT / "build" / "bench")
    parser.add_argument("--eggbox", type=pathlib.Path, help="another libeggbox-malloc.so")
    arguments = parser.parse_args()
    for name in (REDIS, "redis-benchmark", "sqlite3", "lua5.4"):
        if shutil.which(name) is None:
            stop(f"{name} is missing: see scripts/setup.sh")

    built_from = bench.source()
    program, ours = build(arguments.build_dir.resolve())
    libraries = {name: bench.find_libraries()[name] for name in RIVALS}
    libraries.update(glibc=libc(), eggbox=str((arguments.eggbox or ours).resolve()))
    libraries["eggbox_off"] = libraries["eggbox"]
    names = bench.output_of(program, "--list").split()
    cases = [one for one in (*names, *PROGRAMS, "redis") if re.search(arguments.only, one)]
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(program, libraries, pathlib.Path(folder))
        prepare(runner.work)
        check_programs(runner, cases)
        measure(runner, cases, arguments.rounds)
    print(report(runner, cases))
    content = {
        "schema": 1,
        **built_from,
        "machine": bench.machine(),
        "packages": bench.versions(),
        "rounds": arguments.rounds,
        "verdict": verdict(runner, cases),
        "cases": [
            {"case": case, "rival": malloc, "samples": samples}
            for (case, malloc), samples in sorted(runner.samples.items())
        ],
    }
    bench.write(arguments.build_dir.resolve() / "heap.json", content)


if __name__ == "__main__":
    main()
