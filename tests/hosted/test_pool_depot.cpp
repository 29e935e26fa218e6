// SPDX-License-Identifier: MIT
// Which free blocks wait in the depot for their next use, and which go home to their chunks.
#include "events.hpp"
#include "pools.hpp"

#include "eggbox/guard.h"
#include "eggbox/heap.h"
#include "levels.hpp"

#include <algorithm>
#include <random>
#include <thread>

namespace
{

using pool_depot = needs_magazines;

egb_pool make_at(const char* level, std::size_t block_bytes)
{
    egb_pool_options options = options_for(block_bytes);
    options.level            = level_named(level);
    return make(options);
}

// The blocks in use of a pool. Any of them goes, and as many come.
class population
{
  public:
    // A part of the pool's peak stays, here and there.
    population(egb_pool pool, std::size_t peak, std::size_t stays)
        : pool_(pool), blocks_(take_all(pool, peak))
    {
        shrink_to(stays);
    }

    void renew(std::size_t count)
    {
        const std::size_t all = blocks_.size();
        shrink_to(all - count);
        const std::vector<void*> more = take_all(pool_, count);
        blocks_.insert(blocks_.end(), more.begin(), more.end());
    }

    void shrink_to(std::size_t count)
    {
        std::shuffle(blocks_.begin(), blocks_.end(), random_);
        const auto end = blocks_.begin() + static_cast<std::ptrdiff_t>(count);
        give_all(pool_, {end, blocks_.end()});
        blocks_.erase(end, blocks_.end());
    }

  private:
    egb_pool           pool_;
    std::vector<void*> blocks_;
    std::mt19937       random_{1};
};

// After these rounds, in which few blocks wait, half of the held memory can go.
void expect_to_shrink(
    egb_pool pool, population& blocks, int rounds, std::size_t count, std::size_t waiting
)
{
    const egb_pool_stats before = stats_of(pool);
    for (int round = 0; round < rounds; round++) {
        blocks.renew(count);
    }
    EXPECT_LT(stats_of(pool).in_magazines, waiting);
    (void)egb_pool_trim(pool, 0);
    EXPECT_LT(stats_of(pool).bytes_held, before.bytes_held / 2);
    blocks.shrink_to(0);
}

}  // namespace

// A free is no reason to ask the system for a batch, where nobody may ask. The first of the tests:
// others leave room for batches.
TEST_F(pool_depot, of_a_sealed_process_grows_no_further_than_its_batches)
{
    for (const char* level : {"check", "off"}) {
        egb_pool_options options = options_for(4096);
        options.level            = level_named(level);
        options.reserve_blocks   = 3000;
        const guard pool(make(options));
        egb_pool_free(pool, egb_pool_alloc(pool));  // this thread has its magazine
        const events none;
        egb_seal();
        for (int round = 0; round < 2; round++) {
            const std::vector<void*> blocks = take_all(pool, 3000);
            EXPECT_EQ(blocks.size(), 3000u);
            give_all(pool, blocks);
        }
        egb_unseal();
        EXPECT_EQ(stats_of(pool).in_use, 0u);
    }
}

// Only some short blocks with states wait there, because blocks from a chunk come back in order of
// address.
TEST_F(pool_depot, has_free_blocks_of_1_kib_and_trim_takes_them_home)
{
    for (const std::string level : {"check", "off"}) {
        for (const std::size_t bytes : {1008u, 1024u, 4096u}) {
            const guard pool(make_at(level.c_str(), bytes));
            give_all(pool, take_all(pool, 10000));
            const egb_pool_stats before = stats_of(pool);
            if (bytes >= 1024 || level == "off") {
                EXPECT_GE(before.in_magazines, 10000u);
            } else {
                EXPECT_LT(before.in_magazines, 1000u);
            }
            give_all(pool, take_all(pool, 10000));
            EXPECT_EQ(stats_of(pool).bytes_held, before.bytes_held);
            EXPECT_EQ(egb_pool_trim(pool, 0), before.bytes_held);
            EXPECT_EQ(stats_of(pool).in_magazines, 0u);
        }
    }
}

TEST_F(pool_depot, has_1024_batches_at_most)
{
    const guard pool(make(1024));
    give_all(pool, take_all(pool, 70000));
    EXPECT_GE(stats_of(pool).in_magazines, 64u * 1024);
    EXPECT_LE(stats_of(pool).in_magazines, 64u * (1024 + 2));
}

TEST_F(pool_depot, has_4_mib_of_short_blocks_of_several_threads)
{
    const guard              pool(make(512));
    const std::vector<void*> blocks = take_all(pool, 20000);
    std::thread([&] {
        egb_pool_free(pool, egb_pool_alloc(pool));
        give_all(pool, blocks);
    }).join();
    EXPECT_GE(stats_of(pool).in_magazines, (3u << 20) / 512);
    EXPECT_LE(stats_of(pool).in_magazines, (4u << 20) / 512 + 6 * 64);
}

// A trimmed pool is to become smaller: its blocks in use come to lie in few chunks.
TEST_F(pool_depot, lets_chunks_become_free_after_a_trim)
{
    for (const std::string level : {"check", "off"}) {
        const guard pool(make_at(level.c_str(), 4096));
        population  blocks(pool, 8000, 2000);
        (void)egb_pool_trim(pool, 0);
        if (level == "off") {
            expect_to_shrink(pool, blocks, 400, 1800, 1300);  // more come than wait
        } else {
            expect_to_shrink(pool, blocks, 400, 500, 400);
        }
    }
}

// The same is true of a pool that has not needed much of its memory for a long while.
TEST_F(pool_depot, lets_chunks_become_free_when_much_of_it_is_not_needed)
{
    const guard pool(make(4096));
    population  blocks(pool, 8000, 2000);
    EXPECT_GE(stats_of(pool).in_magazines, 6000u);
    expect_to_shrink(pool, blocks, 800, 500, 400);
}

// More may be idle than the depot has room for.
TEST_F(pool_depot, is_not_full_for_ever_in_a_pool_of_many_blocks)
{
    const guard pool(make(1024));
    population  blocks(pool, 300000, 20000);
    EXPECT_GE(stats_of(pool).in_magazines, 65000u);
    for (int round = 0; round < 100; round++) {
        blocks.renew(4000);
    }
    EXPECT_LT(stats_of(pool).in_magazines, 1000u);
    blocks.shrink_to(0);
}

// Until nearly all that it has is needed.
TEST_F(pool_depot, keeps_blocks_again_once_the_pool_is_needed)
{
    const guard pool(make(4096));
    population  blocks(pool, 8000, 2000);
    (void)egb_pool_trim(pool, 0);
    blocks.renew(1000);
    EXPECT_LT(stats_of(pool).in_magazines, 400u);
    give_all(pool, take_all(pool, 6000));
    EXPECT_GE(stats_of(pool).in_magazines, 6000u);
    blocks.shrink_to(0);
}

// There is nothing to gather if a trim leaves no more than it should, or if no block is in use.
TEST_F(pool_depot, keeps_blocks_when_a_trim_has_nothing_to_wish_for)
{
    for (const std::size_t keeps : {std::size_t{0}, std::size_t{5300000}, SIZE_MAX}) {
        const guard pool(make(4096));
        give_all(pool, take_all(pool, 2000));
        (void)egb_pool_trim(pool, keeps);
        give_all(pool, take_all(pool, 1000));
        EXPECT_GE(stats_of(pool).in_magazines, 1000u) << keeps;
    }
    const guard pool(make(4096));
    population  blocks(pool, 2000, 500);
    (void)egb_pool_trim(pool, SIZE_MAX);
    blocks.renew(400);
    give_all(pool, take_all(pool, 1000));
    EXPECT_GE(stats_of(pool).in_magazines, 1000u);
    blocks.shrink_to(0);
}

// Memory that is needed in turns stays, however long that goes on.
TEST_F(pool_depot, keeps_blocks_that_are_all_in_use_now_and_then)
{
    const guard pool(make(4096));
    for (int round = 0; round < 200; round++) {
        give_all(pool, take_all(pool, 2000));
        EXPECT_GE(stats_of(pool).in_magazines, 2000u);
    }
}

// They are as good as those in chunks: nothing is taken home for it.
TEST_F(pool_depot, counts_for_reserve)
{
    egb_pool_options options = options_for(4096);
    options.max_blocks       = 2000;
    const guard pool(make(options));
    give_all(pool, take_all(pool, 2000));
    const egb_pool_stats before = stats_of(pool);
    EXPECT_GE(before.in_magazines, 1900u);
    EXPECT_EQ(egb_pool_reserve(pool, 1000), EGB_OK);
    EXPECT_EQ(stats_of(pool).in_magazines, before.in_magazines);
    EXPECT_EQ(egb_pool_reserve(pool, 2000), EGB_OK);  // with those in the magazine
    EXPECT_EQ(egb_pool_reserve(pool, 2001), EGB_LIMIT);
    EXPECT_EQ(stats_of(pool).bytes_held, before.bytes_held);
    const std::vector<void*> blocks = take_all(pool, 2000);
    EXPECT_EQ(blocks.size(), 2000u);
    EXPECT_EQ(stats_of(pool).bytes_held, before.bytes_held);
    give_all(pool, blocks);
}

// The null pool's trim gives back what batches were made of: nothing is left for the heap's.
TEST_F(pool_depot, leaves_no_batches_to_a_library_that_is_trimmed)
{
    const egb_pool pool = make(4096);
    give_all(pool, take_all(pool, 10000));
    ASSERT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
    void* const block = egb_malloc(64);  // there is a heap to trim
    (void)egb_pool_trim(egb_pool{}, 0);
    EXPECT_EQ(egb_heap_trim(0), 0u);
    egb_free(block);
}
