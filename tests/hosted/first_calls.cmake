# SPDX-License-Identifier: MIT
# Page faults and requests of the first calls. Compilers that add instructions add pages as well.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND NOT BUILD_SHARED_LIBS AND CMAKE_SIZEOF_VOID_P EQUAL 8
    AND CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT CMAKE_C_FLAGS MATCHES "sanitize")
  add_executable(first_calls hosted/first_calls.c)
  target_compile_definitions(first_calls PRIVATE _GNU_SOURCE)
  target_link_libraries(first_calls PRIVATE eggbox::eggbox Threads::Threads)
  target_link_options(first_calls PRIVATE LINKER:-z,now LINKER:--wrap=mmap LINKER:--wrap=munmap)
  eggbox_warnings(first_calls)
  eggbox_add_test(hosted.first_calls first_calls)
endif()
