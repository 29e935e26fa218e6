// SPDX-License-Identifier: MIT
// A pool at level "guard" or "track", for one test.
#ifndef EGGBOX_TESTS_SUPPORT_GUARDED_HPP
#define EGGBOX_TESTS_SUPPORT_GUARDED_HPP

#include "eggbox/pool.h"
#include "levels.hpp"

#include <cstddef>

#include <gtest/gtest.h>

class guarded
{
  public:
    explicit guarded(
        std::size_t bytes,
        const char* check      = "guard",
        std::size_t max_blocks = 0,
        std::size_t align      = 0
    )
    {
        egb_pool_options options = {};
        options.name             = "guarded";
        options.block_bytes      = bytes;
        options.level            = level_named(check);
        options.max_blocks       = max_blocks;
        options.block_align      = align;
        EXPECT_EQ(egb_pool_create(&pool, &options), EGB_OK);
    }

    ~guarded()
    {
        EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_FORCE), EGB_OK);
    }

    guarded(const guarded&)            = delete;
    guarded& operator=(const guarded&) = delete;

    unsigned char* take() const
    {
        return static_cast<unsigned char*>(egb_pool_alloc(pool));
    }

    void give(void* block) const
    {
        egb_pool_free(pool, block);
    }

    egb_pool_stats stats() const
    {
        egb_pool_stats out = {};
        EXPECT_EQ(egb_pool_get_stats(pool, &out), EGB_OK);
        return out;
    }

    egb_pool pool = {};
};

#endif  // EGGBOX_TESTS_SUPPORT_GUARDED_HPP
