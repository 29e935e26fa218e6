#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs a Windows program under wine, in a prefix of our own.
#
# Two programs that start together may each start wine's server, and one server then looks for the
# folder of the other. One program at a time therefore starts the server, which stays for a while.
# The first program starts wine's services, too. They keep its output open until all tests are done,
# and a reader of this output would wait for them: therefore the first one writes to a log file.
export WINEDEBUG="${WINEDEBUG:--all}"
export WINEPREFIX="${WINEPREFIX:-${TMPDIR:-/tmp}/eggbox-wine}"
(
    flock 9
    [ -e "$WINEPREFIX/system.reg" ] || wineboot --init 9>&-
    if wineserver -p60 9>&-; then  # else there is one already
        wine cmd /c exit 9>&-
    fi
) 9>"$WINEPREFIX.lock" > "$WINEPREFIX.log" 2>&1
exec wine "$@"
