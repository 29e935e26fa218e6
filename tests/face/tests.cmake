# SPDX-License-Identifier: MIT
# The C++ face. Some of its tests have the name of a test of the C library, which comes first.
eggbox_test(face/test_slots.cpp)
eggbox_test(face/test_fixed_pool.cpp)
eggbox_test(face/test_pool.cpp)
eggbox_test(face/test_pool_wait.cpp)
eggbox_test(face/test_allocator.cpp)
eggbox_test(face/test_memory_resource.cpp)
eggbox_test(face/test_own_heap.cpp)
eggbox_test(face/test_pooled.cpp)
eggbox_test(face/test_coroutine.cpp)
set_target_properties(test_coroutine PROPERTIES CXX_STANDARD 20 DISABLE_PRECOMPILE_HEADERS ON)
# Newer containers ask an allocator for more: allocate_at_least().
add_executable(test_allocator_23 face/test_allocator.cpp)
set_target_properties(test_allocator_23 PROPERTIES CXX_STANDARD 23)
target_include_directories(test_allocator_23 PRIVATE support)
target_link_libraries(test_allocator_23 PRIVATE eggbox::eggbox eggbox_unwatched GTest::gtest_main)
eggbox_warnings(test_allocator_23)
if(MINGW)
  # Without optimisation libstdc++ 12 defines type_info::operator==() twice in C++23.
  target_compile_options(test_allocator_23 PRIVATE -O1)
endif()
eggbox_add_test(face.allocator_23 test_allocator_23)
