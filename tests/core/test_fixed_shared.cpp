// SPDX-License-Identifier: MIT
// The promises of fixed_shared.h, one by one, for each kind of fixed pool, on a port where nothing
// happens by itself.
#include "any_pool.hpp"
#include "events.hpp"
#include "still_port.hpp"

#include "eggbox/fixed_shared.h"
#include "eggbox/port/none.h"

namespace
{

enum { blocks = 3 };

struct shared_pool {
    explicit shared_pool(way made, std::size_t reserve = 0) : all(made, 16, blocks)
    {
        EXPECT_EQ(egb_fixed_shared_init(&shared, &all.pool, &still.port, reserve), EGB_OK);
    }

    ~shared_pool()
    {
        EXPECT_TRUE(egb_fixed_shared_whole(&shared));
        EXPECT_EQ(egb_fixed_shared_waiting(&shared), 0u);
    }

    void* take()
    {
        return egb_fixed_shared_alloc(&shared);
    }

    void give(void* block)
    {
        egb_fixed_shared_free(&shared, block);
    }

    // Waits for a block, and returns the answer.
    egb_status wait(void** out, bool is_urgent = false, uint32_t timeout_ms = EGB_FOREVER)
    {
        return is_urgent ? egb_fixed_shared_alloc_urgent_for(&shared, out, timeout_ms)
                         : egb_fixed_shared_alloc_for(&shared, out, timeout_ms);
    }

    still_port       still;
    any_pool         all;
    events           misuse;
    egb_fixed_shared shared{};
};

class fixed_shared : public testing::TestWithParam<way>
{
};

INSTANTIATE_TEST_SUITE_P(every, fixed_shared, testing::ValuesIn(all_ways), name_of_test);

}  // namespace

TEST_P(fixed_shared, gives_each_block_once_and_then_none)
{
    shared_pool        pool(GetParam());
    std::vector<void*> held;
    for (void* block = pool.take(); block != nullptr; block = pool.take()) {
        held.push_back(block);
    }
    EXPECT_EQ(held.size(), std::size_t(blocks));
    EXPECT_EQ(egb_fixed_shared_in_use(&pool.shared), std::size_t(blocks));
    for (void* const block : held) {
        EXPECT_TRUE(egb_fixed_is_live(&pool.all.pool, block));
        pool.give(block);
    }
    EXPECT_EQ(egb_fixed_shared_in_use(&pool.shared), 0u);
    EXPECT_EQ(egb_fixed_shared_peak(&pool.shared), std::size_t(blocks));
    EXPECT_EQ(egb_fixed_shared_capacity(&pool.shared), std::size_t(blocks));
    EXPECT_EQ(pool.still.reschedules, 0) << "nobody was woken";
}

TEST_P(fixed_shared, alloc_and_free_are_one_critical_section_each)
{
    shared_pool pool(GetParam());
    void* const block = pool.take();
    EXPECT_EQ(pool.still.sections, 1);
    pool.give(block);
    EXPECT_EQ(pool.still.sections, 2);
    pool.give(nullptr);
    EXPECT_EQ(pool.still.sections, 2);
}

TEST_P(fixed_shared, the_reserve_is_for_urgent_callers)
{
    shared_pool pool(GetParam(), 2);
    void* const first = pool.take();
    EXPECT_NE(first, nullptr);
    EXPECT_EQ(pool.take(), nullptr);
    void* const second = egb_fixed_shared_alloc_urgent(&pool.shared);
    void* const third  = egb_fixed_shared_alloc_urgent(&pool.shared);
    EXPECT_NE(second, nullptr);
    EXPECT_NE(third, nullptr);
    EXPECT_EQ(egb_fixed_shared_alloc_urgent(&pool.shared), nullptr);
    pool.give(first);
    EXPECT_EQ(pool.take(), nullptr) << "the reserve is filled first";
    pool.give(second);
    EXPECT_EQ(pool.take(), nullptr);
    pool.give(third);
    EXPECT_NE(pool.take(), nullptr);
}

TEST_P(fixed_shared, a_block_that_is_free_needs_no_wait)
{
    shared_pool pool(GetParam());
    void*       block = nullptr;
    EXPECT_EQ(pool.wait(&block, false, 0), EGB_OK);
    EXPECT_NE(block, nullptr);
    EXPECT_EQ(pool.wait(&block), EGB_OK);
    EXPECT_NE(block, nullptr);
}

TEST_P(fixed_shared, empty_timed_out_and_cancelled_are_three_answers)
{
    shared_pool pool(GetParam());
    while (pool.take() != nullptr) {
    }
    int   whatever = 0;
    void* block    = &whatever;
    EXPECT_EQ(pool.wait(&block, false, 0), EGB_EMPTY);
    EXPECT_EQ(block, nullptr);
    block              = &whatever;
    pool.still.on_wait = [](egb_waiter&, uint32_t timeout_ms) {
        EXPECT_EQ(timeout_ms, 5u);
    };
    EXPECT_EQ(pool.wait(&block, false, 5), EGB_TIMED_OUT);
    EXPECT_EQ(block, nullptr);
    block              = &whatever;
    pool.still.on_wait = [&](egb_waiter&, uint32_t) {
        EXPECT_EQ(egb_fixed_shared_waiting(&pool.shared), 1u);
        EXPECT_EQ(egb_fixed_shared_cancel(&pool.shared), 1u);
    };
    EXPECT_EQ(pool.wait(&block), EGB_CANCELLED);
    EXPECT_EQ(block, nullptr);
    EXPECT_EQ(pool.still.reschedules, 1);
    EXPECT_EQ(egb_fixed_shared_cancel(&pool.shared), 0u);
    EXPECT_EQ(pool.still.reschedules, 1);
}

TEST_P(fixed_shared, a_freed_block_goes_straight_to_the_thread_that_waits)
{
    shared_pool pool(GetParam());
    void*       held[blocks];
    for (void*& block : held) {
        block = pool.take();
    }
    pool.still.on_wait = [&](egb_waiter& waiter, uint32_t) {
        pool.give(held[1]);
        EXPECT_EQ(waiter.answer, EGB_OK);
        EXPECT_EQ(pool.take(), nullptr) << "it was free in between";
        EXPECT_EQ(egb_fixed_shared_in_use(&pool.shared), std::size_t(blocks));
    };
    void* block = nullptr;
    EXPECT_EQ(pool.wait(&block), EGB_OK);
    EXPECT_EQ(block, held[1]);
    EXPECT_EQ(pool.still.woken.size(), 1u);
    EXPECT_EQ(pool.still.reschedules, 1);
    EXPECT_EQ(egb_fixed_shared_peak(&pool.shared), std::size_t(blocks));
}

TEST_P(fixed_shared, a_wrong_free_is_refused_and_told_outside_of_the_section)
{
    shared_pool pool(GetParam());
    void* const block = pool.take();
    char        other[16];
    pool.give(other);
    EXPECT_EQ(pool.misuse.take_kind(), EGB_MISUSE_FOREIGN);
    pool.give(static_cast<char*>(block) + 1);
    EXPECT_EQ(pool.misuse.take_kind(), EGB_MISUSE_INTERIOR);
    pool.give(pool.all.at(blocks - 1));
    const egb_misuse_event event = pool.misuse.take();
    EXPECT_EQ(event.kind, EGB_MISUSE_NEVER_ALLOCATED);
    EXPECT_EQ(event.pool, &pool.all.pool);
    EXPECT_EQ(event.block_index, std::size_t(blocks - 1));
    EXPECT_EQ(egb_fixed_shared_in_use(&pool.shared), 1u);
    pool.give(block);
    if (GetParam() != way::unchecked) {
        pool.give(block);
        EXPECT_EQ(pool.misuse.take_kind(), EGB_MISUSE_DOUBLE_FREE);
    }
    EXPECT_EQ(egb_fixed_shared_in_use(&pool.shared), 0u);
}

TEST_P(fixed_shared, a_second_free_does_not_reach_a_thread_that_waits)
{
    if (GetParam() == way::unchecked) {
        return;  // which finds no second free
    }
    shared_pool pool(GetParam(), 1);
    void* const block = pool.take();
    void* const other = pool.take();
    void* const third = egb_fixed_shared_alloc_urgent(&pool.shared);
    pool.give(third);  // only the reserve is free
    pool.still.on_wait = [&](egb_waiter& waiter, uint32_t) {
        pool.give(third);
        EXPECT_EQ(pool.misuse.take_kind(), EGB_MISUSE_DOUBLE_FREE);
        EXPECT_EQ(waiter.answer, EGB_BUSY);
        pool.give(block);
    };
    void* got = nullptr;
    EXPECT_EQ(pool.wait(&got), EGB_OK);
    EXPECT_EQ(got, block);
    pool.give(other);
}

TEST_P(fixed_shared, the_handler_may_use_the_pool)
{
    shared_pool              pool(GetParam());
    static egb_fixed_shared* same;
    same = &pool.shared;
    char  other[16];
    void* got = nullptr;
    egb_misuse_set_handler(
        [](const egb_misuse_event*, void* user) {
            *static_cast<void**>(user) = egb_fixed_shared_alloc(same);
        },
        &got
    );
    pool.give(other);
    EXPECT_TRUE(egb_fixed_is_live(&pool.all.pool, got));
}

TEST(fixed_shared_init, refuses_what_can_never_work)
{
    still_port       still;
    any_pool         all(way::marked, 16, blocks);
    egb_fixed        unmade{};
    egb_fixed_shared shared{};
    EXPECT_EQ(egb_fixed_shared_init(nullptr, &all.pool, &still.port, 0), EGB_INVALID);
    EXPECT_EQ(egb_fixed_shared_init(&shared, nullptr, &still.port, 0), EGB_INVALID);
    EXPECT_EQ(egb_fixed_shared_init(&shared, &unmade, &still.port, 0), EGB_INVALID);
    EXPECT_EQ(egb_fixed_shared_init(&shared, &all.pool, nullptr, 0), EGB_INVALID);
    EXPECT_EQ(egb_fixed_shared_init(&shared, &all.pool, &still.port, blocks), EGB_INVALID);
    EXPECT_EQ(shared.pool, nullptr);
    EXPECT_EQ(egb_fixed_shared_init(&shared, &all.pool, &still.port, blocks - 1), EGB_OK);
}

TEST(fixed_shared_init, counts_the_blocks_that_are_in_use)
{
    still_port       still;
    any_pool         all(way::marked, 16, blocks);
    void* const      before = all.alloc();
    egb_fixed_shared shared{};
    ASSERT_EQ(egb_fixed_shared_init(&shared, &all.pool, &still.port, 0), EGB_OK);
    EXPECT_EQ(egb_fixed_shared_in_use(&shared), 1u);
    egb_fixed_shared_free(&shared, before);
    EXPECT_EQ(egb_fixed_shared_in_use(&shared), 0u);
}

TEST(fixed_shared_init, a_pool_that_was_never_made_is_told)
{
    events           misuse;
    egb_fixed_shared shared{};
    void*            block = &shared;
    EXPECT_EQ(egb_fixed_shared_alloc(&shared), nullptr);
    EXPECT_EQ(misuse.take_kind(), EGB_MISUSE_NO_POOL);
    EXPECT_EQ(egb_fixed_shared_alloc_urgent(nullptr), nullptr);
    EXPECT_EQ(misuse.take_kind(), EGB_MISUSE_NO_POOL);
    EXPECT_EQ(egb_fixed_shared_alloc_for(&shared, &block, EGB_FOREVER), EGB_INVALID);
    EXPECT_EQ(block, nullptr);
    EXPECT_EQ(misuse.take_kind(), EGB_MISUSE_NO_POOL);
    egb_fixed_shared_free(&shared, &shared);
    EXPECT_EQ(misuse.take_kind(), EGB_MISUSE_NO_POOL);
    EXPECT_EQ(egb_fixed_shared_cancel(&shared), 0u);
    EXPECT_EQ(misuse.take_kind(), EGB_MISUSE_NO_POOL);
    EXPECT_EQ(egb_fixed_shared_capacity(&shared), 0u);
    EXPECT_EQ(egb_fixed_shared_in_use(&shared), 0u);
    EXPECT_EQ(egb_fixed_shared_peak(nullptr), 0u);
    EXPECT_EQ(egb_fixed_shared_waiting(nullptr), 0u);
    EXPECT_FALSE(egb_fixed_shared_whole(&shared));
    EXPECT_FALSE(egb_fixed_shared_whole(nullptr));
}

TEST(fixed_shared_init, a_pool_below_that_was_never_made_is_told)
{
    still_port       still;
    events           misuse;
    egb_fixed        unmade{};
    egb_fixed_shared shared = EGB_FIXED_SHARED_OF(&unmade, &still.port, 0);
    EXPECT_EQ(egb_fixed_shared_alloc(&shared), nullptr);
    EXPECT_EQ(misuse.take_kind(), EGB_MISUSE_NO_POOL);
    egb_fixed_shared_free(&shared, &shared);
    EXPECT_EQ(misuse.take_kind(), EGB_MISUSE_NO_POOL);
    EXPECT_FALSE(egb_fixed_shared_whole(&shared));
}

namespace
{

struct packet {
    uint32_t words[4];
};

EGB_FIXED_DEFINE_MARKED(packet_blocks, packet, blocks);
egb_fixed_shared packets = EGB_FIXED_SHARED_OF(&packet_blocks, &egb_port_none, 2);

}  // namespace

TEST(fixed_shared_static, works_without_init)
{
    void* const ordinary = egb_fixed_shared_alloc(&packets);
    EXPECT_NE(ordinary, nullptr);
    EXPECT_EQ(egb_fixed_shared_alloc(&packets), nullptr) << "two blocks are the reserve";
    void* const urgent = egb_fixed_shared_alloc_urgent(&packets);
    EXPECT_NE(urgent, nullptr);
    EXPECT_EQ(egb_fixed_shared_in_use(&packets), 2u);
    egb_fixed_shared_free(&packets, urgent);
    egb_fixed_shared_free(&packets, ordinary);
    EXPECT_EQ(egb_fixed_shared_in_use(&packets), 0u);
    EXPECT_TRUE(egb_fixed_shared_whole(&packets));
}

TEST(fixed_shared_static, is_as_large_as_it_says)
{
    EXPECT_EQ(sizeof(egb_fixed_shared), sizeof(void*) == 4 ? 20u : 40u);
}

TEST(fixed_shared_port, a_port_without_a_wait_says_so)
{
    still_port still;
    still.port.wait = nullptr;
    any_pool         all(way::marked, 16, 1);
    egb_fixed_shared shared{};
    ASSERT_EQ(egb_fixed_shared_init(&shared, &all.pool, &still.port, 0), EGB_OK);
    void* block = nullptr;
    EXPECT_EQ(egb_fixed_shared_alloc_for(&shared, nullptr, 1), EGB_INVALID);
    EXPECT_EQ(egb_fixed_shared_alloc_for(&shared, &block, 1), EGB_OK);
    EXPECT_EQ(egb_fixed_shared_alloc_for(&shared, &block, 1), EGB_UNSUPPORTED);
    EXPECT_EQ(block, nullptr);
    EXPECT_EQ(egb_fixed_shared_alloc_for(&shared, &block, 0), EGB_EMPTY);
}

TEST(fixed_shared_port, reschedule_and_priority_may_be_missing)
{
    still_port still;
    still.port.reschedule = nullptr;
    still.port.priority   = nullptr;
    any_pool         all(way::marked, 16, 1);
    egb_fixed_shared shared{};
    ASSERT_EQ(egb_fixed_shared_init(&shared, &all.pool, &still.port, 0), EGB_OK);
    void* const held = egb_fixed_shared_alloc(&shared);
    void*       block;
    still.on_wait = [&](egb_waiter&, uint32_t) {
        egb_fixed_shared_free(&shared, held);
    };
    EXPECT_EQ(egb_fixed_shared_alloc_for(&shared, &block, 1), EGB_OK);
    still.on_wait = [&](egb_waiter&, uint32_t) {
        egb_fixed_shared_cancel(&shared);
    };
    EXPECT_EQ(egb_fixed_shared_alloc_for(&shared, &block, 1), EGB_CANCELLED);
}

TEST(fixed_shared_damage, an_overwritten_list_is_told_once_and_nothing_hangs)
{
    still_port       still;
    any_pool         all(way::live_bits, 16, blocks);
    events           misuse;
    egb_fixed_shared shared{};
    ASSERT_EQ(egb_fixed_shared_init(&shared, &all.pool, &still.port, 1), EGB_OK);
    void* const block = egb_fixed_shared_alloc(&shared);
    egb_fixed_shared_free(&shared, block);
    std::memset(block, 0x55, 16);
    EXPECT_NE(egb_fixed_shared_alloc(&shared), nullptr);
    EXPECT_TRUE(misuse.none()) << "this block's link is read by the next alloc";
    EXPECT_NE(egb_fixed_shared_alloc(&shared), nullptr);
    EXPECT_EQ(misuse.take_kind(), EGB_MISUSE_OVERWRITTEN);
    EXPECT_TRUE(egb_fixed_shared_whole(&shared));
}

// The first one of two blocks in the list is overwritten: the pool loses both, and has one left.
TEST(fixed_shared_damage, blocks_that_a_list_has_lost_take_the_place_of_the_reserve)
{
    still_port       still;
    any_pool         all(way::marked, 16, blocks);
    events           misuse;
    egb_fixed_shared shared{};
    ASSERT_EQ(egb_fixed_shared_init(&shared, &all.pool, &still.port, 1), EGB_OK);
    void* const lost        = egb_fixed_shared_alloc(&shared);
    void* const overwritten = egb_fixed_shared_alloc(&shared);
    egb_fixed_shared_free(&shared, lost);
    egb_fixed_shared_free(&shared, overwritten);
    std::memset(overwritten, 0x55, 16);
    EXPECT_EQ(egb_fixed_shared_alloc(&shared), all.at(blocks - 1));
    EXPECT_EQ(misuse.take_kind(), EGB_MISUSE_OVERWRITTEN);
    EXPECT_EQ(egb_fixed_shared_in_use(&shared), 1u);
    EXPECT_EQ(egb_fixed_shared_alloc(&shared), nullptr);
    EXPECT_EQ(egb_fixed_shared_alloc_urgent(&shared), nullptr) << "not even the reserve is left";
}

TEST(fixed_shared_damage, the_handler_is_within_the_section_for_an_overwritten_list_alone)
{
    static int       depth;
    events           misuse;
    still_port       still;
    any_pool         all(way::live_bits, 16, blocks);
    egb_fixed_shared shared{};
    ASSERT_EQ(egb_fixed_shared_init(&shared, &all.pool, &still.port, 0), EGB_OK);
    egb_misuse_set_handler(
        [](const egb_misuse_event*, void* port) { depth = static_cast<still_port*>(port)->depth; },
        &still
    );
    void* const block = egb_fixed_shared_alloc(&shared);
    egb_fixed_shared_free(&shared, block);
    depth = -1;
    egb_fixed_shared_free(&shared, block);
    EXPECT_EQ(depth, 0) << "a wrong free";
    std::memset(block, 0x55, 16);
    EXPECT_EQ(egb_fixed_shared_alloc(&shared), block);
    EXPECT_NE(egb_fixed_shared_alloc(&shared), nullptr);
    EXPECT_EQ(depth, 1) << "an overwritten list";
}

TEST(fixed_shared_damage, what_is_not_whole_is_seen)
{
    still_port       still;
    any_pool         all(way::marked, 16, blocks);
    egb_fixed_shared shared{};
    ASSERT_EQ(egb_fixed_shared_init(&shared, &all.pool, &still.port, 1), EGB_OK);
    shared.in_use = 1;
    EXPECT_FALSE(egb_fixed_shared_whole(&shared));
    shared.in_use  = 0;
    shared.reserve = blocks;
    EXPECT_FALSE(egb_fixed_shared_whole(&shared));
    shared.reserve = 1;
    EXPECT_TRUE(egb_fixed_shared_whole(&shared));
    egb_waiter urgent{};
    urgent.answer    = EGB_BUSY;
    urgent.is_urgent = true;
    shared.waiters   = &urgent;
    EXPECT_FALSE(egb_fixed_shared_whole(&shared)) << "it could have a block";
    urgent.is_urgent = false;
    EXPECT_FALSE(egb_fixed_shared_whole(&shared)) << "it could have a block";
    shared.waiters = nullptr;
}

TEST(fixed_shared_damage, a_line_that_is_not_whole_is_seen)
{
    still_port       still;
    any_pool         all(way::marked, 16, blocks);
    egb_fixed_shared shared{};
    ASSERT_EQ(egb_fixed_shared_init(&shared, &all.pool, &still.port, 0), EGB_OK);
    while (egb_fixed_shared_alloc(&shared) != nullptr) {
    }
    egb_waiter second{};
    second.answer    = EGB_BUSY;
    egb_waiter first = second;
    first.next       = &second;
    shared.waiters   = &first;
    EXPECT_TRUE(egb_fixed_shared_whole(&shared));
    second.priority = 1;
    EXPECT_FALSE(egb_fixed_shared_whole(&shared)) << "the second is to be served before the first";
    second.priority = 0;
    first.answer    = EGB_OK;
    EXPECT_FALSE(egb_fixed_shared_whole(&shared)) << "it does not wait any more";
    first.answer = EGB_BUSY;
    second.block = &shared;
    EXPECT_FALSE(egb_fixed_shared_whole(&shared)) << "it has a block";
    second.block = nullptr;
    EXPECT_TRUE(egb_fixed_shared_whole(&shared));
    shared.waiters = nullptr;
}
