#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The system lets only a process with one thread enter some namespaces. The library's own thread is
not in the way of a program whose threads have ended. Nor does it keep a process whose first thread
has ended.

usage: alone.py LIBRARY ALONE
"""

import sys
import tempfile

from both import check, failures, processes, run, same

LIBRARY, ALONE = sys.argv[1:3]


# Such a process went on for ever, and no signal but SIGKILL ended it. Its report had neither the
# program's name nor the blocks that could still be reached.
def the_last_thread_ends():
    for what in ("ends", "child_ends"):
        for setting in ({}, {"EGGBOX_CHECK": "guard"}, {"EGGBOX_PURGE": "calls"}):
            for each in same(f"{what}, {setting}", [ALONE, what], LIBRARY, extra=setting):
                check(each["program"] == ALONE and each["arguments"] == [ALONE, what],
                      f"{what}, {setting}: its name", each)
    with tempfile.TemporaryDirectory() as folder:
        done = run([ALONE, "ends"], LIBRARY, folder, extra={"EGGBOX_CHECK": "track"})
        written = processes(folder)
        check(done.returncode == 0 and len(written) == 1 and "reachable" in written[0],
              "what can be reached at the end", done, written)


# The program's last thread was refused.
def the_program_has_all_threads():
    for way in ([], ["c11"], ["private"]):
        command = [ALONE, "all", *way]
        plain = run(command)
        done = run(command, LIBRARY)
        check((done.returncode, done.stdout) == (plain.returncode, plain.stdout), "all threads",
              done, plain)


# A program with threads of C11 only got no thread that gives memory back while it makes no call.
def threads_of_c11_bring_one_too():
    done = run([ALONE, "stopped", "c11"], LIBRARY)
    check(done.returncode in (0, 77), "a second thread after one of C11", done)


# glibc forgets during exit() what a library asked to be called in the child of a fork.
def a_child_of_the_last_moment_has_one_too():
    for setting, threads in (({}, 3), ({"EGGBOX_PURGE": "calls"}, 2)):
        done = run([ALONE, "late"], LIBRARY, extra=setting)
        check((done.returncode, done.stdout) == (0, b"%d threads\n" % threads),
              f"a child during exit(), {setting}", done)


# The library's thread had gone for good.
def a_refused_thread_has_another_reason():
    for setting, threads in (({}, 2), ({"EGGBOX_PURGE": "calls"}, 1)):
        done = run([ALONE, "refused"], LIBRARY, extra=setting)
        expected = run([ALONE, "refused"]).stdout.replace(b"1 thr", b"%d thr" % threads)
        check((done.returncode, done.stdout) == (0, expected), f"refused, {setting}", done,
              expected)


def main():
    the_program_has_all_threads()
    threads_of_c11_bring_one_too()
    a_child_of_the_last_moment_has_one_too()
    a_refused_thread_has_another_reason()
    the_last_thread_ends()
    for what in (["user"], ["setns"], ["kept"], ["user", "private"], ["kept", "private"]):
        plain = run([ALONE, *what])
        check(plain.returncode == 0, f"{what}: it cannot be tried here", plain)
        for setting in ({}, {"EGGBOX_CHECK": "guard"}, {"EGGBOX_PURGE": "calls"}):
            done = run([ALONE, *what], LIBRARY, extra=setting)
            check((done.returncode, done.stdout) == (0, plain.stdout), f"{what}, {setting}", done,
                  plain)
    done = run([ALONE, "stopped"], LIBRARY)
    if done.returncode == 77:
        print("stopped: no process may stop another one's threads here")
    else:
        refusal = run([ALONE, "kept"]).stdout.splitlines()[:1]  # for a process with threads
        check((done.returncode, done.stdout.splitlines()) == (0, refusal + [b"2 threads"]),
              "stopped", done)
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
