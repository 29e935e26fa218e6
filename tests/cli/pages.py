#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The manual, the completion and the help text speak of the same commands and options.

usage: pages.py EGGBOX ROOT
"""

import pathlib
import re
import subprocess
import sys

EGGBOX, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
COMMANDS = ["run", "report", "size", "compare", "doctor", "top", "ls", "gc"]
OPTION = re.compile(r"--[a-z][a-z-]*")
failures = []


def check(truth, what, *seen):
    if not truth:
        failures.append(what + "".join(f"\n    {each}" for each in seen))


def help_of(*command):
    text = subprocess.run([EGGBOX, *command, "--help"], capture_output=True, text=True,
                          check=True).stdout
    return text, set(OPTION.findall(text.split("Options:")[1].split("Exit status")[0]))


def page(name):
    """A manual page as its reader sees it, and the options that it explains."""
    file = ROOT / "docs/man" / f"{name}.1"
    done = subprocess.run(["groff", "-man", "-ww", "-Tascii", "-P-cbou", file], capture_output=True,
                          text=True, check=False)
    check(done.returncode == 0 and done.stderr == "", f"{name}.1 has errors", done.stderr)
    section = done.stdout.split("\nOPTIONS\n")[1].split("\nEXIT STATUS\n")[0]
    explained = re.findall(r"^ {7}(?:-h, )?(--[a-z-]+)", section, re.M)
    return done.stdout, set(explained)


def refuse_empty_values(command, text):
    """A script may have a variable that is not set. `text`: the help, which has all values."""
    options = re.findall(r"^  (--[a-z-]+) (?!Excludes:|Needs:)\S", text, re.M)
    words = [[each] for each in options] + ([[]] if re.search("^  [A-Z]+ TEXT", text, re.M) else [])
    for each in words:
        done = subprocess.run([EGGBOX, command, *each, ""], capture_output=True, text=True,
                              check=False)
        check(done.returncode == 1 and done.stdout == "" and
              re.fullmatch(r"eggbox: [A-Za-z-]+: its value is empty; see --help\n", done.stderr),
              f"{command} {each} with an empty value", done)
    return len(words)


def complete(*words):
    script = f"source {ROOT}/tools/eggbox/eggbox.bash\n" \
             "COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _eggbox; " \
             "printf '%s\\n' \"${COMPREPLY[@]}\""
    done = subprocess.run(["bash", "-c", script, "bash", *words], capture_output=True, text=True,
                          check=False, cwd=ROOT)
    check(done.stderr == "", f"completion of {words}", done.stderr)
    return {word for word in done.stdout.splitlines() if word}


def main():
    text, options = help_of()
    listed = set(re.findall(r"^  ([a-z]+) ", text, re.M))
    check(listed == set(COMMANDS), "commands of the help", text)
    manual, explained = page("eggbox")
    check(explained == options, "options of eggbox.1", explained, options)
    check(all(f"eggbox-{command}(1)" in manual for command in COMMANDS), "commands of eggbox.1")
    check(complete("eggbox", "") == {*COMMANDS, *options}, "commands completed",
          complete("eggbox", ""))
    values = 0
    for command in COMMANDS:
        text, options = help_of(command)
        values += refuse_empty_values(command, text)
        manual, explained = page(f"eggbox-{command}")
        check(explained == options, f"options of eggbox-{command}.1", explained, options)
        completed = complete("eggbox", command, "-") - {"--"}
        check(completed == options, f"options of {command} completed", completed, options)
        guide = set(OPTION.findall(manual.split("\nSYNOPSIS\n")[1].split("\nDESCRIPTION\n")[0]))
        check(guide == options - {"--help"}, f"synopsis of eggbox-{command}.1", guide, options)
    check(values >= 23, "options and files that can be empty", values)
    check(complete("eggbox", "size", "--emit", "") == {"c", "cpp", "compat", "json"},
          "values of --emit")
    check(complete("eggbox", "report", "--format", "heap") == {"heaptrack-folded"},
          "values of --format")
    check(complete("eggbox", "report", "--what", "") ==
          {"leaked", "in-use", "allocated", "peak", "requests"}, "values of --what")
    check(complete("eggbox", "run", "--check", "gu") == {"guard"}, "values of --check")
    check(complete("eggbox", "report", "READ") == {"README.md"}, "files")
    check("bash" in complete("eggbox", "run", "--", "bas"), "programs")
    check("bash" in complete("eggbox", "doctor", "bas"), "programs of doctor")
    check(complete("eggbox", "run", "--", "cat", "READ") == {"README.md"}, "a program's files")
    print("\n".join(failures) or "manual, completion and help agree")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
