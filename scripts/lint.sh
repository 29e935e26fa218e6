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
python3 scripts/prose.py .
python3 scripts/misra.py
# shellcheck disable=SC2086
clang-format-19 --dry-run --Werror $sources
# As many at a time as there are processors, a few files each. The lines that tell of progress are
# dropped, so that the end of the output is the complaint.
log=build/clang-tidy.log
git ls-files -z 'src/core/*.c' 'src/hosted/*.c' 'src/os/posix*.c' |
    xargs -0 -n 3 -P "$(nproc)" \
    clang-tidy-19 --quiet --warnings-as-errors='*' -p build/dev-clang > "$log" 2>&1 || {
    grep -vE '^[0-9]+ warnings? generated\.$|Processing file' "$log"
    exit 1
}
echo "formatted and clean"
