// SPDX-License-Identifier: MIT
// The contract of slots.h, promise by promise.
#include "eggbox/slots.h"

#include "events.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

namespace
{

bool same(egb_slot one, egb_slot other)
{
    return one.index == other.index && one.generation == other.generation;
}

bool is_none(egb_slot handle)
{
    return same(handle, EGB_SLOT_NONE);
}

// Slots for elements of 12 bytes, in memory that was all ones.
class slots : public testing::Test
{
  protected:
    static constexpr std::size_t count         = 200;
    static constexpr std::size_t element_bytes = 12;

    slots()
    {
        std::memset(memory_.data(), 0xFF, sizeof memory_);
        EXPECT_EQ(make(count), EGB_OK);
    }

    ~slots() override
    {
        EXPECT_TRUE(egb_slots_whole(&all));
    }

    egb_status make(std::size_t of)
    {
        return egb_slots_init(&all, memory_.data(), sizeof memory_, element_bytes, of);
    }

    egb_slot insert()
    {
        egb_slot handle = {77, 77};
        EXPECT_NE(egb_slots_insert(&all, &handle), nullptr);
        return handle;
    }

    std::vector<std::uint32_t> walk()
    {
        std::vector<std::uint32_t> seen;
        for (egb_slot at = EGB_SLOT_NONE; egb_slots_next(&all, &at) != nullptr;) {
            seen.push_back(at.index);
        }
        return seen;
    }

    egb_slots all = {};
    events    misuse;

  private:
    static constexpr std::size_t bytes = EGB_SLOTS_BYTES(element_bytes, count);
    std::array<std::size_t, (bytes + sizeof(std::size_t) - 1) / sizeof(std::size_t)> memory_;
};

}  // namespace

TEST_F(slots, init_refuses_what_cannot_work)
{
    alignas(std::size_t) std::array<unsigned char, 1000> area{};
    egb_slots                                            made = {};
    made.count                                                = 5;
    EXPECT_EQ(egb_slots_init(nullptr, area.data(), 1000, 8, 4), EGB_INVALID);
    EXPECT_EQ(egb_slots_init(&made, nullptr, 1000, 8, 4), EGB_INVALID);
    EXPECT_EQ(egb_slots_init(&made, area.data() + 1, 900, 8, 4), EGB_INVALID);
    EXPECT_EQ(egb_slots_init(&made, area.data(), 1000, 0, 4), EGB_INVALID);
    EXPECT_EQ(egb_slots_init(&made, area.data(), 1000, 8, 0), EGB_INVALID);
    EXPECT_EQ(egb_slots_init(&made, area.data(), SIZE_MAX, 8, 4), EGB_INVALID);
    EXPECT_EQ(egb_slots_init(&made, area.data(), EGB_SLOTS_BYTES(8, 4) - 1, 8, 4), EGB_INVALID);
    EXPECT_EQ(egb_slots_init(&made, &made, sizeof made, 4, 1), EGB_INVALID);
    EXPECT_EQ(egb_slots_init(&made, area.data(), 1000, SIZE_MAX / 2, 3), EGB_LIMIT);
    EXPECT_EQ(egb_slots_init(&made, area.data(), 1000, SIZE_MAX - 7, 1), EGB_LIMIT);
    EXPECT_EQ(egb_slots_init(&made, area.data(), 1000, 1, SIZE_MAX), EGB_LIMIT);
    EXPECT_EQ(made.count, 5u);
    EXPECT_EQ(egb_slots_init(&made, area.data(), EGB_SLOTS_BYTES(8, 4), 8, 4), EGB_OK);
    EXPECT_EQ(egb_slots_capacity(&made), 4u);
}

// The memory is at an address where there is none: an access would end the program.
TEST_F(slots, init_takes_the_most_slots_there_can_be_and_touches_no_memory)
{
    const auto most = std::size_t{EGB_SLOTS_COUNT_MAX};
    egb_slots  made = {};
    const auto init = [&](std::size_t of) {
        void* const none = reinterpret_cast<void*>(UINTPTR_MAX / 2 + 1);
        return egb_slots_init(&made, none, EGB_SLOTS_BYTES(4, of), 4, of);
    };
    EXPECT_EQ(init(most + 1), EGB_LIMIT);
    EXPECT_EQ(init(most), sizeof(std::size_t) == 8 ? EGB_OK : EGB_LIMIT);
    EXPECT_EQ(egb_slots_capacity(&made), sizeof(std::size_t) == 8 ? most : 0);
}

TEST_F(slots, init_takes_memory_on_either_side_of_the_slots)
{
    egb_slots made = {};
    for (const std::uintptr_t start : {std::uintptr_t{4096}, UINTPTR_MAX - 4095}) {
        void* const none = reinterpret_cast<void*>(start);
        EXPECT_EQ(egb_slots_init(&made, none, EGB_SLOTS_BYTES(4, 1), 4, 1), EGB_OK);
    }
}

TEST_F(slots, a_copy_goes_on_where_the_first_one_stopped)
{
    const egb_slot one  = insert();
    const egb_slot two  = insert();
    egb_slots      copy = all;
    all                 = {};
    EXPECT_TRUE(egb_slots_erase(&copy, one));
    EXPECT_TRUE(egb_slots_contains(&copy, two));
    egb_slot next = {};
    EXPECT_NE(egb_slots_insert(&copy, &next), nullptr);
    EXPECT_EQ(next.index, one.index);
    EXPECT_TRUE(egb_slots_whole(&copy));
    all = copy;
}

TEST_F(slots, none_of_their_bytes_is_used_twice)
{
    for (std::size_t i = 0; i < count; i++) {
        std::memset(egb_slots_get(&all, insert()), static_cast<int>(i), element_bytes);
    }
    std::size_t i = 0;
    for (egb_slot at = EGB_SLOT_NONE; const void* element = egb_slots_next(&all, &at); i++) {
        std::array<unsigned char, element_bytes> wanted{};
        wanted.fill(static_cast<unsigned char>(i));
        EXPECT_EQ(std::memcmp(element, wanted.data(), element_bytes), 0);
    }
    EXPECT_EQ(i, count);
}

TEST_F(slots, a_full_table_says_so)
{
    for (std::size_t i = 0; i < count; i++) {
        insert();
    }
    egb_slot handle = {1, 1};
    EXPECT_EQ(egb_slots_insert(&all, &handle), nullptr);
    EXPECT_TRUE(is_none(handle));
    EXPECT_EQ(egb_slots_in_use(&all), count);
}

TEST_F(slots, a_handle_names_its_element_until_it_is_erased)
{
    const egb_slot one     = insert();
    void* const    element = egb_slots_get(&all, one);
    EXPECT_TRUE(egb_slots_contains(&all, one));
    EXPECT_TRUE(egb_slots_erase(&all, one));
    EXPECT_FALSE(egb_slots_contains(&all, one));
    EXPECT_EQ(egb_slots_get(&all, one), nullptr);
    const egb_slot next = insert();
    EXPECT_EQ(egb_slots_get(&all, next), element) << "the slot freed last comes first";
    EXPECT_FALSE(same(one, next));
    EXPECT_EQ(egb_slots_get(&all, one), nullptr);
}

TEST_F(slots, none_names_nothing)
{
    EXPECT_EQ(egb_slots_get(&all, EGB_SLOT_NONE), nullptr);
    EXPECT_FALSE(egb_slots_erase(&all, EGB_SLOT_NONE));
    EXPECT_EQ(egb_slots_retire(&all, EGB_SLOT_NONE, 1), EGB_STALE);
    EXPECT_TRUE(egb_slots_erase(&all, insert()));
    EXPECT_EQ(egb_slots_get(&all, EGB_SLOT_NONE), nullptr);
}

TEST_F(slots, a_second_erase_is_reported_and_refused)
{
    const egb_slot one = insert();
    EXPECT_TRUE(egb_slots_erase(&all, one));
    EXPECT_FALSE(egb_slots_erase(&all, one));
    const egb_misuse_event event = misuse.take();
    EXPECT_EQ(event.kind, EGB_MISUSE_DOUBLE_FREE);
    EXPECT_EQ(event.pool, &all);
    EXPECT_EQ(event.block_index, one.index);
    const egb_slot next = insert();
    EXPECT_FALSE(egb_slots_erase(&all, one));
    EXPECT_EQ(misuse.take_kind(), EGB_MISUSE_DOUBLE_FREE);
    EXPECT_TRUE(egb_slots_contains(&all, next));
}

TEST_F(slots, handles_that_were_never_given_out_are_foreign)
{
    insert();  // else the handle with generation 0 would be none
    const egb_slot one = insert();
    for (const egb_slot wrong :
         {egb_slot{one.index, one.generation + 2},
          egb_slot{one.index, one.generation - 1},
          egb_slot{one.index + 1, one.generation},
          egb_slot{UINT32_MAX, one.generation},
          egb_slot{count, 1},
          egb_slot{one.index, UINT32_MAX},
          egb_slot{1, 0}}) {
        EXPECT_EQ(egb_slots_get(&all, wrong), nullptr);
        EXPECT_FALSE(egb_slots_erase(&all, wrong));
        EXPECT_EQ(misuse.take_kind(), EGB_MISUSE_FOREIGN);
        EXPECT_EQ(egb_slots_retire(&all, wrong, 3), EGB_STALE);
        EXPECT_EQ(misuse.take_kind(), EGB_MISUSE_FOREIGN);
    }
    EXPECT_TRUE(egb_slots_erase(&all, one));
    const egb_slot even = {one.index, one.generation + 1};
    EXPECT_EQ(egb_slots_get(&all, even), nullptr) << "the free slot has this generation";
    EXPECT_FALSE(egb_slots_erase(&all, even));
    EXPECT_EQ(misuse.take_kind(), EGB_MISUSE_FOREIGN);
}

TEST_F(slots, all_zero_or_null_is_no_table)
{
    egb_slots zero   = {};
    egb_slot  handle = {3, 3};
    for (egb_slots* none : {&zero, static_cast<egb_slots*>(nullptr)}) {
        EXPECT_EQ(egb_slots_insert(none, &handle), nullptr);
        EXPECT_EQ(misuse.take_kind(), EGB_MISUSE_NO_POOL);
        EXPECT_FALSE(egb_slots_erase(none, egb_slot{0, 1}));
        EXPECT_EQ(misuse.take_kind(), EGB_MISUSE_NO_POOL);
        EXPECT_EQ(egb_slots_retire(none, egb_slot{0, 1}, 1), EGB_INVALID);
        EXPECT_EQ(misuse.take_kind(), EGB_MISUSE_NO_POOL);
        EXPECT_EQ(egb_slots_get(none, egb_slot{0, 1}), nullptr);
        EXPECT_EQ(egb_slots_advance(none, 9, nullptr, nullptr), 0u);
        EXPECT_EQ(egb_slots_start_at(none, 1), EGB_INVALID);
        EXPECT_TRUE(is_none(egb_slots_handle(none, &zero)));
        egb_slot at = EGB_SLOT_NONE;
        EXPECT_EQ(egb_slots_next(none, &at), nullptr);
        EXPECT_EQ(
            egb_slots_in_use(none) + egb_slots_in_limbo(none) + egb_slots_given_up(none) +
                egb_slots_capacity(none),
            0u
        );
        EXPECT_FALSE(egb_slots_whole(none));
    }
}

TEST_F(slots, an_element_leads_to_its_handle)
{
    const egb_slot one     = insert();
    const egb_slot two     = insert();
    auto* const    element = static_cast<unsigned char*>(egb_slots_get(&all, two));
    EXPECT_TRUE(same(egb_slots_handle(&all, element), two));
    for (int off = 1; off < static_cast<int>(element_bytes); off++) {
        EXPECT_TRUE(is_none(egb_slots_handle(&all, element + off)));
    }
    EXPECT_TRUE(is_none(egb_slots_handle(&all, element + element_bytes))) << "a fresh slot";
    EXPECT_TRUE(is_none(egb_slots_handle(&all, &all)));
    EXPECT_TRUE(is_none(egb_slots_handle(&all, nullptr)));
    EXPECT_TRUE(is_none(egb_slots_handle(&all, reinterpret_cast<void*>(UINTPTR_MAX - 7))));
    EXPECT_TRUE(egb_slots_erase(&all, two));
    EXPECT_TRUE(is_none(egb_slots_handle(&all, element)));
    EXPECT_TRUE(egb_slots_contains(&all, one));
}

TEST_F(slots, a_walk_meets_live_elements_in_order)
{
    EXPECT_TRUE(walk().empty());
    std::vector<egb_slot>      handles;
    std::vector<std::uint32_t> wanted;
    for (std::size_t i = 0; i < count; i++) {
        handles.push_back(insert());
    }
    for (const egb_slot handle : handles) {
        const bool stays = handle.index % 64 == 63 || handle.index / 64 == 1;
        if (stays) {
            wanted.push_back(handle.index);
        } else {
            EXPECT_TRUE(egb_slots_erase(&all, handle));
        }
    }
    EXPECT_EQ(walk(), wanted);
}

TEST_F(slots, a_walk_ends_with_no_element_and_no_handle)
{
    const egb_slot one = insert();
    egb_slot       at  = EGB_SLOT_NONE;
    EXPECT_EQ(egb_slots_next(&all, &at), egb_slots_get(&all, one));
    EXPECT_TRUE(same(at, one));
    EXPECT_EQ(egb_slots_next(&all, &at), nullptr);
    EXPECT_TRUE(is_none(at));
    EXPECT_NE(egb_slots_next(&all, &at), nullptr) << "and begins anew";
}

TEST_F(slots, the_current_element_may_be_erased_in_a_walk_and_others_too)
{
    std::vector<egb_slot> handles;
    for (std::size_t i = 0; i < count; i++) {
        handles.push_back(insert());
    }
    std::size_t met = 0;
    for (egb_slot at = EGB_SLOT_NONE; egb_slots_next(&all, &at) != nullptr; met++) {
        EXPECT_TRUE(egb_slots_erase(&all, at));
        if (at.index + 1 < count) {
            EXPECT_TRUE(egb_slots_erase(&all, handles[at.index + 1]));
        }
    }
    EXPECT_EQ(met, count / 2);
    EXPECT_EQ(egb_slots_in_use(&all), 0u);
}

TEST_F(slots, an_insert_in_a_walk_is_met_behind_the_current_element_only)
{
    std::vector<egb_slot> handles;
    for (int i = 0; i < 10; i++) {
        handles.push_back(insert());
    }
    egb_slot at = EGB_SLOT_NONE;
    while (at.index != 4) {
        ASSERT_NE(egb_slots_next(&all, &at), nullptr);
    }
    EXPECT_TRUE(egb_slots_erase(&all, handles[2]));
    EXPECT_EQ(insert().index, 2u);
    EXPECT_EQ(insert().index, 10u);
    std::vector<std::uint32_t> rest;
    while (egb_slots_next(&all, &at) != nullptr) {
        rest.push_back(at.index);
    }
    EXPECT_EQ(rest, (std::vector<std::uint32_t>{5, 6, 7, 8, 9, 10}));
}

// ---- the end of a slot's generations ------------------------------------------------------------

TEST_F(slots, a_slot_is_given_up_before_its_generation_starts_again)
{
    EXPECT_EQ(egb_slots_start_at(&all, EGB_SLOT_LIVES_MAX), EGB_INVALID);
    EXPECT_EQ(egb_slots_start_at(&all, EGB_SLOT_LIVES_MAX - 2), EGB_OK);
    std::vector<egb_slot> old;
    for (int life = 0; life < 2; life++) {
        old.push_back(insert());
        EXPECT_EQ(old.back().index, 0u);
        EXPECT_EQ(egb_slots_start_at(&all, 1), EGB_BUSY);
        EXPECT_TRUE(egb_slots_erase(&all, old.back()));
    }
    EXPECT_EQ(old.back().generation, UINT32_MAX - 2);
    EXPECT_EQ(egb_slots_given_up(&all), 1u);
    EXPECT_EQ(egb_slots_capacity(&all), count - 1);
    EXPECT_EQ(insert().index, 1u);
    for (std::size_t i = 2; i < count; i++) {
        insert();
    }
    egb_slot none = {};
    EXPECT_EQ(egb_slots_insert(&all, &none), nullptr);
    for (const egb_slot handle : old) {
        EXPECT_FALSE(egb_slots_contains(&all, handle));
        EXPECT_FALSE(egb_slots_erase(&all, handle));
        EXPECT_EQ(misuse.take_kind(), EGB_MISUSE_DOUBLE_FREE);
    }
}

TEST_F(slots, a_handle_of_slots_that_started_elsewhere_is_stale_until_the_generations_meet)
{
    const egb_slot                                                       here = insert();
    std::array<std::size_t, EGB_SLOTS_BYTES(8, 2) / sizeof(std::size_t)> memory{};
    egb_slots                                                            other = {};
    ASSERT_EQ(egb_slots_init(&other, memory.data(), sizeof memory, 8, 2), EGB_OK);
    ASSERT_EQ(egb_slots_start_at(&other, 3), EGB_OK);
    egb_slot there = {};
    EXPECT_NE(egb_slots_insert(&other, &there), nullptr);
    EXPECT_FALSE(egb_slots_contains(&other, here));
    EXPECT_FALSE(egb_slots_erase(&other, here));
    EXPECT_EQ(misuse.take_kind(), EGB_MISUSE_FOREIGN);
    egb_slot met = here;
    for (int life = 1; life <= 3; life++) {
        EXPECT_FALSE(egb_slots_contains(&all, there));
        EXPECT_TRUE(egb_slots_erase(&all, met));
        met = insert();
    }
    EXPECT_TRUE(egb_slots_contains(&all, there));
}

TEST_F(slots, a_slot_in_its_last_life_is_given_up_when_it_leaves_limbo)
{
    EXPECT_EQ(egb_slots_start_at(&all, EGB_SLOT_LIVES_MAX - 1), EGB_OK);
    EXPECT_EQ(egb_slots_retire(&all, insert(), 1), EGB_OK);
    EXPECT_EQ(egb_slots_given_up(&all), 0u);
    EXPECT_EQ(egb_slots_advance(&all, 2, nullptr, nullptr), 1u);
    EXPECT_EQ(egb_slots_given_up(&all), 1u);
    EXPECT_EQ(insert().index, 1u);
}

// ---- limbo --------------------------------------------------------------------------------------

TEST_F(slots, a_retired_element_is_gone_but_its_slot_waits_for_its_frame)
{
    const egb_slot one     = insert();
    void* const    element = egb_slots_get(&all, one);
    std::memset(element, 42, element_bytes);
    EXPECT_EQ(egb_slots_retire(&all, one, 7), EGB_OK);
    EXPECT_EQ(egb_slots_get(&all, one), nullptr);
    EXPECT_TRUE(is_none(egb_slots_handle(&all, element)));
    EXPECT_TRUE(walk().empty());
    EXPECT_EQ(egb_slots_in_limbo(&all), 1u);
    for (const std::uint64_t frame : {0u, 6u, 7u}) {
        EXPECT_EQ(egb_slots_advance(&all, frame, nullptr, nullptr), 0u);
    }
    EXPECT_NE(insert().index, one.index);
    EXPECT_EQ(static_cast<unsigned char*>(element)[element_bytes - 1], 42) << "the GPU reads it";
    EXPECT_EQ(egb_slots_advance(&all, 8, nullptr, nullptr), 1u);
    EXPECT_EQ(egb_slots_in_limbo(&all), 0u);
    EXPECT_EQ(insert().index, one.index);
    EXPECT_FALSE(egb_slots_contains(&all, one));
}

TEST_F(slots, an_erase_in_limbo_is_reported_and_refused)
{
    const egb_slot one = insert();
    EXPECT_EQ(egb_slots_retire(&all, one, 7), EGB_OK);
    EXPECT_FALSE(egb_slots_erase(&all, one));
    EXPECT_EQ(misuse.take_kind(), EGB_MISUSE_DOUBLE_FREE);
    EXPECT_EQ(egb_slots_retire(&all, one, 9), EGB_STALE);
    EXPECT_EQ(misuse.take_kind(), EGB_MISUSE_DOUBLE_FREE);
    EXPECT_EQ(egb_slots_advance(&all, 8, nullptr, nullptr), 1u);
}

TEST_F(slots, limbo_is_left_in_order_of_frames)
{
    std::vector<void*> elements;
    for (const std::uint64_t frame : {1u, 1u, 3u, 2u, 9u}) {  // 2 waits with 3
        const egb_slot one = insert();
        elements.push_back(egb_slots_get(&all, one));
        EXPECT_EQ(egb_slots_retire(&all, one, frame), EGB_OK);
    }
    std::vector<void*> left;
    const auto         see = [](void* element, void* user) {
        static_cast<std::vector<void*>*>(user)->push_back(element);
    };
    EXPECT_EQ(egb_slots_advance(&all, 2, see, &left), 2u);
    EXPECT_EQ(egb_slots_advance(&all, 3, see, &left), 0u);
    EXPECT_EQ(egb_slots_advance(&all, 4, see, &left), 2u);
    EXPECT_EQ(egb_slots_advance(&all, 9, see, &left), 0u);
    EXPECT_EQ(egb_slots_advance(&all, UINT64_MAX, see, &left), 1u);
    EXPECT_EQ(left, elements);
}

TEST_F(slots, frames_that_are_too_far_apart_for_limbo_are_refused)
{
    EXPECT_EQ(egb_slots_retire(&all, insert(), 5), EGB_OK);
    const egb_slot one = insert();
    EXPECT_EQ(egb_slots_retire(&all, one, 5 + (std::uint64_t{1} << 32)), EGB_LIMIT);
    EXPECT_TRUE(egb_slots_contains(&all, one));
    EXPECT_EQ(egb_slots_retire(&all, one, 4 + (std::uint64_t{1} << 32)), EGB_OK);
    EXPECT_EQ(egb_slots_advance(&all, 4 + (std::uint64_t{1} << 32), nullptr, nullptr), 1u);
    EXPECT_EQ(egb_slots_advance(&all, 5 + (std::uint64_t{1} << 32), nullptr, nullptr), 1u);
    EXPECT_EQ(egb_slots_retire(&all, insert(), UINT64_MAX - 1), EGB_OK) << "limbo was empty";
    EXPECT_EQ(egb_slots_advance(&all, UINT64_MAX, nullptr, nullptr), 1u);
}

TEST_F(slots, who_leaves_limbo_may_insert_and_erase)
{
    const egb_slot one = insert();
    EXPECT_EQ(egb_slots_retire(&all, one, 1), EGB_OK);
    EXPECT_EQ(egb_slots_retire(&all, insert(), 1), EGB_OK);
    const auto reuse = [](void* element, void* user) {
        auto* const table = static_cast<egb_slots*>(user);
        egb_slot    fresh = {};
        EXPECT_NE(egb_slots_insert(table, &fresh), element);
        EXPECT_EQ(egb_slots_retire(table, fresh, 5), EGB_OK);
    };
    EXPECT_EQ(egb_slots_advance(&all, 2, reuse, &all), 2u);
    EXPECT_EQ(egb_slots_in_limbo(&all), 2u);
}

TEST_F(slots, whole_notices_damage)
{
    insert();
    EXPECT_TRUE(egb_slots_erase(&all, insert()));
    const egb_slots before = all;
    all.in_use             = 2;
    EXPECT_FALSE(egb_slots_whole(&all));
    all      = before;
    all.free = 1;  // a live slot
    EXPECT_FALSE(egb_slots_whole(&all));
    all          = before;
    all.given_up = 1;
    EXPECT_FALSE(egb_slots_whole(&all));
    all = before;
    all.live[0] ^= 2;
    EXPECT_FALSE(egb_slots_whole(&all));
    all.live[0] ^= 2;
    all.touched = all.count + 1;
    EXPECT_FALSE(egb_slots_whole(&all));
    all      = before;
    all.base = 4;  // as if no handle had been given out yet
    EXPECT_FALSE(egb_slots_whole(&all));
    all       = before;
    all.limbo = 1;  // but the list is empty
    EXPECT_FALSE(egb_slots_whole(&all));
    all      = before;
    all.free = all.touched + 5;
    EXPECT_FALSE(egb_slots_whole(&all));
    all                     = before;
    all.links[all.free - 1] = all.free;  // the list leads to itself
    EXPECT_FALSE(egb_slots_whole(&all));
    all.links[all.free - 1] = 0;
}
