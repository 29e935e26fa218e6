// SPDX-License-Identifier: MIT
// Common steps of tests of growing pools with states.
#ifndef EGGBOX_TESTS_SUPPORT_HOME_HPP
#define EGGBOX_TESTS_SUPPORT_HOME_HPP

#include "backing.hpp"

#include <algorithm>
#include <random>

extern "C" {
#include "../../src/core/growing_private.h"
}

inline egb_growing_options with_states(std::size_t block_bytes)
{
    egb_growing_options wanted{};
    wanted.block_bytes = block_bytes;
    wanted.with_states = true;
    return wanted;
}

inline std::vector<void*> take(egb_growing& pool, std::size_t count)
{
    std::vector<void*> blocks(count);
    for (void*& block : blocks) {
        block = egb_growing_alloc(&pool);
        EXPECT_NE(block, nullptr);
    }
    return blocks;
}

inline void give(egb_growing& pool, const std::vector<void*>& blocks)
{
    for (void* const block : blocks) {
        egb_growing_free(&pool, block);
    }
}

inline std::vector<void*> shuffled(std::vector<void*> blocks, unsigned seed)
{
    std::shuffle(blocks.begin(), blocks.end(), std::mt19937(seed));
    return blocks;
}

inline std::vector<void*> sorted(std::vector<void*> blocks)
{
    std::sort(blocks.begin(), blocks.end());
    return blocks;
}

inline void overwrite(void* block, std::size_t offset)
{
    static_cast<char*>(block)[offset] = 0x77;
}

// All blocks of the pool's only chunk hold the same words, as if they had been there before it.
inline void fill(egb_chunk_* chunk, egb_word word)
{
    std::fill_n(chunk->fixed.first, chunk->shape.blocks * chunk->fixed.stride, word);
}

#endif  // EGGBOX_TESTS_SUPPORT_HOME_HPP
