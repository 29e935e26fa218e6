// SPDX-License-Identifier: MIT
// The options that create accepts, the ones it refuses and with which status, and their effect.
#include "events.hpp"
#include "levels.hpp"
#include "pools.hpp"

#include <algorithm>
#include <string>

namespace
{

constexpr std::size_t gib = std::size_t{1} << 30;

// The largest alignment that is accepted: a page.
std::size_t page_bytes()
{
    std::size_t align = 16;
    while (true) {
        egb_pool_options options = options_for(64);
        options.block_align      = align * 2;
        if (status_of(options) != EGB_OK) {
            return align;
        }
        align *= 2;
    }
}

std::size_t natural_align(std::size_t block_bytes)
{
    std::size_t align = 16;
    while (align > 4 && block_bytes % align != 0) {
        align /= 2;
    }
    return align;
}

std::size_t round_up(std::size_t bytes, std::size_t align)
{
    return (bytes + align - 1) / align * align;
}

}  // namespace

TEST(pool_create, null_arguments_are_invalid)
{
    const egb_pool_options options = options_for(8);
    egb_pool               pool{};
    EXPECT_EQ(egb_pool_create(nullptr, &options), EGB_INVALID);
    EXPECT_EQ(egb_pool_create(&pool, nullptr), EGB_INVALID);
    EXPECT_EQ(egb_pool_create(nullptr, nullptr), EGB_INVALID);
    EXPECT_TRUE(pool == egb_pool{});
}

TEST(pool_create, the_smallest_and_the_largest_blocks)
{
    EXPECT_EQ(status_of(options_for(0)), EGB_INVALID);
    EXPECT_EQ(status_of(options_for(1)), EGB_OK);
    for (std::size_t less = 0; less < 200; less++) {
        EXPECT_EQ(status_of(options_for(SIZE_MAX - less)), EGB_LIMIT) << less;
        EXPECT_EQ(status_of(options_for(SIZE_MAX / 2 + 200 - less)), EGB_LIMIT) << less;
    }
    if (sizeof(std::size_t) > 4) {
        for (const std::size_t times : {1u, 2u, 3u, 8u}) {
            EXPECT_EQ(status_of(options_for(16 * times * gib + 1)), EGB_LIMIT) << times;
        }
        EXPECT_EQ(status_of(options_for(16 * gib)), EGB_LIMIT);
        EXPECT_EQ(status_of(options_for(8 * gib)), EGB_OK);
        EXPECT_EQ(status_of(options_for(8 * gib + 1)), EGB_OK);
        EXPECT_EQ(status_of(options_for(16 * gib - 64)), EGB_OK);
    }
}

TEST(pool_create, alignments_are_powers_of_two_up_to_a_page)
{
    const std::size_t page = page_bytes();
    EXPECT_GE(page, 4096u);
    EXPECT_LE(page, 65536u);
    egb_pool_options options = options_for(24);
    for (std::size_t align = 1; align <= 300; align++) {
        options.block_align = align;
        const bool is_power = (align & (align - 1)) == 0;
        EXPECT_EQ(status_of(options), is_power ? EGB_OK : EGB_INVALID) << align;
    }
    for (const std::size_t align :
         {page - 1, page + 1, 3 * page / 2, page * 2, page * 4, SIZE_MAX, SIZE_MAX / 2 + 1}) {
        options.block_align = align;
        EXPECT_EQ(status_of(options), EGB_INVALID) << align;
    }
}

TEST(pool_create, every_alignment_is_kept_by_every_block)
{
    const std::size_t page = page_bytes();
    for (const std::size_t bytes : {1u, 5u, 24u, 64u, 4100u}) {
        for (std::size_t align = 0; align <= page; align = align == 0 ? 1 : align * 2) {
            egb_pool_options options = options_for(bytes);
            options.block_align      = align;
            const guard       pool(make(options));
            const std::size_t kept =
                align == 0 ? natural_align(bytes) : std::max(align, std::size_t{4});
            EXPECT_EQ(stats_of(pool).stride_bytes, round_up(bytes, kept));
            EXPECT_EQ(stats_of(pool).block_bytes, bytes);
            const std::vector<void*> blocks = take_all(pool, 200);
            for (void* const block : blocks) {
                ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block) % kept, 0u);
            }
            give_all(pool, blocks);
        }
    }
}

TEST(pool_create, cache_lines_are_not_shared)
{
    for (const std::size_t bytes : {1u, 63u, 64u, 65u, 127u, 128u, 200u}) {
        for (const std::size_t align : {0u, 8u, 64u, 256u}) {
            egb_pool_options options = options_for(bytes);
            options.block_align      = align;
            options.flags            = EGB_CACHE_LINE;
            const guard       pool(make(options));
            const std::size_t kept = align < 64 ? 64 : align;
            EXPECT_EQ(stats_of(pool).stride_bytes, round_up(bytes, kept));
            void* const block = egb_pool_alloc(pool);
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % kept, 0u);
            egb_pool_free(pool, block);
        }
    }
}

TEST(pool_create, unknown_flags_are_invalid)
{
    egb_pool_options options = options_for(8);
    for (unsigned flags = 0; flags < 16; flags++) {
        options.flags = flags;
        EXPECT_EQ(status_of(options), EGB_OK) << flags;
    }
    for (unsigned bit = 4; bit < 32; bit++) {
        options.flags = 1u << bit;
        EXPECT_EQ(status_of(options), EGB_INVALID) << bit;
        options.flags = 1u << bit | 15u;
        EXPECT_EQ(status_of(options), EGB_INVALID) << bit;
    }
}

TEST(pool_create, levels_are_known_or_invalid)
{
    egb_pool_options options = options_for(8);
    for (const char* level : {"off", "check", "guard", "track"}) {
        options.level = level_named(level);
        EXPECT_EQ(status_of(options), EGB_OK) << level;
    }
    for (const char* level :
         {"", "of", "offf", "Off", " off", "chec", "checks", "CHECK", "guard ", "o", "passthroug"
         }) {
        options.level = level_named(level);
        EXPECT_EQ(status_of(options), EGB_INVALID) << level;
    }
}

// A pool with the default level is checked, as pool.h says: a block that is freed twice is named.
TEST(pool_create, no_level_is_check)
{
    events      seen;
    const guard pool(make(64));
    void* const block = egb_pool_alloc(pool);
    egb_pool_free(pool, block);
    egb_pool_free(pool, block);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
}

TEST(pool_create, memory_and_its_size_go_together)
{
    alignas(64) static char memory[4096];
    egb_pool_options        options = options_for(8);
    options.memory                  = memory;
    EXPECT_EQ(status_of(options), EGB_INVALID);
    options.memory       = nullptr;
    options.memory_bytes = sizeof memory;
    EXPECT_EQ(status_of(options), EGB_INVALID);
    options.memory = memory;
    EXPECT_EQ(status_of(options), EGB_OK);
}

TEST(pool_create, more_reserved_than_allowed_is_a_limit)
{
    egb_pool_options options = options_for(100);
    options.max_blocks       = 50;
    options.reserve_blocks   = 51;
    EXPECT_EQ(status_of(options), EGB_LIMIT);
    options.reserve_blocks = SIZE_MAX;
    EXPECT_EQ(status_of(options), EGB_LIMIT);
    options.max_blocks = 0;
    EXPECT_EQ(status_of(options), EGB_LIMIT);
    options.reserve_blocks = SIZE_MAX / 100 + 1;
    EXPECT_EQ(status_of(options), EGB_LIMIT);
    options.max_blocks     = 50;
    options.reserve_blocks = 50;
    const guard pool(make(options));
    EXPECT_EQ(stats_of(pool).capacity - stats_of(pool).in_use >= 50, true);
}

TEST(pool_create, its_own_budget_too_small_is_invalid_an_ancestors_a_limit)
{
    egb_pool_options own = options_for(1000);
    own.budget_bytes     = 3 * unit_bytes;
    own.reserve_blocks   = 1000;
    EXPECT_EQ(status_of(own), EGB_INVALID);
    own.reserve_blocks = 150;
    EXPECT_EQ(status_of(own), EGB_OK);
    own.budget_bytes   = 1;
    own.reserve_blocks = 1;
    EXPECT_EQ(status_of(own), EGB_INVALID);
    own.reserve_blocks = 0;
    EXPECT_EQ(status_of(own), EGB_OK);

    egb_pool_options above = options_for(1000);
    above.budget_bytes     = 3 * unit_bytes;
    const guard      parent(make(above));
    egb_pool_options below = options_for(1000, parent);
    below.reserve_blocks   = 1000;
    EXPECT_EQ(status_of(below), EGB_LIMIT);
    below.budget_bytes = 100 * unit_bytes;
    EXPECT_EQ(status_of(below), EGB_LIMIT);
    below.reserve_blocks = 150;
    EXPECT_EQ(status_of(below), EGB_OK);
    const guard      between(make(1000, parent));
    egb_pool_options grandchild = options_for(1000, between);
    grandchild.reserve_blocks   = 1000;
    EXPECT_EQ(status_of(grandchild), EGB_LIMIT);
}

// A parent that is its own descendant cannot be asked for: create makes the handle, so the parent
// is always older than the child.
TEST(pool_create, a_parent_must_be_there)
{
    egb_pool gone = make(8);
    EXPECT_EQ(egb_pool_destroy(gone, EGB_DESTROY_REFUSE), EGB_OK);
    EXPECT_EQ(status_of(options_for(8, gone)), EGB_STALE);
    const guard there(make(8));
    EXPECT_EQ(status_of(options_for(8, there)), EGB_OK);
    EXPECT_EQ(status_of(options_for(8, {there.pool.slot, there.pool.generation + 1})), EGB_STALE);
    EXPECT_EQ(status_of(options_for(8, {0, 1})), EGB_STALE);
    EXPECT_EQ(status_of(options_for(8, {1, 0})), EGB_STALE);
    EXPECT_EQ(status_of(options_for(8, {UINT32_MAX, 1})), EGB_STALE);
    EXPECT_EQ(status_of(options_for(8, {UINT32_MAX, UINT32_MAX})), EGB_STALE);
}

TEST(pool_create, names_are_copied_and_cut)
{
    egb_pool_options options = options_for(8);
    const guard      nameless(make(options));
    EXPECT_STREQ(stats_of(nameless).name, "pool");
    for (const std::size_t length : {0u, 1u, 46u, 47u, 48u, 1000u}) {
        std::string name(length, 'x');
        options.name = name.c_str();
        const guard pool(make(options));
        name.assign(length, 'y');
        EXPECT_EQ(std::string(stats_of(pool).name), std::string(length < 47 ? length : 47, 'x'));
        EXPECT_EQ(std::string(subtree_of(pool).name), std::string(length < 47 ? length : 47, 'x'));
    }
    options.name = "next";  // in the slot of one with a longer name
    const guard pool(make(options));
    EXPECT_STREQ(stats_of(pool).name, "next");
}

TEST(pool_create, the_options_are_in_the_numbers)
{
    egb_pool_options options = options_for(24);
    options.max_blocks       = 77;
    options.budget_bytes     = 1 << 20;
    const guard          pool(make(options));
    const egb_pool_stats stats = stats_of(pool);
    EXPECT_EQ(stats.pools, 1u);
    EXPECT_EQ(stats.block_bytes, 24u);
    EXPECT_EQ(stats.stride_bytes, 24u);
    EXPECT_EQ(stats.max_blocks, 77u);
    EXPECT_EQ(stats.budget_bytes, 1u << 20);
    EXPECT_EQ(stats.capacity + stats.in_use + stats.in_magazines + stats.peak + stats.chunks, 0u);
    EXPECT_EQ(stats.bytes_held + stats.bytes_prefaulted + stats.bytes_huge, 0u);
    EXPECT_EQ(stats.allocations + stats.frees + stats.failures, 0u);
}

// A slot that was another pool's brings nothing of it along.
TEST(pool_create, a_new_pool_in_an_old_slot_starts_at_nothing)
{
    egb_pool_options options     = options_for(100);
    options.name                 = "old";
    options.max_blocks           = 10;
    options.budget_bytes         = 1 << 20;
    options.flags                = EGB_PREFAULT;
    const egb_pool           old = make(options);
    const std::vector<void*> all = take_all(old);
    EXPECT_EQ(all.size(), 10u);
    EXPECT_EQ(egb_pool_destroy(old, EGB_DESTROY_FORCE), EGB_OK);
    const guard next(make(8));
    EXPECT_EQ(next.pool.slot, old.slot);
    EXPECT_NE(next.pool.generation, old.generation);
    const egb_pool_stats stats = stats_of(next);
    EXPECT_STREQ(stats.name, "pool");
    EXPECT_EQ(stats.max_blocks + stats.budget_bytes + stats.capacity + stats.in_use, 0u);
    EXPECT_EQ(stats.in_magazines + stats.peak + stats.chunks + stats.bytes_held, 0u);
    EXPECT_EQ(stats.allocations + stats.frees + stats.failures, 0u);
    EXPECT_EQ(stats.bytes_prefaulted, 0u);
}
