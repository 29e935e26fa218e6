// SPDX-License-Identifier: MIT
// What an ELF file says about itself, as far as it decides whether a library can be put in front
// of its malloc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tool
{

struct elf_facts {
    unsigned                 bits       = 0;  // 32 or 64
    bool                     is_little  = true;
    unsigned                 machine    = 0;      // EM_X86_64 ...
    bool                     is_program = false;  // it says which loader runs it
    bool                     is_dynamic = false;  // it has a dynamic section
    std::string              interpreter;         // that loader
    std::vector<std::string> needed;
    std::string              search_path;  // DT_RUNPATH, else DT_RPATH
    std::vector<std::string> defined;      // of the functions asked for, those it defines

    std::string machine_text() const;                     // "64-bit x86-64"
    bool        runs_with(const elf_facts& other) const;  // in one process
};

/// Reads `path`. `functions`: which definitions to look for.
///
/// Returns  nothing if the file is no ELF file. Throws failure if it cannot be opened, or if it is
///          ELF but damaged: every offset in it is checked.
std::optional<elf_facts>
read_elf(const std::string& path, const std::vector<std::string>& functions);

}  // namespace tool
