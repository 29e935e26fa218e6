// SPDX-License-Identifier: MIT
// The protocol by which threads take blocks out of another thread's magazine, tried in every order
// in which its steps can happen. magazine_model.hpp says what a step is.
#include "magazine_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace
{

using magazine_model::fault;
using magazine_model::search;

// Every script of up to `length` calls that frees no more than it allocated: a for alloc, s for a
// free in the order of a stack, f for another, d for a second free, of which one is enough.
std::vector<std::string> all_scripts(std::size_t length)
{
    std::vector<std::string> scripts{""};
    const auto               count = [](const std::string& script, char call) {
        return std::count(script.begin(), script.end(), call);
    };
    for (std::size_t i = 0; i < scripts.size(); i++) {
        const std::string script = scripts[i];
        if (script.size() == length) {
            break;
        }
        const auto allocs = count(script, 'a');
        scripts.push_back(script + 'a');
        if (count(script, 's') + count(script, 'f') < allocs) {
            scripts.push_back(script + 's');
            scripts.push_back(script + 'f');
        }
        if (allocs != 0 && count(script, 'd') == 0) {
            scripts.push_back(script + 'd');
        }
    }
    return scripts;
}

bool is_found_wrong(fault what)
{
    for (const std::string& script : all_scripts(5)) {
        for (const char* const takers : {"r", "t", "rt"}) {
            if (!search(script, takers, what).is_safe()) {
                return true;
            }
        }
    }
    return false;
}

}  // namespace

TEST(magazine_protocol, every_order_of_steps_leaves_each_block_in_one_place)
{
    std::size_t  states = 0;
    std::size_t  ends   = 0;
    search::ways went;
    for (const std::string& script : all_scripts(6)) {
        for (const char* const takers : {"r", "t", "rt"}) {
            search one(script, takers, fault::none);
            ASSERT_TRUE(one.is_safe()) << script << " with " << takers;
            states += one.states();
            ends += one.ends();
            went.undone += one.went().undone;
            went.struck += one.went().struck;
            went.spared += one.went().spared;
            went.refused += one.went().refused;
        }
    }
    std::printf("%zu states, %zu ends\n", states, ends);
    EXPECT_GT(states, 1000000u);
    EXPECT_GT(went.undone, 0u);
    EXPECT_GT(went.struck, 0u);
    EXPECT_GT(went.spared, 0u);
    EXPECT_GT(went.refused, 0u);
}

TEST(magazine_protocol, every_fault_is_found)
{
    EXPECT_TRUE(is_found_wrong(fault::no_fence));
    EXPECT_TRUE(is_found_wrong(fault::fence_after_top));
    EXPECT_TRUE(is_found_wrong(fault::pop_looks_first));
    EXPECT_TRUE(is_found_wrong(fault::bottom_never_closed));
    EXPECT_TRUE(is_found_wrong(fault::opens_too_early));
    EXPECT_TRUE(is_found_wrong(fault::push_before_entry));
    EXPECT_TRUE(is_found_wrong(fault::pop_does_not_restore));
    EXPECT_TRUE(is_found_wrong(fault::refill_without_lock));
    EXPECT_TRUE(is_found_wrong(fault::strike_by_plain_store));
    EXPECT_TRUE(is_found_wrong(fault::strike_in_use));
    EXPECT_TRUE(is_found_wrong(fault::strike_only_above));
    EXPECT_TRUE(is_found_wrong(fault::strike_before_taking));
    EXPECT_TRUE(is_found_wrong(fault::undo_without_state));
    EXPECT_TRUE(is_found_wrong(fault::undo_without_comparing));
}
