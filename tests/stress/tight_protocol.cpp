// SPDX-License-Identifier: MIT
// The protocol by which a pool that ran out of blocks refuses at once, tried in every order in
// which its steps can happen. tight_model.hpp says what a step is.
#include "pools.hpp"
#include "tight_model.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace
{

using magazine_model::all_scripts;
using tight_model::fault;
using tight_model::search;

// a for alloc, s for a free in the order of a stack, f for another free. The owner begins with all
// blocks in its hand.
const char* const calls = "asf";

struct sums {
    std::size_t states          = 0;
    std::size_t refused_at_once = 0;
    std::size_t refused         = 0;
    std::size_t taken_back      = 0;
    std::size_t was_taken       = 0;
    std::size_t came_from_aside = 0;
};

sums search_all(std::size_t length, const char* others, int rounds)
{
    sums all;
    for (const std::string& script : all_scripts(length, calls)) {
        for (int setting = 0; setting < 6; setting++) {
            const int enough = 1 + setting / 2, room = 1 + setting % 2;
            search    one(script, others, rounds, enough, room, fault::none);
            EXPECT_TRUE(one.is_safe()) << script << ' ' << others << ' ' << enough << ' ' << room;
            all.states += one.states();
            all.refused_at_once += one.refused_at_once;
            all.refused += one.refused;
            all.taken_back += one.taken_back;
            all.was_taken += one.was_taken;
            all.came_from_aside += one.came_from_aside;
        }
    }
    std::printf(
        "%zu states, %zu refusals, %zu at once\n", all.states, all.refused, all.refused_at_once
    );
    return all;
}

bool is_found_wrong(fault what)
{
    for (const std::string& script : all_scripts(5, calls)) {
        for (int setting = 0; setting < 6; setting++) {
            if (!search(script, "a", 4, 1 + setting / 2, 1 + setting % 2, what).is_safe()) {
                return true;
            }
        }
    }
    return false;
}

// Processors other than x86 are emulated where this is tested.
#if defined(__x86_64__) || defined(__i386__)
constexpr bool is_slow = is_sanitized;
#else
constexpr bool is_slow = true;
#endif

}  // namespace

TEST(tight_protocol, no_alloc_is_refused_at_once_while_a_block_is_free)
{
    const sums all = search_all(is_slow ? 3 : 4, "a", 3);
    EXPECT_GT(all.states, 10000u);
    EXPECT_GT(all.refused_at_once, 1000u);
    EXPECT_GT(all.refused, 1000u);
    EXPECT_GT(all.taken_back, 100u);
    EXPECT_GT(all.was_taken, 10u);
    EXPECT_GT(all.came_from_aside, 100u);
}

TEST(tight_protocol, nor_with_two_who_look)
{
    EXPECT_GT(search_all(is_slow ? 2 : 3, "aa", 2).states, 10000u);
}

TEST(tight_protocol, nor_with_one_who_trims)
{
    const sums all = search_all(2, "at", 2);
    EXPECT_GT(all.states, 10000u);
    EXPECT_GT(all.refused_at_once, 1000u);
    EXPECT_GT(all.was_taken, 10u);
}

TEST(tight_protocol, every_fault_is_found)
{
    EXPECT_TRUE(is_found_wrong(fault::no_fence));
    EXPECT_TRUE(is_found_wrong(fault::room_before_top));
    EXPECT_TRUE(is_found_wrong(fault::room_stays));
    EXPECT_TRUE(is_found_wrong(fault::entry_unseen));
    EXPECT_TRUE(is_found_wrong(fault::open_while_tight));
    EXPECT_TRUE(is_found_wrong(fault::closed_is_taken));
    EXPECT_TRUE(is_found_wrong(fault::top_stays_behind));
    EXPECT_TRUE(is_found_wrong(fault::settles_later));
    EXPECT_TRUE(is_found_wrong(fault::not_led_aside));
    EXPECT_TRUE(is_found_wrong(fault::led_blindly));
    EXPECT_TRUE(is_found_wrong(fault::left_aside));
}

// The owner is sure, and in a free while its block is taken out. It remembers another one.
TEST(tight_protocol, so_is_every_fault_that_a_trim_shows)
{
    EXPECT_TRUE(search("af", "at", 2, 3, 2, fault::none).is_safe());
    EXPECT_FALSE(search("af", "at", 2, 3, 2, fault::unsure_guessed).is_safe());
    // Its magazine is full, a block is taken out behind the room, and it gets that one again.
    EXPECT_TRUE(search("ffaafs", "at", 2, 1, 1, fault::none).is_safe());
    EXPECT_FALSE(search("ffaafs", "at", 2, 1, 1, fault::stays_behind).is_safe());
}
