# SPDX-License-Identifier: MIT
# Some machines of 32 bits have no instruction for an atomic of 64 bits. The compiler then calls
# libatomic, which users of the archive have to link, too: find_package() and the .pc file say so.
include(CheckCSourceCompiles)
set(source [[
  #include <stdint.h>
  uint64_t sum;
  int main(void) { return (int)__atomic_add_fetch(&sum, 1, __ATOMIC_RELAXED); }
]])
check_c_source_compiles("${source}" EGGBOX_HAS_ATOMIC_64)
set(pc_atomic "")
if(NOT EGGBOX_HAS_ATOMIC_64)
  set(CMAKE_REQUIRED_LIBRARIES atomic)
  check_c_source_compiles("${source}" EGGBOX_HAS_LIBATOMIC)
  unset(CMAKE_REQUIRED_LIBRARIES)
  if(NOT EGGBOX_HAS_LIBATOMIC)
    message(FATAL_ERROR "No 64-bit atomics: install the libatomic of this compiler")
  endif()
  target_link_libraries(eggbox PRIVATE atomic)
  set(pc_atomic " -latomic")
endif()
