// SPDX-License-Identifier: MIT
// Static pools: EGB_FIXED_DEFINE, in C++ here and in C through static_in_c.c.
#include "events.hpp"

#include "eggbox/fixed.h"

#include <cstdint>
#include <cstring>

namespace
{

struct alignas(8) packet {
    double when;
    char   text[20];
};

struct alignas(64) vector {
    float x[3];
};

struct odd_size {
    char text[7];
};

EGB_FIXED_DEFINE(packets, packet, 40);
EGB_FIXED_DEFINE(vectors, vector, 5);
EGB_FIXED_DEFINE(odd_sizes, odd_size, 3);
EGB_FIXED_DEFINE(bytes, char, 33);
EGB_FIXED_DEFINE_MARKED(quick_packets, packet, 40);
EGB_FIXED_DEFINE_MARKED(quick_bytes, char, 33);
EGB_FIXED_DEFINE_UNCHECKED(bare_packets, packet, 40);
EGB_FIXED_DEFINE_UNCHECKED(bare_pointers, void*, 3);

// A pool is usable before main: this constructor runs before any test, and before or after others.
struct early {
    void* block = egb_fixed_alloc(&packets);
} before_main;

template <class T>
void fill_and_empty(egb_fixed& pool, std::size_t count)
{
    events unexpected;
    ASSERT_EQ(egb_fixed_capacity(&pool), count);
    ASSERT_TRUE(egb_fixed_whole(&pool));
    std::vector<void*> held;
    while (void* const block = egb_fixed_alloc(&pool)) {
        ASSERT_EQ(reinterpret_cast<uintptr_t>(block) % alignof(T), 0u);
        std::memset(block, 0xAB, sizeof(T));
        held.push_back(block);
    }
    ASSERT_EQ(held.size(), count);
    ASSERT_TRUE(egb_fixed_whole(&pool));
    for (void* block : held) {
        egb_fixed_free(&pool, block);
    }
    ASSERT_TRUE(egb_fixed_whole(&pool));
    ASSERT_EQ(egb_fixed_in_use(&pool), 0u);
}

}  // namespace

TEST(fixed_static, a_static_pool_works_before_main)
{
    ASSERT_NE(before_main.block, nullptr);
    events unexpected;
    egb_fixed_free(&packets, before_main.block);
    fill_and_empty<packet>(packets, 40);
}

TEST(fixed_static, alignment_and_odd_sizes_are_kept)
{
    fill_and_empty<vector>(vectors, 5);
    fill_and_empty<odd_size>(odd_sizes, 3);
    fill_and_empty<char>(bytes, 33);
    fill_and_empty<packet>(quick_packets, 40);
    fill_and_empty<char>(quick_bytes, 33);
    fill_and_empty<packet>(bare_packets, 40);
    fill_and_empty<void*>(bare_pointers, 3);
}

// The functions that come with a pool do what the calls for any pool do, misuse included.
template <class Alloc, class Free>
void use_functions(egb_fixed& pool, Alloc alloc, Free free, std::size_t block_bytes)
{
    egb_fixed_clear(&pool);
    events             seen;
    std::vector<char*> held;
    while (void* const block = alloc()) {
        ASSERT_TRUE(egb_fixed_is_live(&pool, block));
        held.push_back(static_cast<char*>(block));
    }
    ASSERT_EQ(held.size(), egb_fixed_capacity(&pool));
    free(nullptr);
    ASSERT_EQ(egb_fixed_alloc(&pool), nullptr);
    free(held[3]);
    ASSERT_EQ(egb_fixed_alloc(&pool), held[3]);
    ASSERT_TRUE(seen.none());

    int elsewhere = 0;
    free(&elsewhere);
    ASSERT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
    free(held[4] + 1);
    ASSERT_EQ(seen.take_kind(), EGB_MISUSE_INTERIOR);
    free(held.back() + block_bytes);
    ASSERT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
    free(held[5]);
    free(held[5]);
    ASSERT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
    ASSERT_EQ(alloc(), held[5]);
    for (void* block : held) {
        egb_fixed_free(&pool, block);
    }
    ASSERT_TRUE(egb_fixed_whole(&pool));
    ASSERT_EQ(egb_fixed_in_use(&pool), 0u);
}

TEST(fixed_static, the_functions_of_a_checked_pool_are_those_of_any_pool)
{
    use_functions(packets, packets_alloc, packets_free, sizeof(packet));
    use_functions(bytes, bytes_alloc, bytes_free, EGB_WORD_BYTES);
    use_functions(quick_packets, quick_packets_alloc, quick_packets_free, sizeof(packet));
    use_functions(quick_bytes, quick_bytes_alloc, quick_bytes_free, EGB_WORD_BYTES);
}

TEST(fixed_static, the_functions_of_a_marked_pool_free_a_block_that_holds_our_mark)
{
    events unexpected;
    egb_fixed_clear(&quick_packets);
    auto* const words = static_cast<egb_word*>(quick_packets_alloc());
    words[1]          = EGB_FIXED_MARK_;
    quick_packets_free(words);
    EXPECT_EQ(quick_packets_alloc(), words);
    quick_packets_free(words);
}

// An overwritten list, and a pool that was overwritten with zeros.
template <class Alloc, class Free>
void damage_is_found(egb_fixed& pool, Alloc alloc, Free free)
{
    events seen;
    egb_fixed_clear(&pool);
    void* const block = alloc();
    free(block);
    *static_cast<egb_word*>(block) = 0x7FFFFFF0;
    (void)!alloc();
    (void)!alloc();
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_OVERWRITTEN);

    const egb_fixed kept = pool;
    pool                 = egb_fixed{};
    EXPECT_EQ(alloc(), nullptr);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_NO_POOL);
    free(block);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_NO_POOL);
    free(nullptr);
    EXPECT_TRUE(seen.none());
    pool = kept;
    egb_fixed_clear(&pool);
}

TEST(fixed_static, the_functions_of_a_checked_pool_find_what_the_calls_for_any_pool_find)
{
    damage_is_found(packets, packets_alloc, packets_free);
    damage_is_found(quick_packets, quick_packets_alloc, quick_packets_free);
    damage_is_found(quick_bytes, quick_bytes_alloc, quick_bytes_free);
}

TEST(fixed_static, the_cold_halves_of_each_mode_refuse_a_null_pool)
{
    events seen;
    int    block = 0;
    for (const auto alloc :
         {egb_fixed_alloc_marked_, egb_fixed_alloc_tiny_, egb_fixed_alloc_bits_}) {
        EXPECT_EQ(alloc(nullptr), nullptr);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_NO_POOL);
    }
    for (const auto free : {egb_fixed_free_marked_, egb_fixed_free_tiny_, egb_fixed_free_bits_}) {
        free(nullptr, &block);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_NO_POOL);
    }
}

TEST(fixed_static, an_unchecked_pool_serves_its_functions_and_the_calls_for_any_pool)
{
    events unexpected;
    egb_fixed_clear(&bare_packets);
    void* const first  = bare_packets_alloc();
    void* const second = egb_fixed_alloc(&bare_packets);
    ASSERT_NE(first, second);
    bare_packets_free(nullptr);
    egb_fixed_free(&bare_packets, first);
    EXPECT_EQ(egb_fixed_in_use(&bare_packets), 1u);
    EXPECT_EQ(bare_packets_alloc(), first);
    bare_packets_free(second);
    EXPECT_EQ(egb_fixed_alloc(&bare_packets), second);
    std::size_t count = 2;
    while (bare_packets_alloc() != nullptr) {
        count++;
    }
    EXPECT_EQ(count, 40u);
    EXPECT_EQ(egb_fixed_peak(&bare_packets), 40u);
    EXPECT_TRUE(egb_fixed_whole(&bare_packets));
    egb_fixed_clear(&bare_packets);
}

TEST(fixed_static, a_static_pool_is_what_init_would_have_made)
{
    alignas(8) static char region[EGB_FIXED_BYTES(32, 40)];
    static uint32_t        live[EGB_FIXED_LIVE_BYTES(40) / 4];
    egb_fixed              made;
    ASSERT_EQ(sizeof(packet), 32u);
    ASSERT_EQ(egb_fixed_init_checked(&made, region, sizeof region, 32, live, sizeof live), EGB_OK);
    egb_fixed_clear(&packets);
    EXPECT_EQ(packets.inverse, made.inverse);
    EXPECT_EQ(packets.reach, made.reach);
    EXPECT_EQ(packets.stride, made.stride);
    EXPECT_EQ(packets.shift, made.shift);
    EXPECT_EQ(packets.checksum, made.checksum);
    EXPECT_EQ(packets.mode, made.mode);
    EXPECT_EQ(packets.head, made.head);
    EXPECT_EQ(packets.limit, made.limit);
    EXPECT_EQ(packets.bound, made.bound);
}

TEST(fixed_static, one_without_live_bits_is_what_the_plain_init_would_have_made)
{
    alignas(8) static char region[EGB_FIXED_BYTES(32, 40)];
    for (egb_fixed* pool : {&quick_packets, &quick_bytes, &bare_packets}) {
        const std::size_t block_bytes = pool == &quick_bytes ? 4 : 32;
        const auto        init = pool == &bare_packets ? egb_fixed_init_unchecked : egb_fixed_init;
        egb_fixed         made;
        ASSERT_EQ(init(&made, region, block_bytes * egb_fixed_capacity(pool), block_bytes), EGB_OK);
        egb_fixed_clear(pool);
        made.first = pool->first;
        EXPECT_EQ(std::memcmp(&made, pool, sizeof made), 0);
    }
}

EGB_FIXED_DEFINE(never_used, packet, 7);

TEST(fixed_static, the_storage_is_as_large_as_it_says_and_zero_until_it_is_used)
{
    EXPECT_EQ(sizeof never_used_blocks_, EGB_FIXED_BYTES(sizeof(packet), 7));
    EXPECT_EQ(sizeof never_used_live_, EGB_FIXED_LIVE_BYTES(7));
    for (const egb_word word : never_used_blocks_) {
        EXPECT_EQ(word, 0u);
    }
    for (const egb_word word : never_used_live_) {
        EXPECT_EQ(word, 0u);
    }
    EXPECT_TRUE(egb_fixed_whole(&never_used));
}

TEST(fixed_static, every_double_free_is_found)
{
    events      seen;
    void* const block = egb_fixed_alloc(&odd_sizes);
    egb_fixed_free(&odd_sizes, block);
    std::memset(block, 0, 8);
    egb_fixed_free(&odd_sizes, block);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
}

TEST(fixed_static, a_static_pool_can_shrink_and_come_back_but_not_grow)
{
    egb_fixed_clear(&bytes);
    EXPECT_EQ(egb_fixed_resize(&bytes, 4 * 10), EGB_OK);
    EXPECT_EQ(egb_fixed_resize(&bytes, 4 * 33), EGB_OK);
    EXPECT_EQ(egb_fixed_resize(&bytes, 4 * 34), EGB_LIMIT);
    EXPECT_EQ(egb_fixed_capacity(&bytes), 33u);
    EXPECT_TRUE(egb_fixed_whole(&bytes));
}

// Every stride: the constants of the macro are the numbers that init computes.
TEST(fixed_static, shift_and_inverse_are_right_for_every_stride)
{
    for (std::size_t stride = 1; stride < 100000; stride++) {
        const int         shift = EGB_FIXED_SHIFT_(stride);
        const std::size_t odd   = stride >> shift;
        ASSERT_EQ(odd % 2, 1u) << stride;
        ASSERT_EQ(odd << shift, stride);
        ASSERT_EQ(odd * EGB_FIXED_INVERSE_(odd), 1u) << stride;
    }
    for (std::size_t bit = 0; bit < sizeof(std::size_t) * 8; bit++) {
        ASSERT_EQ(std::size_t(EGB_FIXED_SHIFT_(std::size_t{1} << bit)), bit);
    }
}

extern "C" int egb_test_static_pools_in_c(void);

TEST(fixed_static, the_same_in_c)
{
    EXPECT_EQ(egb_test_static_pools_in_c(), 0);
}
