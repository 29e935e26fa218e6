# SPDX-License-Identifier: MIT
# A developer's build (EGGBOX_STRICT) compiles through ccache if ccache is installed.
# -DEGGBOX_CCACHE=OFF compiles without it.
option(EGGBOX_CCACHE "Compile through ccache where it is installed: for developers"
  ${EGGBOX_STRICT})
if(NOT EGGBOX_CCACHE OR NOT CMAKE_HOST_UNIX OR CMAKE_C_COMPILER_LAUNCHER)
  return()
endif()
find_program(EGGBOX_CCACHE_PROGRAM ccache)
mark_as_advanced(EGGBOX_CCACHE_PROGRAM)
if(NOT EGGBOX_CCACHE_PROGRAM)
  return()
endif()
set(CMAKE_C_COMPILER_LAUNCHER
  ${CMAKE_CURRENT_LIST_DIR}/ccache.sh ${PROJECT_SOURCE_DIR} ${EGGBOX_CCACHE_PROGRAM})
set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_C_COMPILER_LAUNCHER})

# gcc has to say which precompiled header it reads. clang must not look at the folder and the time
# of the header that was precompiled: ccache and ninja both compare contents.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-fpch-preprocess)
elseif(CMAKE_C_COMPILER_ID STREQUAL "Clang")
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp" "SHELL:-Xclang -fno-validate-pch")
endif()
