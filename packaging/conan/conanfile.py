# SPDX-License-Identifier: MIT
"""Conan 2: the library, built by its own CMake. `conan create packaging/conan`."""

import re
from pathlib import Path

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class Eggbox(ConanFile):
    name = "eggbox"
    description = "Fixed-size memory pools, from a microcontroller to a whole server"
    license = "MIT"
    topics = ("memory-pool", "allocator", "embedded")
    package_type = "library"
    settings = "os", "compiler", "build_type", "arch"
    options = {"shared": [True, False], "fPIC": [True, False]}
    default_options = {"shared": False, "fPIC": True}
    implements = ["auto_shared_fpic"]
    languages = "C"

    def _tree(self):
        return Path(self.recipe_folder).parent.parent

    def set_version(self):
        text = load(self, str(self._tree() / "CMakeLists.txt"))
        self.version = re.search(r"project\(eggbox VERSION ([0-9.]+)", text)[1]

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*"):
            copy(self, pattern, self._tree(), self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        hosted = self.settings.os != "baremetal"
        toolchain.cache_variables.update({
            "EGGBOX_HOSTED": hosted, "EGGBOX_INSTALL": True, "EGGBOX_TESTS": False,
            "EGGBOX_TOOLS": False, "EGGBOX_OVERRIDE": False})
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, Path(self.package_folder) / "licenses")
        CMake(self).install()

    def package_info(self):
        self.cpp_info.components["core"].libs = ["eggbox_core"]
        self.cpp_info.components["core"].set_property("cmake_target_name", "eggbox::core")
        if self.settings.os == "baremetal":
            return
        library = self.cpp_info.components["eggbox"]
        library.libs = ["eggbox"]
        library.set_property("cmake_target_name", "eggbox::eggbox")
        library.set_property("pkg_config_name", "eggbox")
        if self.settings.os in ("Linux", "FreeBSD"):
            library.system_libs = ["pthread"]
        compat = self.cpp_info.components["compat"]
        compat.libs = ["eggbox-compat"]
        compat.includedirs = ["include", "include/eggbox/compat"]
        compat.requires = ["eggbox"]
        compat.set_property("cmake_target_name", "eggbox::compat")
        compat.set_property("pkg_config_name", "eggbox-compat")
