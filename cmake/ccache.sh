#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs a compiler through ccache so that a hit does not depend on the folder of the checkout.
#
# usage: ccache.sh ROOT CCACHE COMPILER ARGUMENT...
#
# ccache shortens the paths that it knows to be paths. CMake gives clang the precompiled header
# behind -Xclang, so those paths are shortened here. A precompiled header hides macros and times
# from ccache; the headers of this project have neither. clang writes the folder into the
# precompiled header and reads the header there: such a file serves one checkout only.
set -eu
case "$*" in *-emit-pch*) export CCACHE_DISABLE=1 ;; esac
export CCACHE_BASEDIR="$1" CCACHE_NOHASHDIR=1 CCACHE_ABSSTDERR=1
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
shift
for word do
    shift
    set -- "$@" "${word#"$PWD"/}"
done
exec "$@"
