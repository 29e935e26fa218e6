// SPDX-License-Identifier: MIT
// Memory that was not needed for two epochs goes back to the system. The linker leads the
// library's look at the clock here, so that time passes when the test says so.
#include "heaps.hpp"

#include <cstdint>

namespace
{

std::uint64_t now   = 1000000;
int           looks = 0;

constexpr std::size_t MiB        = std::size_t{1} << 20;
constexpr int         two_epochs = 500;  // milliseconds

}  // namespace

extern "C" {
std::uint64_t __wrap_egb_os_milliseconds_(void);

std::uint64_t __wrap_egb_os_milliseconds_(void)
{
    looks++;
    return now;
}
}

namespace
{

// Calls that go further than a magazine, without a lasting effect: enough of them for a look at the
// clock. No system has as much memory. With addresses of 32 bits such a long region is never
// cached.
void cold_calls(int count = 70)
{
    const std::size_t bytes = sizeof(void*) < 8 ? 65 * MiB : std::size_t{PTRDIFF_MAX} - MiB;
    for (int i = 0; i < count; i++) {
        egb_free(egb_malloc(bytes));
    }
}

void pass(int milliseconds)
{
    now += static_cast<std::uint64_t>(milliseconds);
    cold_calls();
}

void pass_two_epochs()
{
    pass(two_epochs / 2);
    pass(two_epochs / 2);
}

std::size_t held_by_class(std::size_t block_bytes)
{
    for (const egb_heap_class& one : heap_numbers().classes) {
        if (one.block_bytes == block_bytes) {
            return stats_of(one.pool).bytes_held;
        }
    }
    return 0;
}

std::vector<void*> take(std::size_t bytes, std::size_t count)
{
    std::vector<void*> blocks;
    for (std::size_t i = 0; i < count; i++) {
        blocks.push_back(egb_malloc(bytes));
    }
    return blocks;
}

void give(const std::vector<void*>& blocks)
{
    for (void* const block : blocks) {
        egb_free(block);
    }
}

std::size_t kept()
{
    return heap_numbers().cached_bytes;
}

// Unused memory over a limit goes at once, until phases have taught a higher one.
void teach(std::size_t bytes)
{
    for (int phase = 0; phase < 5; phase++) {
        give(take(MiB, bytes / MiB));
    }
    (void)egb_heap_trim(0);
}

class heap_purge : public emptied_heap
{
  protected:
    void SetUp() override
    {
        empty(pass_two_epochs);
        (void)egb_heap_purge();  // from now on time decides, up to the limit
        cold_calls();
        ASSERT_EQ(kept(), 0u);
    }
};

}  // namespace

TEST_F(heap_purge, a_cached_region_goes_after_two_epochs_and_not_before)
{
    give(take(MiB, 3));
    ASSERT_EQ(kept(), 3 * MiB);
    pass(two_epochs / 2 - 1);
    EXPECT_EQ(kept(), 3 * MiB);
    pass(1);
    EXPECT_EQ(kept(), 3 * MiB) << "an epoch has ended in which they were used";
    pass(two_epochs / 2 - 1);
    EXPECT_EQ(kept(), 3 * MiB);
    pass(1);
    EXPECT_EQ(kept(), 0u);
}

TEST_F(heap_purge, no_more_than_so_much_goes_in_one_epoch)
{
    teach(200 * MiB);
    give(take(10 * MiB, 15));
    const std::size_t before = kept();
    ASSERT_GE(before, (sizeof(void*) < 8 ? 64 : 150) * MiB);
    pass_two_epochs();
    EXPECT_LT(kept(), before);
    EXPECT_GE(kept(), before - std::max(64 * MiB, before / 2));
    pass_two_epochs();
    pass_two_epochs();
    EXPECT_EQ(kept(), 0u);
}

// Blocks with a guard page wait in quarantine, which no epoch empties. Their addresses do not count
// when the part of the cache is computed that goes.
TEST_F(heap_purge, a_quarantine_keeps_no_region_in_the_cache)
{
    const std::size_t guarded_bytes = (sizeof(void*) < 8 ? 15 : 200) * MiB;
    {
        const guard_pages large("large");
        egb_free(egb_malloc(guarded_bytes));
    }
    const std::size_t quarantined = kept();
    ASSERT_GE(quarantined, guarded_bytes);
    give(take(10 * MiB, 6));
    ASSERT_EQ(kept(), quarantined + 60 * MiB);
    for (int i = 0; i < 2; i++) {  // no cold calls: a refused request empties the quarantine
        now += two_epochs / 2;
        (void)egb_heap_purge();
    }
    EXPECT_EQ(kept(), quarantined);
}

TEST_F(heap_purge, a_region_that_is_used_again_stays)
{
    for (int i = 0; i < 10; i++) {
        give(take(MiB, 1));
        pass(two_epochs / 2);
        EXPECT_EQ(kept(), MiB);
    }
    pass_two_epochs();
    EXPECT_EQ(kept(), 0u);
}

// No time passes: another size gets the free memory as soon as it needs some. A few of each stay.
TEST_F(heap_purge, sizes_that_follow_each_other_do_not_add_up)
{
    const sizes        phases{64, 96, 160, 224, 320, 448, 700, 1000, 2500, 5000};
    std::vector<void*> stay;
    for (const std::size_t bytes : phases) {
        const std::vector<void*> blocks = take(bytes, 8 * MiB / bytes);
        fill(blocks.front(), bytes, bytes);
        stay.push_back(blocks.front());
        give({blocks.begin() + 1, blocks.end()});
    }
    EXPECT_LT(subtree_of(egb_heap_pool()).bytes_held, 40 * MiB);
    auto block = stay.begin();
    for (const std::size_t bytes : phases) {
        EXPECT_TRUE(is_filled(*block, bytes, bytes));
        egb_free(*block++);
    }
    for (int i = 0; i < 20; i++) {
        pass_two_epochs();
    }
    EXPECT_EQ(egb_pool_trim(egb_pool{}, 0), 0u) << "nobody has asked for what was passed on";
}

// Chunks of the one are shorter than those of the other: they are joined and cut.
TEST_F(heap_purge, two_sizes_in_turn_do_not_add_up)
{
    for (int round = 0; round < 20; round++) {
        const std::size_t        bytes  = round % 2 == 0 ? 1000 : 1100;
        const std::vector<void*> blocks = take(bytes, 20 * MiB / bytes);
        fill(blocks.front(), bytes, 1);
        fill(blocks.back(), bytes, 2);
        EXPECT_TRUE(is_filled(blocks.front(), bytes, 1));
        give(blocks);
        EXPECT_LT(subtree_of(egb_heap_pool()).bytes_held, 36 * MiB);
    }
}

TEST_F(heap_purge, chunks_of_a_class_that_are_wholly_free_go)
{
    give(take(320, 20000));
    const std::size_t held = held_by_class(320);
    ASSERT_GT(held, 6 * MiB);
    pass(two_epochs / 2);
    EXPECT_EQ(held_by_class(320), held) << "seen free once";
    pass(two_epochs / 2);
    EXPECT_LT(held_by_class(320), held);
    for (int i = 0; i < 4; i++) {
        pass_two_epochs();
    }
    EXPECT_LT(held_by_class(320), 2 * held / 10);
}

TEST_F(heap_purge, a_class_that_is_used_in_between_keeps_what_it_needs)
{
    for (int i = 0; i < 8; i++) {
        const std::vector<void*> blocks = take(320, 20000);
        pass(two_epochs / 2);  // in use, at this look
        give(blocks);
        pass(two_epochs / 2);  // free, but not long enough
        EXPECT_GT(held_by_class(320), 6 * MiB);
    }
}

TEST_F(heap_purge, blocks_in_use_stay)
{
    const std::vector<void*> kept = take(320, 20000);
    for (std::size_t i = 0; i < kept.size(); i++) {
        fill(kept[i], 320, i);
    }
    give(take(320, 20000));
    for (int i = 0; i < 8; i++) {
        pass_two_epochs();
    }
    EXPECT_GE(held_by_class(320), 20000 * 320u);
    EXPECT_LT(held_by_class(320), 2 * 20000 * 320u);
    for (std::size_t i = 0; i < kept.size(); i++) {
        ASSERT_TRUE(is_filled(kept[i], 320, i));
    }
    give(kept);
}

TEST_F(heap_purge, one_epoch_gives_back_a_bounded_part)
{
    const bool is_short = sizeof(void*) < 8;  // 32-bit addresses: one epoch may give all back
    teach(200 * MiB);
    give(take(30000, 4000));  // 115 MiB
    std::size_t held = held_by_class(30720);
    ASSERT_GT(held, (is_short ? 35 : 100) * MiB);
    pass(two_epochs / 2);
    int epochs = 0;
    while (held > 20 * MiB) {
        pass(two_epochs / 2);
        const std::size_t rest = held_by_class(30720);
        ASSERT_LE(held - rest, 65 * MiB);
        ASSERT_LT(++epochs, 10);
        held = rest;
    }
    EXPECT_GE(epochs, is_short ? 1 : 2);
}

TEST_F(heap_purge, a_class_that_has_nothing_to_give_is_left_alone_for_longer_and_longer)
{
    const std::vector<void*> blocks = take(320, 20000);
    std::vector<void*>       spread;  // a block in every chunk
    std::vector<void*>       rest;
    for (std::size_t i = 0; i < blocks.size(); i++) {
        (i % 100 == 0 ? spread : rest).push_back(blocks[i]);
    }
    give(rest);
    const egb_pool    pool  = egb_pool_of(spread[0]);
    const std::size_t held  = stats_of(pool).bytes_held;
    int               tries = 0;
    for (int i = 0; i < 100; i++) {
        egb_free(egb_malloc(320));
        pass(two_epochs / 2);
        tries += stats_of(pool).in_magazines == 0 ? 1 : 0;  // the magazine was emptied
    }
    EXPECT_EQ(stats_of(pool).bytes_held, held);
    EXPECT_GE(tries, 1);
    EXPECT_TRUE(!has_magazines() || tries <= 16) << tries;
    give(spread);
    for (int i = 0; i < 70; i++) {
        pass(two_epochs / 2);
    }
    EXPECT_LT(held_by_class(320), held) << "and yet not forgotten";
}

TEST_F(heap_purge, the_clock_is_looked_at_now_and_then)
{
    looks = 0;
    cold_calls(640);
    // With 32 bits they get memory and give it back. Each is a look: was it needed again soon?
    EXPECT_EQ(looks, sizeof(void*) < 8 ? 10 + 2 * 640 : 10);
    egb_heap_measure(true);
    egb_free(egb_malloc(48));
    egb_heap_measure(false);
    void* block = egb_malloc(48);
    looks       = 0;
    for (int i = 0; i < 100000; i++) {
        egb_free(block);
        block = egb_malloc(48);
    }
    egb_free(block);
    EXPECT_LE(looks, has_magazines() ? 1 : 2000) << "the hot path does not";
}
