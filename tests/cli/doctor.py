#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`eggbox doctor` on programs of every kind, made for the purpose.

usage: doctor.py EGGBOX DOUBLE COMPILER
"""

import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

EGGBOX, DOUBLE, COMPILER = sys.argv[1:4]
NOBODY = 65534
EMPTY = "int main(void) { return 0; }\n"
OWN = "void* malloc(unsigned long n) { static char all[1 << 20]; static unsigned long at; " \
      "at += (n + 15) / 16 * 16; return all + at - (n + 15) / 16 * 16; }\n" + EMPTY
failures = []


def check(truth, what, *seen):
    if not truth:
        failures.append(what + "".join(f"\n    {each!r}" for each in seen))


def build(folder, name, text, *options):
    source = folder / f"{name}.c"
    source.write_text(text)
    subprocess.run([COMPILER, "-w", str(source), "-o", str(folder / name), *options], check=True)
    return folder / name


def doctor(program, *options, **more):
    environment = {**os.environ, "EGGBOX_MALLOC_LIB": DOUBLE, **more.pop("extra", {})}
    return subprocess.run([EGGBOX, "doctor", str(program), *options], capture_output=True,
                          text=True, check=False, env=environment, timeout=600, **more)


def expect(what, program, reason, *words, **more):
    done = doctor(program, "--json", **more)
    answer = json.loads(done.stdout) if done.stdout else {"findings": []}
    found = [each["reason"] for each in answer["findings"] if each["blocks"]]
    check(found[:1] == ([reason] if reason else []), what, done)
    check(done.returncode == (2 if reason else 0), f"{what}: exit status", done)
    plain = doctor(program, **more).stdout
    for word in words:
        check(word in plain, f"{what}: says {word}", plain)
    check(("Next: eggbox run -- " in plain) == (reason is None), f"{what}: next", plain)
    return answer


def programs(folder):
    expect("dynamic", build(folder, "dynamic", EMPTY), None, "can run on pools.")
    expect("by name", "true", None, "/true")
    expect("static", build(folder, "static", EMPTY, "-static"), "static", "statically linked")
    expect("static-pie", build(folder, "static_pie", EMPTY, "-static-pie"), "static")
    expect("own malloc", build(folder, "own", OWN), "own-malloc", "defines malloc() itself")
    old = build(folder, "own_sysv", OWN, "-Wl,--hash-style=sysv")
    expect("own malloc, old hash table", old, "own-malloc")
    stripped = build(folder, "own_stripped", OWN, "-s")
    expect("own malloc, stripped", stripped, "own-malloc")
    expect("missing", folder / "nothing", "missing", "no such file")
    (folder / "loop").symlink_to("loop")
    expect("a link to itself", folder / "loop", "missing", "cannot be reached", "symbolic links")
    expect("without its loader", build(folder, "alien", EMPTY, "-Wl,--dynamic-linker=/no/ld.so"),
           "no-interpreter", "its loader /no/ld.so does not exist")
    expect("missing in PATH", "no-such-program", "missing", "in PATH")
    expect("a folder of a folder in PATH", "bin", "missing", "in PATH",
           extra={"PATH": f"/usr:{os.environ['PATH']}"})
    expect("a folder", folder, "not-executable", "it is a folder")
    plain = folder / "plain"
    plain.write_text("text")
    plain.chmod(0o644)
    expect("not executable", plain, "not-executable", f"chmod +x {plain}")
    fake = folder / "libjemalloc.so"
    build(folder, "libjemalloc.so", "int fake;\n", "-shared", "-fPIC")
    brings = build(folder, "brings", "extern int fake; int main(void) { return fake; }\n",
                   str(fake))
    answer = expect("brings jemalloc", brings, None, "but not the other functions of jemalloc")
    check([each["reason"] for each in answer["findings"]] == ["brings-allocator"], "note", answer)
    build(folder, "libuser.so", "extern int fake; int use(void) { return fake; }\n", "-shared",
          "-fPIC", f"-L{folder}", "-ljemalloc")
    user = "int use(void); int main(void) { return use(); }\n"
    for dtags in ("--disable-new-dtags", "--enable-new-dtags"):
        far = build(folder, "far", user, f"-L{folder}", "-luser", "-Wl,--allow-shlib-undefined",
                    f"-Wl,{dtags},-rpath,$ORIGIN")
        expect(f"brings jemalloc by another library, {dtags}", far, None, "jemalloc")
    far = build(folder, "far", user, str(folder / "libuser.so"), "-Wl,--allow-shlib-undefined")
    expect("brings jemalloc by another library", far, None, "jemalloc")


def sanitizers(folder):
    """Their programs crash or end at the start with another malloc: nobody runs them by mistake."""
    name = {"thread": "ThreadSanitizer", "address": "AddressSanitizer"}
    for option in ("thread", "address"):
        for more in ([], ["-s"], ["-static-libtsan"], ["-static-libtsan", "-s"]):
            program = sanitized(folder, option, more)
            if program is None:
                continue
            expect(f"{option} {more}", program, "sanitizer", f"it is built with {name[option]}",
                   f"remedy       build it without -fsanitize={option}")
            done = subprocess.run([EGGBOX, "run", "--", program], capture_output=True, text=True,
                                  check=False, env={**os.environ, "EGGBOX_MALLOC_LIB": DOUBLE})
            check(done.returncode == 2 and done.stdout == "" and name[option] in done.stderr,
                  f"run of {option} {more}", done)
            script = folder / "script"
            script.write_text(f"#!{program}\n")
            script.chmod(0o755)
            expect(f"script of {option} {more}", script, "sanitizer")
    for symbol, defined in (("__msan_init", True), ("__tsan_init", True), ("__asan_init", True),
                            ("__sanitizer_print_memory_profile", False)):
        text = f"void {symbol}(void) {{}}\n{EMPTY}"
        exported = build(folder, f"has_{symbol}", text, "-rdynamic")
        expect(f"{symbol} in the program", exported, "sanitizer" if defined else None)


def sanitized(folder, option, more):
    """A program that says something; None: the compiler has no such sanitizer."""
    try:
        return build(folder, f"with_{option}{len(more)}",
                     "int puts(const char*); int main(void) { return puts(\"ran\"); }\n",
                     f"-fsanitize={option}", *more)
    except subprocess.CalledProcessError:
        print(f"-fsanitize={option} {' '.join(more)}: not tested, the compiler has it not")
        return None


def scripts(folder):
    def script(name, text):
        path = folder / name
        path.write_text(text)
        path.chmod(0o755)
        return path
    static = build(folder, "interpreter", EMPTY, "-static")
    expect("script", script("s1", "#!/bin/sh -e\n"), None, "interpreter  /bin/sh")
    expect("script by env", script("s2", "#!/usr/bin/env python3\n"), None, "python3")
    expect("script by env -S", script("s3", "#!/usr/bin/env -S A=b python3 -S\n"), None, "python3")
    expect("script without a first line", script("s4", "echo\n"), None, "interpreter  /bin/sh")
    expect("empty script", script("s5", ""), None)
    expect("script of a static program", script("s6", f"#! {static} x\n"), "static")
    expect("script of nothing", script("s7", "#!/no/where\n"), "no-interpreter", "/no/where")
    expect("script of nothing by env", script("s8", "#!/usr/bin/env nothing-here\n"),
           "no-interpreter")
    (folder / "plain").write_text("")
    expect("script of a file that is not executable by env",
           script("s10", f"#!/usr/bin/env {folder}/plain\n"), "no-interpreter", "is not executable")
    expect("script of a folder by env", script("s11", f"#!/usr/bin/env {folder}\n"),
           "no-interpreter", "is not executable")
    expect("script of itself", script("s9", f"#!{folder}/s9\n"), "script-loop")


def other_machines(folder):
    data = bytearray(build(folder, "machine", EMPTY).read_bytes())
    data[18:20] = (183).to_bytes(2, sys.byteorder)  # EM_AARCH64
    other = folder / "other"
    other.write_bytes(data)
    other.chmod(0o755)
    expect("other machine", other, "other-machine", "built for 64-bit ARM", "64-bit x86-64")
    other.write_bytes(data.replace(b"/ld-linux", b"/no-linux"))
    alien = expect("other machine, without its loader", other, "other-machine", "64-bit ARM")
    text = build(folder, "musl", EMPTY, "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1")
    musl = expect("musl", text, "other-libc", "musl")
    for answer in (alien, musl):
        check(len(answer["findings"]) == 1, "one reason", answer)
    expect("no library", "true", "no-library", extra={"EGGBOX_MALLOC_LIB": "/no/where.so"})
    expect("no ELF library", "true", "no-library", extra={"EGGBOX_MALLOC_LIB": __file__})


def rights(folder):
    """Rights that the caller lacks: made as root, else found in the system."""
    os.chmod(folder, 0o755)
    if os.getuid() != 0:
        expect("setuid", shutil.which("su") or "/usr/bin/passwd", "setuid")
        print("setgid and file capabilities: not tested, they take root to make")
        return
    for name, mode, reason in (("suid", 0o4755, "setuid"), ("sgid", 0o2755, "setgid")):
        program = build(folder, name, EMPTY)
        os.chown(program, NOBODY, NOBODY)
        program.chmod(mode)
        expect(reason, program, reason, "the loader then ignores LD_PRELOAD")
    mine = build(folder, "mine", EMPTY)
    mine.chmod(0o4755)
    expect("setuid to oneself", mine, None)
    with_rights = build(folder, "capable", EMPTY)
    subprocess.run(["setcap", "cap_net_raw+ep", str(with_rights)], check=True)
    expect("capabilities, for root", with_rights, None)
    command = pathlib.Path(shutil.copy(EGGBOX, folder))  # others may read it there
    double = shutil.copy(DOUBLE, folder)
    done = subprocess.run([command, "doctor", "--json", with_rights], user=NOBODY, check=False,
                          capture_output=True, text=True,
                          env={"EGGBOX_MALLOC_LIB": str(double), "PATH": os.environ["PATH"]})
    check('"reason": "capabilities"' in done.stdout, "file capabilities", done)


def without_proc(folder):
    """As in a small container: the command finds its library, and says that /proc is missing."""
    os.chmod(folder, 0o755)
    command = shutil.copy(EGGBOX, folder)
    shutil.copy(DOUBLE, folder / "libeggbox-malloc.so")
    others = {name: value for name, value in os.environ.items() if name != "EGGBOX_MALLOC_LIB"}

    def run(*words):
        return subprocess.run(["unshare", "-m", "sh", "-c", "mount -t tmpfs none /proc || exit 90; "
                               'exec "$@"', "sh", command, *words], capture_output=True, text=True,
                              check=False, env=others, cwd=folder)
    if run("--version").returncode != 0:
        print("without /proc: not tested, it takes the right to hide it, and no sanitizer")
        return
    done = run("doctor", "true")
    check(done.returncode == 0 and "can run on pools" in done.stdout, "without /proc", done)
    done = run("top", "--once")
    check(done.returncode == 2 and "/proc, which is not mounted" in done.stderr, "top", done)


def damaged(folder):
    """No file, however damaged, may bring the reader down."""
    good = build(folder, "good", EMPTY).read_bytes()
    bad = folder / "bad"
    random.seed(int(os.environ.get("EGGBOX_SEED", "1")))
    for turn in range(300):
        data = bytearray(good[:random.choice([len(good), random.randrange(5, len(good))])])
        for _ in range(random.randrange(1, 8)):
            at = random.randrange(4, min(len(data), random.choice([64, 1000, len(data)])))
            data[at] = random.choice([0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)])
        bad.write_bytes(data)
        bad.chmod(0o755)
        done = doctor(bad, "--json")
        check(done.returncode in (0, 2) and json.loads(done.stdout)["schema"] == 1,
              f"damaged ELF, turn {turn}", done)
    bad.write_bytes(good[:100])
    expect("truncated", bad, "unreadable", "damaged ELF")


def main():
    for test in (programs, sanitizers, scripts, other_machines, rights, without_proc, damaged):
        with tempfile.TemporaryDirectory() as name:
            before = len(failures)
            test(pathlib.Path(name))
            print(f"{test.__name__}: {'ok' if len(failures) == before else 'FAILED'}")
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
