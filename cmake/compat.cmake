# SPDX-License-Identifier: MIT
# libeggbox-compat: the interfaces of older libraries, on eggbox.
eggbox_layer(compat
  SOURCES src/compat/elr_mpl.c src/compat/elr_mtx.c src/compat/elr_multi.c
          src/compat/fault.c src/compat/fb_allocator.c src/compat/lock_guard.c
          src/compat/x_allocator.c src/compat/xallocator.c)
add_library(eggbox_compat $<TARGET_OBJECTS:eggbox_layer_compat>)
set_target_properties(eggbox_compat PROPERTIES OUTPUT_NAME eggbox-compat
  VERSION ${PROJECT_VERSION} SOVERSION 0 WINDOWS_EXPORT_ALL_SYMBOLS ON)
target_link_libraries(eggbox_compat PUBLIC eggbox)
# Both libraries are installed side by side. A program that calls only this one records only this
# one, and its own search path does not count for what a library needs.
set_target_properties(eggbox_compat PROPERTIES
  INSTALL_RPATH $<IF:$<PLATFORM_ID:Darwin>,@loader_path,$ORIGIN>)
if(UNIX)
  target_link_libraries(eggbox_compat PRIVATE Threads::Threads)
  # Callbacks and pools of the program refer to it until the program ends: see the library eggbox.
  get_target_property(type eggbox_compat TYPE)
  if(type STREQUAL "SHARED_LIBRARY" AND NOT APPLE)
    target_link_options(eggbox_compat PRIVATE LINKER:-z,nodelete)
  endif()
endif()

# Programs include Pool_c.h or pool_c.h. A checkout cannot have both where file names that differ
# only in letter case are one file, so the second one is made here.
configure_file(include/eggbox/compat/Pool_c.h compat/pool_c.h COPYONLY)

# Programs for older libraries include headers by their old names.
target_include_directories(eggbox_compat INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include/eggbox/compat>
  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/compat>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/eggbox/compat>)
list(APPEND libraries eggbox_compat)
