// SPDX-License-Identifier: MIT
// Prints the measurements, and the right size for each pool.
#pragma once

#include "trial.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace demo
{

/// All runs of one variant.
struct measurement {
    variant_kind         kind;
    std::vector<outcome> runs;

    const outcome& median() const;  // by time
    std::uint64_t  median(std::uint64_t outcome::* number) const;
};

struct experiment {
    std::string              capture_name;
    std::size_t              capture_frames;
    std::uint64_t            capture_us;
    std::uint32_t            sites;
    std::uint32_t            rounds;
    std::vector<measurement> measurements;

    const measurement* find(variant id) const;  // null: not on this system
};

enum class agreement {
    same,       // every run of every variant gave the same result
    too_small,  // pools ran out of blocks, so there is nothing to compare; apart from that, same
    different   // something is broken
};

agreement compare(const experiment& done);

/// The advice for a pool. All zero and empty if it was not used, or if any pool ran out of blocks:
/// the dropped packets would have needed more blocks of the others too.
struct advice {
    std::uint64_t capacity;      // the peak and a quarter more, rounded up
    std::uint64_t static_bytes;  // by EGB_FIXED_DEFINE(): blocks, live bits, pool
    std::string   definition;    // the line to write
};

advice advise(const outcome& run, std::size_t pool);

void print_text(const experiment& done);
void print_json(const experiment& done);

}  // namespace demo
