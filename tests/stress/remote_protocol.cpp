// SPDX-License-Identifier: MIT
// Blocks that wait to go back to another lane's chunks: how their thread appends them and others
// take them, tried in every order of the steps. remote_model.hpp says what a step is.
#include "pools.hpp"
#include "remote_model.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace
{

using magazine_model::all_scripts;
using magazine_model::remote_fault;
using magazine_model::remote_search;

// f for a free, a for an alloc, u for a look at what the batch remembers.
const char* const calls = "fau";

bool is_found_wrong(remote_fault what)
{
    for (const std::string& script : all_scripts(6, calls)) {
        for (const char* const takers : {"r", "t", "tt"}) {
            if (!remote_search(script, takers, what, 2).is_safe()) {
                return true;
            }
        }
    }
    return false;
}

}  // namespace

TEST(remote_protocol, every_order_of_steps_leaves_each_block_in_one_place)
{
    std::size_t         states = 0;
    remote_search::ways went;
    for (const std::string& script : all_scripts(is_sanitized ? 4 : 5, calls)) {
        for (const char* const takers : {"r", "t", "rt"}) {
            remote_search one(script, takers, remote_fault::none, 2);
            EXPECT_TRUE(one.is_safe()) << script << " with " << takers;
            states += one.states();
            went.shipped += one.went().shipped;
            went.flushed += one.went().flushed;
            went.invalidated += one.went().invalidated;
            went.spared += one.went().spared;
            went.recalled += one.went().recalled;
        }
    }
    std::printf("%zu states\n", states);
    EXPECT_GT(states, 50000u);
    EXPECT_GT(went.shipped, 0u);
    EXPECT_GT(went.flushed, 0u);
    EXPECT_GT(went.invalidated, 0u);
    EXPECT_GT(went.spared, 0u);
    EXPECT_GT(went.recalled, 0u);
}

TEST(remote_protocol, every_fault_is_found)
{
    EXPECT_TRUE(is_found_wrong(remote_fault::top_before_entry));
    EXPECT_TRUE(is_found_wrong(remote_fault::room_without_lock));
    EXPECT_TRUE(is_found_wrong(remote_fault::ships_all));
    EXPECT_TRUE(is_found_wrong(remote_fault::not_raised));
    EXPECT_TRUE(is_found_wrong(remote_fault::top_read_twice));
    EXPECT_TRUE(is_found_wrong(remote_fault::invalidate_by_plain_store));
    EXPECT_TRUE(is_found_wrong(remote_fault::invalidate_in_use));
}
