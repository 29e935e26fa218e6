# SPDX-License-Identifier: MIT
# Linux on another processor: clang compiles, lld links statically against Debian's cross libraries,
# qemu's user mode runs the result. (Debian's gcc for other processors excludes gcc-multilib.)
set(CMAKE_SYSTEM_NAME Linux)
string(REGEX REPLACE "-.*" "" CMAKE_SYSTEM_PROCESSOR ${EGGBOX_CROSS_TRIPLE})

set(CMAKE_C_COMPILER clang-19)
set(CMAKE_CXX_COMPILER clang++-19)
set(CMAKE_C_COMPILER_TARGET ${EGGBOX_CROSS_TRIPLE})
set(CMAKE_CXX_COMPILER_TARGET ${EGGBOX_CROSS_TRIPLE})
set(CMAKE_CROSSCOMPILING_EMULATOR ${EGGBOX_CROSS_EMULATOR})

set(libraries /usr/${EGGBOX_CROSS_TRIPLE})
set(compiler_libraries /usr/lib/gcc-cross/${EGGBOX_CROSS_TRIPLE}/12)
set(c_headers "-isystem ${libraries}/include")
set(cxx_headers "-isystem ${libraries}/include/c++/12")
string(APPEND cxx_headers " -isystem ${libraries}/include/c++/12/${EGGBOX_CROSS_TRIPLE}")
set(search "-L${compiler_libraries} -B${compiler_libraries} -L${libraries}/lib -B${libraries}/lib")
set(CMAKE_C_FLAGS_INIT "${c_headers}")
set(CMAKE_CXX_FLAGS_INIT "-nostdinc++ ${cxx_headers} ${c_headers}")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-fuse-ld=lld -static ${search}")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-fuse-ld=lld ${search}")
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
