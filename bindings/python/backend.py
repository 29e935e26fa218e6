# SPDX-License-Identifier: MIT
"""The build backend: scikit-build-core, and a source package that has the library's sources."""

import shutil
from pathlib import Path

from scikit_build_core import build as _build
from scikit_build_core.build import *  # noqa: F403

HERE = Path(__file__).parent


def build_sdist(sdist_directory, config_settings=None):
    """Copies the sources that the package compiles into it for the time of the call."""
    library = HERE / "library"
    if library.exists():  # a source package of a source package
        return _build.build_sdist(sdist_directory, config_settings)
    try:
        for folder in ("src", "include"):
            shutil.copytree(HERE.parent.parent / folder, library / folder)
        return _build.build_sdist(sdist_directory, config_settings)
    finally:
        shutil.rmtree(library, ignore_errors=True)
