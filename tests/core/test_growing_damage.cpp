// SPDX-License-Identifier: MIT
// Misuse of a growing pool: every kind is refused and reported with the pool that the caller named.
// Writes to free blocks lead nowhere outside, and the handler may call anything.
#include "backing.hpp"
#include "events.hpp"

#include <csetjmp>
#include <random>
#include <set>

namespace
{

enum : std::size_t { block_bytes = 16, count = 40 };

// Blocks of several chunks, in use.
std::vector<char*> take(growing_pool& from, std::size_t wanted)
{
    std::vector<char*> taken;
    for (std::size_t i = 0; i < wanted; i++) {
        taken.push_back(static_cast<char*>(from.alloc()));
    }
    return taken;
}

void expect(
    events&            seen,
    egb_misuse_kind    kind,
    const egb_growing* pool,
    const void*        address,
    std::size_t        index
)
{
    const egb_misuse_event event = seen.take();
    EXPECT_EQ(event.kind, kind);
    EXPECT_EQ(event.pool, pool);
    EXPECT_EQ(event.pool_name, nullptr);
    EXPECT_EQ(event.address, address);
    EXPECT_EQ(event.block_index, index);
#if defined(__GNUC__)
    EXPECT_NE(event.site, nullptr);
#endif
}

void overwrite(char* block, uint32_t link, uint32_t mark)
{
    std::memcpy(block, &link, 4);
    std::memcpy(block + 4, &mark, 4);
}

}  // namespace

TEST(growing_misuse, use_of_a_pool_before_init)
{
    events      seen;
    egb_growing none{};
    int         something = 0;
    EXPECT_EQ(egb_growing_alloc(&none), nullptr);
    expect(seen, EGB_MISUSE_NO_POOL, &none, nullptr, EGB_NO_INDEX);
    EXPECT_EQ(egb_growing_alloc(nullptr), nullptr);
    expect(seen, EGB_MISUSE_NO_POOL, nullptr, nullptr, EGB_NO_INDEX);
    egb_growing_free(&none, &something);
    expect(seen, EGB_MISUSE_NO_POOL, &none, &something, EGB_NO_INDEX);
    egb_growing_free(nullptr, &something);
    expect(seen, EGB_MISUSE_NO_POOL, nullptr, &something, EGB_NO_INDEX);
    egb_growing_free(&none, nullptr);
    egb_growing_free(nullptr, nullptr);
}

TEST(growing_misuse, every_wrong_free_is_refused)
{
    counting_backing backing(64);
    growing_pool     all(backing, small_chunks(block_bytes));
    const auto       blocks = take(all, count);
    events           seen;
    all.free(&seen);
    expect(seen, EGB_MISUSE_FOREIGN, &all.pool, &seen, EGB_NO_INDEX);
    for (std::size_t i = 1; i < block_bytes; i++) {
        all.free(blocks[3] + i);
        expect(seen, EGB_MISUSE_INTERIOR, &all.pool, blocks[3] + i, EGB_NO_INDEX);
    }
    char* const header = blocks[0] + 500;
    all.free(header);
    expect(seen, EGB_MISUSE_FOREIGN, &all.pool, header, EGB_NO_INDEX);
    all.free(blocks.back() + block_bytes);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_NEVER_ALLOCATED);
    all.free(blocks[3]);
    all.free(blocks[3]);
    expect(seen, EGB_MISUSE_DOUBLE_FREE, &all.pool, blocks[3], 3);
    EXPECT_EQ(egb_growing_in_use(&all.pool), count - 1u);
    EXPECT_TRUE(all.whole());
}

TEST(growing_misuse, where_no_block_is_in_use_every_free_is_a_double_free)
{
    counting_backing backing(64);
    growing_pool     all(backing, small_chunks(block_bytes));
    const auto       blocks = take(all, 3);
    for (char* const block : blocks) {
        all.free(block);
    }
    overwrite(blocks[1], 7, 7);  // the fixed pool would take it now
    events seen;
    all.free(blocks[1]);
    expect(seen, EGB_MISUSE_DOUBLE_FREE, &all.pool, blocks[1], 1);
    EXPECT_EQ(egb_growing_in_use(&all.pool), 0u);
}

TEST(growing_misuse, a_mark_in_a_block_in_use_does_not_keep_it_from_being_freed)
{
    counting_backing backing;
    growing_pool     all(backing, small_chunks(block_bytes));
    const auto       blocks = take(all, count);
    events           unexpected;
    for (char* const block : blocks) {
        overwrite(block, 0, EGB_FIXED_MARK_);
        all.free(block);
    }
    EXPECT_EQ(egb_growing_in_use(&all.pool), 0u);
    EXPECT_TRUE(all.whole());
}

TEST(growing_damage, an_overwritten_block_leads_nowhere_wrong)
{
    std::mt19937 random(1);
    for (int round = 0; round < 1000; round++) {
        counting_backing backing(64);
        auto             wanted = small_chunks(block_bytes);
        wanted.max_blocks       = 200;
        growing_pool    all(backing, wanted);
        const auto      blocks = take(all, count);
        std::set<char*> held(blocks.begin(), blocks.end());
        for (const std::size_t i : {1u, 4u, 3u, 30u, 33u}) {
            all.free(blocks[i]);
            held.erase(blocks[i]);
        }
        overwrite(
            blocks[4],
            random() % 4 == 0 ? uint32_t(random() % 200) : uint32_t(random()),
            uint32_t(random())
        );
        events seen;
        EXPECT_FALSE(all.whole());
        while (auto* const block = static_cast<char*>(all.alloc())) {
            ASSERT_TRUE(egb_growing_owns(&all.pool, block));
            ASSERT_TRUE(backing.contains(block, block_bytes));
            ASSERT_TRUE(held.insert(block).second) << "in use";
        }
        expect(seen, EGB_MISUSE_OVERWRITTEN, &all.pool, blocks[4], 4);
        EXPECT_EQ(egb_growing_in_use(&all.pool), 200u);
        EXPECT_EQ(all.pool.lost, 2u) << "4 and 1";
        EXPECT_TRUE(all.whole());
        for (char* const block : held) {
            all.free(block);
        }
        EXPECT_EQ(egb_growing_in_use(&all.pool), 0u);
        EXPECT_TRUE(all.whole());
        egb_growing_trim(&all.pool, 0);
        EXPECT_EQ(all.pool.chunks, 1u) << "the chunk with the lost blocks stays";
        EXPECT_TRUE(all.whole());
    }
}

TEST(growing_damage, a_list_that_ends_too_early_is_noticed)
{
    counting_backing backing(64);
    growing_pool     all(backing, small_chunks(block_bytes));
    ASSERT_EQ(egb_growing_reserve(&all.pool, 1), EGB_OK);
    const std::size_t first  = egb_growing_capacity(&all.pool);
    const auto        blocks = take(all, first);
    for (std::size_t i = 0; i < 6; i++) {
        all.free(blocks[i]);
    }
    overwrite(blocks[3], UINT32_MAX, EGB_FIXED_MARK_);
    EXPECT_FALSE(all.whole()) << "the counts disagree";
    events seen;
    EXPECT_EQ(all.alloc(), blocks[5]);
    EXPECT_EQ(all.alloc(), blocks[4]);
    EXPECT_EQ(all.alloc(), blocks[3]);
    EXPECT_TRUE(seen.none());
    void* const from_next = all.alloc();
    expect(seen, EGB_MISUSE_OVERWRITTEN, &all.pool, nullptr, EGB_NO_INDEX);
    EXPECT_EQ(all.pool.chunks, 2u);
    EXPECT_EQ(all.pool.lost, 3u);
    EXPECT_TRUE(all.whole());
    all.free(from_next);
    all.free(blocks[10]);
    EXPECT_EQ(all.alloc(), blocks[10]) << "what is left of the chunk serves on";
    EXPECT_EQ(egb_growing_reserve(&all.pool, 500), EGB_OK);
    const std::size_t left = egb_growing_capacity(&all.pool) - egb_growing_in_use(&all.pool) - 3;
    EXPECT_EQ(egb_growing_reserve(&all.pool, left), EGB_OK);
    EXPECT_EQ(backing.bytes(), egb_growing_held(&all.pool));
    const int asked = backing.requests;
    EXPECT_EQ(egb_growing_reserve(&all.pool, left + 1), EGB_OK);
    EXPECT_EQ(backing.requests, asked + 1) << "the lost ones do not count";
    for (char* const block : take(all, 500)) {
        EXPECT_NE(block, nullptr);
    }
    EXPECT_TRUE(all.whole());
}

TEST(growing_damage, a_walk_visits_what_is_lost_as_if_it_were_in_use)
{
    counting_backing backing(64);
    growing_pool     all(backing, small_chunks(block_bytes));
    const auto       blocks = take(all, 10);
    all.free(blocks[4]);
    all.free(blocks[6]);
    overwrite(blocks[6], 0xEEEEEEEE, 0);
    events          seen;
    std::set<void*> wanted(blocks.begin(), blocks.end());
    std::set<void*> visited;
    wanted.insert(all.alloc());
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_OVERWRITTEN);
    const auto visit = [](void* block, void* user) {
        static_cast<std::set<void*>*>(user)->insert(block);
    };
    egb_growing_each(&all.pool, visit, &visited);
    EXPECT_EQ(visited, wanted);
}

TEST(growing_damage, many_damaged_chunks_do_not_hold_an_alloc_up)
{
    for (const std::size_t bytes : {4u, 16u}) {
        counting_backing backing(64);
        growing_pool     all(backing, small_chunks(bytes));
        const auto       blocks = take(all, 600);
        const int        asked  = backing.requests;
        for (char* const block : blocks) {
            all.free(block);
        }
        for (char* const block : blocks) {
            std::memset(block, 0xEE, bytes);
        }
        int told = 0;
        egb_misuse_set_handler(
            [](const egb_misuse_event*, void* user) { ++*static_cast<int*>(user); }, &told
        );
        std::set<char*> seen;
        for (int i = 0; i < 300; i++) {
            auto* const block = static_cast<char*>(all.alloc());
            EXPECT_NE(block, nullptr);
            EXPECT_TRUE(backing.contains(block, bytes));
            EXPECT_TRUE(seen.insert(block).second);
        }
        egb_misuse_set_handler(nullptr, nullptr);
        EXPECT_GT(told, 1);
        EXPECT_GT(backing.requests, asked);
        EXPECT_EQ(egb_growing_in_use(&all.pool), 300u);
        EXPECT_TRUE(all.whole());
    }
}

TEST(growing_damage, a_circle_of_four_byte_blocks_ends_with_its_chunk)
{
    counting_backing backing(64);
    auto             wanted = small_chunks(4);
    wanted.max_blocks       = 500;
    growing_pool all(backing, wanted);
    const auto   blocks = take(all, 10);
    all.free(blocks[2]);
    all.free(blocks[5]);
    const uint32_t links[] = {5, 2};
    std::memcpy(blocks[2], &links[0], 4);  // 5, 2, 5, 2 ...: noticed by nobody but whole
    EXPECT_FALSE(all.whole());
    events unexpected;
    for (int i = 0; i < 600; i++) {
        auto* const block = static_cast<char*>(all.alloc());
        EXPECT_TRUE(block == nullptr || backing.contains(block, 4));
        if (block == blocks[2] || block == blocks[5]) {
            std::memcpy(block, &links[block == blocks[5]], 4);
        }
    }
    EXPECT_EQ(egb_growing_in_use(&all.pool), 500u);
}

TEST(growing_damage, a_circle_that_is_overwritten_too_loses_nothing_that_is_there)
{
    counting_backing backing(64);
    growing_pool     all(backing, small_chunks(4));
    const auto       blocks = take(all, 10);
    all.free(blocks[2]);
    const uint32_t to_itself = 2;
    for (int i = 0; i < 20; i++) {
        std::memcpy(blocks[2], &to_itself, 4);
        EXPECT_EQ(all.alloc(), blocks[2]);
    }
    std::memset(blocks[2], 0xEE, 4);
    events seen;
    EXPECT_EQ(all.alloc(), blocks[2]);
    EXPECT_TRUE(seen.none());
    EXPECT_EQ(all.alloc(), blocks[9] + 4) << "a fresh one";
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_OVERWRITTEN);
    EXPECT_EQ(all.pool.lost, 0u) << "more are counted as in use than were touched";
}

// ---- the handler --------------------------------------------------------------------------------

namespace
{

struct damaged {
    damaged() : all(backing, small_chunks(block_bytes)), blocks(take(all, count))
    {
        all.free(blocks[2]);
        all.free(blocks[3]);
        overwrite(blocks[3], 1, 2);
    }

    counting_backing   backing;
    growing_pool       all;
    std::vector<char*> blocks;
    std::jmp_buf       place;
    int                told = 0;
};

}  // namespace

TEST(growing_damage, the_handler_may_use_the_pool)
{
    damaged it;
    egb_misuse_set_handler(
        [](const egb_misuse_event*, void* user) {
            auto& self = *static_cast<damaged*>(user);
            self.told++;
            EXPECT_TRUE(self.all.whole());
            self.all.free(self.blocks[7]);
            EXPECT_EQ(self.all.alloc(), self.blocks[7]);
            self.all.free(self.blocks[8]);
            egb_growing_trim(&self.all.pool, 0);
        },
        &it
    );
    EXPECT_EQ(it.all.alloc(), it.blocks[8]);
    egb_misuse_set_handler(nullptr, nullptr);
    EXPECT_EQ(it.told, 1);
    EXPECT_EQ(egb_growing_in_use(&it.all.pool), count - 2u);
    EXPECT_TRUE(it.all.whole());
}

TEST(growing_damage, the_handler_may_free_and_trim_all_or_destroy_the_pool)
{
    for (const bool is_end : {false, true}) {
        damaged it;
        it.told = is_end;
        egb_misuse_set_handler(
            [](const egb_misuse_event*, void* user) {
                auto& self = *static_cast<damaged*>(user);
                for (std::size_t i = 0; i < count; i++) {
                    if (i != 2 && i != 3) {
                        self.all.free(self.blocks[i]);
                    }
                }
                egb_growing_trim(&self.all.pool, 0);
                if (self.told != 0) {
                    egb_growing_destroy(&self.all.pool);
                }
            },
            &it
        );
        EXPECT_EQ(it.all.alloc() == nullptr, is_end);
        egb_misuse_set_handler(nullptr, nullptr);
        EXPECT_EQ(it.all.whole(), !is_end);
    }
}

TEST(growing_damage, the_handler_may_leave_by_longjmp)
{
    damaged it;
    egb_misuse_set_handler(
        [](const egb_misuse_event*, void* user) {
            std::longjmp(static_cast<damaged*>(user)->place, 1);
        },
        &it
    );
    if (setjmp(it.place) == 0) {
        (void)!it.all.alloc();
        ADD_FAILURE() << "came back";
    }
    EXPECT_TRUE(it.all.whole());
    if (setjmp(it.place) == 0) {
        it.all.free(it.blocks[1] + 1);
        ADD_FAILURE() << "came back";
    }
    egb_misuse_set_handler(nullptr, nullptr);
    EXPECT_EQ(egb_growing_in_use(&it.all.pool), count - 2u);
    EXPECT_NE(it.all.alloc(), nullptr);
    EXPECT_TRUE(it.all.whole());
}
