// SPDX-License-Identifier: MIT
// The bytes of static memory that so many blocks need: at every start, level and alignment.
#include "pools.hpp"

#include <algorithm>

namespace
{

constexpr std::size_t most_blocks = 2000;

alignas(4096) unsigned char region[256 << 10];

// The constant is usable for an array, and as it is elsewhere.
char hundred[EGB_POOL_BYTES(64, 100)];
static_assert(EGB_POOL_BYTES(64, 100) > 6400, "blocks, states and a header");
static_assert(
    EGB_POOL_BYTES_AT(EGB_LEVEL_DEFAULT, 16, 64, 100) == sizeof hundred, "the default options"
);
static_assert(EGB_POOL_BYTES_AT(EGB_LEVEL_OFF, 0, 64, 100) < sizeof hundred, "no states");
static_assert(EGB_POOL_BYTES_AT(EGB_LEVEL_PASSTHROUGH, 0, 64, 100) == 0, "no static memory");
static_assert(EGB_POOL_BYTES(0, 1) == 0 && EGB_POOL_BYTES(1, 0) == 0, "no pool");
static_assert(EGB_POOL_BYTES(64, UINT64_C(1) << 32) == 0, "too many blocks");
static_assert(EGB_POOL_BYTES(64, UINT64_C(1) << 60) == 0, "too many bytes");

struct wish {
    egb_level   level;
    std::size_t align;
    std::size_t block_bytes;
    std::size_t count;

    egb_pool_options options() const
    {
        egb_pool_options options = options_for(block_bytes);
        options.level            = level;
        options.block_align      = align;
        return options;
    }

    std::size_t anywhere() const
    {
        return EGB_POOL_BYTES_AT(level, align, block_bytes, count);
    }
};

// The blocks of a pool in `bytes` from the region's byte `start` on, 0 if there is none. Each can
// be written to.
std::size_t blocks_in(const wish& one, std::size_t start, std::size_t bytes, bool takes_all)
{
    egb_pool_options options = one.options();
    options.memory           = region + start;
    options.memory_bytes     = bytes;
    egb_pool pool{};
    if (egb_pool_create(&pool, &options) != EGB_OK) {
        return 0;
    }
    const std::size_t count = stats_of(pool).capacity;
    if (takes_all) {
        region[start + bytes]           = 0xA5;
        const std::vector<void*> blocks = take_all(pool);
        EXPECT_EQ(blocks.size(), count);
        for (void* const block : blocks) {
            std::memset(block, 0x5A, one.block_bytes);
        }
        give_all(pool, blocks);
        EXPECT_EQ(region[start + bytes], 0xA5);
        EXPECT_TRUE(one.align == 0 || reinterpret_cast<std::uintptr_t>(blocks[0]) % one.align == 0);
    }
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
    return count;
}

// The number for this start is the least that serves, and the one for any start serves.
std::size_t check_start(const wish& one, std::size_t start)
{
    egb_pool_options options = one.options();
    options.memory           = region + start;
    const std::size_t least  = egb_pool_bytes(&options, one.count);
    EXPECT_LE(least, one.anywhere());
    EXPECT_GE(blocks_in(one, start, least, one.count < 10), one.count);
    EXPECT_LT(blocks_in(one, start, least - 1, false), one.count);
    EXPECT_GE(blocks_in(one, start, one.anywhere(), false), one.count);
    return least;
}

void check_every_start(const wish& one)
{
    const egb_pool_options options = one.options();
    ASSERT_EQ(egb_pool_bytes(&options, one.count), one.anywhere());
    std::size_t worst = 0;
    for (std::size_t start = 0; start < std::max<std::size_t>(one.align, 16); start++) {
        worst = std::max(worst, check_start(one, start));
    }
    EXPECT_EQ(worst, one.anywhere()) << "a start that needs so many";
}

}  // namespace

TEST(pool_bytes, are_the_least_that_serve_at_every_start_level_and_alignment)
{
    for (const egb_level level :
         {EGB_LEVEL_OFF, EGB_LEVEL_CHECK, EGB_LEVEL_GUARD, EGB_LEVEL_TRACK}) {
        for (const std::size_t align : {0u, 1u, 4u, 8u, 32u}) {
            for (const std::size_t block_bytes : {1u, 4u, 8u, 13u, 24u, 64u, 100u}) {
                for (const std::size_t count : {1u, 2u, 7u, 100u}) {
                    SCOPED_TRACE(
                        testing::Message() << "level " << level << ", align " << align << ", "
                                           << count << " of " << block_bytes
                    );
                    check_every_start({level, align, block_bytes, count});
                }
            }
        }
    }
}

TEST(pool_bytes, hold_for_pages_and_long_blocks)
{
    check_every_start({EGB_LEVEL_CHECK, 4096, 4096, 3});
    check_every_start({EGB_LEVEL_TRACK, 64, 5000, 7});
    check_every_start({EGB_LEVEL_CHECK, 0, 24, most_blocks});
}

// Blocks of 1 KiB that are aligned to it took 3 KiB.
TEST(pool_bytes, of_red_zones_fill_what_the_alignment_leaves)
{
    for (const egb_level level : {EGB_LEVEL_GUARD, EGB_LEVEL_TRACK}) {
        EXPECT_LE(EGB_POOL_BYTES_AT(level, 1024, 1024, 100), 2048u * 100 + 2048 + 512);
        EXPECT_LE(EGB_POOL_BYTES_AT(level, 4096, 4096, 100), 8192u * 100 + 8192);
    }
}

TEST(pool_bytes, count_flags_as_create_does)
{
    egb_pool_options options = options_for(20);
    options.flags            = EGB_CACHE_LINE;
    EXPECT_EQ(egb_pool_bytes(&options, 9), EGB_POOL_BYTES_AT(EGB_LEVEL_CHECK, 64, 20, 9));
    options.flags = EGB_FRESH_ZERO;
    EXPECT_EQ(egb_pool_bytes(&options, 9), EGB_POOL_BYTES_AT(EGB_LEVEL_CHECK, 8, 20, 9));
    // Other options do not count.
    options.max_blocks     = 3;
    options.reserve_blocks = 5;
    options.memory_bytes   = 1;
    EXPECT_EQ(egb_pool_bytes(&options, 9), EGB_POOL_BYTES_AT(EGB_LEVEL_CHECK, 8, 20, 9));
}

TEST(pool_bytes, exactly_so_many_with_max_blocks)
{
    egb_pool_options options = options_for(64);
    options.memory           = hundred;
    options.memory_bytes     = sizeof hundred;
    options.max_blocks       = 100;
    const guard              pool(make(options));
    const std::vector<void*> blocks = take_all(pool);
    EXPECT_EQ(blocks.size(), 100u);
    give_all(pool, blocks);
}

TEST(pool_bytes, are_0_where_create_refuses)
{
    EXPECT_EQ(egb_pool_bytes(nullptr, 1), 0u);
    const egb_pool_options fine = options_for(64);
    EXPECT_NE(egb_pool_bytes(&fine, 1), 0u);
    EXPECT_EQ(egb_pool_bytes(&fine, 0), 0u);
    EXPECT_EQ(egb_pool_bytes(&fine, SIZE_MAX), 0u);
    EXPECT_EQ(EGB_POOL_BYTES_AT(EGB_LEVEL_TRACK, 0, SIZE_MAX, 1), 0u);
    EXPECT_EQ(egb_pool_bytes(&fine, EGB_FIXED_BYTES_MAX / 64 + 1), 0u);
    egb_pool_options odd = fine;
    odd.block_align      = 24;
    EXPECT_EQ(egb_pool_bytes(&odd, 1), 0u);
    odd             = fine;
    odd.block_bytes = 0;
    EXPECT_EQ(egb_pool_bytes(&odd, 1), 0u);
    odd.block_bytes = SIZE_MAX - 3;
    EXPECT_EQ(egb_pool_bytes(&odd, 1), 0u);
    odd       = fine;
    odd.flags = 1u << 30;
    EXPECT_EQ(egb_pool_bytes(&odd, 1), 0u);
    for (const int level : {-1, static_cast<int>(EGB_LEVEL_PASSTHROUGH), 100}) {
        odd       = fine;
        odd.level = static_cast<egb_level>(level);
        EXPECT_EQ(egb_pool_bytes(&odd, 1), 0u);
    }
}
