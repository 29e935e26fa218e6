// SPDX-License-Identifier: MIT
// Runs the pipeline on one kind of memory, in a process of its own: a run leaves nothing in the
// heap, the page tables or the caches for the next one.
#pragma once

#include "memory.hpp"
#include "pipeline.hpp"
#include "replay.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace demo
{

enum class variant { malloc_default, malloc_untrimmed, pools_marks, pools_live_bits };

struct variant_kind {
    variant     id;
    const char* name;
    const char* key;  // in JSON
};

/// Those this system has; the one the others are compared with comes first.
const std::vector<variant_kind>& variant_kinds();

constexpr bool uses_pools(variant id)
{
    return id == variant::pools_marks || id == variant::pools_live_bits;
}

struct pool_use {
    std::uint64_t capacity;
    std::uint64_t peak;
    bool          is_well;  // every block came back, and every invariant holds
};

/// The report of a trial's process. Crosses a pipe, so it is plain data.
struct outcome {
    counts        result;
    std::uint64_t ns;  // processor time
    std::uint64_t page_faults;
    std::uint64_t resident_bytes_start;  // before the first packet; 0: not known
    std::uint64_t resident_bytes_peak;
    std::uint64_t resident_bytes_end;        // when all records were freed; 0: not known
    std::array<pool_use, pool_count> pools;  // zeros for malloc
};

struct trial_failed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Throws trial_failed if the process could not be started or did not report.
outcome
run_trial(variant id, const replay& traffic, std::uint32_t rounds, std::size_t pool_capacity);

}  // namespace demo
