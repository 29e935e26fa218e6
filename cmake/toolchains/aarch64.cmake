# SPDX-License-Identifier: MIT
set(EGGBOX_CROSS_TRIPLE aarch64-linux-gnu)
set(EGGBOX_CROSS_EMULATOR qemu-aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/linux-cross.cmake)
