// SPDX-License-Identifier: MIT
// A shared object that a program loads, and that brings eggbox with it.
#include "eggbox/pool.h"

#include <array>
#include <cstdlib>

extern "C" __attribute__((visibility("default"))) void use_pools(std::size_t count);

extern "C" void use_pools(std::size_t count)
{
    static const egb_pool pool = [] {
        egb_pool         made{};
        egb_pool_options options{};
        options.block_bytes = 64;
        if (egb_pool_create(&made, &options) != EGB_OK) {
            std::abort();
        }
        return made;
    }();
    std::array<void*, 1000> blocks{};
    for (std::size_t i = 0; i < count; i++) {
        blocks[i] = egb_pool_alloc(pool);
        if (blocks[i] == nullptr) {
            std::abort();
        }
    }
    egb_pool_free_many(pool, blocks.data(), count);
}
