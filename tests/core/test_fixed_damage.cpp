// SPDX-License-Identifier: MIT
// Writes to memory that is not the writer's: free blocks, the pool object, the live bits. An alloc
// must never give out what lies outside the region or is in use, and whole() must notice.
#include "any_pool.hpp"
#include "events.hpp"

#include <random>

namespace
{

enum : std::size_t { count = 8 };

bool is_block_not_in_use(const any_pool& all, const void* block)
{
    for (const std::size_t held : {0u, 2u, 5u}) {
        if (block == all.at(held)) {
            return false;
        }
    }
    return egb_fixed_owns(&all.pool, block);
}

// Takes all there is. Every block must be a block, in use by nobody, and come once.
std::size_t drain(any_pool& all)
{
    std::size_t taken       = 0;
    bool        seen[count] = {};
    while (void* const block = all.alloc()) {
        EXPECT_TRUE(is_block_not_in_use(all, block));
        const auto index = std::size_t(static_cast<char*>(block) - all.at(0)) / all.block_bytes;
        if (index >= count || seen[index]) {
            ADD_FAILURE() << "block " << index << " twice, or no block";
            break;
        }
        seen[index] = true;
        taken++;
    }
    return taken;
}

}  // namespace

TEST(fixed_damage, a_free_block_overwritten_with_anything_leads_nowhere_wrong)  // catalogue 33
{
    std::mt19937 random(1);
    for (int round = 0; round < 2000; round++) {
        any_pool all(way::marked, 16, count);
        half_full(all);
        auto* const words = reinterpret_cast<uint32_t*>(all.at(4));  // in the middle of the list
        words[0]          = random() % 4 == 0 ? uint32_t(random() % 40) : uint32_t(random());
        words[1]          = uint32_t(random());
        events seen;
        EXPECT_FALSE(all.whole());
        EXPECT_GE(drain(all), 3u) << "block 3, which is before the damage, and the fresh two";
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_OVERWRITTEN);
        EXPECT_TRUE(all.whole());
    }
}

TEST(fixed_damage, a_link_that_leads_to_a_block_in_use_is_not_followed)  // catalogue 34
{
    any_pool all(way::marked, 16, count);
    half_full(all);
    *reinterpret_cast<uint32_t*>(all.at(3)) = 2 * 16 / 4;  // block 2 is in use
    events seen;
    EXPECT_FALSE(all.whole());
    EXPECT_EQ(all.alloc(), all.at(3));
    EXPECT_EQ(all.alloc(), all.at(6));
    const egb_misuse_event event = seen.take();
    EXPECT_EQ(event.kind, EGB_MISUSE_OVERWRITTEN);
    EXPECT_EQ(event.address, all.at(2));
    EXPECT_EQ(event.block_index, 2u);
    EXPECT_TRUE(all.whole());
}

TEST(fixed_damage, a_link_to_a_fresh_block_that_kept_its_mark_from_before_clear_is_not_followed)
{
    any_pool all(way::marked, 16, count);
    half_full(all);
    egb_fixed_clear(&all.pool);
    ASSERT_EQ(all.alloc(), all.at(0));
    ASSERT_EQ(all.alloc(), all.at(1));
    all.free(all.at(1));
    *reinterpret_cast<uint32_t*>(all.at(1)) = 3 * 16 / 4;  // block 3 is fresh, and marked
    events seen;
    EXPECT_EQ(all.alloc(), all.at(1));
    EXPECT_EQ(all.alloc(), all.at(2));
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_OVERWRITTEN);
    EXPECT_EQ(all.alloc(), all.at(3));
    EXPECT_EQ(all.alloc(), all.at(4)) << "block 3 was handed out twice";
}

TEST(fixed_damage, blocks_behind_the_damage_count_as_in_use_until_clear)
{
    any_pool all(way::marked, 16, count);
    half_full(all);
    std::memset(all.at(3), 0xFF, 16);  // the newest free block
    events seen;
    EXPECT_EQ(all.alloc(), all.at(6));
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_OVERWRITTEN);
    EXPECT_EQ(egb_fixed_in_use(&all.pool), 7u);
    EXPECT_EQ(egb_fixed_available(&all.pool), 1u);
    all.free(all.at(0));
    EXPECT_EQ(all.alloc(), all.at(0)) << "the pool works on";
    egb_fixed_clear(&all.pool);
    EXPECT_EQ(egb_fixed_available(&all.pool), count);
    EXPECT_TRUE(all.whole());
}

TEST(fixed_damage, with_live_bits_nothing_is_lost)
{
    std::mt19937 random(2);
    for (int round = 0; round < 2000; round++) {
        any_pool all(way::live_bits, 16, count);
        half_full(all);
        for (const std::size_t free_block : {1u, 4u, 3u}) {
            auto* const words = reinterpret_cast<uint32_t*>(all.at(free_block));
            words[0]          = random() % 2 == 0 ? uint32_t(random() % 40) : uint32_t(random());
        }
        events seen;
        EXPECT_FALSE(all.whole());
        EXPECT_EQ(egb_fixed_in_use(&all.pool), 3u);
        EXPECT_EQ(drain(all), 5u);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_OVERWRITTEN);
        EXPECT_EQ(egb_fixed_in_use(&all.pool), count);
        EXPECT_TRUE(all.whole());
    }
}

TEST(fixed_damage, with_live_bits_a_link_that_ends_the_list_or_skips_blocks_loses_none)
{
    for (const uint32_t link : {0xFFFFFFFFu, 1u * 16 / 4}) {  // the end; block 1, behind block 4
        any_pool all(way::live_bits, 16, count);
        half_full(all);
        std::memcpy(all.at(3), &link, sizeof link);
        events seen;
        EXPECT_EQ(drain(all), 5u);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_OVERWRITTEN);
        EXPECT_EQ(egb_fixed_peak(&all.pool), count);
        EXPECT_TRUE(all.whole());
    }
}

TEST(fixed_damage, a_block_that_the_handler_frees_is_the_one_alloc_returns)
{
    static any_pool* pool;
    any_pool         all(way::marked, 16, count);
    half_full(all);
    pool = &all;
    std::memset(all.at(3), 0xEE, 16);
    egb_misuse_set_handler(
        [](const egb_misuse_event*, void*) { pool->free(pool->at(0)); }, nullptr
    );
    EXPECT_EQ(all.alloc(), all.at(0));
    egb_misuse_set_handler(nullptr, nullptr);
    EXPECT_EQ(egb_fixed_touched(&all.pool), 6u);
    EXPECT_TRUE(all.whole());
}

TEST(fixed_damage, an_alloc_of_the_handler_that_finds_damage_calls_it_again)
{
    struct scene {
        any_pool all{way::live_bits, 16, count};
        int      calls = 0;
        void*    inner = nullptr;
    } one;
    half_full(one.all);
    std::memset(one.all.at(3), 0xEE, 16);
    ASSERT_EQ(one.all.alloc(), one.all.at(3));  // and with it the list leads nowhere
    egb_misuse_set_handler(
        [](const egb_misuse_event* event, void* user) {
            auto& self = *static_cast<scene*>(user);
            EXPECT_EQ(event->kind, EGB_MISUSE_OVERWRITTEN);
            if (self.calls++ == 0) {
                self.all.free(self.all.at(5));
                std::memset(self.all.at(5), 0xEE, 16);
                EXPECT_EQ(self.all.alloc(), self.all.at(5));
                self.inner = self.all.alloc();
            }
        },
        &one
    );
    void* const outer = one.all.alloc();
    egb_misuse_set_handler(nullptr, nullptr);
    EXPECT_EQ(one.calls, 2);
    EXPECT_NE(one.inner, nullptr);
    EXPECT_NE(outer, nullptr);
    EXPECT_NE(outer, one.inner);
    EXPECT_TRUE(one.all.whole());
}

TEST(fixed_damage, a_whole_region_set_to_one_byte_gives_no_block_twice)  // catalogue 41
{
    for (const way made : {way::marked, way::tiny, way::live_bits, way::outside}) {
        for (const int byte : {0x00, 0xFF, 0x5A}) {
            any_pool all(made, 16, count);
            half_full(all);
            std::memset(all.at(0), byte, all.block_bytes * count);
            const auto record = [](const egb_misuse_event*, void*) {
            };
            egb_misuse_set_handler(record, nullptr);
            for (std::size_t i = 0; i < 2 * count; i++) {
                void* const block = all.alloc();
                EXPECT_TRUE(block == nullptr || egb_fixed_owns(&all.pool, block));
                if (made != way::tiny && block != nullptr) {
                    EXPECT_TRUE(is_block_not_in_use(all, block)) << name_of(made) << byte;
                }
            }
            egb_misuse_set_handler(nullptr, nullptr);
        }
    }
}

TEST(fixed_damage, every_changed_bit_of_a_mark_is_noticed)
{
    for (unsigned bit = 0; bit < 32; bit++) {
        for (const std::size_t block : {1u, 4u, 3u}) {
            any_pool all(way::marked, 16, count);
            half_full(all);
            reinterpret_cast<uint32_t*>(all.at(block))[1] ^= 1u << bit;
            EXPECT_FALSE(all.whole()) << "block " << block << ", bit " << bit;
        }
    }
}

TEST(fixed_damage, with_live_bits_every_changed_bit_of_a_link_is_noticed)
{
    for (unsigned bit = 0; bit < 32; bit++) {
        for (const std::size_t block : {1u, 4u, 3u}) {
            any_pool all(way::live_bits, 16, count);
            half_full(all);
            reinterpret_cast<uint32_t*>(all.at(block))[0] ^= 1u << bit;
            EXPECT_FALSE(all.whole()) << "block " << block << ", bit " << bit;
        }
    }
}

TEST(fixed_damage, every_changed_bit_of_the_live_bits_is_noticed)  // catalogue 40
{
    for (std::size_t bit = 0; bit < count - 1; bit++) {  // touched blocks, and the first fresh one
        any_pool all(way::live_bits, 16, count);
        half_full(all);
        all.live[EGB_FIXED_LIVE_BITS_] ^= 1u << bit;
        EXPECT_FALSE(all.whole()) << bit;
    }
    for (unsigned bit = 0; bit < 4 * 32; bit++) {  // head, length, number of touched blocks
        if (bit / 32 == EGB_FIXED_LIVE_CAPACITY_) {
            continue;
        }
        any_pool all(way::live_bits, 16, count);
        half_full(all);
        all.live[bit / 32] ^= 1u << bit % 32;
        EXPECT_FALSE(all.whole()) << bit;
    }
}

// Catalogue 39. The two addresses are the only fields that nothing else in the pool confirms.
TEST(fixed_damage, with_live_bits_every_changed_bit_of_the_pool_but_its_addresses_is_noticed)
{
    for (std::size_t bit = sizeof(void*) * 8; bit < sizeof(egb_fixed) * 8; bit++) {
        const std::size_t byte = bit / 8;
        if (byte >= offsetof(egb_fixed, side) && byte < offsetof(egb_fixed, side) + sizeof(void*)) {
            continue;
        }
        any_pool all(way::live_bits, 16, count);
        half_full(all);
        reinterpret_cast<unsigned char*>(&all.pool)[byte] ^= (unsigned char)(1u << bit % 8);
        EXPECT_FALSE(all.whole()) << "bit " << bit << " of byte " << byte;
    }
}

TEST(fixed_damage, any_damage_to_the_geometry_of_a_marked_pool_is_noticed)
{
    for (std::size_t bit = 0; bit < sizeof(egb_fixed) * 8; bit++) {
        const std::size_t byte = bit / 8;
        if (byte < sizeof(void*) ||
            (byte >= offsetof(egb_fixed, side) && byte < offsetof(egb_fixed, head) + 4)) {
            continue;  // addresses, and the head: it may now skip blocks, which no count betrays
        }
        any_pool all(way::marked, 16, count);
        half_full(all);
        reinterpret_cast<unsigned char*>(&all.pool)[byte] ^= (unsigned char)(1u << bit % 8);
        EXPECT_FALSE(all.whole()) << "bit " << bit << " of byte " << byte;
    }
}

TEST(fixed_damage, whole_says_no_to_random_bytes_and_follows_no_address_in_them)  // catalogue 54
{
    std::mt19937 random(3);
    for (int round = 0; round < 1000000; round++) {
        egb_fixed pool;
        uint32_t  words[sizeof pool / 4];
        for (uint32_t& word : words) {
            word = uint32_t(random());
        }
        std::memcpy(&pool, words, sizeof pool);
        ASSERT_FALSE(egb_fixed_whole(&pool));
    }
}

// The checksum is made right again, so that nothing but the mode's own rules can say no.
TEST(fixed_damage, a_mode_that_is_not_the_pools_is_noticed_though_the_seal_is_right)
{
    const auto whole_as = [](way made, unsigned mode) {
        any_pool all(made, 16, count);
        half_full(all);
        all.pool.mode     = uint8_t(mode);
        all.pool.checksum = EGB_FIXED_CHECKSUM_(all.pool.reach, all.pool.stride, all.pool.mode);
        return all.whole();
    };
    EXPECT_TRUE(whole_as(way::marked, EGB_FIXED_MARKED_));
    for (const unsigned wrong :
         {EGB_FIXED_TINY_, EGB_FIXED_LIVE_, EGB_FIXED_UNCHECKED_, EGB_FIXED_OUTSIDE_, 77u}) {
        EXPECT_FALSE(whole_as(way::marked, wrong)) << wrong;
    }
    EXPECT_FALSE(whole_as(way::tiny, EGB_FIXED_MARKED_));
    EXPECT_FALSE(whole_as(way::live_bits, EGB_FIXED_MARKED_));
    EXPECT_FALSE(whole_as(way::live_bits, EGB_FIXED_TINY_));
    EXPECT_FALSE(whole_as(way::outside, EGB_FIXED_MARKED_));
    EXPECT_FALSE(whole_as(way::outside, EGB_FIXED_LIVE_));
    EXPECT_FALSE(whole_as(way::unchecked, EGB_FIXED_MARKED_));
    EXPECT_FALSE(whole_as(way::unchecked, EGB_FIXED_TINY_));
    any_pool fresh(way::tiny, 4, count);
    fresh.pool.mode     = EGB_FIXED_MARKED_;
    fresh.pool.checksum = EGB_FIXED_CHECKSUM_(fresh.pool.reach, 1u, EGB_FIXED_MARKED_);
    EXPECT_FALSE(fresh.whole()) << "no room for a mark";
    any_pool without(way::live_bits, 16, count);
    without.pool.side.live = nullptr;
    EXPECT_FALSE(without.whole());
}

TEST(fixed_damage, a_free_that_must_search_the_list_ends_though_the_list_is_a_circle)
{
    any_pool all(way::marked, 16, count);
    half_full(all);
    std::memcpy(all.at(1), all.at(3), 4);  // the list 3, 4, 1 leads back to 4
    reinterpret_cast<uint32_t*>(all.at(5))[1] = EGB_FIXED_MARK_;  // its holder's data
    events unexpected;
    EXPECT_TRUE(egb_fixed_is_live(&all.pool, all.at(5)));
    EXPECT_FALSE(egb_fixed_is_live(&all.pool, all.at(4)));
    all.free(all.at(5));
    EXPECT_EQ(all.alloc(), all.at(5));
}

TEST(fixed_damage, a_wild_link_of_an_unchecked_pool_is_noticed_by_checked_calls)
{
    any_pool all(way::unchecked, 16, count);
    half_full(all);
    void* const wild = &all;
    std::memcpy(all.at(3), &wild, sizeof wild);
    events seen;
    EXPECT_FALSE(all.whole());
    EXPECT_EQ(egb_fixed_in_use(&all.pool), 5u) << "6 touched, 3 reached";
    EXPECT_EQ(egb_fixed_alloc(&all.pool), all.at(3));
    EXPECT_EQ(egb_fixed_alloc(&all.pool), all.at(6));
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_OVERWRITTEN);
    EXPECT_TRUE(all.whole());
}

TEST(fixed_damage, whole_and_in_use_end_on_a_list_that_is_a_circle)
{
    for (const way made : all_ways) {
        any_pool all(made, 16, count);
        half_full(all);
        // The list is 3, 4, 1. Lead 1 back to 4.
        std::memcpy(all.link(1), all.link(3), made == way::unchecked ? sizeof(void*) : 4);
        EXPECT_FALSE(all.whole());
        EXPECT_LE(egb_fixed_in_use(&all.pool), count);
    }
}

TEST(fixed_damage, in_use_counts_up_to_the_damage)
{
    any_pool all(way::marked, 16, count);
    half_full(all);
    *reinterpret_cast<uint32_t*>(all.at(4)) = 0xFFFFFFF0;
    EXPECT_EQ(egb_fixed_in_use(&all.pool), 4u) << "6 touched, 3 and 4 reached";
}
