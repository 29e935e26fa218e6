#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`eggbox ls` and `eggbox gc`: pools of the living and of the dead, and files that are no pools.

usage: shared.py EGGBOX HOLDER
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys

EGGBOX, HOLDER = sys.argv[1:3]
NAME = f"test-cli-{os.getpid()}"
FILE = pathlib.Path(f"/dev/shm/eggbox-{NAME}")
OTHER = pathlib.Path(f"{FILE}-\x1bother")
failures = []


def check(truth, what, *seen):
    if not truth:
        failures.append(what + "".join(f"\n    {each!r}" for each in seen))


def command(*words):
    done = subprocess.run([EGGBOX, *words], capture_output=True, text=True, check=False)
    check(done.returncode == 0 and done.stderr == "", f"{words} succeeds", done)
    return done.stdout


def listed(name):
    pools = json.loads(command("ls", "--json"))["pools"]
    return next((pool for pool in pools if pool["name"] == name), None)


def of_the_living(holder):
    pool = listed(NAME)
    shown = {key: pool[key] for key in ("dead", "count", "in_use", "only_feed", "published")}
    check(shown == {"dead": False, "count": 4, "in_use": 2, "only_feed": 1, "published": 1},
          "numbers", pool)
    one, = pool["attachments"]
    check((one["pid"], one["alive"], one["held"], one["waiting"]) == (holder.pid, True, 1, 0),
          "attachment", one)
    text = command("ls")
    check(f"{NAME}\n  blocks     4 of 1000 B; 2 in use, 1 of them" in text, "blocks", text)
    check("alive" in text and HOLDER.rsplit("/", 1)[1][-20:] in text, "process", text)
    command("gc")
    check(FILE.exists(), "gc keeps a pool of a living process")


def on_top(holder):
    """`eggbox top` has the same pools, as JSON and as a table."""
    pool, = [each for each in json.loads(command("top", "--once", "--json"))["shared"]
             if each["name"] == NAME]
    check(pool == listed(NAME), "the same numbers", pool)
    text = command("top", "--once")
    line = re.search(rf"^{NAME} +1000 B +4 +2 +1 +- +1 +0 +0 +1$", text, re.M)
    check(line and "shared pool" in text, "a line of a table", text)
    only = subprocess.run([EGGBOX, "top", "--once", str(holder.pid)], capture_output=True,
                          text=True, check=False)
    check(only.returncode == 2 and NAME not in only.stdout, "a process alone", only)


def of_the_dead():
    for _ in range(2):
        pool = listed(NAME)
        check(pool["dead"] and not pool["attachments"][0]["alive"], "the dead are shown", pool)
        check(pool["attachments"][0]["held"] == 1, "with what they hold", pool)
    text = command("ls")
    check("all its processes are dead" in text and "Next: eggbox gc" in text, "what next", text)
    OTHER.write_bytes(b"x" * 5000)
    removed = json.loads(command("gc", "--json"))
    check(removed["removed"] >= 1 and not FILE.exists(), "gc removes the dead", removed)
    check(OTHER.exists(), "gc keeps what is no pool")
    check("no pool" in listed(OTHER.name[7:])["error"], "a file that is no pool")
    check("\x1b" not in command("ls"), "no control characters")
    check(command("gc") == "0 shared pools removed.\n", "nothing to remove")


def main():
    with subprocess.Popen([HOLDER, NAME], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        holder.stdout.readline()
        try:
            of_the_living(holder)
            on_top(holder)
        finally:
            holder.send_signal(signal.SIGKILL)
    try:
        of_the_dead()
    finally:
        FILE.unlink(missing_ok=True)
        OTHER.unlink(missing_ok=True)
    print("\n".join(failures) or "ls and gc are right")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
