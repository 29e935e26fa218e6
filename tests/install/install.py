#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Uses eggbox as other projects will: installed, as a subdirectory, by pkg-config, as one file.

usage: install.py ROOT COMPILER [ON|OFF]    whether the command is built, too
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PROGRAM = """#include <eggbox/eggbox.h>
EGB_FIXED_DEFINE(numbers, double, 10);
int main(void) { return egb_fixed_alloc(&numbers) != NULL && egb_fixed_whole(&numbers) ? 0 : 1; }
"""
FOUND = "find_package(eggbox 0.1 REQUIRED)\n"
SUBDIRECTORY = "add_subdirectory({root} eggbox)\n" \
    "if(TARGET gtest OR TARGET test_fixed OR BUILD_TESTING)\n" \
    "  message(FATAL_ERROR \"a subdirectory must build the library only\")\nendif()\n"
PROJECT = """cmake_minimum_required(VERSION 3.21)
project(user LANGUAGES C)
set(CMAKE_C_FLAGS "-Wall -Wextra -Werror")
{how}add_executable(user main.c)
target_link_libraries(user PRIVATE eggbox::{target})
"""


def run(*command, **more):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                            check=False, **more)
    if result.returncode != 0:
        print(f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
        sys.exit(1)
    return result.stdout


def use(folder, name, how, compiler, *options, target="eggbox"):
    user = folder / name
    user.mkdir()
    (user / "main.c").write_text(PROGRAM)
    (user / "CMakeLists.txt").write_text(PROJECT.format(how=how, target=target))
    run("cmake", "-S", user, "-B", user / "build", f"-DCMAKE_C_COMPILER={compiler}", *options)
    run("cmake", "--build", user / "build")
    run(user / "build" / "user")
    print(f"{name}: works")


def use_command(prefix):
    """It finds the library and its helper from where it was installed, with its pages."""
    command = prefix / "bin/eggbox"
    run(command, "--version")
    for file in ("man/man1/eggbox.1", "man/man1/eggbox-run.1",
                 "bash-completion/completions/eggbox"):
        assert (prefix / "share" / file).is_file(), file
    environment = {name: value for name, value in os.environ.items() if name != "EGGBOX_MALLOC_LIB"}
    assert "can run on pools" in run(command, "doctor", "true", env=environment)
    report = prefix / "true.json"
    run(command, "run", "--report", report, "--", "true", env=environment)
    assert '"library": "0.1.0"' in report.read_text(), "the program did not run on pools"
    assert (prefix / "libexec/eggbox/eggbox-measure").is_file()
    print("command: works")


def main():
    root, compiler = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    tools = sys.argv[3].upper() if len(sys.argv) > 3 else "OFF"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for shared in ("OFF", "ON"):
            prefix = folder / f"prefix-{shared}"
            build = folder / f"build-{shared}"
            run("cmake", "-S", root, "-B", build, f"-DCMAKE_C_COMPILER={compiler}",
                "-DEGGBOX_TESTS=OFF", f"-DBUILD_SHARED_LIBS={shared}",
                f"-DEGGBOX_TOOLS={tools if shared == 'OFF' else 'OFF'}",
                f"-DCMAKE_INSTALL_PREFIX={prefix}", "-DCMAKE_INSTALL_LIBDIR=lib")
            run("cmake", "--build", build)
            run("cmake", "--install", build)
            use(folder, f"find_package, shared {shared}".replace(" ", "-"), FOUND, compiler,
                f"-DCMAKE_PREFIX_PATH={prefix}")
        use(folder, "subdirectory", SUBDIRECTORY.format(root=root), compiler)

        prefix = folder / "prefix-OFF"
        if tools == "ON":
            use_command(prefix)
        (folder / "main.c").write_text(PROGRAM)
        if shutil.which("pkg-config"):
            # Installed elsewhere than was said when it was configured.
            prefix = folder / "moved"
            run("cmake", "--install", folder / "build-OFF", "--prefix", prefix)
            flags = run("pkg-config", "--cflags", "--libs", "eggbox",
                        env={**os.environ, "PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig"}).split()
            assert all(str(folder / "prefix") not in flag for flag in flags), flags
        else:  # what it would answer
            text = (prefix / "lib/pkgconfig/eggbox.pc").read_text()
            text = text.replace("${prefix}", str(prefix))
            values = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
            fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
            flags = f"{fields['Cflags']} {fields['Libs']}" \
                .replace("${includedir}", values["includedir"]) \
                .replace("${libdir}", values["libdir"]).split()
        run(compiler, folder / "main.c", *flags, "-o", folder / "by_flags")
        run(folder / "by_flags")
        print("pkg-config: works")

        run(compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{root}/include",
            folder / "main.c", root / "src/eggbox.c", "-o", folder / "one_file")
        run(folder / "one_file")
        print("one file: works")
    return 0


if __name__ == "__main__":
    sys.exit(main())
