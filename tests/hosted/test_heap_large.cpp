// SPDX-License-Identifier: MIT
// The heap's large blocks and its realloc, promise by promise; trim.
#include "heaps.hpp"

namespace
{

constexpr std::size_t MiB = std::size_t{1} << 20;

// Whether cached regions are cut to the size of a request, and joined.
#if defined(_WIN32)
constexpr bool is_cut = false;
#else
constexpr bool is_cut = true;
#endif

void* filled(std::size_t bytes, std::uint64_t number)
{
    void* const block = egb_malloc(bytes);
    EXPECT_NE(block, nullptr);
    fill(block, bytes, number);
    return block;
}

}  // namespace

// ---- large blocks -------------------------------------------------------------------------------

TEST(heap_large, what_no_class_has_is_large)
{
    const all_given_back check;
    void* const          largest = egb_malloc(class_bytes_max);
    void* const          large   = egb_malloc(class_bytes_max + 1);
    EXPECT_FALSE(is_large(largest));
    EXPECT_TRUE(is_large(large));
    egb_free(largest);
    egb_free(large);
}

TEST(heap_large, every_address_of_a_block_is_known_and_none_beside_it)
{
    const all_given_back check;
    auto* const          block = static_cast<char*>(egb_malloc(3 * MiB));
    for (const std::size_t offset : sizes{0, MiB + 1, 3 * MiB - 1}) {
        EXPECT_EQ(egb_block_bytes(block + offset), 3 * MiB);
        EXPECT_TRUE(egb_pool_of(block + offset) == egb_pool{});
    }
    egb_free(block);
    EXPECT_EQ(egb_block_bytes(block), 0u) << "in use no more";
    EXPECT_TRUE(egb_pool_of(block) == egb_pool{});
    EXPECT_FALSE(egb_pool_is_live(egb_heap_pool(), block));
}

TEST(heap_large, numbers_are_of_whole_units)
{
    const all_given_back check;
    const egb_heap_stats before = heap_numbers();
    void* const          one    = egb_malloc(200000);
    void* const          other  = egb_malloc(5 * MiB);
    const egb_heap_stats during = heap_numbers();
    EXPECT_EQ(during.large_in_use, before.large_in_use + 2);
    EXPECT_EQ(during.large_allocations, before.large_allocations + 2);
    EXPECT_EQ(during.large_bytes, before.large_bytes + 4 * unit_bytes + 5 * MiB);
    EXPECT_GE(during.large_bytes_peak, during.large_bytes);
    egb_free(one);
    egb_free(other);
    const egb_heap_stats after = heap_numbers();
    EXPECT_EQ(after.large_in_use, before.large_in_use);
    EXPECT_EQ(after.large_bytes, before.large_bytes);
    EXPECT_EQ(after.large_frees, before.large_frees + 2);
    EXPECT_EQ(after.large_bytes_peak, during.large_bytes_peak);
    EXPECT_EQ(egb_malloc(PTRDIFF_MAX), nullptr);
    EXPECT_EQ(heap_numbers().large_failures, after.large_failures + 1);
}

TEST(heap_large, a_freed_region_serves_the_next_request_of_about_its_size)
{
    const all_given_back check;
    (void)egb_heap_trim(0);
    void* const first = egb_malloc(300000);
    egb_free(first);
    EXPECT_EQ(heap_numbers().cached, 1u);
    for (const std::size_t bytes : sizes{300000, 280000, 327680, 263000}) {
        void* const block = egb_malloc(bytes);
        EXPECT_EQ(block, first) << bytes;
        EXPECT_EQ(heap_numbers().cached, 0u);
        egb_free(block);
    }
    void* const longer  = egb_malloc(400000);
    void* const shorter = egb_malloc(190000);  // three units of the five
    EXPECT_NE(longer, first);
    EXPECT_EQ(shorter == first, is_cut);
    EXPECT_EQ(heap_numbers().cached_bytes, (is_cut ? 2 : 5) * unit_bytes);
    egb_free(longer);
    egb_free(shorter);
}

TEST(heap_large, regions_side_by_side_serve_a_longer_request)
{
    if (!is_cut) {
        GTEST_SKIP() << "this system takes regions back only as it gave them";
    }
    const all_given_back check;
    (void)egb_heap_trim(0);
    auto* const whole = static_cast<char*>(egb_malloc(12 * unit_bytes));
    egb_free(whole);
    std::vector<char*> parts;
    for (std::size_t i = 0; i < 4; i++) {  // cut from it, one behind the other
        parts.push_back(static_cast<char*>(egb_malloc(3 * unit_bytes)));
        ASSERT_EQ(parts[i], whole + i * 3 * unit_bytes);
    }
    EXPECT_EQ(heap_numbers().cached, 0u);
    for (const std::size_t i : sizes{1, 3, 0, 2}) {
        egb_free(parts[i]);
    }
    EXPECT_EQ(heap_numbers().cached, 1u);
    EXPECT_EQ(heap_numbers().cached_bytes, 12 * unit_bytes);
    EXPECT_EQ(egb_malloc(12 * unit_bytes), whole);
    for (std::size_t i = 0; i < 12; i++) {
        EXPECT_EQ(egb_block_bytes(whole + i * unit_bytes), 12 * unit_bytes);
    }
    egb_free(whole);
}

TEST(heap_large, neighbours_in_use_are_not_joined_to_what_is_freed)
{
    const all_given_back check;
    (void)egb_heap_trim(0);
    egb_free(egb_malloc(12 * unit_bytes));
    std::vector<void*> parts;
    for (std::size_t i = 0; i < 3; i++) {
        parts.push_back(filled(4 * unit_bytes, i));
    }
    egb_free(parts[1]);
    void* const again = egb_malloc(3 * unit_bytes);
    fill(again, 3 * unit_bytes, 77);
    EXPECT_TRUE(is_filled(parts[0], 4 * unit_bytes, 0));
    EXPECT_TRUE(is_filled(parts[2], 4 * unit_bytes, 2));
    EXPECT_EQ(egb_block_bytes(parts[0]), 4 * unit_bytes);
    EXPECT_EQ(egb_block_bytes(parts[2]), 4 * unit_bytes);
    for (void* const block : {parts[0], parts[2], again}) {
        egb_free(block);
    }
}

TEST(heap_large, of_several_regions_the_shortest_that_fits_is_taken)
{
    const all_given_back check;
    (void)egb_heap_trim(0);
    egb_free(egb_malloc(82 * unit_bytes));  // all are cut from it, one behind the other
    std::vector<void*> regions;
    std::vector<void*> between;  // else they would be one
    for (const std::size_t units : sizes{18, 16, 19, 17}) {
        regions.push_back(egb_malloc(units * unit_bytes));
        between.push_back(egb_malloc(3 * unit_bytes));
    }
    for (void* const region : regions) {
        egb_free(region);
    }
    for (const std::size_t place : sizes{1, 3, 0, 2}) {
        EXPECT_EQ(egb_malloc(16 * unit_bytes), regions[place]);
    }
    for (void* const region : regions) {
        egb_free(region);
    }
    for (void* const region : between) {
        egb_free(region);
    }
}

TEST(heap_large, a_kept_region_is_not_for_more_alignment_than_it_has)
{
    const all_given_back check;
    (void)egb_heap_trim(0);
    std::vector<void*> blocks;
    for (int i = 0; i < 8; i++) {
        blocks.push_back(egb_malloc(2 * MiB));
    }
    for (void* const block : blocks) {
        egb_free(block);
    }
    for (void*& block : blocks) {
        block = egb_aligned_alloc(2 * MiB, 2 * MiB);
        EXPECT_TRUE(is_aligned(block, 2 * MiB));
    }
    for (void* const block : blocks) {
        egb_free(block);
    }
}

TEST(heap_large, what_is_kept_is_bounded)
{
    const all_given_back check;
    for (const std::size_t bytes : sizes{140000, 500000, 2000000}) {
        std::vector<void*> blocks;
        for (int i = 0; i < 150; i++) {
            blocks.push_back(egb_malloc(bytes));
        }
        for (void* const block : blocks) {
            egb_free(block);
            const egb_heap_stats now  = heap_numbers();
            const std::size_t    over = now.large_bytes_peak / 8 + 8 * MiB;
            ASSERT_LE(now.cached_bytes, 256 * MiB);
            ASSERT_LE(now.cached_bytes + now.large_bytes, now.large_bytes_peak + over);
        }
        EXPECT_GT(heap_numbers().cached_bytes, 3 * MiB);
    }
    void* const       huge   = egb_malloc(264 * MiB);  // alone more than may be kept
    const std::size_t cached = heap_numbers().cached_bytes;
    egb_free(huge);
    EXPECT_EQ(heap_numbers().cached_bytes, cached);
}

// Regions of all sizes wait. A request gets the shortest region that fits, whole or cut.
TEST(heap_large, what_is_kept_serves_all_that_fits)
{
    if (!is_cut) {
        GTEST_SKIP() << "this system takes regions back only as it gave them";
    }
    const all_given_back check;
    (void)egb_heap_trim(0);
    constexpr std::size_t some = 100;
    std::vector<void*>    blocks;
    std::vector<void*>    between;
    for (std::size_t units = 2; units < some; units++) {
        blocks.push_back(egb_malloc(units * unit_bytes));
        between.push_back(egb_malloc(2 * unit_bytes));
    }
    for (void* const block : blocks) {
        egb_free(block);
    }
    const std::size_t all = heap_numbers().cached_bytes;
    for (std::size_t units = some; units-- > 2;) {
        void* const block = egb_malloc(units * unit_bytes);
        EXPECT_EQ(all - heap_numbers().cached_bytes, units * unit_bytes) << "it is none of those";
        egb_free(block);
        EXPECT_EQ(heap_numbers().cached_bytes, all);
    }
    for (void* const block : between) {
        egb_free(block);
    }
}

// Small blocks reuse the memory of large blocks. Otherwise a program that uses both in turns would
// hold both.
TEST(heap_large, what_is_kept_serves_small_blocks)
{
    if (!is_cut) {
        GTEST_SKIP() << "this system takes regions back only as it gave them";
    }
    const all_given_back check;
    (void)egb_heap_trim(0);
    egb_free(filled(40 * MiB, 1));
    ASSERT_EQ(heap_numbers().cached_bytes, 40 * MiB);
    std::vector<void*> blocks;
    for (int i = 0; i < 20000; i++) {
        blocks.push_back(filled(1000, static_cast<std::size_t>(i)));
    }
    EXPECT_LT(heap_numbers().cached_bytes, 22 * MiB);
    for (std::size_t i = 0; i < blocks.size(); i++) {
        ASSERT_TRUE(is_filled(blocks[i], 1000, i));
        egb_free(blocks[i]);
    }
    (void)egb_heap_trim(0);
}

// ---- trim ---------------------------------------------------------------------------------------

TEST(heap_trim, everything_that_is_free_goes)
{
    const all_given_back check;
    std::vector<void*>   blocks;
    for (int i = 0; i < 2000; i++) {
        blocks.push_back(egb_malloc(1000));
        blocks.push_back(egb_malloc(17));
    }
    blocks.push_back(egb_malloc(MiB));
    for (void* const block : blocks) {
        egb_free(block);
    }
    const std::size_t held = subtree_of(egb_heap_pool()).bytes_held + heap_numbers().cached_bytes;
    EXPECT_GT(held, 3 * MiB);
    EXPECT_EQ(egb_heap_trim(0), held);
    EXPECT_EQ(subtree_of(egb_heap_pool()).bytes_held, 0u);
    EXPECT_EQ(heap_numbers().cached_bytes, 0u);
    EXPECT_EQ(egb_heap_trim(0), 0u);
}

TEST(heap_trim, what_is_in_use_stays)
{
    const all_given_back check;
    void* const          small = filled(1000, 1);
    void* const          large = filled(MiB, 2);
    (void)egb_heap_trim(0);
    EXPECT_TRUE(is_filled(small, 1000, 1));
    EXPECT_TRUE(is_filled(large, MiB, 2));
    EXPECT_NE(subtree_of(egb_heap_pool()).bytes_held, 0u);
    EXPECT_EQ(heap_numbers().large_bytes, MiB);
    egb_free(small);
    egb_free(large);
}

TEST(heap_trim, so_much_is_kept)
{
    const all_given_back check;
    (void)egb_heap_trim(0);
    for (const std::size_t keep : sizes{6 * MiB, 5 * MiB / 2, MiB / 2}) {
        std::vector<void*> blocks;
        for (int i = 0; i < 1000; i++) {
            blocks.push_back(egb_malloc(4096));
        }
        for (int i = 0; i < 4; i++) {
            blocks.push_back(egb_malloc(MiB));
        }
        for (void* const block : blocks) {
            egb_free(block);
        }
        const auto held = [] {
            return subtree_of(egb_heap_pool()).bytes_held + heap_numbers().cached_bytes;
        };
        const std::size_t before = held();
        const std::size_t given  = egb_heap_trim(keep);
        EXPECT_GT(given, 0u);
        EXPECT_EQ(held(), before - given);
        EXPECT_GE(held(), keep);
        EXPECT_EQ(egb_heap_trim(before), 0u);
    }
}

// ---- realloc ------------------------------------------------------------------------------------

TEST(heap_realloc, a_block_stays_while_its_class_fits)
{
    const all_given_back check;
    for (const std::size_t bytes : sizes{16, 64, 112, 1000, 5000, 30000, 100000, 1000000}) {
        void* const       block = filled(bytes, 5);
        const std::size_t room  = egb_block_bytes(block);
        for (const std::size_t wanted : sizes{room, room / 2 + 1, bytes}) {
            EXPECT_EQ(egb_realloc(block, wanted), block) << bytes << ", " << wanted;
        }
        EXPECT_TRUE(is_filled(block, room / 2 + 1, 5));
        egb_free(block);
    }
}

// It was copied each time: into a size class, and back into a large block.
TEST(heap_realloc, a_large_block_that_shrinks_a_little_stays_large)
{
    const all_given_back check;
    for (const std::size_t bytes : sizes{65537, 70000, 131072, 180000}) {
        void* const       block = filled(bytes, 5);
        const std::size_t less  = egb_block_bytes(block) / 4 + 1;
        for (const std::size_t wanted : sizes{60000, bytes, less, bytes}) {
            EXPECT_EQ(egb_realloc(block, wanted), block) << bytes << ", " << wanted;
        }
        EXPECT_TRUE(is_filled(block, bytes, 5));
        void* const small = egb_realloc(block, less - 1);
        EXPECT_FALSE(is_large(small)) << bytes;
        egb_free(small);
    }
}

TEST(heap_realloc, no_block_is_more_than_twice_too_large)
{
    const all_given_back check;
    for (const std::size_t from : sizes{32, 128, 144, 1024, 32768, 65536, 300000, 3000000}) {
        for (const std::size_t to : sizes{1, 9, 40, 100, 700, 20000, 32769, 120000, 1000000}) {
            if (to < from) {
                void* const block = egb_realloc(filled(from, from), to);
                EXPECT_TRUE(is_filled(block, to, from));
                const std::size_t room  = egb_block_bytes(block);
                const std::size_t least = to > class_bytes_max ? unit_bytes : 16;
                EXPECT_TRUE(room < 2 * to || room <= least) << from << " to " << to;
                egb_free(block);
            }
        }
    }
}

TEST(heap_realloc, what_fits_in_both_is_kept)
{
    const all_given_back           check;
    const std::vector<std::size_t> all = {
        1, 16, 17, 200, 1024, 1025, 32768, 32769, 65537, 200000, MiB, 3 * MiB, 9 * MiB
    };
    for (const std::size_t from : all) {
        for (const std::size_t to : all) {
            void* const block = egb_realloc(filled(from, from + to), to);
            ASSERT_NE(block, nullptr);
            ASSERT_GE(egb_block_bytes(block), to);
            ASSERT_TRUE(is_filled(block, from < to ? from : to, from + to)) << from << ", " << to;
            fill(block, egb_block_bytes(block), 3);
            egb_free(block);
        }
    }
}

TEST(heap_realloc, a_block_that_grows_step_by_step_keeps_all_of_it)
{
    const all_given_back check;
    std::size_t          bytes = 1;
    auto*                block = static_cast<unsigned char*>(egb_malloc(bytes));
    std::size_t          moves = 0;
    block[0]                   = 0;
    while (bytes < 6 * MiB) {
        const std::size_t more    = bytes < 100000 ? 1 + bytes / 7 : 9000;
        auto* const       another = static_cast<unsigned char*>(egb_realloc(block, bytes + more));
        ASSERT_NE(another, nullptr);
        moves += another != block ? 1 : 0;
        block = another;
        for (std::size_t i = bytes; i < bytes + more; i++) {
            block[i] = static_cast<unsigned char>(i % 251);
        }
        bytes += more;
    }
    EXPECT_LT(moves, 200u);
    for (std::size_t i = 0; i < bytes; i++) {
        ASSERT_EQ(block[i], i % 251);
    }
    egb_free(block);
}

TEST(heap_realloc, addresses_that_a_block_left_are_known_no_more)
{
    const all_given_back check;
    auto* const          wide = static_cast<char*>(filled(2 * MiB, 1));
    auto* const          less = static_cast<char*>(egb_realloc(wide, 400000));
    for (std::size_t i = less == wide ? 7 * unit_bytes : 0; i < 2 * MiB; i += unit_bytes) {
        ASSERT_EQ(egb_block_bytes(wide + i), 0u) << i;
    }
    void* const more = egb_realloc(less, 9 * MiB);
    if (more != less) {
        EXPECT_EQ(egb_block_bytes(less), 0u);
        EXPECT_EQ(egb_block_bytes(less + 6 * unit_bytes), 0u);
    }
    egb_free(more);
}

#if defined(__linux__) && !defined(__arm__)
TEST(heap_realloc, a_large_block_that_grows_gets_room_to_grow)
{
    const all_given_back check;
    std::vector<void*>   blocks;
    std::size_t          hemmed_in = 0;  // one that has another behind it, and cannot grow there
    egb_heap_trim(0);  // the system does not move a region that was joined from several ranges
    for (unsigned char i = 0; i < 16; i++) {
        blocks.push_back(filled(MiB, i));
    }
    while (hemmed_in < blocks.size() &&
           egb_block_bytes(static_cast<char*>(blocks[hemmed_in]) + MiB) == 0) {
        hemmed_in++;
    }
    ASSERT_LT(hemmed_in, blocks.size());
    void*& block = blocks[hemmed_in];
    block        = egb_realloc(block, 8 * MiB);
    EXPECT_GE(egb_block_bytes(block), 9 * MiB);
    EXPECT_LE(egb_block_bytes(block), 9 * MiB + unit_bytes);
    EXPECT_EQ(egb_realloc(block, 9 * MiB), block);
    for (void* const each : blocks) {
        egb_free(each);
    }
}
#endif

TEST(heap_realloc, a_large_block_grows_into_what_is_kept_behind_it)
{
    if (!is_cut) {
        GTEST_SKIP() << "this system takes regions back only as it gave them";
    }
    const all_given_back check;
    (void)egb_heap_trim(0);
    auto* const whole = static_cast<char*>(egb_malloc(40 * unit_bytes));
    egb_free(whole);
    void* block = filled(3 * unit_bytes, 3);
    ASSERT_EQ(block, whole);
    for (std::size_t units = 4; units <= 40; units++) {
        ASSERT_EQ(egb_realloc(block, units * unit_bytes), block);
        ASSERT_EQ(heap_numbers().large_bytes + heap_numbers().cached_bytes, 40 * unit_bytes);
        ASSERT_EQ(egb_block_bytes(whole + units * unit_bytes - 1), egb_block_bytes(block));
    }
    EXPECT_TRUE(is_filled(block, 3 * unit_bytes, 3));
    EXPECT_EQ(heap_numbers().cached, 0u);
    ASSERT_EQ(egb_realloc(block, 10 * unit_bytes), block);
    EXPECT_EQ(heap_numbers().cached_bytes, 30 * unit_bytes) << "its end is kept";
    EXPECT_EQ(egb_block_bytes(whole + 10 * unit_bytes), 0u);
    egb_free(block);
}

TEST(heap_realloc, neighbours_are_not_touched)
{
    const all_given_back check;
    std::vector<void*>   blocks;
    for (std::size_t i = 0; i < 12; i++) {
        blocks.push_back(filled(200000, i));
    }
    for (const std::size_t bytes : sizes{400000, 70000, 3000000, 40000, 200000}) {
        for (std::size_t i = 0; i < blocks.size(); i += 3) {
            blocks[i] = egb_realloc(blocks[i], bytes);
            ASSERT_NE(blocks[i], nullptr);
            fill(blocks[i], bytes, 77);
        }
        for (std::size_t i = 0; i < blocks.size(); i++) {
            ASSERT_TRUE(i % 3 == 0 || is_filled(blocks[i], 200000, i)) << bytes;
        }
    }
    for (void* const block : blocks) {
        egb_free(block);
    }
}

TEST(heap_realloc, a_block_of_another_pool_moves_to_the_heap)
{
    const all_given_back check;
    const guard          pool(make(200));
    void*                block = egb_pool_alloc(pool);
    fill(block, 200, 9);
    EXPECT_EQ(egb_realloc(block, 150), block);
    block = egb_realloc(block, 201);
    EXPECT_TRUE(is_filled(block, 200, 9));
    EXPECT_EQ(egb_block_bytes(block), 208u);
    EXPECT_EQ(stats_of(pool).in_use, 0u);
    egb_free(block);
}

TEST(heap_realloc, a_block_of_a_pool_on_static_memory_moves_to_the_heap)
{
    const all_given_back    check;
    alignas(16) static char memory[10000];
    egb_pool_options        options = options_for(200);
    options.memory                  = memory;
    options.memory_bytes            = sizeof memory;
    const guard pool(make(options));
    void*       block = egb_pool_alloc(pool);
    fill(block, 200, 9);
    block = egb_realloc(block, 1000);
    EXPECT_TRUE(is_filled(block, 200, 9));
    EXPECT_EQ(stats_of(pool).in_use, 0u);
    egb_free(block);
}
