# SPDX-License-Identifier: MIT
# An Arm Cortex-M core, CMAKE_SYSTEM_PROCESSOR, without a system: GNU toolchain. MinSizeRel is -Os.
set(CMAKE_SYSTEM_NAME Generic)
# Nothing links before there is a start-up file and a memory map, so probes only compile.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)

find_program(EGGBOX_ARM_GCC arm-none-eabi-gcc)
if(NOT EGGBOX_ARM_GCC)
  message(FATAL_ERROR "arm-none-eabi-gcc not found. Debian: apt-get install gcc-arm-none-eabi")
endif()
set(CMAKE_C_COMPILER ${EGGBOX_ARM_GCC})
set(CMAKE_C_FLAGS_INIT
  "-mcpu=${CMAKE_SYSTEM_PROCESSOR} -mthumb -ffunction-sections -fdata-sections")
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
