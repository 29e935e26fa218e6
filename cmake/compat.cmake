# SPDX-License-Identifier: MIT
# libeggbox-compat: the interfaces of older libraries, on eggbox.
set(EGGBOX_STATIC_POOLS 0 CACHE STRING
  "Blocks of each size of xallocator, all in static memory; 0: pools that grow")
set(xallocator xallocator.c)
if(EGGBOX_STATIC_POOLS)
  set(xallocator xallocator_static.c)
endif()
eggbox_layer(compat
  SOURCES src/compat/elr_mpl.c src/compat/elr_mtx.c src/compat/elr_multi.c
          src/compat/fault.c src/compat/fb_allocator.c src/compat/lock_guard.c
          src/compat/x_allocator.c src/compat/xallocator_text.c src/compat/${xallocator})
if(EGGBOX_STATIC_POOLS)
  target_compile_definitions(eggbox_layer_compat PRIVATE MAX_BLOCKS=${EGGBOX_STATIC_POOLS})
endif()
add_library(eggbox_compat $<TARGET_OBJECTS:eggbox_layer_compat>)
set_target_properties(eggbox_compat PROPERTIES OUTPUT_NAME eggbox-compat
  VERSION ${PROJECT_VERSION} SOVERSION 0 WINDOWS_EXPORT_ALL_SYMBOLS ON)
target_link_libraries(eggbox_compat PUBLIC eggbox)
# Both libraries are installed in one folder. A program that calls only this library finds the other
# one through it, and the loader does not use a program's search path for that.
set_target_properties(eggbox_compat PROPERTIES
  INSTALL_RPATH $<IF:$<PLATFORM_ID:Darwin>,@loader_path,$ORIGIN>)
if(UNIX)
  target_link_libraries(eggbox_compat PRIVATE Threads::Threads)
  # Threads and pools of the program call into it until the program ends: it must not be unloaded.
  get_target_property(type eggbox_compat TYPE)
  if(type STREQUAL "SHARED_LIBRARY" AND NOT APPLE)
    target_link_options(eggbox_compat PRIVATE LINKER:-z,nodelete)
  endif()
endif()

# Programs include Pool_c.h or pool_c.h. On some systems these names are one file, so a checkout has
# only the first, and the second is made here.
configure_file(include/eggbox/compat/Pool_c.h compat/eggbox/compat/pool_c.h COPYONLY)

# Programs for older libraries include headers by their old names.
target_include_directories(eggbox_compat ${EGGBOX_SYSTEM} INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include/eggbox/compat>
  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/compat>
  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/compat/eggbox/compat>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/eggbox/compat>)
list(APPEND libraries eggbox_compat)
