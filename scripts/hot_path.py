#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads the machine code of the hot paths, so that their budgets are tests and not wishes.

usage: hot_path.py ROOT COMPILER [--budget NAME=COUNT]...

x86-64 at -O2. The count is of instructions that the processor executes when nothing is wrong, `ret`
included; the budget is for the longest path. No loop, no call except to a cold function, no
division, no locked access. For init, clear and resize the whole call tree is read: no loop either,
one division at most, and therefore the same time for any number of blocks.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

# With gcc 12, and with clang 19.
BUDGETS = {"hot_alloc": (13, 13), "hot_free": (19, 19), "hot_alloc_static": (11, 11),
           "hot_free_static": (17, 18), "hot_alloc_unchecked": (6, 6),
           "hot_free_unchecked": (6, 6), "hot_pool_alloc": (18, 19), "hot_pool_free": (20, 21),
           "hot_cache_alloc": (11, 11), "hot_cache_free": (16, 16)}
# Level "off" is the shortest path. The number is the instructions more than in a library without
# levels: in free of a pool the test and the jump for the handle's bit (docs/decisions/0022).
WITHOUT_LEVELS = {"hot_pool_alloc": ("plain_pool_alloc", 0),
                  "hot_pool_free": ("plain_pool_free", 2),
                  "hot_cache_alloc": ("plain_cache_alloc", 0),
                  "hot_cache_free": ("plain_cache_free", 0)}
COLD = {"egb_fixed_alloc_cold_", "egb_fixed_free_cold_", "egb_fixed_alloc_unchecked_fresh_",
        "egb_fixed_alloc_marked_", "egb_fixed_free_marked_", "egb_pool_alloc_cold_",
        "egb_pool_free_other_", "egb_magazine_alloc_cold_", "egb_magazine_free_other_"}
NO_LOOP = ["egb_fixed_init", "egb_fixed_init_checked", "egb_fixed_init_outside",
           "egb_fixed_init_unchecked",
           "egb_fixed_clear", "egb_fixed_resize", "egb_slots_init", "egb_slots_insert",
           "egb_slots_erase", "egb_slots_retire", "egb_slots_handle"]
# Alloc writes a block's state last, free first (docs/decisions/0019): the function, the store, and
# whether it is the last.
STATES = [("hot_pool_alloc", "$0x1", True), ("hot_cache_alloc", "$0x1", True),
          ("hot_pool_free", "$0x2", False), ("hot_cache_free", "$0x2", False)]

INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s+(\S+)\s*(.*)$")


def disassemble(root, compiler, sources, folder):
    """The functions of the sources: name -> [(address, operation, operands)]."""
    functions = {}
    for source in sources:
        out = pathlib.Path(folder, source.stem + ".o")
        subprocess.run([compiler, "-std=c11", "-O2", "-ffreestanding", f"-I{root}/include",
                        f"-I{root}/src/core", "-c", str(source), "-o", str(out)], check=True)
        text = subprocess.run(["objdump", "-dr", "--no-show-raw-insn", str(out)],
                              check=True, capture_output=True, text=True).stdout
        current = None
        for line in text.splitlines():
            head = re.match(r"^[0-9a-f]+ <(.+)>:$", line)
            if head:
                current = functions.setdefault(head.group(1), [])
                continue
            relocation = re.match(r"^\s*[0-9a-f]+: R_X86_64_\S+\s+(\S+?)(?:[-+]0x\w+)?$", line)
            if relocation and current:
                address, operation, operands = current[-1]
                current[-1] = (address, operation, f"{operands} -> {relocation.group(1)}")
                continue
            found = INSTRUCTION.match(line)
            if found and current is not None:
                current.append((int(found.group(1), 16), found.group(2), found.group(3)))
    return functions


def target_of(operands):
    found = re.match(r"([0-9a-f]+) <", operands)
    return int(found.group(1), 16) if found and "->" not in operands else None


def following(body):
    """For each instruction the indices of those that may be executed next."""
    place = {address: i for i, (address, _, _) in enumerate(body)}
    nexts = []
    for i, (_, operation, operands) in enumerate(body):
        jump = place.get(target_of(operands)) if operation.startswith("j") else None
        goes_on = not operation.startswith(("ret", "jmp", "ud2")) and i + 1 < len(body)
        nexts.append(([] if jump is None else [jump]) + ([i + 1] if goes_on else []))
    return nexts


def loop_in(body):
    """An instruction that can be reached from itself, or None: depth first over the jumps."""
    nexts = following(body)
    done = set()
    path = [(0, iter(nexts[0]))]
    on_path = {0}
    while path:
        i, rest = path[-1]
        after = next(rest, None)
        if after is None:
            done.add(i)
            on_path.discard(i)
            path.pop()
        elif after in on_path:
            return "{:x}: {} {}".format(*body[i])
        elif after not in done:
            on_path.add(after)
            path.append((after, iter(nexts[after])))
    return None


def reached(nexts, start):
    """The instructions that may be executed after an instruction."""
    seen, waiting = set(), list(nexts[start])
    while waiting:
        i = waiting.pop()
        if i not in seen:
            seen.add(i)
            waiting += nexts[i]
    return seen


def ways_to_ret(body):
    """The fewest and the most instructions of a path to `ret` that calls nothing."""
    nexts = following(body)
    known = {}

    def ways_from(i):
        if i not in known:
            operation = body[i][1]
            after = [] if operation.startswith("call") else nexts[i]
            found = [ways_from(other) for other in after]
            found = [way for way in found if way] or ([(0, 0)] if operation == "ret" else [])
            known[i] = found and (1 + min(way[0] for way in found),
                                  1 + max(way[1] for way in found))
        return known[i]

    return ways_from(0) or (0, 0)


def faults_of_calls(name, body):
    """Jumps out of the function may lead to cold functions only; `.text.unlikely` is its own cold
    part."""
    for _, operation, operands in body:
        gone_to = re.search(r"-> (\S+)", operands)
        if operation.startswith(("call", "j")) and \
                not (gone_to and gone_to.group(1) in COLD | {".text.unlikely"}) and \
                target_of(operands) not in {address for address, _, _ in body}:
            yield f"{name}: {operation} {operands}"
        is_nop = operation == "xchg" and operands == "%ax,%ax"
        if operation in {"lock", "xchg", "div", "idiv"} and not is_nop:
            yield f"{name}: {operation} {operands}"


def faults_of_hot(name, functions, budget):
    body = functions[name]
    if loop_in(body):
        yield f"{name}: a loop: {loop_in(body)}"
        return
    fewest, most = ways_to_ret(body)
    print(f"{name}: {fewest} to {most} instructions, budget {budget}")
    if most == 0:
        yield f"{name}: no way to the end without a call"
    if most > budget:
        yield f"{name}: {most} instructions, over the budget of {budget}"
    for _, operation, operands in body:
        if operation.startswith("push"):
            yield f"{name}: {operation} {operands}"
    yield from faults_of_calls(name, body)
    yield from faults_of_calls(name, functions.get(f"{name}.cold", []))


def faults_of_levels(functions):
    for name, (plain, more) in WITHOUT_LEVELS.items():
        off, without = ways_to_ret(functions[name])[0], ways_to_ret(functions[plain])[0]
        print(f"{name} at level off: {off} instructions, {without} without levels")
        if off > without + more:
            yield f"{name}: level off takes {off} instructions, not {without + more}"


def is_store(operation, operands):
    return operands.endswith(")") and not operation.startswith(("cmp", "test", "lea", "j", "nop"))


def faults_of_states(functions):
    for name, value, is_last in STATES:
        body = functions[name]
        at = [i for i, (_, operation, operands) in enumerate(body)
              if operation == "movb" and operands.startswith(value + ",(")]
        if len(at) != 1:
            yield f"{name}: {len(at)} stores to a state"
            continue
        nexts = following(body)
        others = reached(nexts, at[0]) if is_last else \
            {i for i in range(len(body)) if at[0] in reached(nexts, i)}
        yield from ("{}: on the other side of the state: {:x}: {} {}".format(name, *body[i])
                    for i in sorted(others) if is_store(*body[i][1:]))


def faults_of_loops(functions):
    for root_name in NO_LOOP:
        seen, waiting, divisions = set(), [root_name], 0
        while waiting:
            name = waiting.pop()
            if name in seen or name == "egb_misuse" or name.startswith("egb_fixed_report"):
                continue  # a report is not part of a call that goes well
            seen.add(name)
            if name not in functions:
                yield f"{root_name}: cannot read {name}"
                continue
            if loop_in(functions[name]):
                yield f"{root_name}: a loop in {name}: {loop_in(functions[name])}"
            # Clang divides in 32 bits if both numbers are short, and else in 64.
            divisions += sum(operation == "div" and not operands.startswith("%e")
                             for _, operation, operands in functions[name])
            for _, operation, operands in functions[name]:
                called = re.search(r"-> ([\w.]+)", operands) or re.search(r"<([\w.]+)>$", operands)
                if operation.startswith(("call", "jmp")) and called:
                    waiting.append(called.group(1))
        print(f"{root_name}: no loop in {len(seen)} functions, divisions: {divisions}")
        if divisions > 1:
            yield f"{root_name}: {divisions} divisions"


def main():
    root, compiler = pathlib.Path(sys.argv[1]), sys.argv[2]
    version = subprocess.run([compiler, "--version"], check=True, capture_output=True, text=True)
    budgets = {name: both["clang" in version.stdout] for name, both in BUDGETS.items()}
    for word in sys.argv[3:]:
        if word != "--budget":
            name, count = word.split("=")
            budgets[name] = int(count)
    with tempfile.TemporaryDirectory() as folder:
        hot = disassemble(root, compiler, [root / "tests/api/hot_path.c"], folder)
        core = disassemble(root, compiler, sorted((root / "src/core").glob("*.c")), folder)
    faults = [fault for name, budget in budgets.items()
              for fault in faults_of_hot(name, hot, budget)]
    faults += faults_of_levels(hot)
    faults += faults_of_states(hot)
    faults += faults_of_loops(core)
    print("\n".join(faults) or "the hot paths keep their budgets")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
