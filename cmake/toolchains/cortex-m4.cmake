# SPDX-License-Identifier: MIT
# No floating-point unit.
set(CMAKE_SYSTEM_PROCESSOR cortex-m4)
include(${CMAKE_CURRENT_LIST_DIR}/cortex-m.cmake)
