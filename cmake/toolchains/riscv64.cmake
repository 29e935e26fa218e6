# SPDX-License-Identifier: MIT
set(EGGBOX_CROSS_TRIPLE riscv64-linux-gnu)
set(EGGBOX_CROSS_EMULATOR qemu-riscv64)
include(${CMAKE_CURRENT_LIST_DIR}/linux-cross.cmake)
