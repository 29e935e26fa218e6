// SPDX-License-Identifier: MIT
// A magazine that a free finds full, for tests that cut the free in two.
#ifndef EGGBOX_TESTS_STRESS_CUTS_HPP
#define EGGBOX_TESTS_STRESS_CUTS_HPP

#include "cuts.h"
#include "stress.hpp"

#include <thread>
#include <vector>

namespace cuts
{

inline egb_pool make(std::size_t block_bytes, std::size_t max_blocks)
{
    egb_pool_options options{};
    options.block_bytes = block_bytes;
    options.max_blocks  = max_blocks;
    options.level       = level_named("check");
    return stress::make(options);
}

template <class Work>
void in_another_thread(Work work)
{
    std::thread(work).join();
}

// A pool with one block in use. Others are free, and fill this thread's magazine.
class full
{
  public:
    full()
    {
        std::vector<void*> blocks(blocks_max);
        const auto         free_one = [&] {
            egb_pool_free(pool, blocks.back());
            blocks.pop_back();
        };
        in_another_thread([&] {
            MUST(egb_pool_alloc_many(pool, blocks.data(), blocks.size()) == blocks.size());
        });
        do {
            free_one();
        } while (room_left(pool) != 0);
        block = blocks.back();
        blocks.pop_back();
        in_another_thread([&] { egb_pool_free_many(pool, blocks.data(), blocks.size()); });
    }

    static constexpr std::size_t blocks_max = 400;
    const egb_pool               pool       = make(64, blocks_max);
    void*                        block      = nullptr;
};

}  // namespace cuts

#endif  // EGGBOX_TESTS_STRESS_CUTS_HPP
