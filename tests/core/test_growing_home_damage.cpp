// SPDX-License-Identifier: MIT
// Free blocks of chunks with states, and the states themselves, when someone writes to them.
#include "events.hpp"
#include "home.hpp"

#include <set>

TEST(growing_home_damage, a_block_that_was_written_to_is_lost_and_no_other)
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
            EXPECT_EQ(first.kind, EGB_MISUSE_OVERWRITTEN);
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
TEST(growing_home_damage, a_run_ends_where_a_block_was_written_to)
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
    EXPECT_EQ(egb_growing_take_run_(&all.pool, &from, run, 6), 2u);
    EXPECT_EQ(egb_growing_take_run_(&all.pool, &from, run, 6), 0u);
    EXPECT_EQ(egb_growing_take_(&all.pool, &from, &damage), nullptr);
    EXPECT_TRUE(damage.was_found);
    EXPECT_EQ(damage.address, blocks[2]);
    EXPECT_EQ(egb_growing_take_run_(&all.pool, &from, run, 6), 3u);
    EXPECT_EQ(run[0], blocks[3]);
    EXPECT_TRUE(all.whole());
}

namespace
{

// A pool with one small chunk, all of whose blocks are in use, and no more to be had.
class one_chunk
{
  public:
    one_chunk() : backing_(64), all(backing_, wanted())
    {
        blocks.push_back(egb_growing_alloc(&all.pool));
        chunk                = egb_growing_chunk_of_(&all.pool, blocks[0]);
        backing_.refuse_from = backing_.requests + 1;
        while (void* const block = egb_growing_alloc(&all.pool)) {
            blocks.push_back(block);
        }
        EXPECT_EQ(blocks.size(), chunk->shape.blocks);
    }

  private:
    static egb_growing_options wanted()
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

// They stand behind the last block. Alloc must end, and must not hand out a block in use.
TEST(growing_home_damage, states_that_were_written_to_end_the_chunk)
{
    events    seen;
    one_chunk one;
    egb_growing_free(&one.all.pool, one.blocks[9]);
    one.chunk->shape.states[9] = 0;
    one.chunk->shape.states[1] = EGB_STATE_IN_CHUNK_ | 2;
    EXPECT_EQ(egb_growing_alloc(&one.all.pool), nullptr);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_OVERWRITTEN);
    EXPECT_EQ(egb_growing_alloc(&one.all.pool), nullptr);
}

TEST(growing_home_damage, a_block_in_use_is_not_handed_out_whatever_its_state_says)
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
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_OVERWRITTEN);
}

// Those of a group that follow each other are one event: a handler that allocates finds the next
// ones, and is called within itself once more for each event.
TEST(growing_home_damage, blocks_in_a_row_that_were_written_to_are_one_damage)
{
    struct teller {
        egb_growing* pool;
        std::size_t  events, depth, deepest;
    };
    counting_backing         backing;
    growing_pool             all(backing, with_states(16));
    teller                   told{&all.pool, 0, 0, 0};
    const std::vector<void*> blocks = take(all.pool, 60000);
    give(all.pool, blocks);
    for (void* const block : blocks) {
        overwrite(block, 0);
    }
    const auto tell = [](const egb_misuse_event*, void* user) {
        teller& one = *static_cast<teller*>(user);
        one.events++;
        one.deepest = std::max(one.deepest, ++one.depth);
        EXPECT_NE(egb_growing_alloc(one.pool), nullptr);
        one.depth--;
    };
    egb_misuse_set_handler(tell, &told);
    void* const fresh = egb_growing_alloc(&all.pool);
    egb_misuse_set_handler(nullptr, nullptr);
    EXPECT_EQ(std::count(blocks.begin(), blocks.end(), fresh), 0);
    EXPECT_GT(told.events, 0u);
    EXPECT_GT(all.pool.lost, 10 * told.events);
    EXPECT_LE(told.deepest, sizeof(std::size_t) * 8 * all.pool.chunks) << "groups";
}

TEST(growing_home_damage, a_fresh_block_is_in_use_whatever_its_state_said)
{
    counting_backing  backing;
    growing_pool      all(backing, with_states(16));
    void* const       first = egb_growing_alloc(&all.pool);
    egb_chunk_* const chunk = egb_growing_chunk_of_(&all.pool, first);
    chunk->shape.states[1]  = 0xFF;
    chunk->shape.states[2]  = 0xFF;
    void* const second      = egb_growing_alloc(&all.pool);
    void*       third       = nullptr;
    egb_chunk_* from        = nullptr;
    ASSERT_EQ(egb_growing_take_run_(&all.pool, &from, &third, 1), 1u);
    EXPECT_EQ(chunk->shape.states[1], 0);
    EXPECT_EQ(egb_state_at_(&chunk->shape, 2), 0u);
    EXPECT_TRUE(all.whole());
    give(all.pool, {first, second, third});
    EXPECT_EQ(egb_growing_in_use(&all.pool), 0u);
}

// Nothing else says of a large block that it is in use: one of 64 values is a free block's state.
TEST(growing_home_damage, a_large_block_is_not_handed_out_with_a_state_that_was_written_to)
{
    for (unsigned state = 0; state < 256; state++) {
        events                   seen;
        counting_backing         backing;
        growing_pool             all(backing, with_states(4096));
        const std::vector<void*> blocks = take(all.pool, 4);
        egb_chunk_* const        chunk  = egb_growing_chunk_of_(&all.pool, blocks[0]);
        give(all.pool, {blocks[1], blocks[3]});
        chunk->shape.states[1] = (unsigned char)state;
        void* const    block   = egb_growing_alloc(&all.pool);
        const unsigned own     = state & EGB_STATE_OWN_;
        const bool     is_free = (own & ~EGB_STATE_GONE_) == EGB_STATE_IN_CHUNK_;
        const bool     is_its  = is_free || state == (EGB_STATE_IN_CHUNK_ | EGB_STATE_UNUSED_);
        EXPECT_EQ(block == blocks[1], is_its);
        EXPECT_TRUE(is_its || block == blocks[3]) << "state " << state;
        const bool is_noticed = state >= EGB_STATE_IN_CHUNK_ && !is_its;
        EXPECT_EQ(seen.take_all(), is_noticed ? EGB_MISUSE_OVERWRITTEN : 0);
    }
}

TEST(growing_home_damage, marks_from_an_earlier_life_make_no_block_free)
{
    for (const std::size_t bytes : {4u, 16u, 256u}) {
        events            seen;
        counting_backing  backing;
        growing_pool      all(backing, with_states(bytes));
        egb_chunk_* const chunk = egb_growing_grow_(&all.pool);
        fill(chunk, EGB_FIXED_MARK_);
        const std::vector<void*> blocks = take(all.pool, 20);
        std::fill_n(chunk->shape.states, blocks.size(), EGB_STATE_IN_CHUNK_);
        chunk->groups = 1;
        chunk->lowest = 0;
        for (std::size_t i = 0; i < blocks.size(); i++) {
            void* const block = egb_growing_alloc(&all.pool);
            EXPECT_EQ(std::count(blocks.begin(), blocks.end(), block), 0);
        }
        EXPECT_EQ(seen.take_all(), EGB_MISUSE_OVERWRITTEN);
    }
}

namespace
{

// Whether every chunk that alloc can get a block of is in the list, once, and no other.
bool is_list_right(const egb_growing& pool)
{
    std::set<const egb_chunk_*> listed;
    for (const egb_chunk_* chunk = pool.available; chunk != nullptr; chunk = chunk->next) {
        if (!egb_chunk_is_available_(chunk) || !listed.insert(chunk).second) {
            return false;
        }
    }
    std::size_t available = 0;
    egb_growing_each_chunk_(
        &pool,
        [](egb_chunk_* chunk, void* user) {
            *static_cast<std::size_t*>(user) += egb_chunk_is_available_(chunk) ? 1u : 0u;
        },
        &available
    );
    return listed.size() == available;
}

}  // namespace

// A chunk that had more blocks at home than were counted was put in the list twice.
TEST(growing_home_damage, the_list_of_chunks_is_right_whatever_the_states_say)
{
    for (unsigned seed = 0; seed < 40; seed++) {
        counting_backing    backing;
        const std::size_t   bytes  = seed % 2 == 0 ? 8 : 1024;  // with marks and without
        egb_growing_options wanted = with_states(bytes);
        wanted.chunk_bytes = wanted.chunk_bytes_max = 128 * bytes;
        growing_pool all(backing, wanted);
        egb_misuse_set_handler([](const egb_misuse_event*, void*) {}, nullptr);
        std::mt19937       random(seed);
        std::vector<void*> held = take(all.pool, 300);
        for (int step = 0; step < 2000; step++) {
            const unsigned what = random() % 64;
            void*          run[8];
            std::size_t    got  = 0;
            egb_chunk_*    from = nullptr;
            if (what == 0) {
                from = egb_growing_chunk_of_(&all.pool, held[random() % held.size()]);
                from->shape.states[random() % from->shape.blocks] =
                    static_cast<unsigned char>(random() % 2 * EGB_STATE_IN_CHUNK_);
            } else if (what < 32 && held.size() > 200) {
                std::swap(held[random() % held.size()], held.back());
                egb_growing_free(&all.pool, held.back());
                held.pop_back();
            } else if (what < 48) {
                got = egb_growing_take_run_(&all.pool, &from, run, 1 + random() % 8);
            } else {
                run[0] = egb_growing_alloc(&all.pool);
                got    = 1;
            }
            held.insert(held.end(), run, run + got);
            ASSERT_TRUE(is_list_right(all.pool)) << "seed " << seed << " step " << step;
        }
        egb_misuse_set_handler(nullptr, nullptr);
    }
}
