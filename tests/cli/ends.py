#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`eggbox run` with the real library, under programs that leave no report: it must say so, and why.

usage: ends.py EGGBOX LIBRARY COMPILER
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

EGGBOX, LIBRARY = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
COMPILER = sys.argv[3]
HERE = pathlib.Path(__file__).resolve().parent
failures = []


def check(truth, what, *seen):
    if not truth:
        failures.append(what + "".join(f"\n    {each}" for each in seen))


def environment(**more):
    return {**os.environ, "EGGBOX_MALLOC_LIB": str(LIBRARY), **more}


def run(command, *options, limits="", **more):
    """All output goes to pipes, so that a limit on the size of files is not one on them."""
    words = [EGGBOX, "run", *options, "--", *command]
    if limits:
        words = ["sh", "-c", f'{limits}; exec "$@"', "sh", *words]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=10,
                          env=environment(), **more)
    return done, json.loads(pathlib.Path(options[1]).read_text()) if options else None


def no_numbers_of_the_first(what, done, reason):
    check(re.search(r"eggbox: no numbers: .* was on pools, process \d+, but left no report: "
                    + re.escape(reason), done.stderr), what, done)
    check("NOT on pools" not in done.stderr and "doctor" not in done.stderr, f"{what}: in a circle",
          done)
    check(0 <= done.stderr.find("NOT whole: 1 process has no numbers") <
          done.stderr.find("eggbox: no numbers: "), f"{what}: first of all", done)


def numbers_until_then(what, done, program, reason, requests=1000):
    """The requests of the program's own loops are known to the last one; a libc adds a few."""
    found = re.findall(r"eggbox: (?:process \d+|\d+ processes) of " + re.escape(str(program)) +
                       " left no report: " + reason + r"; until then (\d,\d\d\d) requests?, peak "
                       r"[\d.]+ (?:B|KiB), (?:\d+ to )?\d+ blocks? in use at the end\n",
                       done.stderr)
    check([requests <= int(each.replace(",", "")) <= requests + 10 for each in found] == [True],
          what, found, done)
    check("NOT whole" not in done.stderr, f"{what}: it is whole", done)


def requests_of(record):
    return sum(each["allocations"] for each in record["pools"] if each["is_size_class"])


def without_exit_handlers(program, report):
    done, written = run([program, "raw"], "--report", report)
    check(done.returncode == 6 and done.stdout == "own output\n", "its own end", done)
    numbers_until_then("a raw exit", done, program,
                       "a system call of its own ended it with exit status 6")
    check("served from pools, in 1 process\n" in done.stderr, "the sum", done)
    check(len(written["processes"]) == 1 and "silent" not in written, "in the report", written)
    record = written["processes"][0]
    check(record["no_report"].startswith("a system call of its own") and record["is_measured"] and
          1000 <= requests_of(record) <= 1010, "its record", record)
    used = [each for each in record["pools"] if each["block_bytes"] == 64]
    check(used[0]["allocations"] >= 1000 and used[0]["requested_bytes"] >= 50000 and
          1 <= used[0]["peak"] <= 1000 and used[0]["in_use"] - used[0]["in_use_over"] <= 0,
          "its class", used)
    done, written = run([program, "exec-raw"], "--report", report)
    check(done.returncode == 6 and len(written["processes"]) == 1 and
          2000 <= requests_of(written["processes"][0]) <= 2020,
          "one program that becomes another by a raw exec", done, written)


def behind_its_report(program, report):
    """A report is written before a call that ends the program, and the call does not end it."""
    for how in ("exec-fails", "abort-fails"):
        done, written = run([program, how], "--report", report)
        check(done.returncode == -signal.SIGKILL, f"{how}: its end", done)
        numbers_until_then(how, done, program, r"signal 9 \([^)]*\) ended it", 2000)
        check(len(written["processes"]) == 1 and 2000 <= requests_of(written["processes"][0]) <=
              2010, how, written)


def a_report_says_more_than_counts(program, report):
    """A handler of SIGABRT that ends the process leaves it as it is."""
    done, written = run([program, "abort-again"], "--report", report, "--check", "track")
    check(done.returncode == -signal.SIGABRT and "left no report" not in done.stderr and
          written["processes"][0]["misuse"] == [{"kind": "double free", "count": 1}] and
          "leaks" in written["processes"][0], "a handler that raises the signal again", done)


def with_few_descriptors(program, report):
    """The descriptor of the live file is not among those that a program expects for its own."""
    for limit in (700, 256, 40):
        done, _ = run(["sh", "-c", f"ls /proc/self/fd; {program} raw"], "--report", report,
                      limits=f"ulimit -n {limit}")
        inherited = [int(each) for each in done.stdout.split() if each.isdigit()]
        check([each for each in inherited if 3 < each < limit * 3 // 4] == [], f"{limit}", done)
        numbers_until_then(f"{limit} descriptors", done, program,
                           "a system call of its own ended it with exit status 6")


def by_a_signal(program, report):
    with_report = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGALRM,
                   signal.SIGUSR1, signal.SIGUSR2)
    for number in (*with_report, signal.SIGKILL, signal.SIGSEGV, signal.SIGQUIT):
        with subprocess.Popen([EGGBOX, "run", "--report", report, "--", program, "wait"],
                              env=environment(), text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            process.stdout.readline()
            children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
            os.kill(int(children.read_text()), number)
            process.stdout.read()
            talk = process.stderr.read()
            check(process.wait() == -number, f"signal {number}", process.returncode)
            done = subprocess.CompletedProcess([], 0, "", talk)
            check((f"next: eggbox run --check guard -- {program} wait\n" in talk) ==
                  (number == signal.SIGSEGV), f"next after signal {number}", talk)
            if number in with_report:
                check("served from pools, in 1 process;" in talk, f"signal {number}", talk)
                continue
            numbers_until_then(f"signal {number}", done, program,
                               rf"signal {int(number)} \([^)]*\) ended it")


def stopped(program, report, number, *level, how="serve"):
    with subprocess.Popen([EGGBOX, "run", "--report", report, *level, "--", program, how],
                          env=environment(), text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        while process.stdout.readline() not in ("serving\n", ""):
            pass
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        os.kill(int(children.read_text()), number)
        talk = process.communicate()[1]
    return talk, *told(report)


def told(report, *options):
    """The page, and the summary as JSON."""
    page, data = (subprocess.run([EGGBOX, "report", report, *options, *form], capture_output=True,
                                 text=True, check=False).stdout for form in ([], ["--json"]))
    return page, json.loads(data)


def leaks_of_a_server(program, report):
    """A server is stopped by a signal. Blocks that it cannot reach then are leaks; those that it
    has in use are none, and neither are blocks that nobody looked for. A few words of the stack may
    lead to a block by chance."""
    for number in (signal.SIGTERM, signal.SIGINT):
        talk, page, data = stopped(program, report, number, "--check", "track")
        check(95 <= data["leaked"]["blocks"] <= 100 and "held" not in data, f"lost, {number}",
              data["leaked"])
        check(10_000 <= data["reachable"]["bytes"] and "directly lost" in talk and
              "directly lost" in page, f"what it has in use is none, {number}", talk, page)
    talk, page, data = stopped(program, report, signal.SIGTERM, "--sample", "1k")
    check("IN USE when a signal ended the program, not counted as leaks: " in talk and
          "LEAKS" not in talk + page and "IN USE when" in page and "be_a_server" in page,
          "a sample has no leaks", talk, page)
    check(data["held"]["samples"] >= 10 and data["held_sites"][0]["blocks"] > 0 and
          data["leaks"] == [] and "leaked" not in data, "as JSON", data)
    _, written = run([program], "--report", report, "--sample", "1k", limits="export EGGBOX_CHECK=")
    check(written["processes"][0]["level"] == "sample", "an empty variable is none", written)
    talk, page, data = stopped(program, report, signal.SIGKILL, "--check", "track")
    unknown = "leaks of 1 process are not known: without a report there are none\n"
    check(unknown in talk and unknown in page and "leaked" not in data, "killed", talk, page)
    check(" page faults" not in page and
          re.search(r"\n\d+ +- +[\d,]+ +(?:-|>= [\d.]+ [KM]iB) +- ", page) and
          ("; peak resident at least " in page) == (" >= " in page),
          "numbers that are not known", page)


def in_use_of(report):
    return subprocess.run([EGGBOX, "report", report, "--format", "folded", "--what", "in-use"],
                          capture_output=True, text=True, check=False)


def what_a_server_has_in_use(program, report):
    """Blocks of the C library and the loader are one line, as for leaks; the sums are of the list.
    Without blocks that are known to be in use there is no line."""
    talk, page, data = stopped(program, report, signal.SIGTERM, "--sample", "1")
    kept = re.search(r"  ([\d,]+) bytes in \d+ blocks? kept by the C library", page)
    check(kept and kept.group(0) in talk and data["held_kept"]["blocks"] > 0 and
          data["held"] == {"places": 1, "blocks": 110, "bytes": 110_000, "samples": 110} and
          "be_a_server" in data["held_sites"][0]["site"]["function"], "its own blocks", page, data)
    folded = in_use_of(report)
    check(folded.stdout == "main;be_a_server 110000\n" or
          re.fullmatch(r"main( \S+)?;be_a_server( \S+)? 110000\n", folded.stdout),
          "in another tool", folded)
    rule = report.with_suffix(".supp")
    rule.write_text("leak:be_a_server\n")
    page, data = told(report, "--suppress", rule)
    check("  110,000 bytes in 110 blocks suppressed\n" in page and
          "be_a_server" not in page.partition("ALLOCATED")[0] and
          data["held"] == {"places": 0, "blocks": 0, "bytes": 0} and
          data["held_suppressed"]["samples"] == 110, "suppressed", page, data)
    talk, page, data = stopped(program, report, signal.SIGTERM, "--sample", "1g")
    check(("IN USE" in talk + page) == (data["held"]["blocks"] > 0) and "held" in data,
          "no sample", talk, page)


def who_was_ended(program, report):
    """The process that a signal ended says so: not the status of the one that was started."""
    talk, page, data = stopped(program, report, signal.SIGTERM, "--sample", "1k", how="serve-exit")
    check("LEAKS" in talk and "LEAKS" in page and "held" not in data and
          data["leaked"]["blocks"] >= 50, "it ends by itself with 143", talk, page)
    with subprocess.Popen([EGGBOX, "run", "--report", report, "--sample", "1k", "--", "sh", "-c",
                           f"{program} serve & read line; kill $!; wait $!; exit 0"],
                          env=environment(), text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while process.stdout.readline() not in ("serving\n", ""):
            pass
        talk = process.communicate("\n")[1]
    page, data = told(report)
    check("IN USE when a signal ended the program" in talk and "be_a_server" in page and
          data["held_sites"][0]["blocks"] >= 50 and "be_a_server" not in str(data["leaks"]) and
          process.returncode == 0, "a child of the program", talk, page)


def by_the_terminal(program, report):
    """A whole group is stopped, and a worker of it was killed before."""
    with subprocess.Popen([EGGBOX, "run", "--report", report, "--", "sh", "-c",
                           f"{program} child-killed >/dev/null; exec {program} wait"],
                          env=environment(), text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, start_new_session=True) as process:
        process.stdout.readline()
        os.killpg(process.pid, signal.SIGINT)
        talk = process.communicate()[1]
    check(process.returncode == -signal.SIGINT, "its end", process.returncode, talk)
    numbers_until_then("the worker", subprocess.CompletedProcess([], 0, "", talk), program,
                       r"signal 9 \([^)]*\) ended it")
    check("in 3 processes" in talk, "all of them", talk)


def by_a_signal_inside_malloc(program, report):
    """If a lock is held, the signal comes again. It always ends the program, with a report: also
    one that sleeps beside threads that hold locks. One that becomes another program has none if
    the signal comes before the library has begun there."""
    for how, level in 4 * (("large", "check"), ("bursts", "guard"), ("threads", "track"),
                           ("sleep", "guard"), ("exec", "guard")):
        with subprocess.Popen([EGGBOX, "run", "--report", report, "--check", level, "--", program,
                               f"busy-{how}"], env=environment(), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            while process.stdout.readline() not in ("busy\n", ""):
                pass
            process.send_signal(signal.SIGTERM)
            talk = process.communicate(timeout=600)[1]
        check(process.returncode == -signal.SIGTERM, "its end", how, process.returncode, talk)
        check("a lock was held" not in talk and (how == "exec" or "in 1 process;" in talk),
              "a report", how, talk)


def by_a_signal_and_by_itself(program, report):
    """Which of the two ends it, the system decides. The report is there, and no signal is told
    that did not end it. One that came behind the report of its own end is not told."""
    for _ in range(20):
        done, written = run([program, "twice"], "--report", report, "--check", "track")
        told_signal = written["processes"][0].get("signal", 0)
        check("in 1 process;" in done.stderr and "left no report" not in done.stderr and
              done.returncode in (3, -signal.SIGTERM) and told_signal in (0, -done.returncode),
              "two ends at one time", told_signal, done)


def that_it_does_not_notice(program, report):
    done, _ = run([program, "see"], "--report", report,
                  preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    check((done.returncode, done.stdout) == (-signal.SIGTERM, "own output\n"), "its view", done)
    check("in 1 process;" in done.stderr, "its end has a report", done)
    done, _ = run([program, "threads"], "--report", report)
    check(done.returncode == -signal.SIGTERM and "in 1 process;" in done.stderr, "threads", done)
    done, _ = run([program, "vfork"], "--report", report)
    check((done.returncode, done.stdout) == (7, "own output\n") and "in 1 process;" in done.stderr,
          "vfork", done)
    done, _ = run([program, "nowhere"], "--report", report)
    check((done.returncode, done.stdout) == (7, "own output\n"), "a status for wait()", done)
    done, written = run([program, "shells"], "--report", report)
    ends = [each.get("no_report", "") for each in written["processes"]]
    check((done.returncode, done.stdout) == (7, "own output\n") and
          sum(each.startswith("signal 9 (") for each in ends) == 2, "shells", done, ends)
    for how in ("stranger-system", "stranger-pipe"):
        done, written = run([program, how], "--report", report)
        ends = [each["no_report"] for each in written["processes"] if "no_report" in each]
        check(done.returncode == 7 and "wrong" not in done.stdout and
              ends == ["a signal or a system call of its own ended it"], how, done, ends)
    done, _ = run([program, "child-ended"], "--report", report)
    check(done.returncode == 7 and "in 2 processes;" in done.stderr, "a child", done)


def as_another_user_or_under_another_root(program, report):
    """The folder of the run takes no file of such a process: its report is in the live file."""
    if os.getuid() != 0:
        print("another user and another root: not tested, they take root")
        return
    root = report.parent / "root"
    root.mkdir()
    for how, more in (("child-nobody", ""), ("child-root", root)):
        done, written = run([program, how, more], "--report", report, "--check", "track")
        of_child = [each for each in written["processes"] if each["arguments"][1:2] == [how] and
                    requests_of(each) > 2000]
        of_child = of_child or [each for each in written["processes"] if not each["arguments"]]
        check(done.returncode == 7 and "no report" not in done.stderr and
              "served from pools, in 2 processes" in done.stderr, f"{how}: what is said", done)
        check(len(of_child) == 1 and len(written["processes"]) == 2 and
              of_child[0]["program"] == str(program) and "no_report" not in of_child[0],
              f"{how}: its record", written)
        check("5,000 bytes in 1 block" in done.stderr, f"{how}: its leak", done)


def children(program, report):
    cases = [("child-killed", "", r"signal 9 \([^)]*\) ended it", 1000),
             ("child-raw", "", "a system call of its own ended it with exit status 0", 1000),
             ("child-sandbox", "", r"signal \d+ \([^)]*\) ended it", 2000)]
    if os.getuid() == 0:
        cases += [("child-nobody-closed", "", "it could not be written: Permission denied", 2000)]
    for how, more, reason, requests in cases:
        done, written = run([program, how, more], "--report", report)
        check(done.returncode == 7 and "served from pools, in 2 processes" in done.stderr,
              f"{how}: the sum", done)
        numbers_until_then(how, done, program, reason, requests)
        check(len(written["processes"]) == 2 and "silent" not in written, how, written)
        page = subprocess.run([EGGBOX, "report", report], capture_output=True, text=True,
                              check=False)
        check("1 process left no report" in page.stdout and "omit" not in page.stdout,
              "eggbox report", page)
    done, written = run(["sh", "-c", f"exec {program} raw"], "--report", report)
    check(written["processes"][0]["duration_s"] == 0, "sh had a report", done, written)
    check(("; peak resident at least " in done.stderr) ==
          (written["processes"][0]["peak_resident_bytes"] != 0) and
          "; peak resident " not in done.stderr.replace("resident at least", ""),
          "memory that was seen, or not", done, written)
    script = f"for i in $(seq 60); do /bin/true & done; wait; {program} raw; exit 7"
    done, written = run(["sh", "-c", script], "--report", report)
    numbers_until_then("after many others", done, program,
                       "a system call of its own ended it with exit status 6", 1000)
    check(re.search(r"; peak resident at least [\d.]+ MiB\n", done.stderr),
          "memory that nobody knows", done.stderr)
    done, written = run([program, "return"], "--report", report)
    check("in 1 process;" in done.stderr and "silent" not in written, "all is well", done, written)


def what_becomes_another_program(program, report):
    """Its descriptors are closed, or it is another user: the file is found all the same."""
    done, written = run([program, "child-closed", program], "--report", report)
    check(done.returncode == 7 and "NOT whole" not in done.stderr, "closed", done)
    lost = [each for each in written["processes"] if "no_report" in each]
    check(len(written["processes"]) == 3 and [1000 <= requests_of(each) <= 2020 for each in lost] ==
          [True, True], "closed", written)
    if os.getuid() == 0:
        done, written = run([program, "child-started", program], "--report", report)
        lost = [each for each in written["processes"] if "no_report" in each]
        check(done.returncode == 7 and len(lost) == 1 and 1000 <= requests_of(lost[0]) <= 2020,
              "started as another user", done, written)


def while_they_run(program, report):
    """Hundreds of them are few lines, and their slots are used again."""
    script = f'i=0; while [ $i -lt 300 ]; do {program} raw >/dev/null; i=$((i + 1)); done'
    done, written = run(["sh", "-c", script], "--report", report)
    lost = [each for each in written["processes"] if "no_report" in each]
    check(len(lost) == 300 and all(1000 <= requests_of(each) <= 1010 for each in lost),
          "300 of them", len(lost))
    check("295 further processes left no report; they are counted until their end" in done.stderr,
          "few lines", done)


def without_room(program, report):
    """The program goes on as it is, and no half a report stays."""
    for limit in (0, 1):
        done, _ = run([program], limits=f"ulimit -f {limit}")
        check(done.returncode == 7 and done.stdout == "own output\n", f"{limit} KiB", done)
        no_numbers_of_the_first("a limit", done, "it could not be written: File too large")
        check(("json: cannot be written: File too large" in done.stderr) == (limit == 0),
              "its own report is short", done)
    disk = report.parent / "disk"
    disk.mkdir()
    full = "mount -t tmpfs -o size=64k none $0 2>/dev/null || exit 90; " \
           "head -c 100000 /dev/zero >$0/all 2>/dev/null; export TMPDIR=$0"
    done = subprocess.run(["unshare", "-m", "sh", "-c", f'{full}; exec "$@"', disk, EGGBOX, "run",
                           "--check", "guard", "--report", report, "--", program, "overrun"],
                          capture_output=True, text=True, check=False, env=environment())
    if done.returncode == 7:
        written = json.loads(report.read_text())["processes"][0]
        check("MISUSE: write past the end of a block, 1 time\n" in done.stderr and
              "left no report" not in done.stderr and written["misuse"] ==
              [{"kind": "write past the end of a block", "count": 1}], "a full disk", done, written)
    else:
        check(done.returncode in (1, 90), "a full disk", done)
        print("a full disk: not tested, it takes the right to mount one")
    folder = report.parent / "reports"
    folder.mkdir()
    for limit in (0, 1):
        done = subprocess.run(["sh", "-c", f'ulimit -f {limit}; exec env "$@"', "sh",
                               f"LD_PRELOAD={LIBRARY}", f"EGGBOX_REPORT={folder}", program],
                              check=False, capture_output=True)
        check(done.returncode == 7, "without eggbox run", done)
    endings = sorted(path.suffix for path in folder.iterdir())
    check(endings == [".begun", ".begun", ".failed", ".failed"], "half of it",
          sorted(folder.iterdir()))


def where_messages_go_nowhere(program, report):
    """Messages of eggbox and its library are lost, and the program ends as it does. Another command
    ends as commands do whose reader has gone."""
    def status(*words, stream="stderr", before=None, **more):
        reader, writer = os.pipe()
        os.close(reader)
        try:
            return subprocess.run(words, check=False, env=environment(**more), preexec_fn=before,
                                  **{"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL,
                                     stream: writer}).returncode
        finally:
            os.close(writer)
    for level, how in (("check", "refused"), ("track", "keep")):
        check(status(program, how, LD_PRELOAD=str(LIBRARY), EGGBOX_CHECK=level) == 7,
              f"a message of the library at {level}")
        for form in ((), ("--json",)):
            check(status(EGGBOX, "run", "--report", report, "--check", level, *form, "--", program,
                         how) == 7, f"a summary at {level}", form)
            check(json.loads(report.read_text())["exit_status"] == 7, "its report")
    for inherited, status_then in ((signal.SIG_DFL, -signal.SIGPIPE), (signal.SIG_IGN, 7)):
        done, _ = run(["sh", "-c", "kill -PIPE $$; exit 7"], "--report", report,
                      preexec_fn=lambda to=inherited: signal.signal(signal.SIGPIPE, to))
        check(done.returncode == status_then, "the program's own signal", done)
    check(status(EGGBOX, "report", report, stream="stdout") == -signal.SIGPIPE, "eggbox report")
    check(status(EGGBOX, "report", report.parent / "none") == 2, "its message")
    check(status(EGGBOX, "report", report, stream="stdout",
                 before=lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN)) == 2, "an error")
    log = report.with_suffix(".log")
    log.write_text("a line\n" * 1000)
    for words in ((EGGBOX, "run"), ("env", f"LD_PRELOAD={LIBRARY}")):
        done = subprocess.run(["sh", "-c", f'ulimit -f 1; exec "$@" 2>>{log}', "sh", *words,
                               program, "refused"], check=False, env=environment(),
                              stdout=subprocess.DEVNULL)
        check(done.returncode == 7 and log.stat().st_size == 7000, "a limit", done)


def without_proc(program, report):
    """The library then does not know what program it is in."""
    def run_there(*words):
        return subprocess.run(["unshare", "-m", "sh", "-c", "mount -t tmpfs none /proc || exit 90; "
                               'exec "$@"', "sh", EGGBOX, *words], capture_output=True, text=True,
                              check=False, env=environment())
    if run_there("--version").returncode != 0:
        print("without /proc: not tested, it takes the right to hide it, and no sanitizer")
        return
    done = run_there("run", "--report", report, "--", program)
    check(done.returncode == 7 and
          re.search(r"took effect: \S+ \S+ in process \d+\n", done.stderr), "no name", done)


def another_c_library(program, report):
    """A child that is linked with musl runs as it is, and a neighbour of it on pools."""
    if not shutil.which("musl-gcc"):
        print("musl: not tested, there is no musl-gcc")
        return
    musl = report.parent / "musl"
    source = report.parent / "musl.c"
    source.write_text("int puts(const char*); void* malloc(unsigned long);\n"
                      "int main(void) { malloc(50); puts(\"own output\"); return 7; }\n")
    subprocess.run(["musl-gcc", "-w", "-fno-builtin", source, "-o", musl], check=True)
    done, written = run(["sh", "-c", f"{musl}; echo $?; {program} return"],
                        "--report", report)
    check(done.stdout == "own output\n7\nown output\n" and done.returncode == 7, "a musl child",
          done)
    names = [each["program"] for each in written["processes"]]
    check(str(program) in names and "silent" not in written, "its neighbour", names, written)
    done, written = run([musl], "--report", report)
    check(done.returncode == 7 and done.stdout == "own output\n" and
          f"NOT on pools: {musl}: it is linked with musl" in done.stderr, "a musl program", done)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        program = folder / "ends"
        subprocess.run([COMPILER, "-O1", "-fno-builtin", "-w", "-D_GNU_SOURCE", HERE / "ends.c",
                        "-pthread", "-o", program], check=True)
        for test in (without_exit_handlers, behind_its_report,
                     a_report_says_more_than_counts, with_few_descriptors, by_a_signal,
                     leaks_of_a_server, what_a_server_has_in_use, who_was_ended, by_the_terminal,
                     by_a_signal_inside_malloc, by_a_signal_and_by_itself,
                     that_it_does_not_notice, as_another_user_or_under_another_root, children,
                     what_becomes_another_program, while_they_run, without_room,
                     where_messages_go_nowhere, without_proc, another_c_library):
            before = len(failures)
            test(program, folder / "report.json")
            print(f"{test.__name__}: {'ok' if len(failures) == before else 'FAILED'}", flush=True)
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
