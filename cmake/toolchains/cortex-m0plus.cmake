# SPDX-License-Identifier: MIT
# No division in hardware.
set(CMAKE_SYSTEM_PROCESSOR cortex-m0plus)
include(${CMAKE_CURRENT_LIST_DIR}/cortex-m.cmake)
