#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds and tests the Python package of bindings/python.

usage: python.py here BUILD         builds with what this Python has, and tests; 77: it has not all
       python.py wheels PYTHON...   for each Python, in a virtual environment with packages from the
                                    registry: source package, wheel, tests, types; in build/python
"""

import importlib.util
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "bindings" / "python"
NEEDED = ("pip", "nanobind", "scikit_build_core", "numpy")
SKIPPED = 77


def run(*command, **options):
    print("+", *command, flush=True)
    subprocess.run([str(word) for word in command], check=True, **options)


def test(python, packages, build):
    environment = {"PYTHONPATH": str(packages)} if packages else {}
    command = build / "tools" / "eggbox"  # if it is built, it is tested with the package
    run(python, "-X", "faulthandler", "-m", "unittest", "test_frames",
        cwd=PACKAGE / "tests", env={"PATH": f"{command}:/usr/bin:/bin", **environment})


def build_here(build):
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if not (Path(sysconfig.get_paths()["include"]) / "Python.h").is_file():
        missing.append("Python.h")
    if missing:
        print(f"not tested: {sys.executable} has no {', no '.join(missing)}; see make python")
        return SKIPPED
    packages = build / "python-here"
    run(sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--upgrade",
        "--no-build-isolation", "--disable-pip-version-check", "--target", packages, PACKAGE)
    test(sys.executable, packages, build.resolve())
    return 0


def build_wheel(python):
    out = ROOT / "build" / "python"
    place = out / Path(python).name
    tool = place / "bin" / "python"
    run(python, "-m", "venv", "--clear", place)
    run(tool, "-m", "pip", "install", "-q", "build", "mypy", "numpy")
    run(tool, "-m", "build", "-o", place / "wheels", PACKAGE)
    wheel = next((place / "wheels").glob("*.whl"))
    run(tool, "-m", "pip", "install", "-q", wheel)
    test(tool, None, ROOT / "build" / "release")
    run(tool, "-m", "mypy", "--strict", "-p", "eggbox", cwd=place)
    run(tool, "-m", "mypy", "--strict", PACKAGE / "tests" / "typed.py", cwd=place)
    print(f"passed: {wheel}")


def main(words):
    if len(words) == 2 and words[0] == "here":
        return build_here(Path(words[1]))
    if len(words) >= 2 and words[0] == "wheels":
        for python in words[1:]:
            build_wheel(python)
        return 0
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
