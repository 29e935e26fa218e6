#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Uses eggbox as other projects will: installed, as a subdirectory, by pkg-config, as one file.

usage: install.py ROOT CC CXX NM [BUILD]    a build that has the command to install, too
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "api"))
import symbols  # noqa: E402 - lies beside the tests that it is for

PROGRAM = """#include <eggbox/eggbox.h>
EGB_FIXED_DEFINE(numbers, double, 10);
int main(void) { return egb_fixed_alloc(&numbers) != NULL && egb_fixed_whole(&numbers) ? 0 : 1; }
"""
# A program for older libraries uses their names only.
OLDER_PROGRAM = """#include "elr_mpl.h"
#include "fb_allocator.h"
ALLOC_DEFINE(numbers, sizeof(double), 10)
int main(void)
{
    void* number = ALLOC_Alloc(numbers, sizeof(double));
    elr_mpl_t pool;
    int fits;
    if (!elr_mpl_init()) {
        return 1;
    }
    pool = elr_mpl_create(NULL, 100);
    fits = elr_mpl_size(elr_mpl_alloc(&pool)) == 100;
    ALLOC_Free(numbers, number);
    elr_mpl_finalize();
    return number != NULL && fits ? 0 : 1;
}
"""
# The names that the command looks for, and that people write into LD_PRELOAD.
PRELOADED = ("libeggbox-malloc.so", "libeggbox-preload.so")
PROGRAMS = {"eggbox": PROGRAM, "compat": OLDER_PROGRAM}
# Programs of projects for C++11, from tests/compat/programs.
CXX11_PROGRAMS = ("cxx11_machine", "cxx11_messages")
FOUND = """find_package(eggbox 0.1 REQUIRED COMPONENTS core compat OPTIONAL_COMPONENTS eggbox)
if(NOT eggbox_eggbox_FOUND)
  message(FATAL_ERROR "a component that is there was not found")
endif()
find_package(eggbox 0.1 QUIET COMPONENTS no_such)
if(eggbox_FOUND OR eggbox_no_such_FOUND)
  message(FATAL_ERROR "a component that is not there was found")
endif()
"""
SUBDIRECTORY = "add_subdirectory({root} eggbox)\n" \
    "if(TARGET gtest OR TARGET test_fixed OR BUILD_TESTING)\n" \
    "  message(FATAL_ERROR \"a subdirectory must build the library only\")\nendif()\n"
# The last flag for C++ warns of much that a header in C cannot do otherwise.
PROJECT = """cmake_minimum_required(VERSION 3.21)
project(user LANGUAGES C CXX)
set(CMAKE_CXX_STANDARD 11)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_C_FLAGS "{flags}")
set(CMAKE_CXX_FLAGS "{flags} -Wold-style-cast")
{how}"""
USER = """add_executable(user_{name} {source})
target_link_libraries(user_{name} PRIVATE eggbox::{target})
"""
# The flags of users' projects. The library is installed with these, too: then a subdirectory
# compiles what ccache has.
STRICT = ("-Wall", "-Wextra", "-Werror")
# Users give libraries such names in builds for debugging. No flags come with it, for ccache.
NAMES = ("-DCMAKE_BUILD_TYPE=Named", "-DCMAKE_NAMED_POSTFIX=d")
# ccache changes no result: the same source is compiled for several users here.
CCACHE = [shutil.which("ccache")] if shutil.which("ccache") else []


def in_environment(folder):
    """The environment of builds. For ccache, paths in the temporary folder are relative."""
    launchers = {f"CMAKE_{language}_COMPILER_LAUNCHER": CCACHE[0] for language in ("C", "CXX")
                 if CCACHE}
    return {**os.environ, **launchers, "CCACHE_BASEDIR": str(folder)}


def run(*command, **more):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                            check=False, **more)
    if result.returncode != 0:
        print(f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
        sys.exit(1)
    return result.stdout


def use(folder, root, name, how, compilers, *options):
    user = folder / name.replace(",", "").replace(" ", "-")
    user.mkdir()
    project = PROJECT.format(how=how, flags=" ".join(STRICT))
    for target, program in PROGRAMS.items():
        (user / f"{target}.c").write_text(program)
        project += USER.format(name=target, source=f"{target}.c", target=target)
    for program in CXX11_PROGRAMS:
        source = root / f"tests/compat/programs/{program}.cpp"
        project += USER.format(name=program, source=source, target="compat")
    (user / "CMakeLists.txt").write_text(project)
    environment = in_environment(folder)
    run("cmake", "-S", user, "-B", user / "build", *compilers, *options, env=environment)
    run("cmake", "--build", user / "build", env=environment)
    for target in (*PROGRAMS, *CXX11_PROGRAMS):
        run(user / "build" / f"user_{target}")
        print(f"{name}, {target}: works")


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


def check_installed(prefix, nm):
    """Checks that all headers are installed, and the names that each library exports."""
    for header in ("Pool_c.h", "pool_c.h"):
        assert (prefix / "include/eggbox/compat" / header).is_file(), header
    for file in (prefix / "lib").glob("libeggbox-[mp]*"):
        assert file.name in PRELOADED, file
    count = 0
    for file in sorted((prefix / "lib").glob("libeggbox*.*")):
        if file.name == "libeggbox-preload.so":
            assert not symbols.exported(nm, file), "it only leads to another library"
            continue
        kind = next((kind for kind in ("compat", "malloc") if f"-{kind}" in file.name), "main")
        wrong = list(symbols.problems(nm, kind, file))
        assert not wrong, "\n".join(wrong)
        count += 1
    assert count >= 3, sorted((prefix / "lib").iterdir())
    print(f"{prefix.name}: {count} libraries export allowed names only")


def flags_of(module, prefix):
    """Returns the flags that pkg-config prints, or would print if it were installed."""
    if shutil.which("pkg-config"):
        return run("pkg-config", "--cflags", "--libs", module,
                   env={**os.environ, "PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig"}).split()
    text = (prefix / f"lib/pkgconfig/{module}.pc").read_text()
    text = text.replace("${prefix}", str(prefix))
    values = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    flags = f"{fields['Cflags']} {fields['Libs']}".replace("${includedir}", values["includedir"]) \
        .replace("${libdir}", values["libdir"]).split()
    return flags + (flags_of(fields["Requires"], prefix) if "Requires" in fields else [])


def use_modules(folder, compiler, prefix, name):
    for module, program in (("eggbox", PROGRAM), ("eggbox-compat", OLDER_PROGRAM)):
        flags = flags_of(module, prefix)
        (folder / "main.c").write_text(program)
        run(compiler, folder / "main.c", *flags, f"-Wl,-rpath,{prefix}/lib", "-o",
            folder / "by_flags")
        run(folder / "by_flags")
        print(f"{name}, {module}: works")


def use_flags(folder, root, compiler, cxx, prefix):
    use_modules(folder, compiler, prefix, "pkg-config")
    flags = flags_of("eggbox-compat", prefix)
    assert all(str(folder / "prefix") not in flag for flag in flags), flags
    for program in CXX11_PROGRAMS:
        run(cxx, "-std=c++11", root / f"tests/compat/programs/{program}.cpp", *flags, "-o",
            folder / program)
        run(folder / program)
        print(f"pkg-config, {program}: works")


def use_one_file(folder, compiler, root, prefix):
    strict = ["-std=c11", *STRICT, f"-I{root}/include"]
    old_names = f"-I{root}/include/eggbox/compat"
    library, compat = folder / "eggbox.o", folder / "eggbox_compat.o"
    for made in (library, compat):
        run(*CCACHE, compiler, *strict, "-c", root / f"src/{made.stem}.c", "-o", made)
    for name, program, more in (
            ("one file", PROGRAM, [library]),
            ("one file, compat beside it", OLDER_PROGRAM, [old_names, library, compat]),
            ("one file, compat alone", OLDER_PROGRAM,
             [old_names, compat, *flags_of("eggbox", prefix), "-pthread"])):
        (folder / "main.c").write_text(program)
        run(compiler, *strict, folder / "main.c", *more, "-o", folder / "one_file")
        run(folder / "one_file")
        print(f"{name}: works")


def main():
    root, (compiler, cxx, nm) = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:5]
    has_command = sys.argv[5] if len(sys.argv) > 5 else None
    compilers = (f"-DCMAKE_C_COMPILER={compiler}", f"-DCMAKE_CXX_COMPILER={cxx}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        environment = in_environment(folder)
        for shared in ("OFF", "ON"):
            prefix = folder / f"prefix-{shared}"
            build = folder / f"build-{shared}"
            run("cmake", "-S", root, "-B", build, f"-DCMAKE_C_COMPILER={compiler}",
                "-DEGGBOX_TESTS=OFF", f"-DBUILD_SHARED_LIBS={shared}",
                "-DEGGBOX_TOOLS=OFF", *NAMES,
                f"-DCMAKE_C_FLAGS={' '.join(STRICT)}", f"-DCMAKE_INSTALL_PREFIX={prefix}",
                "-DCMAKE_INSTALL_LIBDIR=lib", env=environment)
            run("cmake", "--build", build, env=environment)
            run("cmake", "--install", build)
            check_installed(prefix, nm)
            use_modules(folder, compiler, prefix, f"pkg-config, shared {shared}, names with d")
            use(folder, root, f"find_package, shared {shared}", FOUND, compilers,
                f"-DCMAKE_PREFIX_PATH={prefix}")
        use(folder, root, "find_package, not installed", FOUND, compilers,
            f"-Deggbox_DIR={folder}/build-OFF")
        subdirectory = SUBDIRECTORY.format(root=root)
        use(folder, root, "subdirectory", subdirectory, compilers)
        # The project's options for its own sources do not reach the library.
        use(folder, root, "subdirectory, shared, hidden, unity", subdirectory, compilers,
            "-DBUILD_SHARED_LIBS=ON", "-DCMAKE_C_VISIBILITY_PRESET=hidden",
            "-DCMAKE_UNITY_BUILD=ON")

        if has_command:
            run("cmake", "--install", has_command, "--prefix", folder / "prefix-command")
            use_command(folder / "prefix-command")
        # The prefix is not the configured one.
        prefix = folder / "moved"
        run("cmake", "--install", folder / "build-OFF", "--prefix", prefix)
        use_flags(folder, root, compiler, cxx, prefix)
        use_one_file(folder, compiler, root, prefix)
    return 0


if __name__ == "__main__":
    sys.exit(main())
