# SPDX-License-Identifier: MIT
set(EGGBOX_CROSS_TRIPLE s390x-linux-gnu)
set(EGGBOX_CROSS_EMULATOR qemu-s390x)
include(${CMAKE_CURRENT_LIST_DIR}/linux-cross.cmake)
