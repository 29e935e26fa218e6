# SPDX-License-Identifier: MIT
# The tree that the stacks of level "track" are in.
if(NOT BUILD_SHARED_LIBS)
  eggbox_test(hosted/test_call_tree.cpp)
  target_include_directories(test_call_tree PRIVATE ${PROJECT_SOURCE_DIR}/src/hosted)
endif()
