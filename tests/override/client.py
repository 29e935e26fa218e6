#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The library under a program of ours that uses malloc in hard ways.

usage: client.py LIBRARY CLIENT PLUGIN EARLY AUDITOR
"""

import ctypes
import os
import platform
import re
import resource
import sys
import tempfile

from both import check, failures, processes, run, same

LIBRARY, CLIENT, PLUGIN, EARLY, AUDITOR = sys.argv[1:6]
MIB = 1 << 20


def elf_class(path):
    with open(path, "rb") as file:
        return file.read(5)[4]


HAS_SHELL = elf_class(LIBRARY) == elf_class("/bin/sh")  # 64 bits both, or 32


def tells_of_namespaces():
    name, version = platform.libc_ver()
    return name == "glibc" and tuple(map(int, version.split("."))) >= (2, 35)


def plain_cases():
    for case in ("errors", "calls", "operators", "threads", "forks", "vforks", "closed"):
        written = same(case, [CLIENT, case], LIBRARY)
        check(case != "forks" or len(written) == 41, "one report for each fork", len(written))
    same("plugins", [CLIENT, "plugins", PLUGIN], LIBRARY)
    if HAS_SHELL:
        same("shell", [CLIENT, "shell"], LIBRARY)


WAYS_TO_BECOME = ("execv", "execve", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve",
                  "execveat")


def ends():
    for case in ("at_once", "quick_exit", "abort", "abort_and_go_on", "exec_nothing"):
        check(len(same(case, [CLIENT, case], LIBRARY)) == 1, f"a report at {case}")
    for way in WAYS_TO_BECOME:
        written = same(way, [CLIENT, "exec", way], LIBRARY)
        check(sorted(each["arguments"][1:] for each in written) == [["exec", way], ["nothing"]],
              f"one report of each program of {way}", written)
        check(len({each["pid"] for each in written}) == 1, f"of one process: {way}", written)
    written = same("spawns", [CLIENT, "spawns"], LIBRARY)
    check(len(written) == 6 and len({each["pid"] for each in written}) == 6,
          "one report of each process of posix_spawn", written)


def forked_children_count_from_the_fork():
    with tempfile.TemporaryDirectory() as folder:
        run([CLIENT, "forks"], LIBRARY, folder)
        written = processes(folder)
        sums = {each["pid"]: sum(pool["allocations"] for pool in each["pools"])
                for each in written}
        children = [each for each in written if each["parent_pid"] in sums]
        check(len(children) == 40, "children of the fork", len(children))
        check(all(sums[each["pid"]] < 20000 for each in children), "a child counts as its parent's",
              sorted(sums.values()))


def limits():
    def few_files():
        resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8))

    def little_space():
        resource.setrlimit(resource.RLIMIT_AS, (600 * MIB, 600 * MIB))

    same("ulimit -n 8", [CLIENT, "threads"], LIBRARY, preexec_fn=few_files)
    same("ulimit -v", [CLIENT, "threads"], LIBRARY, preexec_fn=little_space)


# The memory for stacks was 117 MiB under any limit.
def stacks_are_a_part_of_the_limit():
    for level in ("sample", "track") if HAS_SHELL else ():
        done = run(["/bin/grep", "VmData", "/proc/self/status"], LIBRARY,
                   extra={"EGGBOX_CHECK": level},
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (320 * MIB,) * 2))
        kib = [int(word) for word in done.stdout.split() if word.isdigit()]
        check(done.returncode == 0 and kib and kib[0] <= 36 << 10, f"data at {level}", done)


# It took the rest for itself, whatever the rest was.
def hardly_any_addresses():
    if not HAS_SHELL:
        return
    for mib in range(28, 80, 6):
        def so_few(mib=mib):
            resource.setrlimit(resource.RLIMIT_AS, (mib * MIB, mib * MIB))

        for program in ([sys.executable, "-c", ""], ["/bin/sh", "-c", ":"], ["bash", "-c", ":"]):
            if run(program, preexec_fn=so_few).returncode == 0:
                done = run(program, LIBRARY, preexec_fn=so_few)
                check(done.returncode == 0, f"{program[0]} in {mib} MiB of addresses", done)


def early_constructors():
    # Not a C++ program: the C++ library's own constructor asks for memory before.
    if HAS_SHELL:
        done = run(["/bin/sh", "-c", "(echo a); echo b | cat"], f"{LIBRARY}:{EARLY}")
        check(done.stdout == b"a\nb\n", "a shell, behind a library that took all places", done)
    for case in ("threads", "forks"):
        done = run([CLIENT, case], f"{LIBRARY}:{EARLY}")
        check(done.returncode == 0, f"{case}, behind a library that took all places", done)


# The constructor of the C library ran too early, without the arguments of the program.
def the_program_has_its_name():
    say = "import ctypes; print(*(ctypes.c_char_p.in_dll(ctypes.CDLL(None), name).value for name " \
          "in ('program_invocation_name', 'program_invocation_short_name')))"
    if not HAS_SHELL or platform.libc_ver()[0] != "glibc":
        return
    for program in ([sys.executable, "-c", say], ["cat", "/no/where"]):
        plain = run(program)
        for level in ("check", "off", "guard", "track", "sample"):
            done = run(program, LIBRARY, extra={"EGGBOX_CHECK": level})
            check((done.returncode, done.stdout) == (plain.returncode, plain.stdout) and
                  done.stderr.startswith(plain.stderr), f"the name at {level}", plain, done)


def loader_of(program):
    with open(program, "rb") as file:
        return re.search(rb"(/[^\0]*/ld[^\0/]*)\0", file.read(4096)).group(1).decode()


# The loader cleared the thread-local variables of the C library.
def watched_by_an_auditor():
    ways = {"a variable": ([], {"LD_AUDIT": AUDITOR})}
    loader = loader_of(CLIENT)  # with an emulator it is elsewhere
    if tells_of_namespaces() and HAS_SHELL and os.path.exists(loader):
        ways["an option"] = ([loader, "--audit", AUDITOR], {})
    for way, (before, extra) in ways.items():
        for level in ("check", "track"):
            for case in ("letters", "threads"):
                done = run([*before, CLIENT, case], LIBRARY,
                           extra={**extra, "EGGBOX_CHECK": level})
                check(done.returncode == 0, f"{case}, an auditor by {way} at {level}", done)


def misuse():
    with tempfile.TemporaryDirectory() as folder:
        done = run([CLIENT, "foreign"], LIBRARY, folder)
        check(done.returncode == 0, "misuse is refused, and the program goes on", done)
        lines = done.stderr.decode().splitlines()
        check(len([line for line in lines if "not" in line and "refused" in line]) == 2 and
              len([line for line in lines if "double free" in line]) == 1,
              "one line for each place: free, realloc, and the second free", lines)
        seen = {each["kind"]: each["count"] for each in processes(folder)[0]["misuse"]}
        check(sorted(seen.values()) == [1, 4], "all of it counted", seen)


def misuse_of(case, folder, **more):
    """How often each kind of misuse was reported."""
    done = run([CLIENT, case], LIBRARY, folder, **more)
    check(done.returncode == 0, f"{case} goes on", done)
    return {each["kind"]: each["count"] for each in processes(folder)[-1]["misuse"]}


def sized_frees():
    for level in ("off", "check", "guard", "track"):
        with tempfile.TemporaryDirectory() as folder:
            seen = misuse_of("free_right_sizes", folder, extra={"EGGBOX_CHECK": level})
            check(seen == {}, f"right sizes at {level}", seen)
    with tempfile.TemporaryDirectory() as folder:
        seen = misuse_of("free_wrong_sizes", folder)
        check(list(seen.values()) == [24], "each wrong size is reported and freed", seen)
    for level, status in (("check", 0), ("guard", -6), ("track", -6)):
        done = run([CLIENT, "free_one_byte_less"], LIBRARY, extra={"EGGBOX_CHECK": level})
        check(done.returncode == status and
              (b"free with another size" in done.stderr) == (status != 0),
              f"one byte less at {level}", done)


# Without random addresses, where the system permits that.
def the_pattern_is_not_known_beforehand():
    no_random_addresses = 0x0040000
    libc = ctypes.CDLL(None)
    seen = {run([CLIENT, "say_pattern"], LIBRARY, extra={"EGGBOX_CHECK": "guard"},
                preexec_fn=lambda: libc.personality(no_random_addresses)).stdout
            for _ in range(3)}
    check(len(seen) == 3, "another pattern in each process", seen)


def nowhere_to_write():
    for folder in ("/no/where", "/dev/null", "x" * 5000):
        done = run([CLIENT, "nothing"], LIBRARY, folder)
        check(done.returncode == 0 and done.stderr == b"", f"no folder {folder[:20]}", done)


def main():
    for test in (plain_cases, ends, forked_children_count_from_the_fork, limits,
                 stacks_are_a_part_of_the_limit,
                 hardly_any_addresses, early_constructors, the_program_has_its_name,
                 watched_by_an_auditor, misuse,
                 sized_frees, the_pattern_is_not_known_beforehand, nowhere_to_write):
        test()
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
