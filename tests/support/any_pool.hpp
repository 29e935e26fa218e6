// SPDX-License-Identifier: MIT
// A fixed pool and its memory, made in any of the five ways to make a pool, so that one test covers
// them all.
#ifndef EGGBOX_TESTS_SUPPORT_ANY_POOL_HPP
#define EGGBOX_TESTS_SUPPORT_ANY_POOL_HPP

#include "eggbox/fixed_live.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

enum class way { marked, tiny, live_bits, outside, unchecked };

inline const way all_ways[] = {
    way::marked, way::tiny, way::live_bits, way::outside, way::unchecked
};

inline std::string name_of(way made)
{
    switch (made) {
        case way::marked: return "marked";
        case way::tiny: return "tiny";
        case way::live_bits: return "live_bits";
        case way::outside: return "outside";
        case way::unchecked: return "unchecked";
    }
    return "?";
}

// The name of a test with a parameter.
inline std::string name_of_test(const testing::TestParamInfo<way>& made)
{
    return name_of(made.param);
}

struct any_pool {
    any_pool(way how, std::size_t block_bytes_, std::size_t count, std::size_t count_max = 0)
        : made(how), block_bytes(block_bytes_for(how, block_bytes_))
    {
        const std::size_t most = count > count_max ? count : count_max;
        region.reset(new uint32_t[block_bytes * most / 4]);
        const std::size_t bytes =
            how == way::outside ? EGB_FIXED_OUTSIDE_BYTES(most) : EGB_FIXED_LIVE_BYTES(most);
        live.resize(bytes / 4, 0xFFFFFFFFu);  // init must not need zeros
        // Bytes that look like marks everywhere: what earlier users left must not matter.
        for (std::size_t i = 0; i < block_bytes * most / 4; i++) {
            region[i] = EGB_FIXED_MARK_;
        }
        EXPECT_EQ(init(block_bytes * count), EGB_OK);
    }

    // The size nearest to the wanted one that this way of making a pool can have.
    static std::size_t block_bytes_for(way how, std::size_t wanted)
    {
        switch (how) {
            case way::tiny: return 4;
            case way::unchecked: return wanted < sizeof(void*) ? sizeof(void*) : wanted;
            default: return wanted;
        }
    }

    egb_status init(std::size_t region_bytes)
    {
        switch (made) {
            case way::live_bits:
                return egb_fixed_init_checked(
                    &pool, region.get(), region_bytes, block_bytes, live.data(), live.size() * 4
                );
            case way::outside:
                return egb_fixed_init_outside(
                    &pool, region.get(), region_bytes, block_bytes, live.data(), live.size() * 4
                );
            case way::unchecked:
                return egb_fixed_init_unchecked(&pool, region.get(), region_bytes, block_bytes);
            default: return egb_fixed_init(&pool, region.get(), region_bytes, block_bytes);
        }
    }

    void* alloc()
    {
        return made == way::unchecked ? egb_fixed_alloc_unchecked(&pool) : egb_fixed_alloc(&pool);
    }

    void free(void* block)
    {
        made == way::unchecked ? egb_fixed_free_unchecked(&pool, block)
                               : egb_fixed_free(&pool, block);
    }

    char* at(std::size_t index) const
    {
        return reinterpret_cast<char*>(region.get()) + index * block_bytes;
    }

    // The place of a free block's link.
    void* link(std::size_t index)
    {
        return made == way::outside ? egb_fixed_live_link_(&pool, 0, index)
                                    : static_cast<void*>(at(index));
    }

    bool whole() const
    {
        return egb_fixed_whole(&pool);
    }

    way                         made;
    std::size_t                 block_bytes;
    egb_fixed                   pool{};
    std::unique_ptr<uint32_t[]> region;
    std::vector<uint32_t>       live;
};

// Blocks 0, 2 and 5 in use; 3, 4 and 1 free, in this order; the others fresh.
inline void half_full(any_pool& all)
{
    for (std::size_t i = 0; i < 6; i++) {
        ASSERT_EQ(all.alloc(), all.at(i));
    }
    all.free(all.at(1));
    all.free(all.at(4));
    all.free(all.at(3));
    ASSERT_TRUE(all.whole());
}

#endif  // EGGBOX_TESTS_SUPPORT_ANY_POOL_HPP
