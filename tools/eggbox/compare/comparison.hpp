// SPDX-License-Identifier: MIT
// The measurements of one program on several allocators, and the text made of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tool
{

/// One run of the whole tree of processes. Times in seconds.
struct sample {
    double        wall_s         = 0;
    double        user_s         = 0;
    double        system_s       = 0;
    std::uint64_t resident_bytes = 0;  // peak of the largest process
    std::uint64_t minor_faults   = 0;
    std::uint64_t major_faults   = 0;
    int           status         = 0;  // as from wait

    double cpu_s() const
    {
        return user_s + system_s;
    }
};

struct variant {
    std::string         name;     // "glibc", "eggbox", or a library's file name
    std::string         library;  // to preload; empty: none
    std::vector<sample> samples;
};

struct comparison {
    std::vector<std::string> command;
    std::uint32_t            runs                  = 0;
    std::uint32_t            warmup                = 0;
    bool                     outputs_were_compared = false;
    std::vector<variant>     variants;  // [0] is the base: glibc, or the program's own allocator
    std::vector<std::string> notes;     // sentences
};

std::string compare_page(const comparison& done);
std::string compare_data(const comparison& done);

/// As `hyperfine --export-json` writes it: scripts that read that file read this.
std::string compare_data_of_hyperfine(const comparison& done);

}  // namespace tool
