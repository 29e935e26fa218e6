#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The memory, mappings, system calls and page faults of shapes of use, under the malloc library.

usage: memory.py LIBRARY MEMORY COST

No bound is on time. The bounds are those that a server's operator expects: near to what the program
has in use, and near to the C library's own malloc.
"""

import contextlib
import os
import pathlib
import resource
import sys

from both import check, failures, run

LIBRARY, MEMORY, COST = sys.argv[1:4]

# Shape and arguments: the most of each figure, in MiB or a count.
BOUNDS = {
    "grown 256": {"mappings": 1, "peak": 256 * 1.2 + 8},
    "untouched": {"resident": 5, "zeroed": 5},
    "buffers": {"faults": 30000},  # glibc 107,000; more if epochs of the purge end meanwhile
    "burst 100": {"after": 20},
    "burst 3000": {"after": 20},
    "burst 1000000": {"after": 20},
    "threads_burst 16": {"after": 16, "late": 16},
    "sizes": {"peak": 150},
    "waves 1000": {"held": 30, "ended": 22, "waves": 26},
    "idle_threads 40 200 1024": {"idle": 40, "ended": 30, "above": 90},
    "idle_threads 100000 200 1024": {"ended": 30},
    "idle_threads 100000 200 4096": {"ended": 50},
}
# The same where the process may have so many MiB: by RLIMIT_DATA, RLIMIT_AS, a control group.
LIMITED = {
    ("sizes", 200): {"peak": 200},
    ("most 165", 200): {},
    ("phases 1", 200): {"peak": 150},
    ("phases 3", 200): {"peak": 150},
}
# Frees of blocks with red zones gave nothing back.
AT_LEVELS = {shape: bounds for shape, bounds in BOUNDS.items() if shape.startswith("burst 1")}
MIB = 1 << 20


def limit_process(which, mib):
    return lambda: resource.setrlimit(which, (mib * MIB, mib * MIB))


@contextlib.contextmanager
def control_group(mib):
    """Yields a call for the child that enters a new group; None: this user cannot make groups."""
    lines = pathlib.Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    own = [line.split(":", 2)[2].lstrip("/") for line in lines if ":memory:" in line]
    for folder, file in (*((f"/sys/fs/cgroup/memory/{path}", "memory.limit_in_bytes")
                           for path in own), ("/sys/fs/cgroup", "memory.max")):
        group = pathlib.Path(folder) / f"eggbox-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            with open(group / file, "r+", encoding="utf-8") as limit:
                limit.write(str(mib * MIB))
            yield lambda: (group / "cgroup.procs").write_text("0", encoding="utf-8")
            return
        except FileNotFoundError:
            pass
        finally:
            group.rmdir()
    yield None


def check_limited():
    for (shape, mib), bounds in LIMITED.items():
        for which in (resource.RLIMIT_DATA, resource.RLIMIT_AS):
            check_bounds(shape, bounds, preexec_fn=limit_process(which, mib))
        with control_group(mib) as enter:
            if enter:
                check_bounds(shape, bounds, preexec_fn=enter)


def figures(shape, **more):
    done = run([MEMORY, *shape.split()], LIBRARY, **more)
    check(done.returncode == 0, f"{shape} ended with {done.returncode}", done)
    lines = [line.split() for line in done.stdout.decode().splitlines()]
    return {line[0]: int(line[1]) for line in lines if len(line) == 2}


def system_calls(shape):
    done = run([COST, "calls", MEMORY, f"LD_PRELOAD={LIBRARY}", f"SHAPE={shape}"])
    check(done.returncode == 0, f"{shape} could not be measured", done)
    return int(done.stdout.split()[-3])


def check_bounds(shape, bounds, **more):
    seen = figures(shape, **more)
    for name, bound in bounds.items():
        print(f"{shape}: {name} {seen.get(name)}, {bound} allowed")
        check(seen.get(name, bound + 1) <= bound, f"{shape}: {name}", seen.get(name), bound)


def main():
    for shape, bounds in BOUNDS.items():
        check_bounds(shape, bounds)
    for level in ("guard", "track"):
        for shape, bounds in AT_LEVELS.items():
            check_bounds(shape, bounds, extra={"EGGBOX_CHECK": level})
    check_limited()
    calls = system_calls("buffers")
    print(f"buffers: {calls} system calls, 1000 allowed")
    check(calls <= 1000, "buffers: system calls", calls)
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
