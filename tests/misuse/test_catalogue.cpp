// SPDX-License-Identifier: MIT
// Rows of docs/misuse.md, at every level that promises something of them. Numbers are those rows'.
#include "events.hpp"
#include "pools.hpp"

#include "eggbox/guard.h"
#include "eggbox/heap.h"
#include "levels.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <set>
#include <string>
#include <thread>

namespace
{

constexpr std::size_t bytes = 48;

egb_pool make_at(const char* level, std::size_t block_bytes = bytes)
{
    egb_pool_options options = options_for(block_bytes);
    options.level            = level_named(level);
    return make(options);
}

class catalogue : public testing::TestWithParam<const char*>
{
  protected:
    catalogue() : pool(make_at(GetParam())) {}

    ~catalogue() override
    {
        EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_FORCE), EGB_OK);
    }

    unsigned char* take() const
    {
        return static_cast<unsigned char*>(egb_pool_alloc(pool));
    }

    // The free of this address is refused as this, by both functions, and changes nothing.
    void expect_refused(const void* address, egb_misuse_kind by_pool, egb_misuse_kind by_any)
    {
        const std::size_t before  = stats_of(pool).in_use;
        void* const       changed = const_cast<void*>(address);
        egb_pool_free(pool, changed);
        EXPECT_EQ(seen.take_kind(), by_pool) << address;
        egb_free(changed);
        EXPECT_EQ(seen.take_kind(), by_any) << address;
        EXPECT_EQ(stats_of(pool).in_use, before);
    }

    bool has_redzones() const
    {
        return std::string(GetParam()) != "check";
    }

    events   seen;
    egb_pool pool;
};

INSTANTIATE_TEST_SUITE_P(
    levels,
    catalogue,
    testing::Values("check", "guard", "track"),
    [](const testing::TestParamInfo<const char*>& level) { return std::string(level.param); }
);

const char constant[64] = {};
char       variable[64] = {};

}  // namespace

// ---- frees --------------------------------------------------------------------------------------

TEST_P(catalogue, a_second_free_is_refused_whatever_was_freed_between)  // 1, 2, 3
{
    for (const std::size_t between : {0u, 1u, 64u, 1000u}) {
        void* const              block  = take();
        const std::vector<void*> others = take_all(pool, between);
        egb_pool_free(pool, block);
        give_all(pool, others);
        expect_refused(block, EGB_MISUSE_DOUBLE_FREE, EGB_MISUSE_DOUBLE_FREE);
    }
}

TEST_P(catalogue, a_second_free_is_refused_on_whichever_thread)  // 19
{
    void* const one = take();
    egb_pool_free(pool, one);
    std::thread([&] { expect_refused(one, EGB_MISUSE_DOUBLE_FREE, EGB_MISUSE_DOUBLE_FREE); }
    ).join();
    void* const two = take();
    std::thread([&] { egb_pool_free(pool, two); }).join();
    expect_refused(two, EGB_MISUSE_DOUBLE_FREE, EGB_MISUSE_DOUBLE_FREE);
}

// Nobody can tell the first owner's pointer from the second's: it is the same number. The second
// owner gets the report.
TEST_P(catalogue, a_free_of_a_block_that_has_another_owner_by_now_is_not_noticed)  // 4
{
    void* const first = take();
    egb_pool_free(pool, first);
    void* second = take();
    while (second != first) {  // with guards it waits until others were freed
        egb_pool_free(pool, second);
        second = take();
    }
    egb_pool_free(pool, first);
    EXPECT_TRUE(seen.none());
    expect_refused(second, EGB_MISUSE_DOUBLE_FREE, EGB_MISUSE_DOUBLE_FREE);
}

TEST_P(catalogue, strangers_are_refused_and_not_read)  // 6, 7, 9, 14
{
    const char  local  = 0;
    void* const theirs = std::malloc(bytes);
    void (*code)()     = [] {
    };
    const void* const strangers[] = {
        &local,
        constant,
        variable,
        theirs,
        reinterpret_cast<const void*>(code),
        reinterpret_cast<const void*>(std::uintptr_t{1}),
        reinterpret_cast<const void*>(std::uintptr_t{64}),
        reinterpret_cast<const void*>(UINTPTR_MAX),
        reinterpret_cast<const void*>(UINTPTR_MAX / 2 + 1),
    };
    (void)take();
    for (const void* const one : strangers) {
        expect_refused(one, EGB_MISUSE_FOREIGN, EGB_MISUSE_FOREIGN);
    }
    std::free(theirs);
}

TEST_P(catalogue, another_pools_block_is_refused_by_this_one)  // 8
{
    const egb_pool other = make_at(GetParam());
    void* const    block = egb_pool_alloc(other);
    (void)take();
    egb_pool_free(pool, block);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_WRONG_POOL);
    EXPECT_EQ(stats_of(other).in_use, 1u);
    egb_pool_free(other, block);
    EXPECT_EQ(egb_pool_destroy(other, EGB_DESTROY_REFUSE), EGB_OK);
}

TEST_P(catalogue, every_address_inside_a_block_is_refused)  // 10, 11
{
    unsigned char* const block = take();
    for (std::size_t offset = 1; offset < bytes; offset++) {
        expect_refused(block + offset, EGB_MISUSE_INTERIOR, EGB_MISUSE_INTERIOR);
    }
}

// Whether it is before the chunk, between blocks, or where a block will be one day.
TEST_P(catalogue, what_is_beside_the_blocks_in_use_is_refused)  // 12, 13
{
    std::vector<void*>    blocks = take_all(pool, 10);
    const std::set<void*> in_use(blocks.begin(), blocks.end());
    const std::size_t     stride = stats_of(pool).stride_bytes;
    auto* const           first  = static_cast<unsigned char*>(*in_use.begin());
    auto* const           last   = static_cast<unsigned char*>(*in_use.rbegin());
    for (unsigned char* const beside :
         {first - 1, first - stride, last + bytes, last + stride, last + 100000 * stride}) {
        egb_pool_free(pool, beside);
        EXPECT_EQ(seen.count(), 1u);
        (void)seen.take();
    }
    EXPECT_EQ(stats_of(pool).in_use, 10u);
}

// Every free is one call of the pool, with its lock: so one of the two is the second.
TEST(catalogue_threads, of_two_frees_at_the_same_instant_one_is_refused)  // 20
{
    for (const char* const level : {"guard", "track"}) {
        events         seen;
        const egb_pool pool = make_at(level);
        for (int round = 0; round < 50; round++) {
            void* const      block = egb_pool_alloc(pool);
            std::atomic<int> ready = 0;
            const auto       give  = [&] {
                for (ready++; ready != 2;) {
                    std::this_thread::yield();
                }
                egb_pool_free(pool, block);
            };
            std::thread other(give);
            give();
            other.join();
            ASSERT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
        }
        EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
    }
}

// It says what room there is, not whether the block is in use.
TEST_P(catalogue, the_size_of_a_free_block_is_still_said)  // 25
{
    void* const block = take();
    egb_pool_free(pool, block);
    EXPECT_EQ(egb_block_bytes(block), bytes);
    EXPECT_EQ(egb_block_bytes(variable), 0u);
    EXPECT_FALSE(egb_pool_is_live(pool, block));
}

TEST_P(catalogue, a_pool_with_blocks_in_use_is_not_destroyed_unasked)  // 27
{
    void* const block = take();
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_BUSY);
    EXPECT_EQ(stats_of(pool).in_use, 1u);
    egb_pool_free(pool, block);
}

// ---- writes -------------------------------------------------------------------------------------

// No other block could tell: the memory behind the last block belongs to nobody.
TEST(catalogue_writes, before_the_first_and_behind_the_last_block_they_are_noticed)  // 31, 32
{
    alignas(16) static unsigned char memory[8192];
    for (const char* const level : {"guard", "track"}) {
        events           seen;
        egb_pool_options options = options_for(bytes);
        options.level            = level_named(level);
        options.memory           = memory;
        options.memory_bytes     = sizeof memory;
        const egb_pool     pool  = make(options);
        std::vector<void*> all   = take_all(pool);
        std::sort(all.begin(), all.end());
        ASSERT_GT(all.size(), 10u);
        static_cast<unsigned char*>(all.front())[-1] ^= 1;
        static_cast<unsigned char*>(all.back())[bytes] ^= 1;
        egb_pool_free(pool, all.front());
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_UNDERRUN);
        egb_pool_free(pool, all.back());
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_OVERRUN);
        EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_FORCE), EGB_OK);
    }
}

// Whatever is written to free blocks: no block is handed out twice, nor one that is none. With
// guards each is noticed that waits in quarantine, and the list of the others, which ends there.
TEST_P(catalogue, writes_to_free_blocks_lead_nowhere_wrong)  // 33, 34, 35
{
    constexpr std::size_t waiting = 256;
    const std::uintptr_t values[] = {0, 1, UINTPTR_MAX, reinterpret_cast<std::uintptr_t>(variable)};
    for (const std::uintptr_t value : values) {
        const std::vector<void*> blocks = take_all(pool, 600);
        give_all(pool, blocks);
        for (void* const block : blocks) {
            for (std::size_t at = 0; at < bytes; at += sizeof value) {
                std::memcpy(static_cast<char*>(block) + at, &value, sizeof value);
            }
        }
        const std::vector<void*> again = take_all(pool, 2000);
        const std::set<void*>    apart(again.begin(), again.end());
        EXPECT_EQ(apart.size(), 2000u);
        for (void* const block : again) {
            ASSERT_TRUE(egb_pool_is_live(pool, block));
        }
        give_all(pool, again);  // with which those leave that wait in quarantine
        EXPECT_TRUE(!has_redzones() || seen.count() > waiting) << seen.count();
        EXPECT_EQ(seen.none() ? EGB_MISUSE_OVERWRITTEN : seen.take_all(), EGB_MISUSE_OVERWRITTEN);
    }
}

// A program that reads bytes it never wrote, or freed bytes, sees a pattern and not the old
// contents.
TEST_P(catalogue, what_a_free_block_held_is_gone_where_there_are_guards)  // 36, 37, 38
{
    unsigned char* const block = take();
    std::memset(block, 'Z', bytes);
    egb_pool_free(pool, block);
    const auto left = std::count(block, block + bytes, 'Z');
    // Without magazines it is on the free list at once, which has its first 8 bytes.
    EXPECT_GE(left, has_redzones() ? 0 : static_cast<std::ptrdiff_t>(bytes) - 8);
    EXPECT_LE(left, has_redzones() ? 0 : static_cast<std::ptrdiff_t>(bytes));
}
