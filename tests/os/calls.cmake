# SPDX-License-Identifier: MIT
# The calls of a thread, where they are walked by rules, and the reader of the rules.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64"
    AND CMAKE_SIZEOF_VOID_P EQUAL 8 AND NOT BUILD_SHARED_LIBS)
  eggbox_test(os/test_cfi.cpp)
  target_include_directories(test_cfi PRIVATE ${PROJECT_SOURCE_DIR}/src/os)
  add_library(unload_first MODULE os/unload.c)
  add_library(unload_second MODULE os/unload.c)
  target_compile_definitions(unload_second PRIVATE ROOM=80)
  eggbox_test(os/test_calls.cpp)
  target_include_directories(test_calls PRIVATE ${PROJECT_SOURCE_DIR}/src/os)
  target_link_libraries(test_calls PRIVATE ${CMAKE_DL_LIBS})
  target_compile_definitions(test_calls PRIVATE UNLOAD_FIRST="$<TARGET_FILE:unload_first>"
    UNLOAD_SECOND="$<TARGET_FILE:unload_second>")
  add_dependencies(test_calls unload_first unload_second)
endif()
