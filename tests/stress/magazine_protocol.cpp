// SPDX-License-Identifier: MIT
// The protocol by which threads take blocks out of another thread's magazine, tried in every order
// in which its steps can happen. magazine_model.hpp says what a step is.
#include "magazine_model.hpp"
#include "pools.hpp"

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
// free in the order of a stack, f for another free, d for a second free. One second free is enough.
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

struct sums {
    std::size_t  states = 0;
    std::size_t  ends   = 0;
    std::size_t  forks  = 0;
    search::ways went;
};

// Every script up to a length, with each of these takers, for this number of takes.
sums search_all(std::size_t length, const std::vector<const char*>& all_takers, int rounds)
{
    sums all;
    for (const std::string& script : all_scripts(length)) {
        for (const char* const takers : all_takers) {
            search one(script, takers, fault::none, rounds);
            EXPECT_TRUE(one.is_safe()) << script << " with " << takers;
            all.states += one.states();
            all.ends += one.ends();
            all.forks += one.forks();
            all.went.undone += one.went().undone;
            all.went.invalidated += one.went().invalidated;
            all.went.spared += one.went().spared;
            all.went.refused += one.went().refused;
        }
    }
    std::printf("%zu states, %zu ends, %zu forks\n", all.states, all.ends, all.forks);
    return all;
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
    const sums all = search_all(6, {"r", "t", "rt"}, 1);
    EXPECT_GT(all.states, 1000000u);
    EXPECT_GT(all.forks, 500000u);
    EXPECT_GT(all.went.undone, 0u);
    EXPECT_GT(all.went.invalidated, 0u);
    EXPECT_GT(all.went.spared, 0u);
    EXPECT_GT(all.went.refused, 0u);
}

// Processors other than x86 are emulated where this is tested.
#if defined(__x86_64__) || defined(__i386__)
constexpr bool is_slow = is_sanitized;
#else
constexpr bool is_slow = true;
#endif

// Another round of the same thread meets the state that a round leaves behind. On a slow emulator
// that would take a minute.
TEST(magazine_protocol, two_rounds_of_each_thread_do_so_too)
{
    EXPECT_GT(search_all(is_slow ? 4 : 6, {"r", "t"}, 2).states, 100000u);
    EXPECT_GT(search_all(is_slow ? 2 : 4, {"rt", "tt"}, 2).states, 100000u);
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
    EXPECT_TRUE(is_found_wrong(fault::invalidate_by_plain_store));
    EXPECT_TRUE(is_found_wrong(fault::invalidate_in_use));
    EXPECT_TRUE(is_found_wrong(fault::invalidate_only_above));
    EXPECT_TRUE(is_found_wrong(fault::invalidate_before_taking));
    EXPECT_TRUE(is_found_wrong(fault::undo_without_state));
    EXPECT_TRUE(is_found_wrong(fault::undo_without_comparing));
    EXPECT_TRUE(is_found_wrong(fault::fork_trusts_top));
}
