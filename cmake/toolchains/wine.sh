#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs a Windows program with a home of its own, so that nobody's is filled.
export WINEDEBUG=-all
export WINEPREFIX="${WINEPREFIX:-${TMPDIR:-/tmp}/eggbox-wine}"
exec wine "$@"
