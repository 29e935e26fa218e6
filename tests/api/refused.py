#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An impossible pool does not compile; its possible neighbour does."""

import sys

from compiler import arguments, compile_text

C = '#include "eggbox/fixed.h"\nstruct item {{ double d[2]; }};\n{}\n' \
    "int use(void);\nint use(void) {{ return (int)egb_fixed_capacity(&pool); }}\n"
CXX = '#include "eggbox/eggbox.hpp"\nstruct item {{ double d[2]; }};\n{}\n'
POOL = '#include "eggbox/pool.h"\nEGB_FIXED_DEFINE(pool, char, 4);\n'

# (a source that must be refused, a source that must not)
PAIRS_C = [
    ("EGB_FIXED_DEFINE(pool, struct item, 0);", "EGB_FIXED_DEFINE(pool, struct item, 1);"),
    ("EGB_FIXED_DEFINE(pool, struct item, -1);", "EGB_FIXED_DEFINE(pool, struct item, 7);"),
    ("typedef struct { char c[((size_t)1 << 34) + 4]; } big; EGB_FIXED_DEFINE(pool, big, 2);",
     "typedef struct { char c[1 << 20]; } big; EGB_FIXED_DEFINE(pool, big, 2);"),
    ("EGB_FIXED_DEFINE(pool, void, 4);", "EGB_FIXED_DEFINE(pool, char, 4);"),
    ("static int n; EGB_FIXED_DEFINE(pool, struct item, n);",
     "enum { n = 3 }; EGB_FIXED_DEFINE(pool, struct item, n);"),
    ("char store[EGB_FIXED_BYTES(6, 4)]; EGB_FIXED_DEFINE(pool, char, 4);",
     "char store[EGB_FIXED_BYTES(8, 4)]; EGB_FIXED_DEFINE(pool, char, 4);"),
    (POOL + "char store[EGB_POOL_BYTES(0, 4)];", POOL + "char store[EGB_POOL_BYTES(6, 4)];"),
    (POOL + "char store[EGB_POOL_BYTES(64, UINT64_C(1) << 58)];",
     POOL + "char store[EGB_POOL_BYTES_AT(EGB_LEVEL_TRACK, 64, 64, 1 << 10)];"),
    ("typedef char part[sizeof(void*) - 4]; EGB_FIXED_DEFINE_UNCHECKED(pool, part, 4);",
     "EGB_FIXED_DEFINE_UNCHECKED(pool, void*, 4);"),
    ("EGB_FIXED_DEFINE(pool, struct item, UINT64_C(0x100000000));",
     "EGB_FIXED_DEFINE(pool, struct item, 64);"),
]
PAIRS_CXX = [
    ("eggbox::fixed_pool<const item, 2> pool;", "eggbox::fixed_pool<item, 2> pool;"),
    ("eggbox::fixed_pool<item, 0> pool;", "eggbox::fixed_pool<item, 1> pool;"),
    ("eggbox::fixed_pool<item, 2> a; eggbox::fixed_pool<item, 2> b(a);",
     "eggbox::fixed_pool<item, 2> a; eggbox::fixed_pool<item, 2> b;"),
    ("void f(eggbox::fixed_pool<item, 2>& a, eggbox::fixed_pool<item, 2>& b) { a = b; }",
     "void f(eggbox::fixed_pool<item, 2>& a, eggbox::fixed_pool<item, 2>& b)"
     " { b.destroy(a.make()); }"),
    ("void f(eggbox::fixed_pool<item, 2>& a) { a.destroy(new int); }",
     "void f(eggbox::fixed_pool<item, 2>& a) { a.destroy(new item); }"),
]


def older_cxx_failures(root, cxx):
    """Each header of the C++ face says in C++14 which C++ it needs, and nothing else."""
    for header in ("eggbox", "fixed_pool", "pool", "pool_ptr", "wait", "allocator",
                   "memory_resource", "pooled"):
        text = f'#include "eggbox/{header}.hpp"\nint main() {{ return 0; }}\n'
        said = compile_text(cxx, "c++14", ".cpp", text, root) or ""
        errors = [line for line in said.splitlines() if "error:" in line]
        if len(errors) != 1 or "eggbox needs C++17" not in errors[0]:
            yield f"{header}.hpp in C++14: {said or 'it compiles'}"


def short_size_failures(root, cc):
    """If a size_t has 16 bits, the first error of the compiler gives the reason for the refusal."""
    text = ("#include <stdint.h>\n#undef SIZE_MAX\n#define SIZE_MAX 65535u\n"
            '#include "eggbox/fixed.h"\n')
    said = compile_text(cc, "c11", ".c", text, root) or "it compiles"
    errors = [line for line in said.splitlines() if "error:" in line]
    if not errors or "eggbox needs a size_t of 32 bits" not in errors[0]:
        yield f"fixed.h with a size_t of 16 bits: {said}"


def source_in_cxx_failures(root, cxx):
    """A compiler for C++ says first that the library's sources are C."""
    for file in ("eggbox", "eggbox_compat"):
        text = f'#include "{root.resolve()}/src/{file}.c"\n'
        said = compile_text(cxx, "c++17", ".cpp", text, root)
        errors = [line for line in (said or "").splitlines() if "error:" in line]
        if not errors or "is C" not in errors[0]:
            yield f"{file}.c as C++: {errors[:1] or 'it compiles'}"


def main():
    asked, cc, cxx = arguments()
    root = asked.root
    failures = []
    cases = [(cc, "c11", ".c", C, pair) for pair in PAIRS_C]
    cases += [(cxx, "c++17", ".cpp", CXX, pair) for pair in PAIRS_CXX]
    for command, standard, suffix, frame, (bad, good) in cases:
        if compile_text(command, standard, suffix, frame.format(bad), root) is None:
            failures.append(f"compiles but must not: {bad}")
        said = compile_text(command, standard, suffix, frame.format(good), root)
        if said is not None:
            failures.append(f"does not compile: {good}\n{said}")
    failures += older_cxx_failures(root, cxx)
    failures += short_size_failures(root, cc)
    failures += source_in_cxx_failures(root, cxx)
    print("\n".join(failures) or f"{len(cases)} impossible pools are refused, their neighbours not")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
