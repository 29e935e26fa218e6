# SPDX-License-Identifier: MIT
set(EGGBOX_CROSS_TRIPLE powerpc64le-linux-gnu)
set(EGGBOX_CROSS_EMULATOR qemu-ppc64le)
include(${CMAKE_CURRENT_LIST_DIR}/linux-cross.cmake)
