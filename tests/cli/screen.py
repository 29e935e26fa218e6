#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`eggbox top` on a terminal, with real keys: tmux is the terminal.

usage: screen.py EGGBOX LIBRARY COMPILER HOLDER
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

EGGBOX, LIBRARY = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
COMPILER, HOLDER = sys.argv[3:5]
HERE = pathlib.Path(__file__).resolve().parent
SERVER = f"eggbox{os.getpid()}"
failures = []


def tmux(*words):
    return subprocess.run(["tmux", "-u", "-L", SERVER, "-f", "/dev/null", *map(str, words)],
                          capture_output=True, encoding="utf-8", check=False,
                          env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout


def wait_for(pattern, what, keys=()):
    """Types the keys, and waits until the screen shows the pattern."""
    for key in keys:
        tmux("send-keys", key)
    end = time.monotonic() + 120
    while time.monotonic() < end:
        page = tmux("capture-pane", "-p")
        if re.search(pattern, page):
            return page
        time.sleep(0.05)
    failures.append(f"{what}: {pattern} is not on the screen:\n{page}")
    return page


def check(truth, what, *seen):
    if not truth:
        failures.append(what + "".join(f"\n    {each}" for each in seen))


def watch(program, process):
    line = rf"\n{process.pid} +\d+ +- +\S+ \S+ +\S+ \S+ +\S+ % +'{program}' wait\n"
    page = wait_for(line, "the process")
    check(re.match(r"1 process, \S+ \S+ in use, \S+ \S+ held\n", page), "its title", page)
    check("q quit   Enter pools of the process   s sort: held   / filter   p pause" in page,
          "the keys", page)
    wait_for(r"\nnone(.*\n)+.*/ filter: üß ", "a filter beyond ASCII", ["/", "üß", "Enter"])
    wait_for(line, "one without its last character", ["/", "BSpace", "Enter"])
    page = wait_for(r"\nheap 64 +64 +- +\d+ +\d+ +64\.0 KiB +\S+ % +0", "its pools", ["Enter"])
    check(page.startswith(f"process {process.pid}: '{program}' wait\n"), "its name", page)
    page = wait_for("filter: 4096", "a filter", ["/", "4096", "Enter"])
    check("heap 4096" in page and "heap 64" not in page, "what it leaves", page)
    wait_for("sort: in use", "another order", ["s"])
    wait_for("PAUSED", "a pause", ["p"])
    page = wait_for("Enter pools of the process", "back", ["Escape"])
    check("\nprocess  pools" in page and "PAUSED" in page, "still a pause", page)
    for columns, lines in ((20, 4), (1, 1), (250, 60)):
        tmux("resize-window", "-x", columns, "-y", lines)
    wait_for(line, "a large terminal")


def watch_shared(name, holder):
    """Pools that processes share, and the processes that have one open, with the time of each."""
    page = wait_for(rf"\n{name} +1000 B +4 +2 +1 +\S+ +1 +0 +0 +1\n", "a shared pool", ["m"])
    check(re.match(r"\d+ shared pools?\n", page) and "m processes" in page, "its title", page)
    wait_for(rf"\n{name} ", "it alone", ["/", *name[-4:], "Enter"])
    page = wait_for(rf"\n{holder.pid} +alive +1 +\S+ m?s +0 +0 +\S*shared_holder\n",
                    "who has it open", ["Enter"])
    check(page.startswith(f"shared pool {name}: 2 of 4 blocks in use, 1 of them only in the feed"),
          "its numbers", page)
    wait_for("m shared pools", "processes again", ["m"])


def end_by_signal(file):
    """SIGTERM ends the screen as it ends other programs, and the terminal is as before."""
    shell = tmux("list-panes", "-F", "#{pane_pid}").strip()
    for child in pathlib.Path(f"/proc/{shell}/task/{shell}/children").read_text().split():
        os.kill(int(child), signal.SIGTERM)
    end = time.monotonic() + 120
    while time.monotonic() < end and not (file.exists() and "icanon" in file.read_text()):
        time.sleep(0.05)
    seen = file.read_text() if file.exists() else "nothing"
    check(seen.startswith("status 143\n") and re.search(r"(?<!-)\bicanon\b", seen) and
          re.search(r"(?<!-)\becho\b", seen), "its end by a signal", seen)


def a_dumb_terminal(program):
    """On a terminal that cannot place its lines the screen would be a heap of words."""
    ours, theirs = os.openpty()
    done = subprocess.run([EGGBOX, "top", program.name], stdin=theirs, stdout=theirs,
                          stderr=subprocess.PIPE, text=True, check=False,
                          env={**os.environ, "TERM": "dumb"})
    check(done.returncode == 2 and "look at TERM, or use --once" in done.stderr, "TERM=dumb", done)
    os.close(theirs)
    os.close(ours)


def main():
    with tempfile.TemporaryDirectory() as name:
        program = pathlib.Path(name).resolve() / f"top-ü-{os.getpid()}"
        name_of_pool = f"test-screen-{os.getpid()}"
        subprocess.run([COMPILER, "-O1", "-fno-builtin", "-w", "-D_GNU_SOURCE", HERE / "ends.c",
                        "-pthread", "-o", program], check=True)
        with subprocess.Popen([program, "wait"], stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "LD_PRELOAD": str(LIBRARY),
                                   "EGGBOX_LIVE": "1"}) as process:
            process.stdout.readline()
            tmux("new-session", "-d", "-x", 110, "-y", 24,
                 f"{EGGBOX} top {program.name}; echo status $? >{program}.end; "
                 f"stty -a >>{program}.end; sh -mc '{EGGBOX} top {program.name}; "
                 "echo stopped $?; fg; echo status $?'; exec cat")
            try:
                watch(program, process)
                with subprocess.Popen([HOLDER, name_of_pool], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True) as holder:
                    holder.stdout.readline()
                    tmux("send-keys", "p")
                    watch_shared(name_of_pool, holder)
                    holder.communicate()
                a_dumb_terminal(program)
                end_by_signal(pathlib.Path(f"{program}.end"))
                wait_for(rf"\n{process.pid} ", "the screen once more")
                process.kill()
                wait_for(r"\nnone", "its end, after a stop of the screen", ["C-z"])
                wait_for(r"stopped 148\n(.*\n)*status 0\n", "the end", ["q"])
            finally:
                process.kill()
                tmux("kill-server")
        done = subprocess.run([EGGBOX, "top"], capture_output=True, text=True, check=False)
        check(done.returncode == 2 and done.stdout == "", "without a terminal", done)
    print("\n".join(failures) or "the screen shows it")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
