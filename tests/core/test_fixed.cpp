// SPDX-License-Identifier: MIT
// The contract of the fixed pool, promise by promise: sizes, init, alloc, resize, clear, questions.
#include "any_pool.hpp"
#include "events.hpp"

#include <cstdint>
#include <set>

namespace
{

alignas(16) char region[4096];

bool same(const egb_fixed& a, const egb_fixed& b)
{
    return std::memcmp(&a, &b, sizeof a) == 0;
}

// A pool object of bytes that no call would leave, to see that a refused call leaves them.
egb_fixed untouched()
{
    egb_fixed pool;
    std::memset(&pool, 0x5A, sizeof pool);
    return pool;
}

}  // namespace

TEST(fixed, the_pool_object_is_within_its_budget)
{
    EXPECT_LE(sizeof(egb_fixed), 48u);
    EXPECT_EQ(sizeof(egb_fixed), sizeof(void*) == 8 ? 48u : 36u);
}

// ---- sizes ------------------------------------------------------------------------------------

TEST(fixed, bytes_for_n_blocks_give_exactly_n_blocks_and_one_byte_less_does_not)
{
    for (std::size_t block = 4; block <= 256; block += 4) {
        for (std::size_t count = 1; count <= 16; count++) {
            const std::size_t bytes = egb_fixed_bytes(block, count);
            ASSERT_EQ(bytes, block * count);
            egb_fixed pool;
            ASSERT_EQ(egb_fixed_init(&pool, region, bytes, block), EGB_OK);
            ASSERT_EQ(egb_fixed_capacity(&pool), count);
            if (count > 1) {
                ASSERT_EQ(egb_fixed_init(&pool, region, bytes - 1, block), EGB_OK);
                ASSERT_EQ(egb_fixed_capacity(&pool), count - 1);
            } else {
                ASSERT_EQ(egb_fixed_init(&pool, region, bytes - 1, block), EGB_INVALID);
            }
        }
    }
}

TEST(fixed, bytes_is_the_same_number_at_compile_time)
{
    static_assert(EGB_FIXED_BYTES(20, 100) == 2000, "");
    static_assert(EGB_FIXED_BYTES(0, 100) == 0, "");
    static_assert(EGB_FIXED_BYTES(6, 100) == 0, "");
    static_assert(EGB_FIXED_BYTES(8, 0) == 0, "");
    static char storage[EGB_FIXED_BYTES(24, 7)];
    EXPECT_EQ(sizeof storage, egb_fixed_bytes(24, 7));
}

TEST(fixed, bytes_is_0_where_no_pool_can_be_made)
{
    EXPECT_EQ(egb_fixed_bytes(0, 1), 0u);
    EXPECT_EQ(egb_fixed_bytes(1, 1), 0u);
    EXPECT_EQ(egb_fixed_bytes(2, 1), 0u);
    EXPECT_EQ(egb_fixed_bytes(3, 1), 0u);
    EXPECT_EQ(egb_fixed_bytes(4, 1), 4u);
    EXPECT_EQ(egb_fixed_bytes(5, 1), 0u);
    EXPECT_EQ(egb_fixed_bytes(4, 0), 0u);
    EXPECT_EQ(egb_fixed_bytes(SIZE_MAX, 1), 0u);
    EXPECT_EQ(egb_fixed_bytes(SIZE_MAX - 3, 2), 0u);
    EXPECT_EQ(egb_fixed_bytes(4, SIZE_MAX), 0u);
    EXPECT_EQ(egb_fixed_bytes(SIZE_MAX / 2 + 1, 2), 0u);  // the product wraps to 0
    EXPECT_EQ(egb_fixed_bytes(65536, 65536), sizeof(size_t) == 8 ? size_t{1} << 16 << 16 : 0);
}

TEST(fixed, bytes_stops_at_16_GiB)
{
    if (sizeof(std::size_t) < 8) {
        EXPECT_EQ(egb_fixed_bytes(1u << 30, 4), 0u);
        return;
    }
    const auto gib = uint64_t{1} << 30;
    EXPECT_EQ(egb_fixed_bytes(size_t(gib), 16), 16 * gib);
    EXPECT_EQ(egb_fixed_bytes(size_t(gib), 17), 0u);
    EXPECT_EQ(egb_fixed_bytes(size_t(8 * gib), 2), 16 * gib);
    EXPECT_EQ(egb_fixed_bytes(size_t(16 * gib - 8), 1), 16 * gib - 8);
    EXPECT_EQ(egb_fixed_bytes(size_t(16 * gib - 4), 1), 0u);
    EXPECT_EQ(egb_fixed_bytes(4, UINT32_MAX), 16 * gib - 4);
    EXPECT_EQ(egb_fixed_bytes(4, size_t(uint64_t{UINT32_MAX} + 1)), 0u);
}

// ---- init: every reason for every answer --------------------------------------------------------

TEST(fixed, init_refuses_what_can_never_work_and_changes_nothing)
{
    egb_fixed       pool   = untouched();
    const egb_fixed before = pool;
    char* const     top    = reinterpret_cast<char*>(UINTPTR_MAX - 255);

    EXPECT_EQ(egb_fixed_init(nullptr, region, 64, 8), EGB_INVALID);
    EXPECT_EQ(egb_fixed_init(&pool, nullptr, 64, 8), EGB_INVALID);
    EXPECT_EQ(egb_fixed_init(&pool, region, 0, 8), EGB_INVALID);
    EXPECT_EQ(egb_fixed_init(&pool, region, 7, 8), EGB_INVALID);
    EXPECT_EQ(egb_fixed_init(&pool, region, 64, 0), EGB_INVALID);
    for (std::size_t block = 1; block < 64; block++) {
        if (block % 4 != 0) {
            EXPECT_EQ(egb_fixed_init(&pool, region, 64, block), EGB_INVALID) << block;
        }
    }
    for (std::size_t offset = 1; offset < 4; offset++) {
        EXPECT_EQ(egb_fixed_init(&pool, region + offset, 64, 8), EGB_INVALID) << offset;
    }
    EXPECT_EQ(egb_fixed_init(&pool, top, 512, 8), EGB_INVALID) << "wraps around the address space";
    EXPECT_EQ(egb_fixed_init(&pool, region, 64, 68), EGB_INVALID);
    EXPECT_TRUE(same(pool, before));
}

TEST(fixed, init_refuses_a_region_that_overlaps_the_pool_object)
{
    struct {
        uint32_t  before[8];
        egb_fixed pool;
        uint32_t  after[8];
    } all = {};
    for (std::size_t i = 0; i < 8; i++) {
        EXPECT_EQ(
            egb_fixed_init(&all.pool, &all.before[i], sizeof all.before, 8),
            i == 0 ? EGB_OK : EGB_INVALID
        );
    }
    EXPECT_EQ(egb_fixed_init(&all.pool, &all.pool, sizeof all.pool, 8), EGB_INVALID);
    EXPECT_EQ(egb_fixed_init(&all.pool, all.after, sizeof all.after, 8), EGB_OK);
}

TEST(fixed, init_refuses_more_than_16_GiB_as_a_limit)
{
    egb_fixed       pool   = untouched();
    const egb_fixed before = pool;
    if (sizeof(std::size_t) == 8) {
        char* const far = reinterpret_cast<char*>(uintptr_t(uint64_t{1} << 44));  // never touched
        const auto  gib = uint64_t{1} << 30;
        EXPECT_EQ(egb_fixed_init(&pool, far, size_t(16 * gib + 1), 64), EGB_LIMIT);
        EXPECT_EQ(egb_fixed_init(&pool, far, size_t(16 * gib), size_t(16 * gib - 4)), EGB_LIMIT);
        EXPECT_TRUE(same(pool, before));
        EXPECT_EQ(egb_fixed_init(&pool, far, size_t(16 * gib), 64), EGB_OK);
        EXPECT_EQ(egb_fixed_capacity(&pool), (16 * gib) / 64);
        EXPECT_EQ(egb_fixed_init(&pool, far, size_t(16 * gib), size_t(16 * gib - 8)), EGB_OK);
        EXPECT_EQ(egb_fixed_capacity(&pool), 1u);
        EXPECT_EQ(egb_fixed_init(&pool, far, size_t(16 * gib), 4), EGB_OK);
        EXPECT_EQ(egb_fixed_capacity(&pool), UINT32_MAX);
        for (uint64_t block = gib; block <= 8 * gib; block *= 2) {
            EXPECT_EQ(egb_fixed_init(&pool, far, size_t(16 * gib), size_t(block)), EGB_OK);
            EXPECT_EQ(egb_fixed_capacity(&pool), 16 * gib / block);
            EXPECT_TRUE(egb_fixed_owns(&pool, far + block));
            EXPECT_FALSE(egb_fixed_owns(&pool, far + block / 2));
        }
    }
}

TEST(fixed, init_unchecked_refuses_blocks_without_room_for_an_address)
{
    egb_fixed       pool   = untouched();
    const egb_fixed before = pool;
    if (sizeof(void*) == 8) {
        EXPECT_EQ(egb_fixed_init_unchecked(&pool, region, 64, 4), EGB_INVALID);
    }
    EXPECT_EQ(egb_fixed_init_unchecked(&pool, region, 64, 0), EGB_INVALID);
    EXPECT_TRUE(same(pool, before));
    EXPECT_EQ(egb_fixed_init_unchecked(&pool, region, 64, sizeof(void*)), EGB_OK);
}

TEST(fixed, init_checked_refuses_live_bits_that_do_not_serve)
{
    egb_fixed       pool   = untouched();
    const egb_fixed before = pool;
    uint32_t        live[EGB_FIXED_LIVE_BYTES(100) / 4];
    auto            init = [&](void* bits, std::size_t bytes) {
        return egb_fixed_init_checked(&pool, region, 800, 8, bits, bytes);
    };
    EXPECT_EQ(init(nullptr, sizeof live), EGB_INVALID);
    EXPECT_EQ(init(reinterpret_cast<char*>(live) + 1, sizeof live - 4), EGB_INVALID);
    EXPECT_EQ(init(live, sizeof live - 1), EGB_INVALID);
    EXPECT_EQ(init(live, 0), EGB_INVALID);
    EXPECT_EQ(init(live, 16), EGB_INVALID);
    EXPECT_EQ(init(region + 400, sizeof live), EGB_INVALID) << "in the region";
    EXPECT_EQ(init(&pool, sizeof live), EGB_INVALID) << "on the pool";
    EXPECT_EQ(init(reinterpret_cast<void*>(UINTPTR_MAX - 15), 64), EGB_INVALID) << "wraps";
    EXPECT_EQ(egb_fixed_init_checked(nullptr, region, 800, 8, live, sizeof live), EGB_INVALID);
    EXPECT_EQ(egb_fixed_init_checked(&pool, region, 800, 6, live, sizeof live), EGB_INVALID);
    EXPECT_TRUE(same(pool, before));
    EXPECT_EQ(init(live, sizeof live), EGB_OK);
    EXPECT_EQ(egb_fixed_capacity(&pool), 100u);
}

TEST(fixed, live_bytes_are_one_bit_a_block_and_four_words)
{
    EXPECT_EQ(EGB_FIXED_LIVE_BYTES(1), 20u);
    EXPECT_EQ(EGB_FIXED_LIVE_BYTES(32), 20u);
    EXPECT_EQ(EGB_FIXED_LIVE_BYTES(33), 24u);
    EXPECT_EQ(EGB_FIXED_LIVE_BYTES(1000000), 16u + 125000u);
}

TEST(fixed, init_reads_and_writes_no_block)
{
    for (const way made : all_ways) {
        any_pool all(made, 16, 8);
        for (std::size_t i = 0; i < all.block_bytes * 8 / 4; i++) {
            ASSERT_EQ(all.region[i], EGB_FIXED_MARK_) << name_of(made);
        }
    }
}

// ---- alloc --------------------------------------------------------------------------------------

class each_way : public testing::TestWithParam<way>
{
};

INSTANTIATE_TEST_SUITE_P(fixed, each_way, testing::ValuesIn(all_ways), name_of_test);

TEST_P(each_way, fresh_blocks_come_in_address_order_and_NULL_exactly_when_all_are_in_use)
{
    events unexpected;
    for (std::size_t block = 4; block <= 68; block += 4) {
        any_pool all(GetParam(), block, 17);
        for (std::size_t i = 0; i < 17; i++) {
            ASSERT_EQ(egb_fixed_available(&all.pool), 17 - i);
            ASSERT_EQ(all.alloc(), all.at(i));
            ASSERT_EQ(egb_fixed_in_use(&all.pool), i + 1);
            ASSERT_TRUE(all.whole());
        }
        ASSERT_EQ(all.alloc(), nullptr);
        ASSERT_EQ(all.alloc(), nullptr);
        ASSERT_EQ(egb_fixed_in_use(&all.pool), 17u) << "a failed alloc counts nothing";
        all.free(all.at(5));
        ASSERT_EQ(all.alloc(), all.at(5));
        ASSERT_EQ(all.alloc(), nullptr);
    }
}

TEST_P(each_way, recycled_blocks_come_first_and_the_last_freed_first_of_them)
{
    events   unexpected;
    any_pool all(GetParam(), 24, 10);
    for (int i = 0; i < 4; i++) {
        ASSERT_EQ(all.alloc(), all.at(size_t(i)));
    }
    all.free(all.at(2));
    all.free(all.at(0));
    all.free(all.at(3));
    EXPECT_EQ(all.alloc(), all.at(3));
    EXPECT_EQ(all.alloc(), all.at(0));
    EXPECT_EQ(all.alloc(), all.at(2));
    EXPECT_EQ(all.alloc(), all.at(4));
}

TEST_P(each_way, a_block_is_all_the_callers_and_its_neighbours_stay_as_they_are)
{
    events      unexpected;
    any_pool    all(GetParam(), 12, 5);
    const auto  bytes = all.block_bytes;
    std::string expected;
    for (int i = 0; i < 5; i++) {
        std::memset(all.alloc(), 'a' + i, bytes);
        expected += std::string(bytes, char('a' + i));
    }
    EXPECT_EQ(std::string(all.at(0), bytes * 5), expected);
    all.free(all.at(1));
    all.free(all.at(3));
    std::memset(all.alloc(), 'd', bytes);
    std::memset(all.alloc(), 'b', bytes);
    EXPECT_EQ(std::string(all.at(0), bytes * 5), expected);
    EXPECT_TRUE(all.whole());
}

TEST_P(each_way, the_peak_is_the_most_that_was_in_use_at_one_time)
{
    any_pool all(GetParam(), 8, 100);
    EXPECT_EQ(egb_fixed_peak(&all.pool), 0u);
    for (int round = 0; round < 50; round++) {  // three at a time, however often
        for (std::size_t i = 0; i < 3; i++) {
            ASSERT_EQ(all.alloc(), all.at(i));
        }
        for (std::size_t i = 3; i-- > 0;) {
            all.free(all.at(i));
        }
    }
    EXPECT_EQ(egb_fixed_peak(&all.pool), 3u);
    EXPECT_EQ(egb_fixed_touched(&all.pool), 3u);
    EXPECT_EQ(egb_fixed_in_use(&all.pool), 0u);
    egb_fixed_clear(&all.pool);
    EXPECT_EQ(egb_fixed_peak(&all.pool), 0u);
}

TEST_P(each_way, free_of_NULL_is_no_operation)
{
    events   unexpected;
    any_pool all(GetParam(), 8, 3);
    all.free(nullptr);
    EXPECT_EQ(all.alloc(), all.at(0));
    all.free(nullptr);
    EXPECT_EQ(egb_fixed_in_use(&all.pool), 1u);
    EXPECT_TRUE(all.whole());
}

TEST_P(each_way, free_overwrites_no_more_of_a_block_than_it_says)
{
    std::size_t bytes = 8;
    switch (GetParam()) {
        case way::tiny:
        case way::live_bits: bytes = 4; break;
        case way::outside: bytes = 0; break;
        case way::unchecked: bytes = sizeof(void*); break;
        default: break;
    }
    any_pool all(GetParam(), 24, 3);
    for (std::size_t i = 0; i < 3; i++) {
        std::memset(all.alloc(), 'x', all.block_bytes);
    }
    for (std::size_t i = 0; i < 3; i++) {
        all.free(all.at(i));
        const std::string rest(all.at(i) + bytes, all.block_bytes - bytes);
        EXPECT_EQ(rest, std::string(rest.size(), 'x'));
    }
}

// ---- clear and resize ---------------------------------------------------------------------------

TEST_P(each_way, clear_makes_every_block_free_and_fresh_again)
{
    events   unexpected;
    any_pool all(GetParam(), 16, 40);
    for (int round = 0; round < 3; round++) {
        for (std::size_t i = 0; i < 40; i++) {
            ASSERT_EQ(all.alloc(), all.at(i));
        }
        all.free(all.at(7));
        egb_fixed_clear(&all.pool);
        ASSERT_EQ(egb_fixed_in_use(&all.pool), 0u);
        ASSERT_EQ(egb_fixed_available(&all.pool), 40u);
        ASSERT_EQ(egb_fixed_touched(&all.pool), 0u);
        ASSERT_TRUE(all.whole());
    }
}

TEST_P(each_way, resize_grows_in_place_and_keeps_every_block)
{
    events      unexpected;
    any_pool    all(GetParam(), 12, 2, 70);
    void* const a = all.alloc();
    void* const b = all.alloc();
    all.free(a);
    ASSERT_EQ(egb_fixed_resize(&all.pool, all.block_bytes * 70 + 3), EGB_OK);
    EXPECT_EQ(egb_fixed_capacity(&all.pool), 70u);
    EXPECT_EQ(all.alloc(), a) << "recycled first";
    for (std::size_t i = 2; i < 70; i++) {
        ASSERT_EQ(all.alloc(), all.at(i));
        ASSERT_TRUE(all.whole());
    }
    EXPECT_EQ(all.alloc(), nullptr);
    all.free(b);
    EXPECT_TRUE(all.whole());
}

TEST_P(each_way, resize_shrinks_to_the_touched_part_and_no_further)
{
    events   unexpected;
    any_pool all(GetParam(), 12, 40);
    for (int i = 0; i < 3; i++) {
        ASSERT_NE(all.alloc(), nullptr);
    }
    all.free(all.at(2));
    EXPECT_EQ(egb_fixed_resize(&all.pool, all.block_bytes * 3 - 1), EGB_BUSY);
    EXPECT_EQ(egb_fixed_capacity(&all.pool), 40u);
    EXPECT_EQ(egb_fixed_resize(&all.pool, all.block_bytes * 3), EGB_OK);
    EXPECT_EQ(egb_fixed_capacity(&all.pool), 3u);
    EXPECT_EQ(all.alloc(), all.at(2));
    EXPECT_EQ(all.alloc(), nullptr);
    EXPECT_TRUE(all.whole());
    egb_fixed_clear(&all.pool);
    EXPECT_EQ(egb_fixed_resize(&all.pool, all.block_bytes), EGB_OK);
    EXPECT_TRUE(all.whole());
    EXPECT_EQ(egb_fixed_resize(&all.pool, all.block_bytes * 40), EGB_OK);
    EXPECT_EQ(egb_fixed_capacity(&all.pool), 40u);
    EXPECT_TRUE(all.whole());
}

TEST_P(each_way, resize_refuses_what_cannot_be_and_changes_nothing)
{
    events          unexpected;
    any_pool        all(GetParam(), 8, 6);
    const egb_fixed before = all.pool;
    EXPECT_EQ(egb_fixed_resize(&all.pool, 0), EGB_INVALID);
    EXPECT_EQ(egb_fixed_resize(&all.pool, all.block_bytes - 1), EGB_INVALID);
    EXPECT_EQ(egb_fixed_resize(&all.pool, SIZE_MAX), EGB_INVALID) << "wraps";
    if (sizeof(std::size_t) == 8) {
        EXPECT_EQ(egb_fixed_resize(&all.pool, size_t((uint64_t{16} << 30) + 1)), EGB_LIMIT);
    }
    EXPECT_TRUE(same(all.pool, before));
    EXPECT_EQ(egb_fixed_resize(nullptr, 64), EGB_INVALID);
    egb_fixed zero = {};
    EXPECT_EQ(egb_fixed_resize(&zero, 64), EGB_INVALID);
}

TEST(fixed, resize_never_reaches_the_pool_object_itself)
{
    struct {
        uint32_t  blocks[16];
        egb_fixed pool;
    } all = {};
    ASSERT_EQ(egb_fixed_init(&all.pool, all.blocks, sizeof all.blocks, 8), EGB_OK);
    EXPECT_EQ(egb_fixed_resize(&all.pool, sizeof all), EGB_INVALID);
    EXPECT_EQ(egb_fixed_capacity(&all.pool), 8u);
}

TEST(fixed, resize_never_reaches_the_live_bits)
{
    uint32_t  memory[4 + EGB_FIXED_LIVE_BYTES(128) / 4];
    egb_fixed pool;
    ASSERT_EQ(egb_fixed_init_checked(&pool, memory, 16, 4, memory + 4, sizeof memory - 16), EGB_OK);
    EXPECT_EQ(egb_fixed_resize(&pool, 24), EGB_INVALID);
    EXPECT_EQ(egb_fixed_capacity(&pool), 4u);
}

TEST(fixed, resize_needs_live_bits_for_every_block)
{
    any_pool all(way::live_bits, 8, 20, 32);
    EXPECT_EQ(egb_fixed_resize(&all.pool, 8 * 32), EGB_OK);
    EXPECT_EQ(egb_fixed_resize(&all.pool, 8 * 33), EGB_LIMIT);
    EXPECT_EQ(egb_fixed_capacity(&all.pool), 32u);
    EXPECT_TRUE(all.whole());
}

// ---- questions ----------------------------------------------------------------------------------

TEST_P(each_way, owns_is_true_at_the_start_of_each_block_and_nowhere_else)
{
    events unexpected;
    for (std::size_t block = 4; block <= 44; block += 4) {
        any_pool    all(GetParam(), block, 9);
        const auto* start = all.at(0);
        const auto  bytes = std::ptrdiff_t(all.block_bytes);
        for (std::ptrdiff_t offset = -2 * bytes; offset < 12 * bytes; offset++) {
            const auto* const p = reinterpret_cast<char*>(uintptr_t(start) + uintptr_t(offset));
            ASSERT_EQ(
                egb_fixed_owns(&all.pool, p),
                offset >= 0 && offset < 9 * bytes && offset % bytes == 0
            ) << offset;
        }
        ASSERT_FALSE(egb_fixed_owns(&all.pool, nullptr));
        for (int bit = 0; bit < int(sizeof(void*)) * 8; bit++) {  // far away too
            const auto far = reinterpret_cast<char*>(uintptr_t(start) ^ uintptr_t{1} << bit);
            const auto off = uintptr_t(far) - uintptr_t(start);
            ASSERT_EQ(
                egb_fixed_owns(&all.pool, far),
                off < uintptr_t(9 * bytes) && off % uintptr_t(bytes) == 0
            );
        }
    }
}

TEST_P(each_way, is_live_follows_every_block)
{
    any_pool    all(GetParam(), 8, 4);
    void* const a = all.alloc();
    EXPECT_TRUE(egb_fixed_is_live(&all.pool, a));
    EXPECT_FALSE(egb_fixed_is_live(&all.pool, all.at(1)));
    EXPECT_FALSE(egb_fixed_is_live(&all.pool, all.at(0) + 1));
    EXPECT_FALSE(egb_fixed_is_live(&all.pool, &all));
    EXPECT_FALSE(egb_fixed_is_live(&all.pool, nullptr));
    EXPECT_FALSE(egb_fixed_is_live(nullptr, a));
    all.free(a);
    EXPECT_EQ(egb_fixed_is_live(&all.pool, a), GetParam() == way::unchecked) << "which cannot know";
}

TEST(fixed, questions_about_no_pool_are_answered_with_nothing)
{
    events    unexpected;
    egb_fixed zero = {};
    for (const egb_fixed* pool : {static_cast<const egb_fixed*>(nullptr), &std::as_const(zero)}) {
        EXPECT_EQ(egb_fixed_capacity(pool), 0u);
        EXPECT_EQ(egb_fixed_in_use(pool), 0u);
        EXPECT_EQ(egb_fixed_available(pool), 0u);
        EXPECT_EQ(egb_fixed_peak(pool), 0u);
        EXPECT_EQ(egb_fixed_touched(pool), 0u);
        EXPECT_FALSE(egb_fixed_owns(pool, region));
        EXPECT_FALSE(egb_fixed_owns(pool, nullptr));
        EXPECT_FALSE(egb_fixed_is_live(pool, region));
        EXPECT_FALSE(egb_fixed_whole(pool));
    }
}

TEST(fixed, a_pool_of_one_block_works)
{
    for (const way made : all_ways) {
        events   unexpected;
        any_pool all(made, 8, 1);
        for (int round = 0; round < 3; round++) {
            ASSERT_EQ(all.alloc(), all.at(0));
            ASSERT_EQ(all.alloc(), nullptr);
            all.free(all.at(0));
            ASSERT_TRUE(all.whole());
        }
    }
}

TEST(fixed, a_copy_of_the_pool_object_goes_on_where_the_first_one_stopped)
{
    for (const way made : all_ways) {
        events   unexpected;
        any_pool all(made, 16, 8);
        half_full(all);
        egb_fixed copy = all.pool;
        all.pool       = untouched();
        ASSERT_TRUE(egb_fixed_whole(&copy)) << name_of(made);
        egb_fixed_free(&copy, all.at(0));
        for (const std::size_t next : {0u, 3u, 4u, 1u, 6u, 7u}) {
            ASSERT_EQ(egb_fixed_alloc(&copy), all.at(next)) << name_of(made);
        }
        ASSERT_EQ(egb_fixed_alloc(&copy), nullptr);
    }
}

TEST(fixed, blocks_are_as_aligned_as_region_and_size)
{
    alignas(64) static char aligned[64 * 10];
    egb_fixed               pool;
    ASSERT_EQ(egb_fixed_init(&pool, aligned, sizeof aligned, 64), EGB_OK);
    while (void* block = egb_fixed_alloc(&pool)) {
        EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
    }
}
