// SPDX-License-Identifier: MIT
// How many free blocks magazines, and lanes of a depot that is split, have room for where many
// threads share what magazines may have. The linker leads the question for the share of the memory
// that the process may have to this file: the tests are the same where that memory is limited.
#include "pools.hpp"

extern "C" {
#include "cache/threads.h"
#include "pool/registry.h"
}

#include <deque>
#include <vector>

namespace
{

constexpr std::size_t long_bytes = std::size_t{64} << 10;
constexpr std::size_t mib        = std::size_t{1} << 20;

std::size_t share = SIZE_MAX;

}  // namespace

extern "C" {
std::size_t __wrap_egb_keep_share_(void);

std::size_t __wrap_egb_keep_share_(void)
{
    return share;
}
}

namespace
{

// Other threads have claimed all that magazines may have.
class pool_room : public needs_magazines
{
  protected:
    pool_room()
    {
        claim(all);
    }

    ~pool_room() override
    {
        claim(0 - all);
        share = SIZE_MAX;
    }

    static constexpr std::size_t all = 64 * mib;

  private:
    static void claim(std::size_t bytes)
    {
        (void)__atomic_add_fetch(&egb_threads_.claimed, bytes, __ATOMIC_RELAXED);
    }
};

// More magazines of the pool.
class companies
{
  public:
    companies(egb_pool pool, std::size_t count) : all_(count)
    {
        for (egb_magazine& one : all_) {
            EXPECT_EQ(egb_magazine_open(&one, pool), EGB_OK);
        }
    }

    ~companies()
    {
        for (egb_magazine& one : all_) {
            egb_magazine_close(&one);
        }
    }

    companies(const companies&)            = delete;
    companies& operator=(const companies&) = delete;

  private:
    std::deque<egb_magazine> all_;
};

std::size_t room(egb_pool pool)
{
    return egb_magazine_of_key_(egb_pool_key_(pool))->loaded->room;
}

// The bytes that wait in the depot of a size class after `freed` of its blocks have been freed.
std::size_t waiting_after(egb_pool pool, std::size_t freed, bool is_split)
{
    std::vector<void*> blocks  = take_all(pool, 2 * freed);
    const auto         first   = blocks.begin() + static_cast<std::ptrdiff_t>(freed);
    egb_control*       control = egb_pool_lock_(pool);
    control->depot.is_shared   = true;
    control->depot.locks       = 0;  // it is not to be judged yet
    EXPECT_TRUE(!is_split || egb_depot_split_(&control->depot));
    egb_pool_unlock_(control);
    give_all(pool, {blocks.begin(), first});
    control                 = egb_pool_lock_(pool);
    const std::size_t bytes = control->depot.blocks * control->depot.block_bytes;
    EXPECT_EQ(control->depot.is_split, is_split);
    egb_pool_unlock_(control);
    give_all(pool, {first, blocks.end()});
    return bytes;
}

}  // namespace

TEST_F(pool_room, of_long_blocks_is_a_part_of_those_in_use)
{
    const guard     pool(make(16 << 10));
    const companies others(pool, 3);
    give_all(pool, take_all(pool, 8));
    EXPECT_EQ(room(pool), 3u);
    const std::vector<void*> stay = take_all(pool, 192);
    give_all(pool, take_all(pool, 64));
    EXPECT_GE(room(pool), 192u / 8 / 4);
    EXPECT_LE(room(pool), (192u + 64) / 8 / 4);
    give_all(pool, stay);
}

TEST_F(pool_room, of_long_blocks_is_no_such_part_once_the_share_of_the_memory_is_claimed)
{
    share = all;
    const guard              pool(make(16 << 10));
    const std::vector<void*> stay = take_all(pool, 640);
    give_all(pool, take_all(pool, 64));
    EXPECT_EQ(room(pool), 3u);
    give_all(pool, stay);
}

TEST_F(pool_room, of_long_blocks_is_within_the_share_of_the_memory)
{
    constexpr std::size_t block_bytes = 4 << 10;
    share                             = all + 24 * block_bytes;
    const guard              pool(make(block_bytes));
    const std::vector<void*> stay = take_all(pool, 640);
    for (void* const block : take_all(pool, 64)) {
        give_all(pool, {block});
        EXPECT_LE(__atomic_load_n(&egb_threads_.claimed, __ATOMIC_RELAXED), share);
    }
    EXPECT_GE(room(pool), 8u);
    give_all(pool, stay);
}

TEST_F(pool_room, of_short_blocks_is_no_such_part)
{
    const guard pool(make(512));
    give_all(pool, take_all(pool, 2000));
    EXPECT_LT(room(pool), (32u << 10) / 512);
}

TEST_F(pool_room, of_a_depot_that_is_split_is_a_stock_for_each_lane)
{
    constexpr std::size_t freed = 200;
    const guard           pool(make(long_bytes));
    const companies       others(pool, 15);
    EXPECT_LT(waiting_after(pool, freed, false), mib + mib / 2);
    const std::size_t waiting = waiting_after(pool, freed, true);
    EXPECT_GT(waiting, 2 * mib);
    EXPECT_LT(waiting, 2 * freed * long_bytes / 8 + mib);
}

TEST_F(pool_room, of_a_depot_that_is_split_is_less_where_memory_is_limited)
{
    share = 32 * mib;
    const guard     pool(make(long_bytes));
    const companies others(pool, 15);
    const auto      waiting = waiting_after(pool, 300, true);
    EXPECT_GE(waiting, 2 * mib);
    EXPECT_LT(waiting, 2 * mib + mib / 2);
}
