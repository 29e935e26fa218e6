#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Proves the free list of the fixed pool, and checks every short history of the shipped code.

usage: prove.py [--drift-only | GOAL...]

proof/README.md lists what the proof covers and its limits. With --drift-only no prover runs: the
script checks that every name in the proof is still in the shipped sources. A goal is a part of the
run, "list", "histories" or "shared"; or a function that has a contract, or a case of the histories,
such as "marks, 32 bit". "shared" needs a compiler only.
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/proof"
TOOLS = BUILD / "tools"
HEADER = "include/eggbox/fixed.h"
LIVE = "include/eggbox/fixed_live.h"
PRIVATE = "src/core/fixed_private.h"
COLD = "src/core/fixed_marked.c"

# Annotations that must stand inside a function: (file, the line they go above, annotation).
INSERTIONS = [
    (COLD, "    for (uint32_t left = touched; at != wanted; left--) {\n", """\
    //@ assert wanted != EGB_FIXED_NONE_;
    /*@ loop invariant left <= touched <= left + free_count;
        loop invariant at == (touched == left + free_count
          ? EGB_FIXED_NONE_ : stack[left + free_count - touched - 1]);
        loop invariant touched < left + free_count ==> state[at] == FREE;
        loop invariant state[wanted] == FREE ==> rank[wanted] < left + free_count - touched;
        loop assigns at, left;
        loop variant left; */
"""),
    # The rest are hints: the provers find no way to the goal behind them without.
    (COLD, "        if (left == 0 || !egb_fixed_step_(pool, touched, &at)) {\n", """\
        //@ assert state[wanted] == FREE ==> stack[rank[wanted]] == wanted;
        //@ assert state[wanted] == FREE ==> rank[wanted] + 1 < left + free_count - touched;
"""),
    (COLD, "    return fresh;\n", """\
    //@ assert same_shape{Pre, Here}(pool);
    //@ assert next_fresh(pool) == \\at(next_fresh(pool), Pre);
"""),
]

# (the fault, file, shipped text, mutated text, functions that must lose goals)
WP_MUTANTS = [
    ("alloc does not take the block off the list", HEADER,
     "    pool->head            = block[0];\n    block[1]              = 0;\n",
     "    block[1]              = 0;\n", "egb_fixed_pop_"),
    ("alloc looks one word too far", HEADER, "return pool->head < pool->bound &&",
     "return pool->head <= pool->bound &&", "egb_fixed_can_pop_"),
    ("free does not link the block", HEADER, "    words[0]                 = pool->head;\n", "",
     "egb_fixed_push_"),
    ("a fresh block behind the last one", PRIVATE, "if (distance >= pool->reach) {",
     "if (distance > pool->reach) {", "egb_fixed_take_fresh_"),
    ("a fresh block is not counted", PRIVATE, "    pool->bound = (uint32_t)distance + 1;\n", "",
     "egb_fixed_take_fresh_"),
    ("alloc leaves the mark in the block", HEADER, "    block[1]              = 0;\n", "",
     "egb_fixed_pop_"),
    ("alloc takes a block without a mark", HEADER,
     "pool->head < pool->bound && egb_fixed_block_(pool, pool->head)[1] == EGB_FIXED_MARK_",
     "pool->head < pool->bound", "egb_fixed_can_pop_"),
    ("free does not mark the block", HEADER,
     "    words[1]                 = EGB_FIXED_MARK_;\n", "", "egb_fixed_push_"),
    ("the second free is taken", HEADER,
     "index < pool->limit && ((const egb_word*)block)[1] != EGB_FIXED_MARK_",
     "index < pool->limit", "egb_fixed_can_push_at_"),
    ("the hot path's limit stays behind", COLD, "        pool->limit++;\n", "",
     "egb_fixed_alloc_marked_at_"),
]

# mode, blocks, words of a block, calls, damage, bits
CBMC_CASES = {
    "marks": (0, 3, 2, 4, 0, 64),
    "marks, odd stride": (0, 3, 3, 3, 0, 64),
    "marks, 32 bit": (0, 3, 2, 4, 0, 32),
    "marks, one block": (0, 1, 2, 5, 0, 64),
    "4-byte blocks": (1, 3, 1, 4, 0, 64),
    "live bits": (2, 3, 3, 3, 0, 64),
    "outside": (3, 3, 3, 3, 0, 64),
    "unchecked": (4, 3, 2, 4, 0, 64),
    "marks, blocks overwritten": (0, 3, 2, 3, 1, 64),
    "live bits, blocks overwritten": (2, 3, 2, 3, 1, 64),
    "outside, blocks overwritten": (3, 3, 2, 3, 1, 64),
}
CBMC_MUTANTS = [
    ("the second free is taken", HEADER,
     "index < pool->limit && ((const egb_word*)block)[1] != EGB_FIXED_MARK_",
     "index < pool->limit", "marks"),
    ("a fresh block behind the last one", PRIVATE, "if (distance >= pool->reach) {",
     "if (distance > pool->reach + pool->stride - 1) {", "unchecked"),
    ("the hot path's limit stays behind", COLD, "        pool->limit++;\n", "", "marks"),
    ("the bit is not cleared", LIVE, "    *word &= ~mask;\n", "", "live bits"),
    ("a link is in its block", LIVE, "pool->mode == EGB_FIXED_OUTSIDE_ ?",
     "pool->mode > EGB_FIXED_OUTSIDE_ ?", "outside"),
]
CBMC_CHECKS = ("bounds-check pointer-check pointer-overflow-check signed-overflow-check "
               "undefined-shift-check div-by-zero-check unwinding-assertions slice-formula").split()


def fail(text):
    sys.exit(f"prove.py: {text}")


def functions(kind):
    """The functions that the contracts are for, `proved` or `trusted`."""
    text = (ROOT / "proof/fixed_contracts.h").read_text(encoding="utf-8")
    trusted, proved = text.split("// ---- proved")
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", trusted if kind == "trusted" else proved, flags=re.S)
    return re.findall(r"(\w+)\([^()]*\);", code)


def check_drift():
    files = [ROOT / HEADER, ROOT / LIVE, *sorted((ROOT / "src/core").glob("fixed*"))]
    sources = {path: path.read_text(encoding="utf-8") for path in files}
    code = re.sub(r"//[^\n]*", "", "\n".join(sources.values()))
    for name in functions("trusted") + functions("proved"):
        found = len(re.findall(rf"\b{name}\([^;{{}}()]*\)\s*\{{", code))
        if found != 1:
            fail(f"drift: proof/ has a contract for {name}(), the sources define it {found} times")
    annotated = [("an annotation", path, line) for path, line, _ in INSERTIONS]
    for what, path, text in annotated + [m[:3] for m in WP_MUTANTS + CBMC_MUTANTS]:
        found = sources[ROOT / path].count(text)
        if found != 1:
            fail(f"drift: {path} has the text for '{what}' {found} times, not once")


# ---- tools --------------------------------------------------------------------------------------

def debian_archive():
    """The archive that this machine's apt uses, and the key that signs it."""
    files = [pathlib.Path("/etc/apt/sources.list"),
             *sorted(pathlib.Path("/etc/apt/sources.list.d").glob("*"))]
    for file in files:
        text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
        found = re.search(r"^URIs:\s*(\S+/debian/?)\s*$|^deb\s+(?:\[[^]]*\]\s+)?(\S+/debian/?)\s",
                          text, re.M)
        if found:
            return found[1] or found[2]
    return fail("no Debian archive in /etc/apt: cbmc and alt-ergo cannot be fetched")


def fetch_tools():
    """cbmc and alt-ergo, from the Debian releases that have them, unpacked and not installed."""
    if (TOOLS / "complete").exists():
        return
    print("fetching alt-ergo and cbmc ...", flush=True)
    shutil.rmtree(TOOLS, ignore_errors=True)
    for folder in ("lists/partial", "cache/archives/partial", "state", "root"):
        (TOOLS / folder).mkdir(parents=True)
    (TOOLS / "status").touch()
    archive = debian_archive()
    key = "/usr/share/keyrings/debian-archive-keyring.gpg"
    (TOOLS / "sources.list").write_text("".join(
        f"deb [signed-by={key}] {archive} {suite} main\n" for suite in ("trixie", "bullseye")))
    options = {"Dir::Etc::sourcelist": "sources.list", "Dir::State": "state",
               "Dir::State::Lists": "lists", "Dir::Cache": "cache", "Dir::State::status": "status"}
    apt = ["apt-get", "-q", "-o", "Dir::Etc::sourceparts=/dev/null",
           "-o", "APT::Sandbox::User=root",
           "-o", "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false"]
    for name, value in options.items():
        apt += ["-o", f"{name}={TOOLS / value}"]
    names = "cbmc", "libc6", "libstdc++6", "libgcc-s1", "minisat"
    packages = [f"{name}/trixie" for name in names]
    for command in (["update"], ["download", *packages, "alt-ergo/bullseye"]):
        done = subprocess.run(apt + command, cwd=TOOLS, text=True, capture_output=True, check=False)
        if done.returncode != 0 or "\nW: Failed to fetch" in "\n" + done.stderr:
            fail(f"apt-get {command[0]} from {archive} failed: {done.stderr.strip()[-200:]!r}")
    for package in TOOLS.glob("*.deb"):
        subprocess.run(["dpkg", "-x", package, TOOLS / "root"], check=True)
        package.unlink()
    (TOOLS / "complete").touch()


def prepare_why3():
    os.environ["HOME"] = str(BUILD)  # why3 keeps its list of provers there
    os.environ["PATH"] = f"{TOOLS / 'root/usr/bin'}:{os.environ['PATH']}"
    subprocess.run(["why3", "config", "detect"], capture_output=True, check=True)


# ---- the two provers ----------------------------------------------------------------------------

def copy_of_sources(name, mutant=None):
    tree = BUILD / name
    shutil.rmtree(tree, ignore_errors=True)
    for folder in ("include/eggbox", "src/core"):
        shutil.copytree(ROOT / folder, tree / folder)
    if mutant:
        path, old, new = mutant[1:4]
        text = (tree / path).read_text(encoding="utf-8")
        (tree / path).write_text(text.replace(old, new), encoding="utf-8")
    return tree


def run_wp(tree, names, timeout, *options):
    """Proves the contracts of the functions named; (goals proved, goals, output of Frama-C)."""
    for path, line, annotation in INSERTIONS:
        text = (tree / path).read_text(encoding="utf-8")
        (tree / path).write_text(text.replace(line, annotation + line), encoding="utf-8")
    # Without __GNUC__ base.h uses no attributes; Frama-C does not know some of them.
    include = f"-U__GNUC__ -I{tree}/include -I{tree}/src/core"
    command = ["frama-c", "-c11", "-machdep", "gcc_x86_64", f"-cpp-extra-args={include}", "-wp",
               "-wp-rte", "-wp-model", "Typed+Cast", "-wp-prover", "alt-ergo,z3,cvc4",
               "-wp-timeout", str(timeout), "-wp-par", "2", "-wp-cache", "none",
               *(["-wp-fct", ",".join(names)] if names else []), *options,
               ROOT / "proof/fixed_list.c"]
    log = BUILD / f"{tree.name}.log"
    with log.open("w", encoding="utf-8") as output:
        done = subprocess.run(command, cwd=tree, stdout=output, stderr=output, check=False)
    said = log.read_text(encoding="utf-8")
    found = re.search(r"Proved goals:\s*(\d+)\s*/\s*(\d+)", said)
    if done.returncode != 0 or not found:
        fail(f"frama-c failed, see {log}")
    return int(found[1]), int(found[2]), said


def run_cbmc(tree, name):
    """Checks one case; (properties that hold, properties), and seconds."""
    mode, blocks, words, steps, damage, bits = CBMC_CASES[name]
    root = TOOLS / "root/usr"
    here = ":".join(str(path) for path in
                    (root / "lib", root / "lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"))
    command = [root / "lib64/ld-linux-x86-64.so.2", "--library-path", here, root / "bin/cbmc",
               ROOT / "proof/cbmc_fixed.c", *sorted((tree / "src/core").glob("fixed*.c")),
               "-I", tree / "include", "-I", tree / "src/core", f"--{bits}",
               f"-DMODE={mode}", f"-DBLOCKS={blocks}", f"-DWORDS={words}", f"-DSTEPS={steps}",
               f"-DDAMAGE={damage}", *(f"--{check}" for check in CBMC_CHECKS),
               "--unwind", str(max(blocks, words) + 2), "--unwindset", f"main.0:{steps + 1}"]
    start = time.monotonic()
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    log = f"cbmc-{tree.name}-{name}".replace(" ", "-").replace(",", "")
    (BUILD / f"{log}.log").write_text(done.stdout + done.stderr)
    found = re.search(r"\*\* (\d+) of (\d+) failed", done.stdout)
    if done.returncode not in (0, 10) or not found:
        fail(f"cbmc failed, see {BUILD / log}.log")
    return int(found[2]) - int(found[1]), int(found[2]), time.monotonic() - start


# ---- the report ---------------------------------------------------------------------------------

class Report:
    def __init__(self):
        self.good = True

    def line(self, good, name, text):
        self.good = self.good and good
        print(f"  {'ok  ' if good else 'FAIL'}  {name:<52} {text}", flush=True)


def prove_functions(report, names):
    print("contracts of some functions (Frama-C WP)", flush=True)
    start = time.monotonic()
    proved, goals, _ = run_wp(copy_of_sources("wp-some"), names, 120)
    report.line(proved == goals > 0, f"goals of {len(names)} functions",
                f"{proved}/{goals}, {time.monotonic() - start:.0f} s")


def prove_list(report):
    print("free list, every pool and every history (Frama-C WP)", flush=True)
    names = functions("proved") + re.findall(
        r"^\w[^;\n]*?(\w+)\([^()]*\)\n\{", (ROOT / "proof/fixed_list.c").read_text(), re.M)
    start = time.monotonic()
    # A quiet machine proves each goal within 30 s; a busy one took longer.
    proved, goals, said = run_wp(copy_of_sources("wp"), names, 120, *SMOKE)
    dead = set(re.findall(r"\[Failed\] Smoke-test typed_cast_(\w+)", said))
    alive = set(re.findall(r"\[Passed\] Smoke-test typed_cast_(\w+)", said))
    proved, goals = proved - len(alive), goals - len(alive) - len(dead)
    report.line(proved == goals, f"goals of {len(names)} functions",
                f"{proved}/{goals}, {time.monotonic() - start:.0f} s")
    report.line(len(alive) > 0 and {re.sub(r"_s\d+$", "", name) for name in dead} == DEAD,
                "no contract that no call could meet, no line out of reach",
                f"{len(alive)} reached, {len(dead)} not, as they should")
    proved, goals, _ = run_wp(copy_of_sources("lemmas"), [], 30, "-wp-prop", "@lemma")
    report.line(proved == goals > 0, "lemmas", f"{proved}/{goals}")
    for number, mutant in enumerate(WP_MUTANTS, 1):
        tree = copy_of_sources(f"wp-mutant-{number}", mutant)
        proved, goals, _ = run_wp(tree, [mutant[4]], 5)
        report.line(proved < goals, f"mutant: {mutant[0]}", f"{goals - proved} of {goals} lost")


# Also tries to prove, for 2 s each, that no call can meet a contract, or get past a line. That must
# fail, except for lines of other modes and overwritten lists, which the contracts exclude.
DEAD = {
    "egb_fixed_alloc_cold_wp_smoke_dead_code", "egb_fixed_alloc_marked_at_wp_smoke_dead_code",
    "egb_fixed_drop_list_wp_smoke_dead_call", "egb_fixed_alloc_live_wp_smoke_dead_call",
    "egb_fixed_alloc_plain_wp_smoke_dead_call", "egb_fixed_has_bits_wp_smoke_dead_call",
    "egb_fixed_push_live_wp_smoke_dead_call", "egb_fixed_push_plain_wp_smoke_dead_call",
    "push_cold_wp_smoke_dead_code", "egb_fixed_is_made_or_told_wp_smoke_dead_code",
    "egb_fixed_report_free_wp_smoke_dead_call",
}
SMOKE = ("-wp-smoke-tests", "-wp-smoke-timeout", "2")


def check_histories(report, names=CBMC_CASES):
    """A run of some cases is without the mutants."""
    mutations = CBMC_MUTANTS if names is CBMC_CASES else []
    print("every history of a few calls on a small pool, every address freed (CBMC)", flush=True)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        trees = [copy_of_sources(f"cbmc-mutant-{n}", m) for n, m in enumerate(mutations, 1)]
        cases = {name: pool.submit(run_cbmc, ROOT, name) for name in names}
        mutants = [pool.submit(run_cbmc, t, m[4]) for t, m in zip(trees, mutations)]
        for name, case in cases.items():
            held, properties, seconds = case.result()
            mode, blocks, words, steps, *_ = CBMC_CASES[name]
            report.line(held == properties, f"{name}: {blocks} x {4 * words} bytes, {steps} calls",
                        f"{held}/{properties}, {seconds:.0f} s")
        for mutant, case in zip(mutations, mutants):
            held, properties, _ = case.result()
            report.line(held < properties, f"mutant: {mutant[0]}", f"{properties - held} refuted")


def get_provers():
    if subprocess.run([ROOT / "scripts/setup.sh", "prove"], check=False).returncode != 0:
        fail("packages are missing")
    fetch_tools()
    prepare_why3()


# ---- the shared pool ----------------------------------------------------------------------------

def build_explorer():
    """The program of tests/shared/explore, with the layer's sources."""
    folder = ROOT / "tests/shared/explore"
    names = "blocks", "feed", "recover", "wait", "words"
    layer = [ROOT / f"src/shared/{name}.c" for name in names]
    objects = []
    for source in [*layer, *sorted(folder.glob("*.c")), *sorted(folder.glob("*.cpp"))]:
        objects.append(BUILD / f"explorer-{source.stem}.o")
        compiler = ["cc", "-std=c11"] if source.suffix == ".c" else ["c++", "-std=c++17"]
        subprocess.run([*compiler, "-O2", f"-I{folder}", f"-I{ROOT}/include",
                        f"-I{ROOT}/src/shared", "-c", source, "-o", objects[-1]], check=True)
    program = BUILD / "explorer"
    subprocess.run(["c++", *objects, "-o", program], check=True)
    return program


def explore_shared(report):
    print("shared pool: every order of the steps of a few processes, with kills", flush=True)
    start = time.monotonic()
    done = subprocess.run([build_explorer(), "--large"], text=True, stdout=subprocess.PIPE,
                          check=False)
    print(re.sub(r"^", "        ", done.stdout.rstrip(), flags=re.M))
    states = sum(int(count) for count in re.findall(r": (\d+) states", done.stdout))
    report.line(done.returncode == 0, "no block lost, torn or held by two; each fault found",
                f"{states} states, {time.monotonic() - start:.0f} s")


PARTS = {"list": prove_list, "histories": check_histories, "shared": explore_shared}


def run_goals(report, goals):
    parts = [goal for goal in PARTS if goal in goals]
    names = [name for name in functions("proved") if name in goals]
    cases = [name for name in CBMC_CASES if name in goals]
    unknown = set(goals) - {*parts, *names, *cases}
    if unknown:
        fail(f"no goal: {', '.join(sorted(unknown))}\n{__doc__}")
    if goals != ["shared"]:
        get_provers()
    if names:
        prove_functions(report, names)
    if cases:
        check_histories(report, cases)
    for part in parts:
        PARTS[part](report)


def main():
    check_drift()
    if sys.argv[1:] == ["--drift-only"]:
        print("proof and sources agree")
        return
    start = time.monotonic()
    BUILD.mkdir(parents=True, exist_ok=True)
    report = Report()
    run_goals(report, sys.argv[1:] or list(PARTS))
    print(f"{'all holds' if report.good else 'NOT PROVED'}, {time.monotonic() - start:.0f} s")
    sys.exit(0 if report.good else 1)


if __name__ == "__main__":
    main()
