# SPDX-License-Identifier: MIT
"""Runs client.c under libeggbox-malloc.so, and reads in its report that its requests came there."""

import json
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parent / "client.c"
REQUESTS = 4 * 20000  # by client.c, besides those of realloc


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        sys.exit(f"{command[:3]}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def checked(folder, *command, **more):
    """Runs a command that leaves its report in the folder. Returns a sentence on its requests."""
    said = run(*command, **more)
    reports = list(folder.glob("*.json"))
    if said != "right\n" or len(reports) != 1:
        sys.exit(f"the client printed {said}, and left {reports}")
    pools = json.loads(reports[0].read_text())["pools"]
    requests = sum(pool["allocations"] for pool in pools)
    if requests < REQUESTS:
        sys.exit(f"only {requests} requests came to the pools")
    return f"{requests} requests of a program went to pools"
