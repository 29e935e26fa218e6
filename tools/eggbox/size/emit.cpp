// SPDX-License-Identifier: MIT
// Writes a configuration as source code: static pools, and functions over them like malloc, free.
#include "size/configuration.hpp"
#include "text/failure.hpp"
#include "text/text.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>

#include <fmt/format.h>

#include "eggbox/fixed.h"

namespace tool
{
namespace
{

constexpr char c_functions[] = R"(
static struct NAME_size {
    egb_fixed* pool;
    size_t     least_bytes; /* smaller requests are of a size without a pool */
    size_t     block_bytes;
} const NAME_sizes[] = {
ROWS};

/* Returns a block of at least `bytes`, aligned to 16. The smallest size that fits serves the
   request; if that size has no block left, a larger size does. NULL: no block is left, or the
   request is too large. */
static inline void* NAME_alloc(size_t bytes)
{
    const size_t count  = sizeof NAME_sizes / sizeof *NAME_sizes;
    void*        block  = NULL;
    int          is_own = 1;
    for (size_t i = 0; i < count && block == NULL; i++) {
        if (bytes > NAME_sizes[i].block_bytes) {
            continue;
        }
        if (is_own && bytes < NAME_sizes[i].least_bytes) {
            return NULL;
        }
        is_own = 0;
        block  = egb_fixed_alloc(NAME_sizes[i].pool);
    }
    return block;
}

/* Returns the size of a block; 0 if no pool owns the block. */
static inline size_t NAME_bytes(const void* block)
{
    for (size_t i = 0; i < sizeof NAME_sizes / sizeof *NAME_sizes; i++) {
        if (egb_fixed_owns(NAME_sizes[i].pool, block)) {
            return NAME_sizes[i].block_bytes;
        }
    }
    return 0;
}

static inline void NAME_free(void* block)
{
    size_t i = sizeof NAME_sizes / sizeof *NAME_sizes - 1;
    while (i > 0 && !egb_fixed_owns(NAME_sizes[i].pool, block)) {
        i--;
    }
    egb_fixed_free(NAME_sizes[i].pool, block); /* reports a pointer that no pool owns */
}

static inline void* NAME_calloc(size_t count, size_t bytes)
{
    const size_t all   = count * bytes;
    void* const  block = bytes != 0 && all / bytes != count ? NULL : NAME_alloc(all);
    return block == NULL ? NULL : memset(block, 0, all);
}

/* Keeps the block while it is large enough and not twice too large, as the measured heap did.
   Otherwise a block that shrinks would keep its size here, but not in the measured heap. */
static inline void* NAME_realloc(void* block, size_t bytes)
{
    const size_t before = block == NULL ? 0 : NAME_bytes(block);
    if (bytes <= before && (bytes > before / 2 || before == 16)) {
        return block;
    }
    void* const after = NAME_alloc(bytes);
    if (before == 0) {
        return after;
    }
    if (after == NULL) {
        return bytes <= before ? block : NULL;
    }
    memcpy(after, block, bytes < before ? bytes : before);
    NAME_free(block);
    return after;
}
)";

constexpr char cpp_functions[] = R"(
struct size {
    void* (*alloc)();
    void (*free)(void*);
    bool (*owns)(const void*);
    std::size_t least_bytes;  // smaller requests are of a size without a pool
    std::size_t block_bytes;
};

template <auto& Pool>
constexpr size size_of(std::size_t least_bytes, std::size_t block_bytes)
{
    return {
        [] { return Pool.alloc(); },
        [](void* block) { Pool.free(block); },
        [](const void* block) { return Pool.owns(block); },
        least_bytes,
        block_bytes
    };
}

inline constexpr size sizes[] = {
ROWS};

/// Returns a block of at least `bytes`, aligned to 16. The smallest size that fits serves the
/// request; if that size has no block left, a larger size does. nullptr: no block is left, or the
/// request is too large.
[[nodiscard]] inline void* alloc(std::size_t bytes) noexcept
{
    void* block  = nullptr;
    bool  is_own = true;
    for (const size& each : sizes) {
        if (block != nullptr || bytes > each.block_bytes) {
            continue;
        }
        if (is_own && bytes < each.least_bytes) {
            return nullptr;
        }
        is_own = false;
        block  = each.alloc();
    }
    return block;
}

inline void free(void* block) noexcept
{
    const size* found = sizes;
    for (const size& each : sizes) {
        found = each.owns(block) ? &each : found;
    }
    found->free(block);  // reports a pointer that no pool owns
}
)";

std::string replaced(std::string text, const std::string& what, const std::string& with)
{
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) {
        text.replace(at, what.size(), with);
    }
    return text;
}

void require_possible(const configuration& plan)
{
    const std::string obstacle = plan.obstacle();
    if (!obstacle.empty()) {
        throw failure(obstacle);
    }
}

std::string purpose(const configuration& plan)
{
    return plan.rows.empty()
               ? number_of(plan.pools.size(), "pool", "pools") + " of the program"
               : fmt::format(
                     "{:.2f} % of {}", plan.share(), number_of(plan.requests, "request", "requests")
                 );
}

// The comment at the top: where the figures come from, and the data for `eggbox size --check`.
std::string head(const configuration& plan, const char* use)
{
    std::string out = fmt::format(
        "// Static pools for {}, made by `eggbox size` from {}, {} in total.\n"
        "// {} for {}; headroom {:g} %. A peak is not a limit.\n"
        "// {}\n//\n",
        shown(plan.program),
        number_of(plan.runs, "run", "runs"),
        seconds_text(plan.duration_s),
        bytes_text(plan.bytes()),
        purpose(plan),
        plan.headroom_percent,
        use
    );
    std::istringstream lines{size_data(plan)};
    for (std::string line; std::getline(lines, line);) {
        out += "//: " + line + "\n";
    }
    return out;
}

std::string guarded(const configuration& plan, const std::string& code)
{
    std::string guard = plan.name + "_POOLS_H";
    std::transform(guard.begin(), guard.end(), guard.begin(), [](unsigned char c) {
        return static_cast<char>(std::toupper(c));
    });
    return fmt::format("#ifndef {0}\n#define {0}\n\n", guard) + code + "\n#endif\n";
}

// The pools of the size classes, and the functions over them.
std::string rows_in_c(const configuration& plan)
{
    std::string pools, rows;
    for (const size_row& row : plan.rows) {
        pools += fmt::format(
            "\n// {0}\n"
            "typedef struct NAME_block_{1} {{ EGB_ALIGNAS_(16) unsigned char bytes[{1}]; }} "
            "NAME_block_{1};\n"
            "EGB_FIXED_DEFINE(NAME_{1}, NAME_block_{1}, {2});\n",
            row.reason,
            row.block_bytes,
            row.blocks
        );
        rows += fmt::format("    {{&NAME_{0}, {1}, {0}}},\n", row.block_bytes, row.least_bytes);
    }
    return plan.rows.empty()
               ? ""
               : replaced(pools + replaced(c_functions, "ROWS", rows), "NAME", plan.name);
}

std::string rows_in_cpp(const configuration& plan)
{
    std::string pools, rows;
    for (const size_row& row : plan.rows) {
        pools += fmt::format(
            "inline eggbox::fixed_pool<block<{0}>, {1}> of_{0};  // {2}\n",
            row.block_bytes,
            row.blocks,
            row.reason
        );
        rows += fmt::format("    size_of<of_{0}>({1}, {0}),\n", row.block_bytes, row.least_bytes);
    }
    return plan.rows.empty() ? ""
                             : "template <std::size_t Bytes>\nstruct alignas(16) block {\n"
                               "    unsigned char bytes[Bytes];\n};\n\n" +
                                   pools + replaced(cpp_functions, "ROWS", rows);
}

}  // namespace

std::string size_in_c(const configuration& plan)
{
    require_possible(plan);
    const std::string includes = std::string("#include <eggbox/fixed.h>\n") +
                                 (plan.pools.empty() ? "" : "#include <eggbox/pool.h>\n") +
                                 (plan.rows.empty() ? "" : "#include <string.h>\n");
    return head(
               plan, "One thread at a time. Include it in one source file: the pools are static."
           ) +
           guarded(plan, includes + rows_in_c(plan) + pools_in_c(plan));
}

std::string size_in_cpp(const configuration& plan)
{
    require_possible(plan);
    return head(plan, "One thread at a time. All files that include it share the pools.") +
           "#pragma once\n\n#include <cstddef>\n#include <eggbox/eggbox.hpp>\n\n" +
           fmt::format(
               "namespace {0}_pools\n{{\n\n{1}{2}\n}}  // namespace {0}_pools\n",
               plan.name,
               rows_in_cpp(plan),
               pools_in_cpp(plan)
           );
}

std::string size_in_compat(const configuration& plan)
{
    require_possible(plan);
    if (plan.pools.empty()) {
        throw failure(
            "the runs have no pool with a name; --emit c and --emit cpp are for size classes"
        );
    }
    return head(
               plan,
               "Only macros, for programs that include Allocator.h or fb_allocator.h. It serves "
               "no size class."
           ) +
           guarded(plan, pools_in_compat(plan));
}

}  // namespace tool
