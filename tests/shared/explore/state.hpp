// SPDX-License-Identifier: MIT
// A state of an exploration: shared memory, locks, and each process between two steps.
#ifndef EGGBOX_TESTS_SHARED_EXPLORE_STATE_HPP
#define EGGBOX_TESTS_SHARED_EXPLORE_STATE_HPP

#include "explore.h"

#include <array>
#include <cstdint>

namespace explore
{

constexpr std::size_t processes   = EXPLORE_PROCESSES;
constexpr std::size_t hands       = 2;    // blocks that a script can speak of
constexpr std::size_t steps_most  = 120;  // in one call
constexpr std::size_t stores_most = 8;    // in a store buffer

constexpr uint64_t feed_bit = uint64_t{1} << 62U;
constexpr uint64_t retiring = uint64_t{1} << 63U;

// A step as the sources ask for it. `word` is below 0 for a lock.
struct step {
    explore_kind kind     = EXPLORE_NOTHING;
    int8_t       word     = -1;
    bool         is_sc    = true;
    uint64_t     value    = 0;
    uint64_t     expected = 0;
};

struct store {
    int8_t   word  = 0;
    uint64_t value = 0;
};

// A block that a process has, from the return of the call that gave it to the call that returns it.
struct hand {
    int8_t   block      = -1;
    uint8_t  stamp      = 0;  // the value that the block must have; 0: any
    uint64_t generation = 0;
};

enum class life : uint8_t { in_script, at_end, dead };

// A process is its place in its script, and what the steps of its present call returned: the next
// step is found by a call that is told the same again.
struct process {
    life                             is          = life::in_script;
    uint8_t                          at          = 0;  // number of the call in the script
    uint8_t                          stamps      = 0;
    uint8_t                          told_count  = 0;
    uint8_t                          store_count = 0;
    explore_kind                     next = EXPLORE_NOTHING;  // the kind of its next step, if known
    int8_t                           sleeps_on = -1;
    int8_t                           released  = -1;  // the block that its present call gives back
    step                             late;  // a step that a mutant moved behind the next one
    bool                             is_late_due = false;
    uint64_t                         after       = 0;
    explore_own                      own         = {};
    std::array<hand, hands>          holds       = {};
    std::array<store, stores_most>   stores      = {};
    std::array<uint64_t, steps_most> told        = {};
};

struct message {
    explore_handle handle = {0, 0};
    uint8_t        stamp  = 0;
};

struct state {
    std::array<uint64_t, EXPLORE_WORDS>       words       = {};
    std::array<unsigned char, EXPLORE_BLOCKS> notes       = {};
    std::array<int8_t, EXPLORE_LOCKS>         locks       = {};  // 0: free; else a process, from 1
    std::array<message, 2>                    boxes       = {};  // handles on their way
    std::array<uint8_t, 16>                   stamp_of    = {};  // published, by frame number
    uint16_t                                  taken       = 0;   // frame numbers that take returned
    uint8_t                                   kills       = 0;
    bool                                      is_feed_cut = false;  // by a kill
    std::array<process, processes>            all         = {};

    uint64_t word_of(int block) const
    {
        return words[static_cast<std::size_t>(EXPLORE_BLOCK + 3 * block)];
    }

    uint64_t generation_of(int block) const
    {
        return words[static_cast<std::size_t>(EXPLORE_BLOCK + 3 * block + 1)];
    }
};

// 128 bits that stand for a state.
struct key {
    uint64_t low  = 0x9e3779b97f4a7c15U;
    uint64_t high = 0xc2b2ae3d27d4eb4fU;

    void add(uint64_t value)
    {
        low  = mix(low ^ value);
        high = mix(high + value * 0x165667b19e3779f9U);
    }

    bool operator==(const key& other) const
    {
        return low == other.low && high == other.high;
    }

  private:
    static uint64_t mix(uint64_t value)
    {
        value ^= value >> 32U;
        value *= 0xd6e8feb86659fd93U;
        value ^= value >> 29U;
        value *= 0xff51afd7ed558ccdU;
        return value ^ (value >> 32U);
    }
};

key key_of(const state& now, std::size_t count);

}  // namespace explore

#endif  // EGGBOX_TESTS_SHARED_EXPLORE_STATE_HPP
