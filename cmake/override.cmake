# SPDX-License-Identifier: MIT
# libeggbox-malloc.so, to be preloaded or linked. It contains a copy of the whole library; others
# see only the names of the allocation functions. It goes into programs that know nothing of
# sanitizers, so it is built without them, whatever the rest is built with.
add_library(eggbox-malloc SHARED
  src/eggbox.c src/override/loader.c src/override/malloc.c src/override/operators.c
  src/override/next.c src/override/numbers.c src/override/process.c src/override/purger.c
  src/override/sandbox.c src/override/signals.c src/override/wait.c)
target_include_directories(eggbox-malloc PRIVATE include)
target_compile_definitions(eggbox-malloc PRIVATE _GNU_SOURCE EGB_IS_MALLOC=1)
# With clang it is not optimised at link time either: lld 19 crashes on it.
set(EGGBOX_PLAIN -fno-sanitize=all $<$<C_COMPILER_ID:Clang>:-fno-lto>)
target_compile_options(eggbox-malloc PRIVATE
  -fvisibility=hidden -fno-builtin -fexceptions ${EGGBOX_PLAIN})
# A free() that is a jump to egb_free() lets egb_free() see the program's call.
target_compile_options(eggbox-malloc PRIVATE $<$<CONFIG:Debug>:-O2>)
# The loader never unloads it: its thread-local pointer is found without a call, and threads end
# late. It is initialised before all other libraries, whose constructors may allocate. The functions
# that it calls are bound at its start: bound at a first call, deep in a malloc, each would need 3
# KiB of a stack that may be a coroutine's.
target_link_options(eggbox-malloc PRIVATE -fno-sanitize=all
  LINKER:-Bsymbolic-functions LINKER:-z,nodelete LINKER:-z,initfirst LINKER:-z,defs LINKER:-z,now
  LINKER:--as-needed)
# When lld (19) shortens calls on RISC-V, it does not move the address of an IFUNC's resolver.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^riscv")
  target_link_options(eggbox-malloc PRIVATE LINKER:--no-relax)
endif()
target_link_libraries(eggbox-malloc PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
eggbox_warnings(eggbox-malloc)
set_target_properties(eggbox-malloc PROPERTIES LINKER_LANGUAGE C)

# `eggbox run` preloads this one in its place: it does no harm in a program with another C library.
add_library(eggbox-preload SHARED src/override/filter.c)
target_compile_options(eggbox-preload PRIVATE ${EGGBOX_PLAIN} -fno-profile-arcs -fno-test-coverage)
target_link_options(eggbox-preload PRIVATE -fno-sanitize=all -nostdlib
  LINKER:--auxiliary=libeggbox-malloc.so LINKER:--disable-new-dtags)
set_target_properties(eggbox-preload PROPERTIES
  INSTALL_RPATH "$ORIGIN" BUILD_WITH_INSTALL_RPATH ON)
eggbox_warnings(eggbox-preload)
add_dependencies(eggbox-malloc eggbox-preload)
# The command looks for these names, and people write them: they have no ending for a configuration.
foreach(configuration IN LISTS CMAKE_CONFIGURATION_TYPES CMAKE_BUILD_TYPE)
  string(TOUPPER ${configuration}_POSTFIX postfix)
  set_target_properties(eggbox-malloc eggbox-preload PROPERTIES ${postfix} "")
endforeach()
if(EGGBOX_INSTALL)
  install(TARGETS eggbox-malloc eggbox-preload DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
