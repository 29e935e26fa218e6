#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""From heap blocks to static pools, as the guide tells it: a program is developed on pools that
grow, its peaks are read, it is built again on static pools, and a larger input is noticed.

usage: workflow.py EGGBOX ROOT C_COMPILER CXX_COMPILER
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

EGGBOX, ROOT, CC, CXX = sys.argv[1:5]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1"]
COMPAT = f"{ROOT}/include/eggbox/compat"

# It asks for as many blocks as its argument says, gives them back, and prints how many it got.
C_PROGRAM = """
#include <eggbox/pool.h>
#include <eggbox/report.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(STATIC)
  #include "shop_pools.h"
#else
  #define shop_sessions_static(options) ((void)(options))
  #define shop_net_rx_static(options) ((void)(options))
#endif

static egb_pool made(const char* name, size_t bytes, egb_pool_options* options)
{
    egb_pool pool = {0, 0};
    options->name        = name;
    options->block_bytes = bytes;
    if (egb_pool_create(&pool, options) != EGB_OK) {
        puts("no pool");
        exit(2);
    }
    return pool;
}

static int use(egb_pool pool, int wanted, size_t bytes)
{
    static void* blocks[10000];
    int          got = 0;
    for (int i = 0; i < wanted; i++) {
        blocks[i] = egb_pool_alloc(pool);
        got += blocks[i] != NULL;
        if (blocks[i] != NULL) {
            memset(blocks[i], i, bytes);
        }
    }
    for (int i = 0; i < wanted; i++) {
        egb_pool_free(pool, blocks[i]);
    }
    return got;
}

int main(int count, char** words)
{
    const int        wanted = atoi(words[1]);
    egb_pool_options of_sessions, of_net;
    memset(&of_sessions, 0, sizeof of_sessions);
    memset(&of_net, 0, sizeof of_net);
    shop_sessions_static(&of_sessions);
    shop_net_rx_static(&of_net);
    of_net.block_align      = 64;
    const egb_pool sessions = made("sessions", 200, &of_sessions);
    const egb_pool net      = made("net.rx", 60, &of_net);
    printf("%d %d\\n", use(sessions, wanted, 200), use(net, 2 * wanted, 60));
    return count == 3 && egb_report_write(words[2]) != EGB_OK;
}
"""

# Every pool of the header in every form, with exactly as many blocks as it says.
C_USER = """
#include "shop_pools.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#define DEFINE(name, size)                                              \\
    typedef struct name##_block { unsigned char all[size]; } name##_block; \\
    name##_FIXED_DEFINE(name##_fixed, name##_block)
#define SHOW(name, size)                                                                    \\
    do {                                                                                    \\
        egb_pool         pool;                                                              \\
        egb_pool_options options;                                                           \\
        int              of_fixed = 0, of_pool = 0;                                         \\
        memset(&options, 0, sizeof options);                                                \\
        options.block_bytes = size;                                                         \\
        name##_static(&options);                                                            \\
        while (egb_fixed_alloc(&name##_fixed) != NULL) { of_fixed++; }                      \\
        if (egb_pool_create(&pool, &options) == EGB_OK) {                                   \\
            for (void* b = egb_pool_alloc(pool); b != NULL; b = egb_pool_alloc(pool)) {     \\
                memset(b, 1, size);                                                         \\
                of_pool++;                                                                  \\
            }                                                                               \\
        }                                                                                   \\
        printf("%d %d %d\\n", name##_blocks, of_fixed, of_pool);                            \\
    } while (0)
DEFINESint main(void)
{
ALL    return 0;
}
"""

CPP_USER = """
#include "shop_pools.h"
#include <cstdio>
template <class Fixed, int Bytes>
void show(std::size_t blocks, void (*make_static)(egb_pool_options&))
{
    struct thing { unsigned char bytes[Bytes]; };
    static Fixed fixed;
    egb_pool_options options = {};
    make_static(options);
    eggbox::pool<thing> pool(options);
    int of_fixed = 0, of_pool = 0;
    while (fixed.alloc() != nullptr) { of_fixed++; }
    while (pool.make() != nullptr) { of_pool++; }
    std::printf("%d %d %d\\n", int(blocks), of_fixed, of_pool);
}
int main()
{
ALL    return 0;
}
"""

COMPAT_USER = """
#include "Allocator.h"
#include "shop_pools.h"
#include <cstdio>
struct session { char bytes[200]; DECLARE_ALLOCATOR };
shop_sessions_IMPLEMENT_ALLOCATOR(session)
struct packet { char bytes[60]; };
static shop_net_rx_AllocatorPool(packet) packets;
int main()
{
    int of_packets = 0;
    for (int i = 0; i < shop_sessions_blocks; i++) { new session; }
    while (packets.Allocate(sizeof(packet)) != nullptr) { of_packets++; }
    const bool is_static = new (std::nothrow) session == nullptr;
    std::printf("%d %d\\n", of_packets - shop_net_rx_blocks, is_static);
}
"""

COMPAT_IN_C = """
#include "fb_allocator.h"
#include "shop_pools.h"
#include <stdio.h>
shop_sessions_ALLOC_DEFINE(sessions)
int main(void)
{
    int taken = 0;
    while (ALLOC_Alloc(sessions, 200) != NULL) { taken++; }
    printf("%d\\n", taken - shop_sessions_blocks);
    return 0;
}
"""

failures = []


def check(truth, what, *seen):
    if not truth:
        failures.append(what + "".join(f"\n    {each}" for each in seen))


def run(words, folder, status=0):
    done = subprocess.run([str(word) for word in words], cwd=folder, capture_output=True,
                          text=True, check=False)
    if done.returncode != status:  # the next steps need its result
        sys.exit(f"{words}: status {done.returncode}\n{done.stdout}{done.stderr[:3000]}")
    return done.stdout


def build(folder, name, source, *options, language="c"):
    compiler, standard = (CC, "-std=c11") if language == "c" else (CXX, "-std=c++17")
    (folder / f"{name}.{language}").write_text(source)
    run([compiler, standard, *WARNINGS, *options, f"-I{ROOT}/include", f"-I{COMPAT}", f"-I{folder}",
         f"{name}.{language}", "eggbox.o", "compat.o", "-pthread", "-o", name], folder)


def emit(folder, form, *reports):
    text = run([EGGBOX, "size", "--emit", form, "--name", "shop", *reports], folder)
    (folder / "shop_pools.h").write_text(text)
    return text


def next_of(text):
    return re.search(r"^Next: (eggbox .*)$", text, re.M)[1]


def run_next(text, folder):
    command = next_of(text).replace("eggbox", f"'{EGGBOX}'", 1)
    return run(["sh", "-c", command], folder)


def from_development_to_release(folder):
    build(folder, "shop", C_PROGRAM)
    check(run(["./shop", "40", "."], folder) == "40 80\n", "the first run in development")
    check(run(["./shop", "33", "."], folder) == "33 66\n", "the second run")
    sized = run_next(run([EGGBOX, "report", "."], folder), folder)
    check(sized.startswith("./shop: 2 pools of the program"), "the plan", sized)
    check("sessions    200          50 " in sized, "25 % more than the peak", sized)
    run_next(sized, folder)
    check(json.loads(run([EGGBOX, "size", "--json", "."], folder))["rows"] == [], "no size class")

    build(folder, "release", C_PROGRAM, "-DSTATIC")
    for wanted, got, status in (("40", "40 80\n", 0), ("50", "50 100\n", 0), ("51", "50 100\n", 3)):
        reports = folder / f"of-{wanted}"
        reports.mkdir()
        check(run(["./release", wanted, reports], folder) == got, f"{wanted} in the release")
        page = run([EGGBOX, "size", "--check", "shop_pools.h", reports], folder, status)
        check((status == 3) == ("REFUSED 1" in page), f"{wanted}: refused", page)
    larger = folder / "larger"
    larger.mkdir()
    run(["./shop", "51", larger], folder)
    page = run([EGGBOX, "size", "--check", "shop_pools.h", larger], folder, 3)
    check("TOO FEW" in page, "a larger input in development", page)
    run_next(page, folder)


def every_pool_has_its_blocks(folder):
    """Names and sizes as odd as can be."""
    reports = f"{ROOT}/tests/cli/runs/pools.json"
    plan = json.loads(run([EGGBOX, "size", "--json", reports], folder))["pools"]
    check(len({each["identifier"] for each in plan}) == len(plan) == 7, "identifiers", plan)
    expected = "".join("{0} {0} {0}\n".format(each["max_blocks"]) for each in plan)
    emit(folder, "c", reports)
    shows, defines = ("".join(f"{do}(shop_{each['identifier']}, {each['block_bytes']});\n"
                              for each in plan) for do in ("SHOW", "DEFINE"))
    source = C_USER.replace("ALL", shows).replace("DEFINES", defines)
    for language in ("c", "cpp"):
        build(folder, f"user_{language}", source, language=language)
        seen = run([f"./user_{language}"], folder)
        check(seen == expected, f"the header for C, in {language}", seen, expected)
    emit(folder, "cpp", reports)
    shows = "".join("    show<shop_pools::{0}_pool<unsigned char[1]>, {1}>(shop_pools::{0}_blocks, "
                    "shop_pools::{0}_static);\n".format(each["identifier"], each["block_bytes"])
                    for each in plan).replace("unsigned char[1]", "int")
    build(folder, "user", CPP_USER.replace("ALL", shows), language="cpp")
    seen = run(["./user"], folder)
    check(seen == expected, "the header for C++", seen, expected)


def older_libraries_too(folder):
    build(folder, "shop", C_PROGRAM)
    run(["./shop", "4", "."], folder)
    text = emit(folder, "compat", ".")
    check("sessions_blocks 5\n" in text, "the header for compat", text)
    build(folder, "older", COMPAT_USER, language="cpp")
    check(run(["./older"], folder) == "0 1\n", "AllocatorPool and IMPLEMENT_ALLOCATOR")
    build(folder, "older_c", COMPAT_IN_C)
    check(run(["./older_c"], folder) == "0\n", "ALLOC_DEFINE")
    run([EGGBOX, "size", "--check", "shop_pools.h", "."], folder)


def main():
    with tempfile.TemporaryDirectory() as parts:
        for source, name in (("eggbox", "eggbox"), ("eggbox_compat", "compat")):
            subprocess.run([CC, "-std=c11", "-O1", f"-I{ROOT}/include", "-c",
                            f"{ROOT}/src/{source}.c", "-o", f"{parts}/{name}.o"], check=True)
        for test in (from_development_to_release, every_pool_has_its_blocks, older_libraries_too):
            with tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                for part in ("eggbox.o", "compat.o"):
                    (folder / part).symlink_to(f"{parts}/{part}")
                test(folder)
    print("\n".join(failures) or "from development to release")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
