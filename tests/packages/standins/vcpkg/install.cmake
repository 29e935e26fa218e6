# SPDX-License-Identifier: MIT
# In place of vcpkg: runs a port for a triplet with static libraries and a release build alone.
# cmake -DTREE=... -DCURRENT_PACKAGES_DIR=... -DBUILD=... -P install.cmake
set(PORT eggbox)
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(vcpkg_cmake_configure)
  cmake_parse_arguments(port "" "SOURCE_PATH" "OPTIONS" ${ARGN})
  run(${CMAKE_COMMAND} -G Ninja -S ${port_SOURCE_PATH} -B ${BUILD} -DCMAKE_BUILD_TYPE=Release
    -DBUILD_SHARED_LIBS=OFF -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}
    -DCMAKE_INSTALL_LIBDIR=lib ${port_OPTIONS})
endfunction()
function(vcpkg_cmake_install)
  run(${CMAKE_COMMAND} --build ${BUILD} --target install)
endfunction()
# The files for CMake move from lib/cmake/eggbox to share/eggbox, one folder nearer to the prefix.
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(port "" "CONFIG_PATH" "" ${ARGN})
  set(moved ${CURRENT_PACKAGES_DIR}/share/${PORT})
  file(MAKE_DIRECTORY ${CURRENT_PACKAGES_DIR}/share)
  file(RENAME ${CURRENT_PACKAGES_DIR}/${port_CONFIG_PATH} ${moved})
  file(READ ${moved}/eggbox-targets.cmake text)
  set(up "get_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\n")
  string(REPLACE "${up}${up}${up}" "${up}${up}" text "${text}")
  file(WRITE ${moved}/eggbox-targets.cmake "${text}")
endfunction()
function(vcpkg_fixup_pkgconfig)
endfunction()
function(vcpkg_install_copyright)
  cmake_parse_arguments(port "" "" "FILE_LIST" ${ARGN})
  file(INSTALL ${port_FILE_LIST} DESTINATION ${CURRENT_PACKAGES_DIR}/share/${PORT})
endfunction()
include(${TREE}/packaging/vcpkg/${PORT}/portfile.cmake)
