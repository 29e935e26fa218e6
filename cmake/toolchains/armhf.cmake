# SPDX-License-Identifier: MIT
set(EGGBOX_CROSS_TRIPLE arm-linux-gnueabihf)
set(EGGBOX_CROSS_EMULATOR qemu-arm)
include(${CMAKE_CURRENT_LIST_DIR}/linux-cross.cmake)
