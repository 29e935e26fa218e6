# SPDX-License-Identifier: MIT
# The files of `cmake --install`: libraries, headers, find_package(eggbox) and pkg-config.
include(CMakePackageConfigHelpers)

install(TARGETS ${libraries} EXPORT eggbox-targets)
install(DIRECTORY include/eggbox DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET eggbox_compat)
  install(FILES ${PROJECT_BINARY_DIR}/compat/eggbox/compat/pool_c.h
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/eggbox/compat)
endif()
install(EXPORT eggbox-targets NAMESPACE eggbox:: FILE eggbox-targets.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/eggbox)
# The folder of the build has the file that find_package() looks for.
export(EXPORT eggbox-targets NAMESPACE eggbox::)

# The user has to find the libraries that the static library needs.
set(eggbox_needs)
if(EGGBOX_HOSTED AND UNIX)
  set(eggbox_needs "include(CMakeFindDependencyMacro)\nfind_dependency(Threads)\n")
endif()
configure_file(cmake/eggbox-config.cmake.in eggbox-config.cmake @ONLY)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/eggbox-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/eggbox-config.cmake
              ${PROJECT_BINARY_DIR}/eggbox-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/eggbox)

# The place of the file leads to the rest, whatever prefix it is installed to in the end. Folders
# that were given as absolute ones stay where they are.
set(pc_prefix ${CMAKE_INSTALL_PREFIX})
if(NOT IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  file(RELATIVE_PATH pc_up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  set(pc_prefix "\${pcfiledir}/${pc_up}")
endif()
foreach(folder libdir includedir)
  string(TOUPPER CMAKE_INSTALL_${folder} given)
  set(pc_${folder} ${${given}})
  if(NOT IS_ABSOLUTE ${${given}})
    set(pc_${folder} "\${prefix}/${${given}}")
  endif()
endforeach()
set(modules)
if(TARGET eggbox)
  list(APPEND modules eggbox)
endif()
if(TARGET eggbox_compat)
  list(APPEND modules eggbox-compat)
endif()
# A library's name can have an ending for each configuration.
foreach(module IN LISTS modules)
  string(REPLACE "-" "_" target ${module})
  set(pc_library $<TARGET_LINKER_FILE_BASE_NAME:${target}>)
  set(pc pkgconfig/$<CONFIG>/${module}.pc)
  configure_file(cmake/${module}.pc.in ${module}.pc.in @ONLY)
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/${pc} INPUT ${PROJECT_BINARY_DIR}/${module}.pc.in)
  install(FILES ${PROJECT_BINARY_DIR}/${pc} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
