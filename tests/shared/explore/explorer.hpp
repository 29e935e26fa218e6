// SPDX-License-Identifier: MIT
// A search through every order of the steps that processes take on a shared pool, with kills.
//
// The processes are the shipped sources, compiled with a <stdatomic.h> of this folder: each atomic
// operation, each lock of the kernel and each access to half of a block is one step. A state keeps
// what the steps of a present call returned; the next step is found by making the call once more,
// and telling it the same. This way no stack is copied, and no process needs a thread.
#ifndef EGGBOX_TESTS_SHARED_EXPLORE_EXPLORER_HPP
#define EGGBOX_TESTS_SHARED_EXPLORE_EXPLORER_HPP

#include "state.hpp"

#include <string>
#include <vector>

namespace explore
{

struct action {
    explore_call call;
    uint8_t      hand = 0;
    uint8_t      box  = 0;
};

using script = std::vector<action>;

struct scenario {
    std::string         name;
    explore_shape       shape;
    unsigned            kills;
    std::vector<script> scripts;  // at most EXPLORE_AUDITOR
};

// How a mutant changes the steps of one kind in one function: leaves them out, compares without
// looking, gives `value` as the answer, takes them a step late, or lets a store wait in the buffer.
enum class change : uint8_t { skip, blind, answer, late, weaker };

struct mutant {
    std::string  name;
    std::string  function;
    explore_kind kind = EXPLORE_NOTHING;
    change       how  = change::skip;
    std::string  scenario;
    int          word  = -1;  // only of this word or lock, and the same of other blocks; -1: any
    uint64_t     value = 0;
};

// `is_weak`: stores that are not sequentially consistent wait in a buffer, as on x86-64; relaxed
// loads may return anything. `fault`: nullptr, or the one that is seeded.
struct rules {
    bool          is_weak = false;
    const mutant* fault   = nullptr;
};

struct result {
    std::string              violation;  // empty: there is none
    std::vector<std::string> path;       // the steps that lead to it
    std::size_t              states     = 0;
    std::size_t              steps      = 0;
    std::size_t              ends       = 0;
    std::size_t              call_steps = 0;  // the most that one call took
};

result search(const scenario& what, const rules& how);

}  // namespace explore

#endif  // EGGBOX_TESTS_SHARED_EXPLORE_EXPLORER_HPP
