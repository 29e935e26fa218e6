// SPDX-License-Identifier: MIT
// A signal behind every instruction of the library's calls. A handler that has a fixed or growing
// pool of its own may use that, wherever it interrupts a call of another pool.
#include "events.hpp"
#include "heaps.hpp"
#include "steps.hpp"

#include "eggbox/growing.h"
#include "eggbox/guard.h"
#include "levels.hpp"

namespace
{

struct message {
    int  number;
    char text[28];
};

EGB_FIXED_DEFINE(messages, message, 4);
EGB_FIXED_DEFINE_MARKED(marked_messages, message, 4);

alignas(16) char growing_memory[2048];
egb_static_region growing_region = {growing_memory, sizeof growing_memory, false};
egb_growing       growing_messages;

std::size_t signals;
bool        is_wrong;

// One of the two blocks was allocated by the handler that ran before this one.
void* kept;

bool take_and_give(void* first, void* second)
{
    const bool are_two                   = first != nullptr && second != nullptr && first != second;
    static_cast<message*>(first)->number = 1;
    static_cast<message*>(second)->number = 2;
    return are_two && static_cast<message*>(first)->number == 1;
}

void use_own_pools()
{
    signals++;
    void* const first  = egb_fixed_alloc(&messages);
    void* const second = marked_messages_alloc();
    void* const third  = egb_growing_alloc(&growing_messages);
    is_wrong           = is_wrong || !take_and_give(first, second) || !take_and_give(first, third);
    marked_messages_free(second);
    egb_growing_free(&growing_messages, third);
    egb_fixed_free(&messages, kept);
    kept = first;
}

constexpr std::size_t count_max = 71;  // more than a magazine has

void use_pool(const steps& all, const char* level, std::size_t count)
{
    egb_pool_options options{};
    options.block_bytes = 40;
    options.level       = level_named(level);
    egb_pool     pool{};
    egb_magazine cache{};
    void*        blocks[count_max];
    all.through([&] {
        is_wrong = egb_pool_create(&pool, &options) != EGB_OK ||
                   egb_magazine_open(&cache, pool) != EGB_OK || is_wrong;
        egb_magazine_free(&cache, egb_magazine_alloc(&cache));
        is_wrong = egb_pool_alloc_many(pool, blocks, count) != count || is_wrong;
    });
    for (std::size_t i = 0; i < count; i++) {
        fill(blocks[i], 40, i);
    }
    for (std::size_t i = 0; i < count; i++) {
        const std::size_t which = i * 7 % count;  // in no order of a stack
        is_wrong                = is_wrong || !is_filled(blocks[which], 40, which);
        all.through([&] {
            i % 2 == 0 ? egb_pool_free(pool, blocks[which]) : egb_free(blocks[which]);
        });
    }
    egb_pool_stats stats{};
    all.through([&] {
        egb_magazine_close(&cache);
        (void)egb_pool_trim(pool, 0);
        is_wrong = egb_pool_get_stats(pool, &stats) != EGB_OK || stats.in_use != 0 || is_wrong;
        is_wrong = egb_pool_destroy(pool, EGB_DESTROY_REFUSE) != EGB_OK || is_wrong;
    });
}

void use_heap(const steps& all)
{
    for (const std::size_t bytes : sizes{1, 1000, 5000, 40000, 3000000}) {
        all.through([&] {
            auto* block = static_cast<char*>(egb_malloc(bytes));
            block[0]    = 'a';
            block       = static_cast<char*>(egb_realloc(block, bytes + bytes / 2));
            is_wrong    = block[0] != 'a' || is_wrong;
            egb_free(block);
        });
    }
    all.through([] { (void)egb_heap_trim(0); });
}

struct calls {
    const char* level;
    std::size_t blocks;
};

class signals_of : public testing::TestWithParam<calls>
{
};

std::string name_of_level(const testing::TestParamInfo<calls>& made)
{
    return made.param.level;
}

// Runs `calls` with a signal behind each instruction.
template <class Function>
void interrupt(Function&& calls)
{
    egb_growing_options options{};
    options.block_bytes = sizeof(message);
    options.block_align = 4;
    growing_region      = {growing_memory, sizeof growing_memory, false};
    options.backing     = egb_static_backing(&growing_region);
    ASSERT_EQ(egb_growing_init(&growing_messages, &options), EGB_OK);
    signals  = 0;
    is_wrong = false;
    steps all(use_own_pools);
    calls(all);
    egb_fixed_free(&messages, kept);
    kept = nullptr;
    EXPECT_FALSE(is_wrong);
    EXPECT_TRUE(egb_fixed_whole(&messages));
    EXPECT_EQ(egb_fixed_in_use(&messages), 0u);
    EXPECT_TRUE(egb_fixed_whole(&marked_messages));
    EXPECT_EQ(egb_fixed_in_use(&marked_messages), 0u);
    EXPECT_TRUE(egb_growing_whole(&growing_messages));
    EXPECT_EQ(egb_growing_in_use(&growing_messages), 0u);
}

}  // namespace

// With guards there are no magazines, and each block has bytes that are looked at.
INSTANTIATE_TEST_SUITE_P(
    levels,
    signals_of,
    testing::Values(
        calls{"off", count_max}, calls{"check", count_max}, calls{"guard", 9}, calls{"track", 9}
    ),
    name_of_level
);

TEST_P(signals_of, a_handler_may_use_a_fixed_pool_of_its_own_at_every_instruction_of_a_pool)
{
    const events seen;
    const auto   given = GetParam();
    interrupt([given](const steps& all) { use_pool(all, given.level, given.blocks); });
    EXPECT_GT(signals, 5000u);
    EXPECT_TRUE(seen.none());
    std::printf("%zu signals\n", signals);
}

TEST(signals, a_handler_may_use_a_fixed_pool_of_its_own_at_every_instruction_of_the_heap)
{
    const events         seen;
    const all_given_back check;
    interrupt(use_heap);
    EXPECT_GT(signals, 5000u);
    EXPECT_TRUE(seen.none());
    std::printf("%zu signals\n", signals);
}
