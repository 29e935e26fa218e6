// SPDX-License-Identifier: MIT
// Free-side misuse: every row of the catalogue of bad inputs that concerns a fixed pool. Each is
// found, named, refused, and leaves the pool whole and every block where it was.
#include "any_pool.hpp"
#include "events.hpp"

#include <csetjmp>
#include <thread>

namespace
{

const way checked_ways[] = {way::marked, way::tiny, way::live_bits, way::outside};

class misuse : public testing::TestWithParam<way>
{
  protected:
    any_pool all{GetParam(), 24, 6};
    events   seen;

    // Frees addresses that must not be freed, and checks the result.
    void refused(void* address, egb_misuse_kind kind, std::size_t index)
    {
        const auto in_use = egb_fixed_in_use(&all.pool);
        egb_fixed_free(&all.pool, address);
        const egb_misuse_event event = seen.take();
        EXPECT_EQ(event.kind, kind) << egb_misuse_text(event.kind);
        EXPECT_EQ(event.address, address);
        EXPECT_EQ(event.pool, &all.pool);
        EXPECT_EQ(event.block_index, index);
        EXPECT_EQ(event.pool_name, nullptr);
        EXPECT_NE(event.site, nullptr);
        EXPECT_EQ(egb_fixed_in_use(&all.pool), in_use);
        EXPECT_TRUE(all.whole());
    }

    std::size_t bytes() const
    {
        return all.block_bytes;
    }
};

double global_variable[2];
void   function() {}

}  // namespace

INSTANTIATE_TEST_SUITE_P(fixed, misuse, testing::ValuesIn(checked_ways), name_of_test);

TEST_P(misuse, double_free_at_once)  // catalogue 1
{
    void* const a = all.alloc();
    all.free(a);
    refused(a, EGB_MISUSE_DOUBLE_FREE, 0);
    EXPECT_EQ(all.alloc(), a);
    EXPECT_NE(all.alloc(), a) << "handed out twice";
}

TEST_P(misuse, double_free_with_other_frees_between)  // catalogue 2 and 3
{
    void* blocks[6];
    for (void*& block : blocks) {
        block = all.alloc();
    }
    for (void* block : blocks) {
        all.free(block);
    }
    for (std::size_t i = 0; i < 6; i++) {
        refused(blocks[i], EGB_MISUSE_DOUBLE_FREE, i);
    }
}

TEST(fixed_misuse, double_free_after_a_hundred_other_frees)  // catalogue 3
{
    for (const way made : checked_ways) {
        any_pool all(made, 16, 200);
        events   seen;
        void*    first = all.alloc();
        void*    rest[150];
        for (void*& block : rest) {
            block = all.alloc();
        }
        all.free(first);
        for (void* block : rest) {
            all.free(block);
        }
        all.free(first);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
        EXPECT_TRUE(all.whole());
    }
}

TEST_P(misuse, foreign_pointers_of_every_kind)  // catalogue 6, 7, 9, 12, 14
{
    ASSERT_NE(all.alloc(), nullptr);
    double     local[2] = {};
    const auto heap     = std::make_unique<int>();
    refused(local, EGB_MISUSE_FOREIGN, EGB_NO_INDEX);
    refused(global_variable, EGB_MISUSE_FOREIGN, EGB_NO_INDEX);
    refused(const_cast<char*>("constant"), EGB_MISUSE_FOREIGN, EGB_NO_INDEX);
    refused(reinterpret_cast<void*>(&function), EGB_MISUSE_FOREIGN, EGB_NO_INDEX);
    refused(heap.get(), EGB_MISUSE_FOREIGN, EGB_NO_INDEX);
    refused(&all.pool, EGB_MISUSE_FOREIGN, EGB_NO_INDEX);
    refused(all.at(6), EGB_MISUSE_FOREIGN, EGB_NO_INDEX);
    refused(all.at(0) - 1, EGB_MISUSE_FOREIGN, EGB_NO_INDEX);
    refused(all.at(0) - bytes(), EGB_MISUSE_FOREIGN, EGB_NO_INDEX);
    refused(reinterpret_cast<void*>(uintptr_t{64}), EGB_MISUSE_FOREIGN, EGB_NO_INDEX);
    refused(reinterpret_cast<void*>(UINTPTR_MAX), EGB_MISUSE_FOREIGN, EGB_NO_INDEX);
    refused(reinterpret_cast<void*>(UINTPTR_MAX / 2 + 4), EGB_MISUSE_FOREIGN, EGB_NO_INDEX);
}

TEST_P(misuse, addresses_a_power_of_two_away_are_foreign)  // catalogue 14: no wrap-around helps
{
    void* const a = all.alloc();
    for (unsigned bit = 8; bit < sizeof(void*) * 8; bit++) {
        refused(
            reinterpret_cast<void*>(uintptr_t(a) + (uintptr_t{1} << bit)),
            EGB_MISUSE_FOREIGN,
            EGB_NO_INDEX
        );
    }
}

TEST_P(misuse, a_block_of_another_pool_of_the_same_size)  // catalogue 8
{
    any_pool    other(GetParam(), 24, 6);
    void* const theirs = other.alloc();
    refused(theirs, EGB_MISUSE_FOREIGN, EGB_NO_INDEX);
    EXPECT_EQ(egb_fixed_in_use(&other.pool), 1u);
    EXPECT_TRUE(other.whole());
}

TEST_P(misuse, interior_and_misaligned_pointers)  // catalogue 10 and 11
{
    for (int i = 0; i < 6; i++) {
        ASSERT_NE(all.alloc(), nullptr);
    }
    for (std::size_t offset = 0; offset < 6 * bytes(); offset++) {
        if (offset % bytes() != 0) {
            refused(all.at(0) + offset, EGB_MISUSE_INTERIOR, EGB_NO_INDEX);
        }
    }
}

TEST_P(misuse, blocks_that_were_never_allocated)  // catalogue 13
{
    ASSERT_NE(all.alloc(), nullptr);
    for (std::size_t i = 1; i < 6; i++) {
        refused(all.at(i), EGB_MISUSE_NEVER_ALLOCATED, i);
    }
    egb_fixed_clear(&all.pool);
    refused(all.at(0), EGB_MISUSE_NEVER_ALLOCATED, 0);
}

TEST(fixed_misuse, use_of_a_pool_before_init)  // catalogue 54, zeroed
{
    events    seen;
    egb_fixed zero = {};
    double    x[2];
    for (egb_fixed* pool : {static_cast<egb_fixed*>(nullptr), &zero}) {
        EXPECT_EQ(egb_fixed_alloc(pool), nullptr);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_NO_POOL);
        egb_fixed_free(pool, x);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_NO_POOL);
        egb_fixed_clear(pool);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_NO_POOL);
        egb_fixed_free(pool, nullptr);  // no operation everywhere
        EXPECT_TRUE(seen.none());
    }
    EXPECT_EQ(egb_fixed_alloc_unchecked(&zero), nullptr);
    EXPECT_TRUE(seen.none());  // no check there
}

// ---- the holder's data must never decide --------------------------------------------------------

TEST_P(misuse, a_block_that_holds_our_own_mark_is_freed_like_any_other)
{
    for (int i = 0; i < 3; i++) {
        ASSERT_NE(all.alloc(), nullptr);
    }
    all.free(all.at(1));  // for a list to walk
    for (const uint32_t word : {EGB_FIXED_MARK_, EGB_FIXED_NONE_, 0u, 1u, 6u}) {
        auto* const words = reinterpret_cast<uint32_t*>(all.at(2));
        for (std::size_t i = 0; i < bytes() / 4; i++) {
            words[i] = word;
        }
        all.free(words);
        EXPECT_TRUE(seen.none());
        EXPECT_TRUE(all.whole());
        EXPECT_EQ(egb_fixed_in_use(&all.pool), 1u);
        refused(words, EGB_MISUSE_DOUBLE_FREE, 2);
        EXPECT_EQ(all.alloc(), words);
        EXPECT_TRUE(egb_fixed_is_live(&all.pool, words));
    }
}

TEST_P(misuse, what_an_earlier_life_left_in_a_block_does_not_matter)
{
    for (int life = 0; life < 3; life++) {  // free blocks are left full of marks and links
        for (int i = 0; i < 6; i++) {
            ASSERT_NE(all.alloc(), nullptr);
        }
        for (std::size_t i = 0; i < 6; i++) {
            all.free(all.at(i));
        }
        ASSERT_EQ(all.init(6 * bytes()), EGB_OK);
    }
    EXPECT_TRUE(seen.none());
}

TEST(fixed_misuse, live_bits_find_a_double_free_whatever_was_written_since)
{
    any_pool all(way::live_bits, 24, 6);
    events   seen;
    void*    a = all.alloc();
    all.free(a);
    std::memset(a, 0x77, 24);
    all.free(a);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
    EXPECT_EQ(egb_fixed_in_use(&all.pool), 0u);
}

TEST(fixed_misuse, checked_calls_on_an_unchecked_pool_still_work)
{
    any_pool all(way::unchecked, 24, 6);
    events   seen;
    for (std::size_t i = 0; i < 6; i++) {
        ASSERT_EQ(egb_fixed_alloc(&all.pool), all.at(i));
    }
    ASSERT_EQ(egb_fixed_alloc(&all.pool), nullptr);
    egb_fixed_free(&all.pool, all.at(2));
    egb_fixed_free(&all.pool, all.at(4));
    egb_fixed_free(&all.pool, &all);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
    EXPECT_EQ(egb_fixed_alloc(&all.pool), all.at(4));
    EXPECT_EQ(egb_fixed_alloc_unchecked(&all.pool), all.at(2));
    EXPECT_TRUE(all.whole());
}

// ---- the handler may do anything ----------------------------------------------------------------

TEST(fixed_misuse, the_handler_may_use_the_misused_pool)  // catalogue 83
{
    static any_pool* pool;
    static int       calls;
    any_pool         all(way::marked, 24, 6);
    pool               = &all;
    calls              = 0;
    const auto handler = [](const egb_misuse_event*, void*) {
        if (calls++ < 3) {
            pool->free(pool->alloc());
            pool->free(pool);  // misuse inside misuse
        }
    };
    egb_misuse_set_handler(handler, nullptr);
    void* const a = all.alloc();
    all.free(a);
    all.free(a);
    egb_misuse_set_handler(nullptr, nullptr);
    EXPECT_EQ(calls, 4);
    EXPECT_TRUE(all.whole());
    EXPECT_EQ(egb_fixed_in_use(&all.pool), 0u);
}

TEST(fixed_misuse, the_handler_may_leave_by_longjmp)  // catalogue 81
{
    static std::jmp_buf out;
    any_pool            all(way::marked, 24, 6);
    const auto          handler = [](const egb_misuse_event*, void*) {
        std::longjmp(out, 1);
    };
    egb_misuse_set_handler(handler, nullptr);
    void* const a = all.alloc();
    if (setjmp(out) == 0) {
        all.free(static_cast<char*>(a) + 4);
        ADD_FAILURE() << "the handler was not called";
    }
    egb_misuse_set_handler(nullptr, nullptr);
    EXPECT_TRUE(all.whole());
    EXPECT_EQ(egb_fixed_in_use(&all.pool), 1u);
}

TEST(fixed_misuse, pools_of_different_threads_are_independent)
{
    const auto work = [] {
        any_pool all(way::marked, 32, 100);
        for (int round = 0; round < 2000; round++) {
            void* const a = all.alloc();
            void* const b = all.alloc();
            all.free(a);
            all.free(b);
        }
        EXPECT_TRUE(all.whole());
    };
    std::thread one(work);
    std::thread two(work);
    one.join();
    two.join();
}
