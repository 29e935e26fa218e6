# SPDX-License-Identifier: MIT
# How threads sleep: GNU ld's --wrap leads their sleeps to one test, and another one has the file
# for systems without a futex in place of the library's.
if(NOT APPLE AND NOT BUILD_SHARED_LIBS)
  eggbox_test(hosted/test_pool_wait_sleeps.cpp)
  target_link_options(test_pool_wait_sleeps PRIVATE LINKER:--wrap=egb_os_wait_
    LINKER:--wrap=egb_os_reserve_)
  eggbox_test(os/test_waiting_room.cpp)
  set(threads ${PROJECT_SOURCE_DIR}/src/os/posix_threads.c)
  target_sources(test_waiting_room PRIVATE ${threads})
  target_include_directories(test_waiting_room PRIVATE ${PROJECT_SOURCE_DIR}/src/os)
  set_source_files_properties(${threads} PROPERTIES
    COMPILE_OPTIONS -U__linux__ SKIP_PRECOMPILE_HEADERS ON)
endif()

include(${CMAKE_CURRENT_LIST_DIR}/first_calls.cmake)
