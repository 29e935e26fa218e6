# SPDX-License-Identifier: MIT
# libeggbox-malloc.so, to be preloaded or linked. It contains a copy of the whole library; others
# see only the names of the allocation functions. It goes into programs that know nothing of
# sanitizers, so it is built without them, whatever the rest is built with.
add_library(eggbox-malloc SHARED
  src/eggbox.c src/override/loader.c src/override/malloc.c src/override/operators.c
  src/override/process.c)
target_include_directories(eggbox-malloc PRIVATE include)
target_compile_definitions(eggbox-malloc PRIVATE _GNU_SOURCE EGB_IS_MALLOC=1)
set(EGGBOX_PLAIN -fno-sanitize=all)
target_compile_options(eggbox-malloc PRIVATE
  -fvisibility=hidden -fno-builtin -fexceptions ${EGGBOX_PLAIN})
# A free() that is a jump to egb_free() lets egb_free() see the program's call.
target_compile_options(eggbox-malloc PRIVATE $<$<CONFIG:Debug>:-O2>)
# The loader never unloads it: its thread-local pointer is found without a call, and threads end
# late. It is initialised before all other libraries, whose constructors may allocate.
target_link_options(eggbox-malloc PRIVATE -fno-sanitize=all
  LINKER:-Bsymbolic-functions LINKER:-z,nodelete LINKER:-z,initfirst LINKER:-z,defs
  LINKER:--as-needed)
target_link_libraries(eggbox-malloc PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
eggbox_warnings(eggbox-malloc)
set_target_properties(eggbox-malloc PROPERTIES LINKER_LANGUAGE C)
if(EGGBOX_INSTALL)
  install(TARGETS eggbox-malloc DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
