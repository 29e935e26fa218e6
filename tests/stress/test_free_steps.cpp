// SPDX-License-Identifier: MIT
// A trim while another thread stands between two instructions of a free, at each of them in turn:
// up to the one that begins to take the lock of the pool, which the trim would wait for. The free
// finds its magazine full. The block is the last one of the pool that is in use, so that the trim
// gives all chunks back.
#include "cuts.hpp"
#include "steps.hpp"

#include "eggbox/heap.h"

#include <gtest/gtest.h>

namespace
{

egb_pool    pool;
std::size_t instructions;
std::size_t cut_at;  // instructions before the trim
bool        is_at_lock;

void step()
{
    is_at_lock = is_at_lock || steps::next_bytes() == reinterpret_cast<void*>(code_of_end());
    if (is_at_lock || instructions++ != cut_at) {
        return;
    }
    cuts::in_another_thread([] { egb_pool_trim(pool, 0); });
}

// Returns whether the free has no such instruction any more.
bool trim_at_instruction(std::size_t index, void (*free_block)(void*))
{
    const cuts::full one;
    const steps      each(step);
    pool         = one.pool;
    cut_at       = index;
    instructions = 0;
    is_at_lock   = false;
    each.through([&] { free_block(one.block); });
    EXPECT_TRUE(is_at_lock) << "the magazine was to be full";
    EXPECT_EQ(stress::stats_of(one.pool).in_use, 0u) << index;
    EXPECT_EQ(egb_pool_destroy(one.pool, EGB_DESTROY_REFUSE), EGB_OK) << index;
    return instructions <= index;
}

void trim_at_each_instruction(void (*free_block)(void*))
{
    constexpr std::size_t stride = STRESS_IS_SANITIZED == 0 ? 1 : 23;  // a sanitizer adds some
    std::size_t           index  = 0;
    while (!trim_at_instruction(index, free_block)) {
        index += stride;
    }
    EXPECT_GT(index, 20u);
}

void free_in_pool(void* block)
{
    egb_pool_free(pool, block);
}

}  // namespace

TEST(free_steps, of_a_block_alone)
{
    trim_at_each_instruction(egb_free);
}

TEST(free_steps, of_a_block_with_its_pool)
{
    trim_at_each_instruction(free_in_pool);
}
