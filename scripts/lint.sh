#!/bin/sh
# SPDX-License-Identifier: MIT
# Formatting and static analysis of the sources. With --fix it formats instead of complaining.
set -eu

sources=$(git ls-files '*.c' '*.h' '*.cpp' '*.hpp')
if [ "${1:-}" = --fix ]; then
    # shellcheck disable=SC2086
    clang-format-19 -i $sources
    exit 0
fi
python3 scripts/prose.py --report .
# shellcheck disable=SC2086
clang-format-19 --dry-run --Werror $sources
# shellcheck disable=SC2046
clang-tidy-19 --quiet --warnings-as-errors='*' -p build/dev-clang \
    $(git ls-files 'src/core/*.c' 'src/hosted/*.c' 'src/os/posix*.c')
echo "formatted and clean"
