// SPDX-License-Identifier: MIT
// Reads the facts of an ELF file that decide whether a library can replace its malloc.
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
    bool                     is_program = false;  // it names a loader
    bool                     is_dynamic = false;  // it has a dynamic section
    std::string              interpreter;         // the loader
    std::vector<std::string> needed;
    std::string              search_path;  // DT_RUNPATH, else DT_RPATH
    std::vector<std::string> defined;      // the wanted functions that it defines
    std::vector<std::string> imported;     // those that it expects from others

    std::string machine_text() const;                     // "64-bit x86-64"
    bool        runs_with(const elf_facts& other) const;  // both can be in one process
};

/// Reads `path`. `functions`: the names to look for.
///
/// Returns  nothing if the file is not ELF. Throws failure if the file cannot be opened, or is a
///          damaged ELF file: every offset in it is checked.
std::optional<elf_facts>
read_elf(const std::string& path, const std::vector<std::string>& functions);

}  // namespace tool
