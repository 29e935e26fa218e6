#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The sources of FreeRTOS for the embed tests, as cargo has them in a crate.

usage: freertos.py here     prints their folder; nothing if cargo has not fetched the crate
       freertos.py fetch    has cargo fetch the crate; says so if it cannot
"""

import os
import pathlib
import subprocess
import sys
import tempfile

CRATE, VERSION = "freertos-next", "0.12.0"  # FreeRTOS-Kernel 11.2.0, MIT licence
MANIFEST = f"""[package]
name = "sources"
version = "0.0.0"
edition = "2021"
[lib]
path = "lib.rs"
[dependencies]
{CRATE} = "={VERSION}"
"""


def here():
    home = pathlib.Path(os.environ.get("CARGO_HOME", pathlib.Path.home() / ".cargo"))
    found = sorted(home.glob(f"registry/src/*/{CRATE}-{VERSION}/FreeRTOS-Kernel"))
    return found[0] if found else None


def fetch():
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "Cargo.toml").write_text(MANIFEST)
        pathlib.Path(folder, "lib.rs").touch()
        try:
            subprocess.run(["cargo", "fetch", "--quiet"], cwd=folder, check=True, timeout=120)
        except (OSError, subprocess.SubprocessError) as error:
            print(f"the tests go on without FreeRTOS: {error}")


def main(words):
    if words == ["fetch"]:
        if here() is None:
            fetch()
    elif words == ["here"]:
        print(here() or "")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
