#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs the Debian packages that a goal of the Makefile needs, or, without root, names them.
#
# usage: setup.sh test|all|bench|fuzz|packages|docs|prove
set -eu

build="gcc g++ libc6-dev make cmake ninja-build ccache"
# The command eggbox: its libraries, and what its tests look at its pages and completion with.
tool="libcli11-dev libfmt-dev nlohmann-json3-dev libdw-dev libncurses-dev groff-base libcap2-bin
      tmux"
# Programs that the library is put under, to see that they do not notice.
# redis-tools has the server too; redis-server would only start a service.
programs="valgrind gdb sqlite3 perl git clang-19 redis-tools bash tar gzip xz-utils musl-tools"
test="$build $tool $programs binutils pkg-config python3 python3-dev python3-venv googletest
      librapidcheck-dev libreadline-dev"
# libclang-rt-19-dev has the allocator scudo as a library.
bench="$build python3 libbenchmark-dev libboost-dev libmimalloc2.0 libjemalloc2
       libtcmalloc-minimal4 libclang-rt-19-dev libtbb-dev strace sqlite3 redis-tools
       lua5.4 libplf-colony-dev"
# chromium opens the page of `eggbox report --html`; golang-go compiles an example.
# gcc-multilib, for 32-bit x86, excludes Debian's gcc for other processors: clang compiles for them.
all="$test $bench gcc-multilib g++-multilib chromium doxygen golang-go
     clang-19 clang-format-19 clang-tidy-19 lld-19 libclang-rt-19-dev llvm-19 cppcheck
     gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm qemu-user
     libc6-dev-arm64-cross libgcc-12-dev-arm64-cross libstdc++-12-dev-arm64-cross
     libc6-dev-armhf-cross libgcc-12-dev-armhf-cross libstdc++-12-dev-armhf-cross
     libc6-dev-s390x-cross libgcc-12-dev-s390x-cross libstdc++-12-dev-s390x-cross
     libc6-dev-riscv64-cross libgcc-12-dev-riscv64-cross libstdc++-12-dev-riscv64-cross
     libc6-dev-ppc64el-cross libgcc-12-dev-ppc64el-cross libstdc++-12-dev-ppc64el-cross
     gcc-mingw-w64-x86-64-posix g++-mingw-w64-x86-64-posix wine wine64"
fuzz="$build $tool python3 googletest librapidcheck-dev libreadline-dev clang-19
      libclang-rt-19-dev"
packages="$build $tool git pkg-config python3 python3-venv meson bazel-bootstrap bazel-rules-java
          debhelper dpkg-dev fakeroot lintian gcc-arm-none-eabi libnewlib-arm-none-eabi"
prove="gcc libc6-dev make python3 frama-c-base why3 z3 cvc4"

case "${1:-}" in
    test) wanted=$test ;;
    bench) wanted=$bench ;;
    all) wanted=$all ;;
    fuzz) wanted=$fuzz ;;
    packages) wanted=$packages ;;
    prove) wanted=$prove ;;
    docs) wanted="python3 doxygen" ;;
    *) echo "usage: setup.sh test|all|bench|fuzz|packages|docs|prove" >&2; exit 2 ;;
esac

missing=""
for package in $wanted; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
    echo "These packages are missing. Install them as root, then try again:" >&2
    echo "    apt-get install --no-install-recommends$missing" >&2
    exit 1
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
# shellcheck disable=SC2086
apt-get install -q -y --no-install-recommends $missing
