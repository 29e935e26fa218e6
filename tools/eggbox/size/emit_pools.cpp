// SPDX-License-Identifier: MIT
// Writes the pools of a configuration as source code: static ones in place of those that were
// measured, and one for each planned size of large blocks. Each identifier has an ending, so no
// pool can have the name of another part of the header.
#include "size/configuration.hpp"
#include "text/text.hpp"

#include <fmt/format.h>

namespace tool
{
namespace
{

std::string title(const size_row& pool)
{
    return fmt::format(
        "\"{}\", blocks of {} bytes: {}", shown(pool.name), grouped(pool.block_bytes), pool.reason
    );
}

std::string memory_bytes(const size_row& pool)
{
    return fmt::format(
        "EGB_POOL_BYTES_AT(EGB_LEVEL_CHECK, {}, {}, {})", pool.align, pool.block_bytes, pool.blocks
    );
}

// `notes`: how the program uses them; empty without pools.
template <class Format>
std::string each_pool(const configuration& plan, const char* notes, const Format& format)
{
    std::string out = plan.pools.empty() ? "" : notes;
    if (plan.large_pools > 0) {
        out += "// A pool \"large N\" is for blocks of N bytes, which no size class has.\n";
    }
    for (const size_row& pool : plan.pools) {
        out += format(pool);
    }
    return out;
}

constexpr char notes_in_c[] = R"(
// The pools, NAME for each.
// For one owner: NAME_FIXED_DEFINE(pool, type); is EGB_FIXED_DEFINE() with that many blocks.
// For any thread, at the levels "check" and "off": egb_pool_create() makes a static pool if its
// options went through NAME_static(). One pool at a time.
)";

constexpr char notes_in_cpp[] = R"(
// The pools, NAME for each.
// For one owner: NAME_pool<T>, a fixed pool.
// For any thread, at the levels "check" and "off": eggbox::pool<T> is static if its options went
// through NAME_static(). One pool at a time.
)";

constexpr char notes_in_compat[] =
    R"(// The pools, NAME for each. Each line stands for one of these:
//
//     NAME_AllocatorPool(type) pool;           Allocator.h    AllocatorPool<type, 20> pool;
//     NAME_IMPLEMENT_ALLOCATOR(type)           Allocator.h    IMPLEMENT_ALLOCATOR(type, 20, memory)
//     NAME_ALLOC_DEFINE(pool)                  fb_allocator.h ALLOC_DEFINE(pool, 32, 20)
)";

}  // namespace

std::string pools_in_c(const configuration& plan)
{
    return each_pool(plan, notes_in_c, [&](const size_row& pool) {
        return fmt::format(
            "\n// {title}\n"
            "#define {name}_blocks {blocks}\n"
            "#define {name}_FIXED_DEFINE(pool, type) EGB_FIXED_DEFINE(pool, type, {name}_blocks)\n"
            "static inline void {name}_static(egb_pool_options* options)\n"
            "{{\n"
            "    static struct {{ EGB_ALIGNAS_({align}) unsigned char bytes[{memory}]; }} "
            "memory;\n"
            "    options->max_blocks   = {name}_blocks;\n"
            "    options->memory       = memory.bytes;\n"
            "    options->memory_bytes = sizeof memory.bytes;\n"
            "}}\n",
            fmt::arg("title", title(pool)),
            fmt::arg("name", plan.name + "_" + pool.identifier),
            fmt::arg("blocks", pool.blocks),
            fmt::arg("align", pool.align),
            fmt::arg("memory", memory_bytes(pool))
        );
    });
}

std::string pools_in_cpp(const configuration& plan)
{
    return each_pool(plan, notes_in_cpp, [](const size_row& pool) {
        return fmt::format(
            "\n// {title}\n"
            "inline constexpr std::size_t {name}_blocks = {blocks};\n"
            "template <class T>\n"
            "using {name}_pool = eggbox::fixed_pool<T, {name}_blocks>;\n"
            "inline void {name}_static(egb_pool_options& options) noexcept\n"
            "{{\n"
            "    alignas({align}) static unsigned char memory[{memory}];\n"
            "    options.max_blocks   = {name}_blocks;\n"
            "    options.memory       = memory;\n"
            "    options.memory_bytes = sizeof memory;\n"
            "}}\n",
            fmt::arg("title", title(pool)),
            fmt::arg("name", pool.identifier),
            fmt::arg("blocks", pool.blocks),
            fmt::arg("align", pool.align),
            fmt::arg("memory", memory_bytes(pool))
        );
    });
}

std::string pools_in_compat(const configuration& plan)
{
    return each_pool(plan, notes_in_compat, [&](const size_row& pool) {
        return fmt::format(
            "\n// {title}\n"
            "#define {name}_blocks {blocks}\n"
            "#define {name}_AllocatorPool(type) AllocatorPool<type, {name}_blocks>\n"
            "#define {name}_IMPLEMENT_ALLOCATOR(type) \\\n"
            "    alignas(type) static CHAR {name}_memory[sizeof(type) * {name}_blocks]; \\\n"
            "    IMPLEMENT_ALLOCATOR(type, {name}_blocks, {name}_memory)\n"
            "#define {name}_ALLOC_DEFINE(pool) ALLOC_DEFINE(pool, {bytes}, {name}_blocks)\n",
            fmt::arg("title", title(pool)),
            fmt::arg("name", plan.name + "_" + pool.identifier),
            fmt::arg("blocks", pool.blocks),
            fmt::arg("bytes", pool.block_bytes)
        );
    });
}

}  // namespace tool
