# SPDX-License-Identifier: MIT
# The component of ESP-IDF: the core, as one file. The program supplies egb_misuse(). ESP-IDF reads
# this file twice; the first time it only wants to know the requirements, and this call returns.
idf_component_register(SRCS src/eggbox.c INCLUDE_DIRS include)
target_compile_definitions(${COMPONENT_LIB} PRIVATE EGB_FREESTANDING=1)
