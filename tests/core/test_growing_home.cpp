// SPDX-License-Identifier: MIT
// Free blocks of chunks with states: they come back in order of address, and what was written to is
// noticed where it would be handed out.
#include "backing.hpp"
#include "events.hpp"

#include <algorithm>
#include <random>
#include <set>

extern "C" {
#include "../../src/core/growing_private.h"
}

namespace
{

egb_growing_options with_states(std::size_t block_bytes)
{
    egb_growing_options wanted{};
    wanted.block_bytes = block_bytes;
    wanted.with_states = true;
    return wanted;
}

std::vector<void*> take(egb_growing& pool, std::size_t count)
{
    std::vector<void*> blocks(count);
    for (void*& block : blocks) {
        block = egb_growing_alloc(&pool);
        EXPECT_NE(block, nullptr);
    }
    return blocks;
}

void give(egb_growing& pool, const std::vector<void*>& blocks)
{
    for (void* const block : blocks) {
        egb_growing_free(&pool, block);
    }
}

std::vector<void*> shuffled(std::vector<void*> blocks, unsigned seed)
{
    std::shuffle(blocks.begin(), blocks.end(), std::mt19937(seed));
    return blocks;
}

std::vector<void*> sorted(std::vector<void*> blocks)
{
    std::sort(blocks.begin(), blocks.end());
    return blocks;
}

void overwrite(void* block, std::size_t offset)
{
    static_cast<char*>(block)[offset] = 0x77;
}

}  // namespace

TEST(growing_home, blocks_come_back_in_order_of_address)
{
    for (const std::size_t bytes : {4u, 8u, 12u, 64u, 1000u}) {
        counting_backing         backing;
        growing_pool             all(backing, with_states(bytes));
        const std::vector<void*> blocks = take(all.pool, 60);
        for (unsigned seed = 0; seed < 5; seed++) {
            give(all.pool, shuffled(blocks, seed));
            ASSERT_TRUE(all.whole());
            ASSERT_EQ(take(all.pool, 60), sorted(blocks));
            ASSERT_TRUE(all.whole());
        }
        give(all.pool, blocks);
    }
}

// States start at any address, and are looked at by words: each set of a small chunk's blocks, by
// the lowest that is free, and runs of any length.
TEST(growing_home, every_free_block_is_found_wherever_the_states_lie)
{
    for (const std::size_t misalign : {0u, 1u, 2u, 3u, 5u, 7u}) {
        counting_backing backing(0);
        backing.misalign         = misalign;
        egb_growing_options wish = with_states(4);
        wish.chunk_bytes = wish.chunk_bytes_max = 512;
        growing_pool             all(backing, wish);
        const std::vector<void*> blocks = sorted(take(all.pool, 11));
        egb_chunk_* const        chunk  = egb_growing_chunk_of(&all.pool, blocks[0]);
        ASSERT_EQ(egb_growing_chunk_of(&all.pool, blocks[10]), chunk);
        for (unsigned set = 1; set < 1u << 11; set++) {
            std::vector<void*> free;
            for (std::size_t i = 0; i < blocks.size(); i++) {
                if ((set >> i & 1) != 0) {
                    free.push_back(blocks[i]);
                }
            }
            egb_growing_put_run(chunk, shuffled(free, set).data(), free.size());
            ASSERT_EQ(egb_home_count(chunk), free.size());
            std::vector<void*> taken;
            while (taken.size() < free.size()) {
                void*             run[4];
                egb_chunk_*       from = nullptr;
                const std::size_t got  = egb_growing_take_run(&all.pool, &from, run, 1 + set % 4);
                ASSERT_EQ(from, chunk);
                taken.insert(taken.end(), run, run + got);
                ASSERT_NE(got, 0u);
            }
            ASSERT_EQ(taken, free) << "set " << set;
        }
        give(all.pool, blocks);
    }
}

TEST(growing_home, what_the_caller_keeps_in_a_state_stays)
{
    counting_backing   backing;
    growing_pool       all(backing, with_states(8));
    std::vector<void*> blocks = take(all.pool, 3);
    egb_chunk_* const  chunk  = egb_growing_chunk_of(&all.pool, blocks[0]);
    chunk->shape.states[1]    = 0x35;
    give(all.pool, blocks);
    EXPECT_EQ(egb_state_at(&chunk->shape, 0), 0u);
    EXPECT_EQ(egb_state_at(&chunk->shape, 1), 0x35u);
    EXPECT_EQ(chunk->shape.states[1], 0x35 | EGB_STATE_HOME_);
    EXPECT_EQ(take(all.pool, 3), blocks);
    EXPECT_EQ(chunk->shape.states[1], 0x35);
    give(all.pool, blocks);
}

TEST(growing_home, a_double_free_is_noticed_whatever_the_block_holds)
{
    events                   seen;
    counting_backing         backing;
    growing_pool             all(backing, with_states(16));
    const std::vector<void*> blocks = take(all.pool, 5);
    egb_growing_free(&all.pool, blocks[2]);
    egb_growing_free(&all.pool, blocks[2]);
    EXPECT_EQ(seen.take_kind(), EGB_EVENT_DOUBLE_FREE);
    overwrite(blocks[2], 3);
    egb_growing_free(&all.pool, blocks[2]);
    EXPECT_EQ(seen.take_kind(), EGB_EVENT_DOUBLE_FREE);
    egb_growing_free(&all.pool, static_cast<char*>(blocks[4]) + 16);
    EXPECT_EQ(seen.take_kind(), EGB_EVENT_NEVER_ALLOCATED);
    egb_growing_free(&all.pool, static_cast<char*>(blocks[3]) + 4);
    EXPECT_EQ(seen.take_kind(), EGB_EVENT_INTERIOR);
    EXPECT_EQ(egb_growing_in_use(&all.pool), 4u);
}

TEST(growing_home, a_block_that_was_written_to_is_lost_and_no_other)
{
    for (const std::size_t bytes : {4u, 8u, 40u}) {
        for (std::size_t offset = 0; offset < 8 && offset < bytes; offset++) {
            events                   seen;
            counting_backing         backing;
            growing_pool             all(backing, with_states(bytes));
            const std::vector<void*> blocks = sorted(take(all.pool, 10));
            give(all.pool, shuffled(blocks, 1));
            overwrite(blocks[3], offset);
            overwrite(blocks[7], offset);
            EXPECT_FALSE(all.whole());
            std::vector<void*> again = take(all.pool, 4);
            const auto         first = seen.take();
            EXPECT_EQ(first.kind, EGB_EVENT_OVERWRITTEN);
            EXPECT_EQ(first.address, blocks[3]);
            EXPECT_EQ(first.block_index, 3u);
            for (int i = 0; i < 4; i++) {
                again.push_back(egb_growing_alloc(&all.pool));
            }
            EXPECT_EQ(seen.take().address, blocks[7]);
            std::vector<void*> wanted = blocks;
            wanted.erase(wanted.begin() + 7);
            wanted.erase(wanted.begin() + 3);
            EXPECT_EQ(again, wanted);
            EXPECT_TRUE(all.whole());
            EXPECT_EQ(egb_growing_in_use(&all.pool), 8u);
            EXPECT_GT(egb_growing_alloc(&all.pool), blocks[9]);  // a fresh one
        }
    }
}

// A run stops in front of it, and the next call finds it.
TEST(growing_home, a_run_ends_where_a_block_was_written_to)
{
    events                   seen;
    counting_backing         backing;
    growing_pool             all(backing, with_states(32));
    const std::vector<void*> blocks = sorted(take(all.pool, 6));
    give(all.pool, blocks);
    overwrite(blocks[2], 4);
    void*       run[6];
    egb_chunk_* from = nullptr;
    egb_damage  damage;
    EXPECT_EQ(egb_growing_take_run(&all.pool, &from, run, 6), 2u);
    EXPECT_EQ(egb_growing_take_run(&all.pool, &from, run, 6), 0u);
    EXPECT_EQ(egb_growing_take(&all.pool, &from, &damage), nullptr);
    EXPECT_TRUE(damage.was_found);
    EXPECT_EQ(damage.address, blocks[2]);
    EXPECT_EQ(egb_growing_take_run(&all.pool, &from, run, 6), 3u);
    EXPECT_EQ(run[0], blocks[3]);
    EXPECT_TRUE(all.whole());
}

TEST(growing_home, a_run_of_others_blocks_changes_nothing)
{
    counting_backing         backing;
    growing_pool             all(backing, with_states(32));
    const std::vector<void*> blocks  = take(all.pool, 4);
    egb_chunk_* const        chunk   = egb_growing_chunk_of(&all.pool, blocks[0]);
    char* const              first   = static_cast<char*>(blocks[0]);
    int                      other   = 0;
    void* const              wrong[] = {first + 4, &other, first + 32 * 4, blocks[1], blocks[1]};
    egb_growing_put_run(chunk, wrong, 5);
    EXPECT_EQ(egb_growing_in_use(&all.pool), 3u);
    EXPECT_TRUE(all.whole());
    EXPECT_EQ(egb_growing_alloc(&all.pool), blocks[1]);
    give(all.pool, blocks);
    egb_growing_put_run(chunk, blocks.data(), 4);
    EXPECT_EQ(egb_growing_in_use(&all.pool), 0u);
    EXPECT_TRUE(all.whole());
}

TEST(growing_home, each_visits_what_is_in_use_whatever_it_holds)
{
    counting_backing   backing;
    growing_pool       all(backing, with_states(8));
    std::vector<void*> blocks = take(all.pool, 9);
    for (void* const block : blocks) {
        static_cast<egb_word*>(block)[0] = EGB_FIXED_MARK_;
        static_cast<egb_word*>(block)[1] = EGB_FIXED_MARK_;
    }
    egb_growing_free(&all.pool, blocks[4]);
    std::vector<void*> seen;
    egb_growing_each(
        &all.pool,
        [](void* block, void* user) { static_cast<std::vector<void*>*>(user)->push_back(block); },
        &seen
    );
    blocks.erase(blocks.begin() + 4);
    EXPECT_EQ(seen, blocks);
    give(all.pool, blocks);
}

// So that a group of them, which alloc looks through, is not longer.
TEST(growing_home, a_chunk_has_no_more_than_so_many_states)
{
    for (const std::size_t bytes : {4u, 16u, 60u, 64u, 100u}) {
        counting_backing backing;
        growing_pool     all(backing, with_states(bytes));
        ASSERT_EQ(egb_growing_reserve(&all.pool, 400000), EGB_OK);
        egb_growing_each_chunk(
            &all.pool,
            [](egb_chunk_* chunk, void*) { EXPECT_LE(chunk->shape.blocks, 64u << 10); },
            nullptr
        );
        const std::size_t largest = *std::max_element(backing.wishes.begin(), backing.wishes.end());
        EXPECT_EQ(largest, std::min<std::size_t>(4 << 20, bytes << 16));
    }
}

namespace
{

// The groups of the chunk that have a block at home, by the states.
std::size_t groups_of(const egb_chunk_* chunk)
{
    std::size_t groups = 0;
    for (std::size_t i = 0; i < chunk->shape.blocks; i++) {
        if (egb_is_home(&chunk->shape, i)) {
            groups |= std::size_t{1} << (i >> chunk->shape.group);
        }
    }
    return groups;
}

std::size_t first_home(const egb_chunk_* chunk)
{
    std::size_t index = 0;
    while (!egb_is_home(&chunk->shape, index)) {
        index++;
    }
    return index;
}

}  // namespace

TEST(growing_home, a_chunk_has_no_more_groups_than_a_word_has_bits)
{
    for (const std::uint32_t blocks : {1u, 31u, 32u, 33u, 64u, 65u, 4096u, 65536u, 65537u, ~0u}) {
        egb_shape_ shape{};
        shape.blocks = blocks;
        egb_home_plan(&shape);
        const std::size_t groups = ((blocks - 1) >> shape.group) + 1;
        EXPECT_LE(groups, sizeof(std::size_t) * 8);
        EXPECT_TRUE(shape.group == 0 || groups > sizeof(std::size_t) * 4);
    }
}

// Only groups that are said to have blocks at home are looked through: none too many, and no block
// is forgotten, whatever comes back and is taken, one by one and in runs.
TEST(growing_home, groups_are_exactly_those_that_have_blocks_at_home)
{
    counting_backing    backing;
    egb_growing_options wish = with_states(8);
    wish.chunk_bytes = wish.chunk_bytes_max = 16384;
    growing_pool             all(backing, wish);
    const std::vector<void*> blocks = take(all.pool, 1000);
    egb_chunk_* const        chunk  = egb_growing_chunk_of(&all.pool, blocks[0]);
    ASSERT_EQ(egb_growing_chunk_of(&all.pool, blocks[999]), chunk);
    std::mt19937       random(7);
    std::vector<void*> held = blocks;
    for (int step = 0; step < 4000; step++) {
        const std::size_t count = 1 + random() % (random() % 8 == 0 ? 200 : 3);
        if (random() % 2 == 0) {
            for (std::size_t i = 0; i < count && !held.empty(); i++) {
                std::swap(held[random() % held.size()], held.back());
                egb_growing_free(&all.pool, held.back());
                held.pop_back();
            }
        } else if (held.size() + count <= blocks.size()) {
            void*             run[200];
            egb_chunk_*       from = nullptr;
            const std::size_t low  = first_home(chunk);
            const std::size_t got  = egb_growing_take_run(&all.pool, &from, run, count);
            ASSERT_EQ(got, count);
            ASSERT_EQ(run[0], blocks[low]);
            ASSERT_TRUE(std::is_sorted(run, run + got));
            held.insert(held.end(), run, run + got);
        }
        ASSERT_EQ(chunk->groups, groups_of(chunk)) << "step " << step;
    }
    ASSERT_TRUE(all.whole());
    give(all.pool, held);
}

namespace
{

// A pool with one small chunk, all of whose blocks are in use, and no more to be had.
class one_chunk
{
  public:
    one_chunk() : backing_(64), all(backing_, wish())
    {
        blocks.push_back(egb_growing_alloc(&all.pool));
        chunk                = egb_growing_chunk_of(&all.pool, blocks[0]);
        backing_.refuse_from = backing_.requests + 1;
        while (void* const block = egb_growing_alloc(&all.pool)) {
            blocks.push_back(block);
        }
        EXPECT_EQ(blocks.size(), chunk->shape.blocks);
    }

  private:
    static egb_growing_options wish()
    {
        egb_growing_options wanted = with_states(16);
        wanted.chunk_bytes = wanted.chunk_bytes_max = 1024;
        return wanted;
    }

    counting_backing backing_;

  public:
    growing_pool       all;
    std::vector<void*> blocks;
    egb_chunk_*        chunk = nullptr;
};

}  // namespace

// They stand behind the last block. Alloc must end, and must not give what is in use.
TEST(growing_home, states_that_were_written_to_end_the_chunk)
{
    events    seen;
    one_chunk one;
    egb_growing_free(&one.all.pool, one.blocks[9]);
    one.chunk->shape.states[9] = 0;
    one.chunk->shape.states[1] = EGB_STATE_HOME_ | 2;
    EXPECT_EQ(egb_growing_alloc(&one.all.pool), nullptr);
    EXPECT_EQ(seen.take_kind(), EGB_EVENT_OVERWRITTEN);
    EXPECT_EQ(egb_growing_alloc(&one.all.pool), nullptr);
}

TEST(growing_home, a_block_in_use_is_not_handed_out_whatever_its_state_says)
{
    events    seen;
    one_chunk one;
    give(one.all.pool, one.blocks);
    EXPECT_EQ(take(one.all.pool, one.blocks.size()), one.blocks);  // nobody writes to them
    egb_growing_free(&one.all.pool, one.blocks[20]);
    for (std::size_t i = 0; i < 16; i++) {
        one.chunk->shape.states[i] = 0xFF;
    }
    one.chunk->lowest = 0;
    one.chunk->groups = SIZE_MAX;
    while (void* const block = egb_growing_alloc(&one.all.pool)) {
        EXPECT_EQ(block, one.blocks[20]);
    }
    EXPECT_EQ(seen.take_kind(), EGB_EVENT_OVERWRITTEN);
}

// Each is told of, and none is looked for twice: 60,000 of them take no time worth a word.
TEST(growing_home, many_blocks_that_were_written_to_are_lost_one_by_one)
{
    counting_backing   backing;
    growing_pool       all(backing, with_states(16));
    std::size_t        count  = 0;
    std::vector<void*> blocks = take(all.pool, 60000);
    give(all.pool, blocks);
    for (void* const block : blocks) {
        overwrite(block, 0);
    }
    egb_set_misuse_handler(
        [](const egb_event*, void* user) { ++*static_cast<std::size_t*>(user); }, &count
    );
    void* const fresh = egb_growing_alloc(&all.pool);
    egb_set_misuse_handler(nullptr, nullptr);
    EXPECT_EQ(std::count(blocks.begin(), blocks.end(), fresh), 0);
    EXPECT_GT(count, 0u);
    EXPECT_EQ(all.pool.lost, count);
}

TEST(growing_home, a_fresh_block_is_in_use_whatever_its_state_said)
{
    counting_backing  backing;
    growing_pool      all(backing, with_states(16));
    void* const       first = egb_growing_alloc(&all.pool);
    egb_chunk_* const chunk = egb_growing_chunk_of(&all.pool, first);
    chunk->shape.states[1]  = 0xFF;
    chunk->shape.states[2]  = 0xFF;
    void* const second      = egb_growing_alloc(&all.pool);
    void*       third       = nullptr;
    egb_chunk_* from        = nullptr;
    ASSERT_EQ(egb_growing_take_run(&all.pool, &from, &third, 1), 1u);
    EXPECT_EQ(chunk->shape.states[1], 0x7F);
    EXPECT_EQ(chunk->shape.states[2], 0x7F);
    EXPECT_TRUE(all.whole());
    give(all.pool, {first, second, third});
    EXPECT_EQ(egb_growing_in_use(&all.pool), 0u);
}

namespace
{

// All blocks of the pool's only chunk hold the same words, as if they had been there before it.
void fill(egb_chunk_* chunk, egb_word word)
{
    std::fill_n(chunk->fixed.first, chunk->shape.blocks * chunk->fixed.stride, word);
}

}  // namespace

// Their pages need not be there, and alloc does not bring them.
TEST(growing_home, a_fresh_block_of_zero_memory_is_not_written_to)
{
    const egb_word pattern = 0x5a5a5a5a;
    for (const std::size_t bytes : {4u, 16u, 4096u}) {
        counting_backing  backing(64, true);
        growing_pool      all(backing, with_states(bytes));
        egb_chunk_* const chunk = egb_growing_grow(&all.pool);
        fill(chunk, pattern);
        chunk->touched_before = reinterpret_cast<uintptr_t>(chunk->fixed.first + 1) -
                                reinterpret_cast<uintptr_t>(chunk->region);
        std::vector<void*> blocks(5);
        egb_chunk_*        from = nullptr;
        ASSERT_EQ(egb_growing_take_run(&all.pool, &from, blocks.data(), 4), 4u);
        blocks[4] = egb_growing_alloc(&all.pool);
        EXPECT_EQ(*static_cast<egb_word*>(blocks[0]), 0u) << "all but this one are said to be zero";
        for (std::size_t i = 1; i < blocks.size() * bytes / sizeof(egb_word); i++) {
            ASSERT_EQ(chunk->fixed.first[i], pattern);
        }
        EXPECT_TRUE(all.whole());
        give(all.pool, blocks);
    }
}

TEST(growing_home, marks_from_an_earlier_life_make_no_block_free)
{
    for (const std::size_t bytes : {4u, 16u, 256u}) {
        events            seen;
        counting_backing  backing;
        growing_pool      all(backing, with_states(bytes));
        egb_chunk_* const chunk = egb_growing_grow(&all.pool);
        fill(chunk, EGB_FIXED_MARK_);
        const std::vector<void*> blocks = take(all.pool, 20);
        std::fill_n(chunk->shape.states, blocks.size(), EGB_STATE_HOME_);
        chunk->groups = 1;
        chunk->lowest = 0;
        for (std::size_t i = 0; i < blocks.size(); i++) {
            void* const block = egb_growing_alloc(&all.pool);
            EXPECT_EQ(std::count(blocks.begin(), blocks.end(), block), 0);
        }
        EXPECT_EQ(seen.take_all(), EGB_EVENT_OVERWRITTEN);
    }
}

// Though it was marked while it was at home.
TEST(growing_home, a_block_that_nobody_has_written_to_is_zero_again)
{
    for (const std::size_t bytes : {4u, 8u, 64u}) {
        counting_backing         backing(64, true);
        growing_pool             all(backing, with_states(bytes));
        const std::vector<void*> blocks = take(all.pool, 20);
        give(all.pool, blocks);
        for (void* const block : take(all.pool, 20)) {
            for (std::size_t i = 0; i < bytes / sizeof(egb_word); i++) {
                ASSERT_EQ(static_cast<egb_word*>(block)[i], 0u);
            }
        }
        give(all.pool, blocks);
    }
}

namespace
{

// Whether every chunk that alloc can get a block of is in the list, once, and no other.
bool is_list_right(const egb_growing& pool)
{
    std::set<const egb_chunk_*> listed;
    for (const egb_chunk_* chunk = pool.available; chunk != nullptr; chunk = chunk->next) {
        if (!egb_chunk_is_available(chunk) || !listed.insert(chunk).second) {
            return false;
        }
    }
    std::size_t available = 0;
    egb_growing_each_chunk(
        &pool,
        [](egb_chunk_* chunk, void* user) {
            *static_cast<std::size_t*>(user) += egb_chunk_is_available(chunk) ? 1u : 0u;
        },
        &available
    );
    return listed.size() == available;
}

}  // namespace

// A chunk that had more blocks at home than were counted was put in the list twice.
TEST(growing_home, the_list_of_chunks_is_right_whatever_the_states_say)
{
    for (unsigned seed = 0; seed < 40; seed++) {
        counting_backing    backing;
        egb_growing_options wish = with_states(8);
        wish.chunk_bytes = wish.chunk_bytes_max = 1024;
        growing_pool all(backing, wish);
        egb_set_misuse_handler([](const egb_event*, void*) {}, nullptr);
        std::mt19937       random(seed);
        std::vector<void*> held = take(all.pool, 300);
        for (int step = 0; step < 2000; step++) {
            const unsigned what = random() % 64;
            void*          run[8];
            std::size_t    got  = 0;
            egb_chunk_*    from = nullptr;
            if (what == 0) {
                from = egb_growing_chunk_of(&all.pool, held[random() % held.size()]);
                from->shape.states[random() % from->shape.blocks] =
                    static_cast<unsigned char>(random() % 2 * EGB_STATE_HOME_);
            } else if (what < 32 && held.size() > 200) {
                std::swap(held[random() % held.size()], held.back());
                egb_growing_free(&all.pool, held.back());
                held.pop_back();
            } else if (what < 48) {
                got = egb_growing_take_run(&all.pool, &from, run, 1 + random() % 8);
            } else {
                run[0] = egb_growing_alloc(&all.pool);
                got    = 1;
            }
            held.insert(held.end(), run, run + got);
            ASSERT_TRUE(is_list_right(all.pool)) << "seed " << seed << " step " << step;
        }
        egb_set_misuse_handler(nullptr, nullptr);
    }
}

// Words of states are read up to there.
TEST(growing_home, what_is_between_states_and_header_is_zero)
{
    for (const std::size_t granule : {0u, 64u}) {
        for (const std::size_t bytes : {4u, 12u, 20u, 100u}) {
            counting_backing backing(granule);
            growing_pool     all(backing, with_states(bytes));
            void* const      block = egb_growing_alloc(&all.pool);
            for (unsigned char* state = egb_growing_chunk_of(&all.pool, block)->shape.states;
                 state < reinterpret_cast<unsigned char*>(egb_growing_chunk_of(&all.pool, block));
                 state++) {
                ASSERT_EQ(*state, 0u);
            }
        }
    }
}
