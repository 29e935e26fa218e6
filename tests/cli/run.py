#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`eggbox run` with a stand-in for the library: the program must not notice, whatever happens.

usage: run.py EGGBOX DOUBLE
"""

import json
import os
import pathlib
import pty
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

EGGBOX, DOUBLE = sys.argv[1], sys.argv[2]
PYTHON = [sys.executable, "-S", "-E", "-c"]
NOBODY = 65534
HERE = pathlib.Path(__file__).resolve().parent
failures = []


def check(truth, what, *seen):
    if not truth:
        failures.append(what + "".join(f"\n    {each!r}" for each in seen))


def environment(**more):
    return {**os.environ, "EGGBOX_MALLOC_LIB": DOUBLE, **more}


def run(command, *options, **more):
    extra = more.pop("extra", {})
    return subprocess.run([EGGBOX, "run", *options, "--", *command], capture_output=True,
                          check=False, timeout=600, env=environment(**extra), **more)


def output_and_input_pass(folder):
    data = bytes(range(256)) * 5000
    copy = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read()); " \
           "sys.stderr.write('own\\n')"
    done = run([*PYTHON, copy], "--report", folder / "a.json", input=data)
    check(done.stdout == data, "stdin does not reach stdout byte by byte")
    check(done.returncode == 0, "exit status of a program that succeeds", done)
    check(done.stderr.startswith(b"own\n"), "the program's stderr", done.stderr)
    check(b"9,000 of 9,006 requests served from pools, in 1 process" in done.stderr, "summary",
          done.stderr)
    check(f"took effect: {DOUBLE} 0.1.0 in ".encode() in done.stderr, "the proof", done.stderr)
    check(done.stderr.endswith(f"next: eggbox report {folder}/a.json\n".encode()), "next",
          done.stderr)
    check(json.loads((folder / "a.json").read_text())["kind"] == "eggbox-report", "the report")


def arguments_and_environment_pass(folder):
    words = ["", "a b", "--report", "--", "-x", "ümlaut", "'\"\\$", "\n"]
    show = "import sys, os, json; print(json.dumps([sys.argv[1:], dict(os.environ)]))"
    done = run([*PYTHON, show, *words], "--report", folder / "a.json",
               extra={"SOME": "thing", "LD_PRELOAD": ""})
    seen, names = json.loads(done.stdout)
    check(seen == words, "arguments", seen)
    check(names.pop("LD_PRELOAD") == DOUBLE, "LD_PRELOAD", done)
    check(os.path.basename(names.pop("EGGBOX_REPORT")).startswith("eggbox-"), "EGGBOX_REPORT")
    check(re.fullmatch(r"\d+/7\d\d", names.pop("EGGBOX_LIVE")), "EGGBOX_LIVE")
    before = environment(SOME="thing")
    for name in ("LD_PRELOAD", "EGGBOX_REPORT", "EGGBOX_LIVE"):
        before.pop(name, None)
    before.setdefault("LC_CTYPE", "")  # Python sets it for itself where there is none
    names.setdefault("LC_CTYPE", before["LC_CTYPE"])
    before["LC_CTYPE"] = names["LC_CTYPE"]
    check(names == before, "environment", set(names.items()) ^ set(before.items()))

    # The option: or else eggbox itself, if built with ASan, refuses to run behind another library.
    done = run([*PYTHON, show], "--check", "guard",
               extra={"LD_PRELOAD": "libm.so.6", "ASAN_OPTIONS": "verify_asan_link_order=0"})
    names = json.loads(done.stdout)[1]
    check(names["LD_PRELOAD"] == f"{DOUBLE}:libm.so.6", "ours comes first", names["LD_PRELOAD"])
    check(names["EGGBOX_CHECK"] == "guard", "the level", names)
    temporary = done.stderr.decode().split()[-1]
    check(json.loads(pathlib.Path(temporary).read_text())["processes"][0]["level"] == "guard",
          "the level in the report, which is temporary", done.stderr)
    os.unlink(temporary)


def options_end_at_the_program(folder):
    done = subprocess.run([EGGBOX, "run", "--report", str(folder / "b.json"), *PYTHON,
                           "import sys; print(sys.argv[1:])", "--report", "x", "--help"],
                          env=environment(), capture_output=True, check=False, timeout=600)
    check(done.stdout == b"['--report', 'x', '--help']\n", "without --", done)


def exit_status_passes(folder):
    report = folder / "c.json"
    for status in (0, 1, 2, 3, 77, 255):
        done = run([*PYTHON, f"raise SystemExit({status})"], "--report", report)
        check(done.returncode == status, f"exit status {status}", done)
        check(json.loads(report.read_text())["exit_status"] == status, "and in the report")
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGUSR1, signal.SIGINT,
                   signal.SIGABRT, signal.SIGRTMIN):
        done = run([*PYTHON, f"import os, signal; signal.signal({int(number)}, signal.SIG_DFL) "
                    f"if {int(number)} != 9 else 0; os.kill(os.getpid(), {int(number)})"],
                   "--report", report)
        check(done.returncode == -number, f"ended by signal {number}", done)
        check(json.loads(report.read_text())["exit_status"] == 128 + number, "and in the report")
        check(re.search(rb"eggbox: no numbers: .* was on pools, process \d+, but left no report: "
                        rb"signal %d \(.*\) ended it\n" % number, done.stderr),
              "why nothing is known", done.stderr)
        check(b"eggbox doctor" not in done.stderr, "no way back to the same answer", done.stderr)
        crashed = number in (signal.SIGSEGV, signal.SIGABRT)
        check((b"next: eggbox run --check guard -- " in done.stderr) == crashed, "after a crash",
              done.stderr)


WAIT = """
import os, signal, sys, time
def stop(number, frame):
    os.write(1, b'got %d\\n' % number)
    sys.exit(40)
signal.signal({0}, stop)
os.write(1, b'ready\\n')
for i in range(12000):
    time.sleep(0.05)
"""


def signals_are_passed_on(folder):
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR2, signal.SIGQUIT,
                   signal.SIGWINCH, signal.SIGALRM, signal.SIGRTMIN + 1):
        with subprocess.Popen([EGGBOX, "run", "--report", folder / "d.json", "--", *PYTHON,
                               WAIT.format(int(number))], env=environment(), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            check(process.stdout.readline() == "ready\n", f"signal {number}: start")
            process.send_signal(number)
            text, talk = process.communicate(timeout=600)
            check(text == f"got {int(number)}\n", f"signal {number} arrives, once", text, talk)
            check(process.returncode == 40, f"signal {number}: exit status", process.returncode)
            check("took effect" in talk, f"signal {number}: summary", talk)


INTERRUPTED = """
import os, signal, sys, time
left = 12000
def interrupt(number, frame):
    global left
    left = 12
    os.write(1, b'got %d\\n' % number)
signal.signal(signal.SIGINT, interrupt)
os.write(1, b'ready\\n')
while left > 0:
    time.sleep(0.05)
    left -= 1
sys.exit(41)
"""


def read_until(terminal, words):
    seen = b""
    while words not in seen:
        try:
            seen += os.read(terminal, 1000)
        except OSError:  # the other end is closed
            break
    return seen


def the_terminal_interrupts_once(folder):
    """Eggbox sleeps while the program gets its interrupt, lest a second one be merged with it."""
    child, terminal = pty.fork()
    if child == 0:
        os.execve(EGGBOX, [EGGBOX, "run", "--report", str(folder / "e.json"), "--", *PYTHON,
                           INTERRUPTED], environment())
    seen = read_until(terminal, b"ready")
    os.kill(child, signal.SIGSTOP)
    os.waitpid(child, os.WUNTRACED)
    os.write(terminal, b"\x03")
    seen += read_until(terminal, b"got 2")
    os.kill(child, signal.SIGCONT)
    seen += read_until(terminal, b"next:")
    state = os.waitpid(child, 0)[1]
    os.close(terminal)
    check(seen.count(b"got 2") == 1, "an interrupt key arrives once", seen)
    check(os.WIFEXITED(state) and os.WEXITSTATUS(state) == 41, "its exit status", state, seen)
    check((folder / "e.json").stat().st_size > 0, "the report of an interrupted program")


def the_terminal_interrupts_a_group_of_its_own(folder):
    """The interrupt key reaches eggbox alone if its program is in another process group."""
    child, terminal = pty.fork()
    if child == 0:
        os.execve(EGGBOX, [EGGBOX, "run", "--report", str(folder / "o.json"), "--", *PYTHON,
                           "import os; os.setpgid(0, 0)\n" + INTERRUPTED], environment())
    seen = read_until(terminal, b"ready")
    os.write(terminal, b"\x03")
    seen += read_until(terminal, b"next:")
    state = os.waitpid(child, 0)[1]
    os.close(terminal)
    check(seen.count(b"got 2") == 1, "it gets the interrupt", seen)
    check(os.WIFEXITED(state) and os.WEXITSTATUS(state) == 41, "its exit status", state, seen)


def the_terminal_stops_and_continues(folder):
    """Eggbox stops when its program is stopped, for the shell to notice, and goes on with it."""
    script = ("import os, time, signal\n"
              "child = os.fork()\n"
              "if child == 0:\n"
              "    os.setpgid(0, 0)\n"
              "    os.execve(os.environ['E'], [os.environ['E'], 'run', '--report', os.environ['R'],"
              " '--'] + eval(os.environ['C']), os.environ)\n"
              "time.sleep(0.2)\n"
              "os.waitpid(child, os.WUNTRACED)\n"
              "print('stopped', flush=True)\n"
              "os.killpg(child, signal.SIGCONT)\n"
              "print('status', os.WEXITSTATUS(os.waitpid(child, 0)[1]), flush=True)\n")
    program = [*PYTHON, "import os, signal; os.kill(os.getpid(), signal.SIGTSTP); "
               "print('went on'); raise SystemExit(5)"]
    done = subprocess.run([*PYTHON, script], capture_output=True, text=True, timeout=600,
                          check=False, env=environment(E=EGGBOX, R=str(folder / "f.json"),
                                                       C=repr(program)))
    check(done.stdout == "stopped\nwent on\nstatus 5\n", "stop and go on", done)


def late_signals_do_no_harm(folder):
    """A signal for a program that has just ended must not end eggbox before it has reported."""
    program = "import os, sys; os.write(1, b'%d\\n' % os.getpid()); sys.stdin.read(); sys.exit(42)"
    with subprocess.Popen([EGGBOX, "run", "--report", folder / "l.json", "--", *PYTHON, program],
                          env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        child = int(process.stdout.readline())
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        process.stdin.close()
        while pathlib.Path(f"/proc/{child}/stat").read_text().split()[2] != "Z":
            time.sleep(0.01)
        process.send_signal(signal.SIGRTMIN)  # taken after SIGCHLD, whose number is lower
        process.send_signal(signal.SIGCONT)
        talk = process.stderr.read()
        check(process.wait() == 42, "the program's exit status", process.returncode)
        check(b"took effect" in talk, "the summary", talk)


def ignored_signals_stay_ignored(folder):
    show = ("import signal; print(signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN,"
            " signal.getsignal(signal.SIGHUP) == signal.SIG_IGN,"
            " sorted(map(int, signal.pthread_sigmask(0, []))))")
    def prepare():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    done = run([*PYTHON, show], "--report", folder / "g.json", preexec_fn=prepare)
    check(done.stdout == b"True True [10]\n", "dispositions and mask", done.stdout, done.stderr)
    check(done.returncode == 0, "the exit status in spite of an ignored SIGCHLD", done)


def children_are_covered(folder):
    report = folder / "h.json"
    text = "import subprocess, sys\n" \
           "for i in range(3): subprocess.run([sys.executable, '-S', '-c', ''])"
    done = run([*PYTHON, text], "--report", report)
    run_record = json.loads(report.read_text())
    check(len(run_record["processes"]) == 4, "four processes", run_record["processes"])
    first = run_record["processes"][0]
    check(all(each["parent_pid"] == first["pid"] for each in run_record["processes"][1:]),
          "the first one comes first")
    check(b"36,000 of 36,024 requests" in done.stderr, "sums", done.stderr)


DRAIN = """
i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i + 1)); done
i=0; set -- "$EGGBOX_REPORT"/*.json
while [ $# -gt 50 ] && [ $i -lt 6000 ]; do
  sleep 0.1; i=$((i + 1)); set -- "$EGGBOX_REPORT"/*.json
done
echo $#
"""


def files_are_taken_while_the_program_runs(folder):
    report = folder / "m.json"
    done = run(["sh", "-c", DRAIN], "--report", report)
    check(int(done.stdout) <= 50, "the files of 300 processes that have ended", done)
    check(len(json.loads(report.read_text())["processes"]) >= 300, "they are in the report")


def broken_and_missing_reports(folder):
    report = folder / "i.json"
    done = run([*PYTHON, ""], "--report", report, extra={"DOUBLE_BROKEN": "1"})
    check(b"ends too early" in done.stderr and b"unknown: " in done.stderr, "half a file",
          done.stderr)
    check(json.loads(report.read_text())["unreadable"] == 1, "unreadable")
    for name, took_effect, words in (("DOUBLE_SILENT", True, "a system call of its own"),
                                     ("DOUBLE_ABSENT", False, "the library did not begin")):
        done = run([*PYTHON, "raise SystemExit(9)"], "--json", extra={name: "1"})
        line = json.loads(done.stderr)
        check(done.returncode == 9 and line["took_effect"] == took_effect and
              words in line["reason"] and line["silent_processes"] == took_effect, name, line)
        os.unlink(line["report"])
    done = run([*PYTHON, ""], "--json", "--report", report)
    line = json.loads(done.stderr)
    check(line["took_effect"] and line["schema"] == 1 and line["from_pools"] == 9000, "--json",
          line)


def as_one_process_too_many(folder, program):
    """The limit holds for users without rights alone."""
    os.chmod(folder, 0o777)  # others may read and write there
    command, double = (shutil.copy(each, folder) for each in (EGGBOX, DOUBLE))
    return subprocess.run([command, "run", "--", program], check=False, capture_output=True,
                          user=NOBODY if os.getuid() == 0 else None, cwd=folder,
                          env=environment(EGGBOX_MALLOC_LIB=str(double), TMPDIR=str(folder)),
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (0, 0)))


def our_own_failures(folder):
    there = folder / "not-touched"
    touch = ["touch", str(there)]
    for what, command, options, extra, words in (
            ("no program", ["no-such-program"], [], {}, b"no such program in PATH"),
            ("a folder", ["/tmp"], [], {}, b"it is a folder"),
            ("no library", touch, [], {"EGGBOX_MALLOC_LIB": "/no/where.so"}, b"No such file"),
            ("no report", touch, ["--report", "/no/where.json"], {}, b"cannot be written"),
            ("no folder", touch, [], {"TMPDIR": "/no/where"}, b"set TMPDIR")):
        done = run(command, *options, extra=extra)
        check(done.returncode == 2 and words in done.stderr, what, done)
        check(done.stdout == b"" and not there.exists(), f"{what}: the program ran all the same")
    (folder / "script").write_text("#!/no/interpreter\n")
    (folder / "script").chmod(0o755)
    done = run([folder / "script"])
    check(done.returncode == 2 and b"/no/interpreter does not exist" in done.stderr,
          "the interpreter that is missing", done)
    done = as_one_process_too_many(folder, folder / "script")
    check(b"cannot create a process" not in done.stderr or b"interpreter" not in done.stderr,
          "a process too many", done)
    blank = folder / "a blank.so"
    blank.write_bytes(pathlib.Path(DOUBLE).read_bytes())
    done = run(touch, extra={"EGGBOX_MALLOC_LIB": str(blank)})
    check(done.returncode == 2 and b"blank" in done.stderr, "a blank in the library's path", done)


def the_folders_searched_for_the_library_are_named(folder):
    """A library is found in each folder that the message names."""
    folder = folder.resolve()
    command = folder / "1/2/3/eggbox"
    command.parent.mkdir(parents=True)
    shutil.copy(EGGBOX, command)
    others = {name: value for name, value in os.environ.items() if name != "EGGBOX_MALLOC_LIB"}

    def message():
        return subprocess.run([command, "run", "--", "true"], capture_output=True, check=False,
                              text=True, env=others).stderr
    said = message()
    found = re.fullmatch(r"eggbox: no libeggbox-malloc\.so in (.*); set EGGBOX_MALLOC_LIB to its "
                         r"path\n", said)
    named = re.split(", | or ", found[1]) if found else []
    check(len(named) == len(set(named)) and
          {str(command.parent), f"{folder}/1/2/lib", f"{folder}/1"} <= set(named), "folders", said)
    for place in map(pathlib.Path, named):
        if folder not in place.parents:
            check(False, "a folder that is not near the command", place)
            continue
        place.mkdir(parents=True, exist_ok=True)
        library = place / "libeggbox-malloc.so"
        library.write_text("")
        check("no libeggbox-malloc.so" not in message(), f"a library in {place}", message())
        library.unlink()


def a_report_that_cannot_be_written_changes_no_exit_status(folder):
    """And an earlier report stays whole."""
    done = run([*PYTHON, "raise SystemExit(7)"], "--report", "/dev/full")
    check(done.returncode == 7 and b"/dev/full: cannot be written: No space left" in done.stderr,
          "a full disk", done)
    check(b"next:" not in done.stderr, "no next step with a report that is none", done.stderr)
    report = folder / "work.json"
    report.write_text("earlier")
    link = folder / "link.json"
    link.symlink_to(report)
    limits = ["sh", "-c", 'ulimit -f 1; "$@"', "sh"]
    command = [*limits, EGGBOX, "run", "--report", link, "--", *PYTHON, "raise SystemExit(7)",
               "x" * 2000]
    done = subprocess.run(command, capture_output=True, check=False,
                          env=environment(DOUBLE_SILENT="1"))
    check(done.returncode == 7 and b"File too large" in done.stderr, "a limit", done)
    check(report.read_text() == "earlier", "an earlier report", report.read_text())
    gone = folder / "gone"
    gone.mkdir()
    done = run(["rmdir", gone], "--report", gone / "a.json")
    check(done.returncode != 0, "there is a file in it while the program runs", done)
    done = run(["rm", "-r", gone], "--report", gone / "a.json")
    check(done.returncode == 0 and b"cannot be written: No such file" in done.stderr,
          "a folder that is gone", done)
    done = run([*PYTHON, "raise SystemExit(7)"], "--report", link)
    check(done.returncode == 7 and json.loads(report.read_text())["exit_status"] == 7,
          "then it is replaced", done)
    check(link.is_symlink() and sorted(folder.iterdir()) == [link, report], "half a report",
          list(folder.iterdir()))


def streams_may_be_closed(folder):
    """The number of stderr is no other file's: a message, here of a file that is no report, would
    go into the report of the run. The closed streams are closed in the program, too."""
    report = folder / "closed.json"
    script = "import os; open_ones = [i for i in range(3) if os.path.exists(f'/dev/fd/{i}')]; " \
             "folder = os.environ['EGGBOX_REPORT']; open(f'{folder}/99999-1.json', 'w').close(); " \
             "open('seen', 'w').write(str(open_ones)); os._exit(7)"
    for closed, left in (("2>&-", "[0, 1]"), ("<&- >&- 2>&-", "[]")):
        done = subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", EGGBOX, "run", "--report",
                               report, "--", *PYTHON, script], check=False, env=environment(),
                              cwd=folder)
        check(done.returncode == 7 and (folder / "seen").read_text() == left, closed, done)
        check(json.loads(report.read_text())["unreadable"] == 1, "a whole report", closed)
    done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", EGGBOX, "report", report],
                          capture_output=True, check=False)
    check(done.returncode == 2 and b"cannot write to stdout: Bad file" in done.stderr, "report",
          done)


def the_folder_of_the_reports_may_go(folder):
    done = run(["sh", "-c", 'rm -r "$EGGBOX_REPORT"; exit 5'], "--report", folder / "n.json")
    check(done.returncode == 5 and b"unknown: sh: the folder of the reports cannot be read"
          in done.stderr, "the folder is gone", done)


def pipes_among_the_reports_are_left_alone(folder):
    done = run(["sh", "-c", 'mkfifo "$EGGBOX_REPORT/1-2.json"; cat < /dev/null'], "--report",
               folder / "o.json")
    check(done.returncode == 0, "a pipe among the reports", done)


def nothing_is_left_behind(folder):
    place = folder / "temporary"
    place.mkdir()
    run([*PYTHON, ""], "--report", folder / "j.json", extra={"TMPDIR": str(place)})
    run(["no-such-program"], extra={"TMPDIR": str(place)})
    check(list(place.iterdir()) == [], "temporary files are left", list(place.iterdir()))
    others = ["eggbox-before.json", "eggbox-run-AAAAAA.txt", "eggbox-run-CCCCCC.json"]
    for name in others[:2]:
        (place / name).write_text("{}")
    (place / others[2]).mkdir()
    for turn in range(10):
        old = place / f"eggbox-run-{turn:06}.json"
        old.write_text("{}")
        os.utime(old, (turn, turn))
    run([*PYTHON, ""], extra={"TMPDIR": str(place)})
    left = {path.name for path in place.iterdir()}
    expected = {*others, *(f"eggbox-run-{turn:06}.json" for turn in range(1, 10))}
    check(expected < left and len(left - expected) == 1, "temporary reports", left)
    show = "import os; print(sorted(map(int, os.listdir('/proc/self/fd'))))"
    descriptors = run([*PYTHON, show], "--report", folder / "j.json").stdout
    low = [each for each in json.loads(descriptors) if each < 700]  # above: the live file
    check(low == [0, 1, 2, 3], "open files reach the program", descriptors)


def a_killed_run_leaves_what_its_programs_write(folder):
    """The program goes on and writes its report into the folder of the run. No file of the
    run's own is left in its place, and the folders of killed runs do not pile up."""
    temporary = folder / "tmp"
    temporary.mkdir()
    for number in range(12):
        left = temporary / f"eggbox-left{number:02}"
        left.mkdir()
        (left / ".eggbox").touch()
        os.utime(left, (number + 1, number + 1))
    for name, has_mark in (("eggbox-mine12", False), ("others", True)):
        (temporary / name).mkdir()
        (temporary / name / "data").touch()
        if has_mark:
            (temporary / name / ".eggbox").touch()
    wait = "import sys; print('ready', flush=True); sys.stdin.read()"
    before = set(temporary.iterdir())
    with subprocess.Popen([EGGBOX, "run", "--", *PYTHON, wait], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE,
                          env=environment(TMPDIR=str(temporary))) as process:
        process.stdout.readline()
        mine, = set(temporary.iterdir()) - before
        done = run([*PYTHON, ""], extra={"TMPDIR": str(temporary)})
        check(mine.exists() and len([*temporary.glob("eggbox-left*")]) == 10 and
              not (temporary / "eggbox-left01").exists() and
              (temporary / "eggbox-left02").exists() and
              (temporary / "eggbox-mine12/data").exists() and (temporary / "others/data").exists(),
              "the ten newest stay, and what is in use or not of eggbox", [*temporary.iterdir()])
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.read()  # until the program has ended
    done = subprocess.run([EGGBOX, "report", mine], capture_output=True, text=True, check=False)
    check("9,006 requests" in done.stdout, "the report of the program", done)


def static_programs_run_all_the_same(folder):
    done = run(["/sbin/ldconfig", "--version"], "--report", folder / "k.json")
    check(done.returncode == 0 and b"ldconfig" in done.stdout, "a static program runs", done)
    check(b"NOT on pools: /sbin/ldconfig: it is statically linked" in done.stderr, "and why",
          done.stderr)


def main():
    tests = [output_and_input_pass, arguments_and_environment_pass, options_end_at_the_program,
             exit_status_passes, signals_are_passed_on, the_terminal_interrupts_once,
             the_terminal_interrupts_a_group_of_its_own, the_terminal_stops_and_continues,
             late_signals_do_no_harm, ignored_signals_stay_ignored, children_are_covered,
             files_are_taken_while_the_program_runs, broken_and_missing_reports,
             our_own_failures, the_folders_searched_for_the_library_are_named,
             a_report_that_cannot_be_written_changes_no_exit_status,
             streams_may_be_closed, the_folder_of_the_reports_may_go,
             pipes_among_the_reports_are_left_alone,
             a_killed_run_leaves_what_its_programs_write, nothing_is_left_behind,
             static_programs_run_all_the_same]
    for test in tests:
        with tempfile.TemporaryDirectory() as name:
            before, start = len(failures), time.monotonic()
            test(pathlib.Path(name))
            state = "ok" if len(failures) == before else "FAILED"
            print(f"{test.__name__}: {state}, {time.monotonic() - start:.1f} s")
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
