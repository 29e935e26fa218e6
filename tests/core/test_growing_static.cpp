// SPDX-License-Identifier: MIT
// A growing pool on one region: every small size, every misalignment. As many blocks as fit, none
// of them outside, and the region can be used again afterwards.
#include "events.hpp"

#include "eggbox/growing.h"

#include <cstring>
#include <memory>

namespace
{

enum : std::size_t { align_max = 64 };

// A region that starts `misalign` bytes behind a multiple of 64, and memory around it that nobody
// may write to.
struct placed_region {
    placed_region(std::size_t bytes, std::size_t misalign)
        : memory(new char[2 * align_max + bytes]), size(2 * align_max + bytes)
    {
        std::memset(memory.get(), guard, size);
        const auto start = reinterpret_cast<uintptr_t>(memory.get());
        region = {memory.get() + (align_max - start % align_max) + misalign, bytes, false};
    }

    bool is_untouched_outside() const
    {
        const char* const start = static_cast<const char*>(region.region);
        for (std::size_t i = 0; i < size; i++) {
            const char* const at = memory.get() + i;
            if ((at < start || at >= start + region.bytes) && *at != char(guard)) {
                return false;
            }
        }
        return true;
    }

    static constexpr int    guard = 0x5C;
    std::unique_ptr<char[]> memory;
    std::size_t             size;
    egb_static_region       region{};
};

struct shape {
    std::size_t block_bytes, block_align;
    bool        with_states;
};

egb_growing pool_on(egb_static_region& region, const shape& made)
{
    egb_growing_options wanted{};
    wanted.block_bytes = made.block_bytes;
    wanted.block_align = made.block_align;
    wanted.with_states = made.with_states;
    wanted.backing     = egb_static_backing(&region);
    egb_growing pool{};
    EXPECT_EQ(egb_growing_init(&pool, &wanted), EGB_OK);
    return pool;
}

// Takes all there is, writes to it, gives it back.
std::size_t use_up(placed_region& on, const shape& made)
{
    egb_growing       pool  = pool_on(on.region, made);
    const std::size_t align = made.block_align < 4 ? 4 : made.block_align;
    char* const       start = static_cast<char*>(on.region.region);
    std::size_t       count = 0;
    while (auto* const block = static_cast<char*>(egb_growing_alloc(&pool))) {
        EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % align, 0u);
        EXPECT_TRUE(block >= start && block + made.block_bytes <= start + on.region.bytes);
        std::memset(block, 0xEE, made.block_bytes);
        count++;
    }
    EXPECT_EQ(egb_growing_capacity(&pool), count);
    EXPECT_EQ(on.region.is_out, count != 0);
    EXPECT_TRUE(egb_growing_whole(&pool));
    EXPECT_TRUE(on.is_untouched_outside());
    egb_growing_destroy(&pool);
    EXPECT_FALSE(on.region.is_out);
    return count;
}

}  // namespace

TEST(growing_static, every_small_size_and_misalignment)
{
    const shape shapes[] = {
        {4, 0, false}, {4, 0, true}, {12, 4, true}, {64, 64, false}, {32, 16, true}
    };
    for (const shape& made : shapes) {
        for (std::size_t misalign = 0; misalign < align_max;
             misalign += made.block_bytes > 12 ? 5 : 1) {
            std::size_t before = 0;
            for (std::size_t bytes = 0; bytes < 420; bytes++) {
                placed_region     on(bytes, misalign);
                const std::size_t count = use_up(on, made);
                ASSERT_GE(count, before);
                const std::size_t each = made.block_bytes + made.with_states;
                ASSERT_LT((count - before) * each, each + 8) << "the header moves by 8 bytes";
                // The rest is the header and the cost of alignment at both ends.
                ASSERT_LE(count * each, bytes);
                if (bytes >= 256 + 2 * align_max) {
                    ASSERT_GE(count * each + each + 256 + align_max, bytes);
                }
                before = count;
            }
            ASSERT_GT(before, 0u);
        }
    }
}

TEST(growing_static, hands_the_region_out_once)
{
    static uint32_t   memory[512];
    egb_static_region region = {memory, sizeof memory, false};
    const egb_backing from   = egb_static_backing(&region);
    std::size_t       bytes  = 100;
    EXPECT_EQ(from.reserve(from.user, sizeof memory + 1, &bytes), nullptr) << "too small";
    EXPECT_FALSE(region.is_out);
    EXPECT_EQ(from.reserve(from.user, 100, &bytes), memory);
    EXPECT_EQ(bytes, sizeof memory);
    EXPECT_EQ(from.reserve(from.user, 100, &bytes), nullptr);
    from.give_back(from.user, memory, bytes);
    EXPECT_EQ(from.reserve(from.user, 100, &bytes), memory);
}

TEST(growing_static, a_region_of_nothing_is_refused)
{
    egb_static_region nothing{};
    egb_growing       pool = pool_on(nothing, {8, 0, false});
    EXPECT_EQ(egb_growing_alloc(&pool), nullptr);
    nothing.bytes = 1000;  // and still at no address
    EXPECT_EQ(egb_growing_alloc(&pool), nullptr);
    EXPECT_FALSE(nothing.is_out);
}

TEST(growing_static, trim_frees_the_region_for_the_next_pool)
{
    static uint32_t   memory[512];
    egb_static_region region = {memory, sizeof memory, false};
    egb_growing       first  = pool_on(region, {8, 0, false});
    egb_growing       second = pool_on(region, {40, 8, true});
    void* const       block  = egb_growing_alloc(&first);
    EXPECT_EQ(egb_growing_alloc(&second), nullptr);
    EXPECT_EQ(egb_growing_trim(&first, 0), 0u);
    egb_growing_free(&first, block);
    EXPECT_EQ(egb_growing_trim(&first, 0), sizeof memory);
    EXPECT_NE(egb_growing_alloc(&second), nullptr);
    EXPECT_EQ(egb_growing_alloc(&first), nullptr);
    EXPECT_TRUE(egb_growing_whole(&first));
    EXPECT_TRUE(egb_growing_whole(&second));
}
