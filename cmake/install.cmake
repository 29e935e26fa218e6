# SPDX-License-Identifier: MIT
# What `cmake --install` puts where: libraries, headers, find_package(eggbox) and pkg-config.
include(CMakePackageConfigHelpers)

install(TARGETS ${libraries} EXPORT eggbox-targets)
install(DIRECTORY include/eggbox DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT eggbox-targets NAMESPACE eggbox:: FILE eggbox-targets.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/eggbox)

# What the static library needs to be linked is the user's to find.
set(config "include(\${CMAKE_CURRENT_LIST_DIR}/eggbox-targets.cmake)\n")
if(EGGBOX_HOSTED AND UNIX)
  string(PREPEND config "include(CMakeFindDependencyMacro)\nfind_dependency(Threads)\n")
endif()
file(WRITE ${PROJECT_BINARY_DIR}/eggbox-config.cmake "${config}")
write_basic_package_version_file(${PROJECT_BINARY_DIR}/eggbox-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/eggbox-config.cmake
              ${PROJECT_BINARY_DIR}/eggbox-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/eggbox)

configure_file(cmake/eggbox.pc.in eggbox.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/eggbox.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
