// SPDX-License-Identifier: MIT
// slots<T, N> and growing_slots<T>: objects and their lifetimes. core/test_slots.cpp tests the
// promises of the C slots.
#include "eggbox/slots.hpp"

#include "events.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

namespace
{

// Counts the objects that live, cannot be copied or moved, and throws when it is told to.
struct counted {
    explicit counted(int value_, bool throws = false) : value(value_)
    {
        if (throws) {
            throw std::runtime_error("no");
        }
        live++;
    }

    counted(const counted&)            = delete;
    counted& operator=(const counted&) = delete;

    ~counted()
    {
        live--;
    }

    int               value;
    static inline int live = 0;
};

struct alignas(64) wide {
    double value = 0;
};

// Each test with both kinds of slots.
template <class T>
struct in_place {
    using type = eggbox::slots<T, 1000>;
};

template <class T>
struct in_chunks {
    using type = eggbox::growing_slots<T>;
};

template <class T>
using both_of = testing::Types<typename in_place<T>::type, typename in_chunks<T>::type>;

template <class Slots>
class face_slots : public testing::Test
{
  protected:
    ~face_slots() override
    {
        EXPECT_EQ(counted::live, 0);
    }

    events misuse;
};

TYPED_TEST_SUITE(face_slots, both_of<counted>, );

}  // namespace

TYPED_TEST(face_slots, an_object_lives_from_insert_to_erase)
{
    TypeParam  all;
    const auto one = all.insert(4);
    EXPECT_TRUE(one);
    ASSERT_NE(all.get(one), nullptr);
    EXPECT_EQ(all.get(one)->value, 4);
    EXPECT_EQ(counted::live, 1);
    EXPECT_TRUE(all.contains(one));
    EXPECT_EQ(all.handle_of(all.get(one)), one);
    EXPECT_TRUE(all.erase(one));
    EXPECT_EQ(counted::live, 0);
    EXPECT_EQ(all.get(one), nullptr);
    EXPECT_EQ(std::as_const(all).get(one), nullptr);
    EXPECT_TRUE(all.empty());
}

TYPED_TEST(face_slots, a_second_erase_destroys_nothing)
{
    TypeParam  all;
    const auto one = all.insert(4);
    EXPECT_TRUE(all.erase(one));
    const auto two = all.insert(5);
    EXPECT_FALSE(all.erase(one));
    EXPECT_EQ(this->misuse.take_kind(), EGB_MISUSE_DOUBLE_FREE);
    EXPECT_EQ(all.get(two)->value, 5);
    EXPECT_EQ(counted::live, 1);
}

TYPED_TEST(face_slots, none_and_foreign_handles_name_nothing)
{
    using handle = typename TypeParam::handle_type;
    TypeParam all;
    EXPECT_FALSE(handle());
    for (int used = 0; used < 2; used++) {
        EXPECT_EQ(all.get(handle()), nullptr);
        EXPECT_FALSE(all.erase(handle()));
        EXPECT_EQ(all.retire(handle(), 1), EGB_STALE);
        for (const std::uint32_t index : {0u, 63u, 64u, 5000u, UINT32_MAX - 63, UINT32_MAX}) {
            EXPECT_EQ(all.get(handle{index, 3}), nullptr);
            EXPECT_FALSE(all.erase(handle{index, 3}));
            EXPECT_EQ(this->misuse.take_kind(), EGB_MISUSE_FOREIGN);
            EXPECT_EQ(all.retire(handle{index, 3}, 1), EGB_STALE);
            EXPECT_EQ(this->misuse.take_kind(), EGB_MISUSE_FOREIGN);
        }
        EXPECT_TRUE(all.insert(1));
    }
}

TYPED_TEST(face_slots, an_address_never_changes)
{
    TypeParam                                                 all;
    std::vector<std::pair<eggbox::handle<counted>, counted*>> made;
    for (int i = 0; i < 1000; i++) {
        const auto one = all.insert(i);
        made.emplace_back(one, all.get(one));
    }
    for (std::size_t i = 0; i < made.size(); i++) {
        EXPECT_EQ(all.get(made[i].first), made[i].second);
        EXPECT_EQ(made[i].second->value, static_cast<int>(i));
        EXPECT_EQ(all.handle_of(made[i].second), made[i].first);
    }
    EXPECT_EQ(all.in_use(), 1000u);
    EXPECT_TRUE(all.whole());
}

TYPED_TEST(face_slots, a_constructor_that_throws_leaves_all_as_it_was)
{
    TypeParam  all;
    const auto one = all.insert(1);
    for (int i = 0; i < 3; i++) {
        EXPECT_THROW(all.insert(2, true), std::runtime_error);
        EXPECT_EQ(all.in_use(), 1u);
        EXPECT_TRUE(all.whole());
    }
    const auto two = all.insert(3);
    EXPECT_EQ(two, (eggbox::handle<counted>{1, 1})) << "no generation was used up";
    EXPECT_EQ(all.get(one)->value, 1);
}

TYPED_TEST(face_slots, a_walk_meets_each_object_once)
{
    TypeParam all;
    EXPECT_EQ(all.begin(), all.end());
    for (int i = 0; i < 300; i++) {
        all.insert(i);
    }
    int wanted = 0;
    for (counted& each : all) {
        EXPECT_EQ(each.value, wanted++);
    }
    for (const counted& each : std::as_const(all)) {
        EXPECT_EQ(each.value, 300 - wanted--);
    }
    all.each([&](eggbox::handle<counted> one, counted& each) {
        EXPECT_EQ(each.value, wanted++);
        EXPECT_EQ(all.get(one), &each);
    });
    EXPECT_EQ(wanted, 300);
}

TYPED_TEST(face_slots, an_iterator_becomes_a_const_iterator)
{
    using iterator       = typename TypeParam::iterator;
    using const_iterator = typename TypeParam::const_iterator;
    TypeParam            all;
    const auto           one   = all.insert(1);
    const const_iterator first = all.begin();
    EXPECT_EQ(&*first, all.get(one));
    EXPECT_EQ(first.handle(), one);
    EXPECT_TRUE(first == all.begin() && all.end() != first);
    EXPECT_FALSE((std::is_convertible_v<const_iterator, iterator>));
}

TYPED_TEST(face_slots, a_walk_may_erase_the_current_object_and_others)
{
    TypeParam                            all;
    std::vector<eggbox::handle<counted>> handles;
    for (int i = 0; i < 300; i++) {
        handles.push_back(all.insert(i));
    }
    for (auto at = all.begin(); at != all.end(); ++at) {
        if (at->value % 3 == 0) {
            EXPECT_TRUE(all.erase(handles[static_cast<std::size_t>(at->value) + 1]));
            EXPECT_TRUE(all.erase(at.handle()));
        }
    }
    std::size_t met = 0;
    all.each([&](eggbox::handle<counted> one, const counted& each) {
        met++;
        EXPECT_EQ(each.value % 3, 2);
        EXPECT_TRUE(all.erase(one));
        all.insert(0);  // into the slot of the current one: not met
    });
    EXPECT_EQ(met, 100u);
    EXPECT_EQ(all.in_use(), 100u);
}

TYPED_TEST(face_slots, an_insert_in_a_walk_is_met_behind_the_current_object_only)
{
    TypeParam   all;
    const auto  one = all.insert(0);
    std::size_t met = 0;
    all.insert(0);
    all.each([&](eggbox::handle<counted> here, const counted&) {
        if (met++ == 1) {
            EXPECT_TRUE(all.erase(one));
            EXPECT_EQ(all.insert(0).index, one.index) << "before the current object";
        }
        if (all.in_use() < 600) {
            EXPECT_GT(all.insert(0).index, here.index);
        }
    });
    EXPECT_EQ(met, 600u);
    for (auto at = all.begin(); at != all.end(); ++at, met++) {
        if (all.in_use() < 900) {
            all.insert(0);
        }
    }
    EXPECT_EQ(met, 1500u);
}

TYPED_TEST(face_slots, clear_destroys_the_live_objects)
{
    TypeParam                            all;
    std::vector<eggbox::handle<counted>> handles;
    for (int i = 0; i < 100; i++) {
        handles.push_back(all.insert(i));
    }
    EXPECT_EQ(all.retire(handles[50], 1), EGB_OK);
    all.clear();
    EXPECT_EQ(counted::live, 1);
    EXPECT_EQ(all.in_limbo(), 1u);
    for (const auto one : handles) {
        EXPECT_FALSE(all.contains(one));
    }
}

TYPED_TEST(face_slots, a_retired_object_is_destroyed_when_its_frame_has_passed)
{
    TypeParam  all;
    const auto one = all.insert(1);
    EXPECT_EQ(all.retire(one, 5), EGB_OK);
    EXPECT_FALSE(all.contains(one));
    EXPECT_EQ(all.begin(), all.end());
    EXPECT_EQ(all.retire(one, 5), EGB_STALE);
    EXPECT_EQ(this->misuse.take_kind(), EGB_MISUSE_DOUBLE_FREE);
    EXPECT_EQ(all.advance(5), 0u);
    EXPECT_EQ(counted::live, 1);
    EXPECT_NE(all.insert(2).index, one.index);
    EXPECT_EQ(all.advance(6), 1u);
    EXPECT_EQ(counted::live, 1);
    EXPECT_EQ(all.insert(3).index, one.index);
    EXPECT_EQ(all.in_limbo(), 0u);
}

TYPED_TEST(face_slots, the_end_destroys_what_is_live_or_in_limbo)
{
    {
        TypeParam all;
        for (std::uint64_t i = 0; i < 200; i++) {
            const auto one = all.insert(static_cast<int>(i));
            if (i % 2 == 0) {
                EXPECT_EQ(all.retire(one, i), EGB_OK);
            }
        }
        EXPECT_EQ(all.retire(all.insert(1), UINT64_MAX >> 33), EGB_OK);
        EXPECT_EQ(counted::live, 201);
    }
    EXPECT_EQ(counted::live, 0);
}

TYPED_TEST(face_slots, slots_that_start_elsewhere_have_other_handles)
{
    TypeParam  all;
    TypeParam  others(1000);
    const auto one = all.insert(1);
    const auto two = others.insert(2);
    EXPECT_EQ(one.index, two.index);
    EXPECT_FALSE(others.contains(one));
    EXPECT_FALSE(others.erase(one));
    EXPECT_EQ(this->misuse.take_kind(), EGB_MISUSE_FOREIGN);
    EXPECT_FALSE(all.erase(two));
    EXPECT_EQ(this->misuse.take_kind(), EGB_MISUSE_FOREIGN);
}

TYPED_TEST(face_slots, a_slot_is_given_up_before_its_generation_starts_again)
{
    TypeParam  all(UINT32_MAX);  // counts as the most
    const auto one = all.insert(1);
    EXPECT_TRUE(all.erase(one));
    EXPECT_EQ(all.given_up(), 1u);
    EXPECT_EQ(all.insert(1).index, 1u);
    EXPECT_FALSE(all.contains(one));
}

// ---- what differs -------------------------------------------------------------------------------

TEST(slots_face, slots_in_place_are_full_some_day)
{
    eggbox::slots<int, 2> two;
    EXPECT_EQ(two.capacity(), 2u);
    EXPECT_TRUE(two.insert(1));
    EXPECT_TRUE(two.insert(2));
    EXPECT_FALSE(two.insert(3));
}

TEST(slots_face, growing_slots_grow_and_fill_gaps_first)
{
    eggbox::growing_slots<int> all;
    EXPECT_EQ(all.capacity(), 0u);
    std::vector<eggbox::handle<int>> handles;
    for (int i = 0; i < 10000; i++) {
        handles.push_back(all.insert(i));
        EXPECT_EQ(handles.back().index, static_cast<std::uint32_t>(i));
    }
    EXPECT_EQ(all.capacity(), 64u * 255u);
    EXPECT_TRUE(all.erase(handles[9000]));
    EXPECT_TRUE(all.erase(handles[70]));
    EXPECT_EQ(all.insert(1).index, 70u);
    EXPECT_EQ(all.insert(1).index, 9000u);
    EXPECT_EQ(all.insert(1).index, 10000u);
}

TEST(slots_face, objects_that_need_a_wide_alignment_have_it)
{
    eggbox::slots<wide, 10>     few;
    eggbox::growing_slots<wide> many;
    for (int i = 0; i < 10; i++) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(few.get(few.insert())) % 64, 0u);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(many.get(many.insert())) % 64, 0u);
    }
}

TEST(slots_face, objects_that_can_only_be_moved_may_be_in_slots)
{
    eggbox::slots<std::unique_ptr<std::string>, 4> all;
    const auto one = all.insert(std::make_unique<std::string>("a text that is not short at all"));
    std::unique_ptr<std::string> taken = std::move(*all.get(one));
    EXPECT_EQ(taken->size(), 31u);
    EXPECT_TRUE(all.erase(one));
}

TEST(slots_face, a_handle_is_a_key)
{
    using handle = eggbox::handle<int>;
    static_assert(sizeof(handle) == 8 && std::is_trivially_copyable_v<handle>);
    static_assert(handle() == handle{0, 0} && handle{1, 2} != handle{1, 3});
    static_assert(!std::is_convertible_v<handle, eggbox::handle<long>>);
    std::unordered_set<handle> seen;
    for (std::uint32_t i = 0; i < 100; i++) {
        seen.insert(handle{i, 1});
        seen.insert(handle{i, 1});
        seen.insert(handle{i, 3});
    }
    EXPECT_EQ(seen.size(), 200u);
}

namespace
{

// A ship inserts its turret when it is made, and erases it when it ends.
struct part {
    explicit part(bool has_more);

    part(const part&)            = delete;
    part& operator=(const part&) = delete;

    ~part();

    eggbox::handle<part> more;
};

eggbox::slots<part, 10> parts;

part::part(bool has_more)
{
    if (has_more) {
        more = parts.insert(false);
    }
}

part::~part()
{
    parts.erase(more);
}

}  // namespace

TEST(slots_face, constructors_and_destructors_may_use_the_slots)
{
    const auto one  = parts.insert(true);
    const auto more = parts.get(one)->more;
    EXPECT_NE(more, one);
    EXPECT_TRUE(parts.contains(more));
    EXPECT_EQ(parts.in_use(), 2u);
    EXPECT_TRUE(parts.erase(one));
    EXPECT_EQ(parts.in_use(), 0u);
    EXPECT_TRUE(parts.whole());
}
