// SPDX-License-Identifier: MIT
// Free blocks of chunks with states: they come back in order of address.
#include "events.hpp"
#include "home.hpp"

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
        backing.misalign           = misalign;
        egb_growing_options wanted = with_states(4);
        wanted.chunk_bytes = wanted.chunk_bytes_max = 512;
        growing_pool             all(backing, wanted);
        const std::vector<void*> blocks = sorted(take(all.pool, 11));
        egb_chunk_* const        chunk  = egb_growing_chunk_of_(&all.pool, blocks[0]);
        ASSERT_EQ(egb_growing_chunk_of_(&all.pool, blocks[10]), chunk);
        for (unsigned set = 1; set < 1u << 11; set++) {
            std::vector<void*> free;
            for (std::size_t i = 0; i < blocks.size(); i++) {
                if ((set >> i & 1) != 0) {
                    free.push_back(blocks[i]);
                }
            }
            egb_growing_put_run_(chunk, shuffled(free, set).data(), free.size());
            ASSERT_EQ(egb_bitmap_count_(chunk), free.size());
            std::vector<void*> taken;
            while (taken.size() < free.size()) {
                void*             run[4];
                egb_chunk_*       from = nullptr;
                const std::size_t got  = egb_growing_take_run_(&all.pool, &from, run, 1 + set % 4);
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
    egb_chunk_* const  chunk  = egb_growing_chunk_of_(&all.pool, blocks[0]);
    chunk->shape.states[1]    = 0x02;
    give(all.pool, blocks);
    EXPECT_EQ(egb_state_at_(&chunk->shape, 0), 0u);
    EXPECT_EQ(egb_state_at_(&chunk->shape, 1), 0x02u);
    EXPECT_EQ(chunk->shape.states[1], 0x02 | EGB_STATE_IN_CHUNK_);
    EXPECT_EQ(take(all.pool, 3), blocks);
    EXPECT_EQ(chunk->shape.states[1], 0x02);
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
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
    overwrite(blocks[2], 3);
    egb_growing_free(&all.pool, blocks[2]);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
    egb_growing_free(&all.pool, static_cast<char*>(blocks[4]) + 16);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_NEVER_ALLOCATED);
    egb_growing_free(&all.pool, static_cast<char*>(blocks[3]) + 4);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_INTERIOR);
    EXPECT_EQ(egb_growing_in_use(&all.pool), 4u);
}

TEST(growing_home, a_run_of_others_blocks_changes_nothing)
{
    counting_backing         backing;
    growing_pool             all(backing, with_states(32));
    const std::vector<void*> blocks  = take(all.pool, 4);
    egb_chunk_* const        chunk   = egb_growing_chunk_of_(&all.pool, blocks[0]);
    char* const              first   = static_cast<char*>(blocks[0]);
    int                      other   = 0;
    void* const              wrong[] = {first + 4, &other, first + 32 * 4, blocks[1], blocks[1]};
    egb_growing_put_run_(chunk, wrong, 5);
    EXPECT_EQ(egb_growing_in_use(&all.pool), 3u);
    EXPECT_TRUE(all.whole());
    EXPECT_EQ(egb_growing_alloc(&all.pool), blocks[1]);
    give(all.pool, blocks);
    egb_growing_put_run_(chunk, blocks.data(), 4);
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

// This keeps short the group of states that alloc looks through.
TEST(growing_home, a_chunk_has_no_more_than_so_many_states)
{
    for (const std::size_t bytes : {4u, 16u, 60u, 64u, 100u}) {
        counting_backing backing;
        growing_pool     all(backing, with_states(bytes));
        ASSERT_EQ(egb_growing_reserve(&all.pool, 400000), EGB_OK);
        egb_growing_each_chunk_(
            &all.pool,
            [](egb_chunk_* chunk, void*) { EXPECT_LE(chunk->shape.blocks, 64u << 10); },
            nullptr
        );
        const std::size_t largest = *std::max_element(backing.wanted.begin(), backing.wanted.end());
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
        if (egb_is_in_chunk_(&chunk->shape, i)) {
            groups |= std::size_t{1} << (i >> chunk->shape.group);
        }
    }
    return groups;
}

std::size_t first_home(const egb_chunk_* chunk)
{
    std::size_t index = 0;
    while (!egb_is_in_chunk_(&chunk->shape, index)) {
        index++;
    }
    return index;
}

}  // namespace

TEST(growing_home, groups_are_of_8_blocks_or_more_and_no_more_than_a_word_has_bits)
{
    for (const std::uint32_t blocks : {1u, 31u, 32u, 33u, 64u, 65u, 4096u, 65536u, 65537u, ~0u}) {
        egb_shape_ shape{};
        shape.blocks = blocks;
        egb_bitmap_plan_(&shape);
        const std::size_t groups = ((blocks - 1) >> shape.group) + 1;
        EXPECT_LE(groups, sizeof(std::size_t) * 8);
        EXPECT_GE(shape.group, 3);
        EXPECT_TRUE(shape.group == 3 || groups > sizeof(std::size_t) * 4);
    }
}

// Only groups that are said to have blocks at home are looked through: none too many, and no block
// is forgotten, whatever comes back and is taken, one by one and in runs.
TEST(growing_home, groups_are_exactly_those_that_have_blocks_at_home)
{
    counting_backing    backing;
    egb_growing_options wanted = with_states(8);
    wanted.chunk_bytes = wanted.chunk_bytes_max = 16384;
    growing_pool             all(backing, wanted);
    const std::vector<void*> blocks = take(all.pool, 1000);
    egb_chunk_* const        chunk  = egb_growing_chunk_of_(&all.pool, blocks[0]);
    ASSERT_EQ(egb_growing_chunk_of_(&all.pool, blocks[999]), chunk);
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
            const std::size_t got  = egb_growing_take_run_(&all.pool, &from, run, count);
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

// Or one call would look through all states of static memory.
TEST(growing_home, a_run_ends_where_a_long_group_does)
{
    std::vector<char>   memory(1 << 20);
    egb_static_region   region{memory.data(), memory.size(), false};
    egb_growing_options wanted = with_states(4);
    wanted.backing             = egb_static_backing(&region);
    egb_growing pool;
    ASSERT_EQ(egb_growing_init(&pool, &wanted), EGB_OK);
    const std::vector<void*> blocks  = take(pool, 200000);
    const egb_chunk_* const  chunk   = egb_chunk_of_range_(pool.tree);
    const std::size_t        between = std::size_t{1} << chunk->shape.group;
    ASSERT_GT(between, 1024u);
    for (std::size_t i = 0; i < blocks.size(); i += between) {
        give(pool, {blocks[i]});
        give(pool, {blocks[i + 1]});
    }
    void*       run[64];
    egb_chunk_* from = nullptr;
    for (std::size_t i = 0; i < blocks.size(); i += between) {
        ASSERT_EQ(egb_growing_take_run_(&pool, &from, run, 64), 2u);
        EXPECT_EQ(run[0], blocks[i]);
    }
    egb_growing_destroy(&pool);
}

// Their pages need not be there, and alloc does not bring them.
TEST(growing_home, a_fresh_block_of_zero_memory_is_not_written_to)
{
    const egb_word pattern = 0x5a5a5a5a;
    for (const std::size_t bytes : {4u, 16u, 1020u}) {
        counting_backing  backing(64, true);
        growing_pool      all(backing, with_states(bytes));
        egb_chunk_* const chunk = egb_growing_grow_(&all.pool);
        fill(chunk, pattern);
        chunk->touched_before = reinterpret_cast<uintptr_t>(chunk->fixed.first + 1) -
                                reinterpret_cast<uintptr_t>(chunk->range.start);
        std::vector<void*> blocks(5);
        egb_chunk_*        from = nullptr;
        ASSERT_EQ(egb_growing_take_run_(&all.pool, &from, blocks.data(), 4), 4u);
        blocks[4] = egb_growing_alloc(&all.pool);
        EXPECT_EQ(*static_cast<egb_word*>(blocks[0]), 0u) << "all but this one are said to be zero";
        for (std::size_t i = 1; i < blocks.size() * bytes / sizeof(egb_word); i++) {
            ASSERT_EQ(chunk->fixed.first[i], pattern);
        }
        EXPECT_TRUE(all.whole());
        give(all.pool, blocks);
    }
}

// Neither on their way out, nor home, nor out again: each may have pages of its own.
TEST(growing_home, a_block_of_a_kibibyte_is_never_written_to)
{
    const egb_word pattern = 0x5a5a5a5a;
    for (const std::size_t bytes : {1024u, 1028u, 4096u, 16384u}) {
        counting_backing  backing;  // not zeroed
        growing_pool      all(backing, with_states(bytes));
        egb_chunk_* const chunk = egb_growing_grow_(&all.pool);
        const std::size_t words = chunk->shape.blocks * bytes / sizeof(egb_word);
        fill(chunk, pattern);
        const std::vector<void*> blocks = take(all.pool, chunk->shape.blocks);
        for (unsigned seed = 0; seed < 3; seed++) {
            give(all.pool, shuffled(blocks, seed));
            ASSERT_TRUE(all.whole());
            ASSERT_EQ(take(all.pool, blocks.size()), sorted(blocks));
            ASSERT_TRUE(all.whole());
        }
        EXPECT_EQ(std::count(chunk->fixed.first, chunk->fixed.first + words, pattern), words);
        give(all.pool, blocks);
    }
}

TEST(growing_home, blocks_of_less_than_a_kibibyte_are_marked)
{
    for (const std::size_t bytes : {4u, 8u, 1000u, 1020u}) {
        counting_backing         backing(64, true);
        growing_pool             all(backing, with_states(bytes));
        const std::vector<void*> blocks = take(all.pool, 2);
        give(all.pool, blocks);
        for (void* const block : blocks) {
            EXPECT_EQ(*static_cast<egb_word*>(block), EGB_FIXED_MARK_);
        }
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

// As if the system had had the block's page: each word is as before, or zero.
void let_go(egb_growing& pool, void* block, bool first_word, bool second_word)
{
    egb_chunk_* const chunk = egb_growing_chunk_of_(&pool, block);
    auto* const       words = static_cast<egb_word*>(block);
    chunk->shape.states[egb_chunk_index_(chunk, block)] |= EGB_STATE_GONE_;
    pool.gone++;
    words[0] = first_word ? words[0] : 0;
    words[1] = second_word ? words[1] : 0;
}

}  // namespace

TEST(growing_home, a_block_whose_page_went_comes_back_in_its_turn)
{
    for (const std::size_t bytes : {8u, 64u, 1024u}) {
        for (unsigned words = 0; words < 4; words++) {
            const events             seen;
            counting_backing         backing;
            growing_pool             all(backing, with_states(bytes));
            const std::vector<void*> blocks = take(all.pool, 20);
            egb_chunk_* const        chunk  = egb_growing_chunk_of_(&all.pool, blocks[0]);
            give(all.pool, {blocks.begin() + 4, blocks.end()});
            for (const std::size_t i : {5u, 6u, 11u}) {
                let_go(all.pool, blocks[i], (words & 1) != 0, (words & 2) != 0);
            }
            EXPECT_TRUE(all.whole());
            EXPECT_EQ(egb_bitmap_gone_(chunk), 3u);
            EXPECT_EQ(
                take(all.pool, 3), std::vector<void*>(blocks.begin() + 4, blocks.begin() + 7)
            );
            EXPECT_EQ(all.pool.gone, 1u);
            EXPECT_EQ(chunk->shape.states[5] & EGB_STATE_OWN_, 0u);
            if (bytes < EGB_UNMARKED_BYTES) {
                EXPECT_EQ(*static_cast<egb_word*>(blocks[5]), 0u);
            }
            EXPECT_TRUE(all.whole());
            give(all.pool, {blocks.begin(), blocks.begin() + 7});
            EXPECT_EQ(egb_bitmap_gone_(chunk), 1u);
            EXPECT_EQ(take(all.pool, 20), blocks);
            EXPECT_EQ(all.pool.gone, 0u);
            EXPECT_TRUE(all.whole());
            give(all.pool, blocks);
            EXPECT_TRUE(seen.none());
        }
    }
}

TEST(growing_home, a_free_and_a_write_after_the_page_went_are_noticed)
{
    for (const std::size_t offset : {0u, 4u}) {
        events                   seen;
        counting_backing         backing;
        growing_pool             all(backing, with_states(32));
        const std::vector<void*> blocks = take(all.pool, 4);
        give(all.pool, {blocks[1], blocks[2]});
        let_go(all.pool, blocks[1], false, false);
        let_go(all.pool, blocks[2], false, false);
        egb_growing_free(&all.pool, blocks[1]);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
        overwrite(blocks[1], offset);
        EXPECT_FALSE(egb_bitmap_is_sound_(egb_growing_chunk_of_(&all.pool, blocks[1]), 1));
        EXPECT_EQ(egb_growing_alloc(&all.pool), blocks[2]);
        EXPECT_EQ(seen.take_all(), EGB_MISUSE_OVERWRITTEN);
        EXPECT_EQ(all.pool.gone, 0u);
        EXPECT_TRUE(all.whole());
        give(all.pool, {blocks[0], blocks[2], blocks[3]});
    }
}

TEST(growing_home, pages_that_went_are_counted_until_their_chunk_goes)
{
    counting_backing         backing;
    growing_pool             all(backing, with_states(64));
    const std::vector<void*> blocks = take(all.pool, 5000);
    give(all.pool, blocks);
    let_go(all.pool, blocks[0], false, false);
    let_go(all.pool, blocks[4999], false, false);
    EXPECT_NE(egb_growing_trim(&all.pool, 0), 0u);
    EXPECT_EQ(all.pool.gone, 0u);
    EXPECT_TRUE(all.whole());
}
