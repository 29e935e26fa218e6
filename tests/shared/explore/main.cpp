// SPDX-License-Identifier: MIT
// Explores the shared pool: every order of the steps of two or three processes, a kill at each of
// them included. Then it shows that the search finds seeded faults.
//
// usage: explore [--large]
#include "explorer.hpp"

#include <chrono>
#include <cstdio>
#include <cstring>

namespace
{

using explore::action;
using explore::change;
using explore::mutant;
using explore::result;
using explore::rules;
using explore::scenario;
using explore::script;

// ---- scripts ------------------------------------------------------------------------------------

constexpr action attach{CALL_ATTACH};
constexpr action leave{CALL_LEAVE};
constexpr action alloc{CALL_ALLOC};
constexpr action alloc_wait{CALL_ALLOC_WAIT};
constexpr action fill{CALL_FILL};
constexpr action look{CALL_READ};
constexpr action send{CALL_SEND};
constexpr action open{CALL_OPEN};
constexpr action give_back{CALL_RELEASE};
constexpr action publish{CALL_PUBLISH};
constexpr action next{CALL_NEXT};
constexpr action next_wait{CALL_NEXT_WAIT};
constexpr action take{CALL_TAKE};
constexpr action latest{CALL_LATEST};
constexpr action recover{CALL_RECOVER};

constexpr action in_other_hand(action one)
{
    one.hand = 1;
    return one;
}

script operator+(script first, const script& second)
{
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

const script allocates{alloc, fill, give_back};
const script publishes{alloc, fill, publish, give_back};
const script sends{alloc, fill, send, give_back};
const script sends_and_publishes{alloc, fill, send, publish, give_back};
const script opens{open, look, give_back};
const script reads{next, look, give_back};
const script takes{take, look, give_back};
const script reads_two_at_a_time{
    next, in_other_hand(latest), look, in_other_hand(look), give_back, in_other_hand(give_back)
};

// ---- scenarios ----------------------------------------------------------------------------------

constexpr uint64_t one_before_the_last = ~uint64_t{0} - 1;

// Blocks, frames that the feed keeps, whether alloc drops the oldest, the first generation.
constexpr explore_shape one_block{1, 0, false, 1};
constexpr explore_shape old_block{1, 0, false, one_before_the_last};
constexpr explore_shape two_blocks{2, 0, false, 1};
constexpr explore_shape one_kept{2, 1, false, 1};
constexpr explore_shape two_kept{3, 2, false, 1};
constexpr explore_shape one_dropped{1, 1, true, 1};
constexpr explore_shape two_dropped{2, 2, true, 1};

// With the most kills of a run.
const std::vector<scenario> small_ones{
    {"handles of one block", one_block, 1, {sends, opens, allocates}},
    {"handles at the end of the generations", old_block, 1, {sends + sends, opens}},
    {"publish and next", one_kept, 1, {publishes + publishes + publishes, reads}},
    {"publish and take", one_kept, 1, {publishes, takes, takes}},
    {"alloc that drops", one_dropped, 1, {sends_and_publishes + allocates, opens}},
    {"recovery", one_kept, 2, {publishes, {recover}}},
    {"recovery by two", one_block, 2, {allocates, {recover}, {recover}}},
    {"a slot taken again", one_block, 1, {sends, {attach, alloc, fill, leave}}},
    {"a publisher's successor", one_kept, 1, {publishes, publishes}},
    {"one that waits for a block", one_block, 0, {sends, {alloc_wait, give_back}}},
    {"one that waits for a frame", one_kept, 0, {publishes, {next_wait, look, give_back}}},
};

const std::vector<scenario> large_ones{
    {"handles of one block, all killed", one_block, 3, {sends, opens, allocates}},
    {"handles of one block, used again", one_block, 2, {sends + sends, opens + opens}},
    {"handles of two blocks", two_blocks, 1, {sends, opens, allocates}},
    {"publish, next and take", one_kept, 1, {publishes + publishes, reads, takes}},
    {"two frames at a time", two_kept, 2, {publishes + publishes, reads_two_at_a_time}},
    {"alloc that drops, and two readers", one_dropped, 1, {publishes + allocates, reads, takes}},
    {"alloc that drops one of two", two_dropped, 2, {publishes + publishes + allocates, reads}},
    {"a publisher's death, and two that recover", one_kept, 2, {publishes, {recover}, {recover}}},
    {"two that publish, and a reader", one_kept, 1, {publishes, publishes, reads}},
    {"a slot taken again, and a recovery",
     one_block,
     1,
     {allocates, {attach, alloc, leave}, {recover}}},
    {"one that waits for a block, and kills", one_block, 2, {sends, {alloc_wait, give_back}}},
};

// ---- faults -------------------------------------------------------------------------------------

constexpr int word_of_block       = EXPLORE_BLOCK;
constexpr int generation_of_block = EXPLORE_BLOCK + 1;
constexpr int sequence_of_block   = EXPLORE_BLOCK + 2;
constexpr int first_slot          = 0;
constexpr int publishers_byte     = 62;

const char* const handles   = "handles of one block";
const char* const feed      = "publish and next";
const char* const claims    = "publish and take";
const char* const drops     = "alloc that drops";
const char* const deaths    = "recovery";
const char* const successor = "a publisher's successor";
const char* const block     = "one that waits for a block";
const char* const frame     = "one that waits for a frame";

// Each fault: where it is, and the scenario that shows it.
const std::vector<mutant> mutants{
    {"take does not compare", "egb_shared_word_take_", EXPLORE_COMPARE, change::blind, handles},
    {"take leaves the number", "egb_shared_word_take_", EXPLORE_STORE, change::skip, feed},
    {"open does not compare", "egb_shared_word_open_", EXPLORE_COMPARE, change::blind, handles},
    {"open takes any generation",
     "egb_shared_word_open_",
     EXPLORE_LOAD,
     change::answer,
     handles,
     generation_of_block,
     1},
    {"drop does not compare", "egb_shared_word_drop_", EXPLORE_COMPARE, change::blind, handles},
    {"the generation stays", "retire", EXPLORE_ADD, change::skip, handles},
    {"the generation moves when the block is free", "retire", EXPLORE_ADD, change::late, handles},
    {"a retirement is not ended for the dead",
     "egb_shared_word_recover_",
     EXPLORE_LOAD,
     change::answer,
     deaths},
    {"what the dead held is not looked for",
     "egb_shared_clean_",
     EXPLORE_LOAD,
     change::answer,
     deaths,
     word_of_block},
    {"a living one is recovered", "lock_step", EXPLORE_LOCK, change::answer, deaths, first_slot, 1},
    {"evict does not compare", "egb_shared_word_evict_", EXPLORE_COMPARE, change::blind, drops},
    {"evict leaves the generation", "egb_shared_word_evict_", EXPLORE_ADD, change::skip, drops},
    {"two may claim a frame",
     "egb_shared_word_claim_",
     EXPLORE_AND,
     change::answer,
     claims,
     -1,
     explore::feed_bit},
    {"what falls out of the feed stays",
     "enter_frame",
     EXPLORE_LOAD,
     change::answer,
     feed,
     sequence_of_block},
    {"the feed is not repaired",
     "repair_frame",
     EXPLORE_LOAD,
     change::answer,
     successor,
     word_of_block},
    {"two publish at a time",
     "lock_step",
     EXPLORE_LOCK,
     change::answer,
     successor,
     publishers_byte,
     1},
    {"a repair under a publisher",
     "lock_step",
     EXPLORE_IS_LOCKED,
     change::answer,
     deaths,
     publishers_byte},
    {"nobody is woken", "egb_os_shared_wake_", EXPLORE_WAKE, change::skip, block},
    {"a frame is told of, then stored",
     "enter_frame",
     EXPLORE_STORE,
     change::late,
     frame,
     EXPLORE_HEAD},
    {"a frame's store may wait", "enter_frame", EXPLORE_STORE, change::weaker, frame, EXPLORE_HEAD},
};

// ---- output -------------------------------------------------------------------------------------

bool explore_one(const scenario& one, bool is_weak)
{
    using clock = std::chrono::steady_clock;
    rules how;
    how.is_weak                               = is_weak;
    const auto                          start = clock::now();
    const result                        found = explore::search(one, how);
    const std::chrono::duration<double> time  = clock::now() - start;
    std::printf(
        "%-38s %zu processes, %u kills%s: %zu states, %zu steps, %zu ends, "
        "%zu steps in the longest call, %.1f s\n",
        one.name.c_str(),
        one.scripts.size(),
        one.kills,
        is_weak ? ", store buffers" : "",
        found.states,
        found.steps,
        found.ends,
        found.call_steps,
        time.count()
    );
    for (const std::string& line : found.path) {
        std::printf("    %s\n", line.c_str());
    }
    if (!found.violation.empty()) {
        std::printf("FAILED: %s\n", found.violation.c_str());
    }
    std::fflush(stdout);
    return found.violation.empty() && found.ends > 0;
}

bool explore_all(const std::vector<scenario>& all)
{
    bool is_good = true;
    for (const scenario& one : all) {
        is_good = explore_one(one, false) && is_good;
        is_good = explore_one(one, true) && is_good;
    }
    return is_good;
}

bool find(const mutant& fault)
{
    for (const scenario& one : small_ones) {
        if (one.name == fault.scenario) {
            rules how;
            how.is_weak        = fault.how == change::weaker;
            how.fault          = &fault;
            const result found = explore::search(one, how);
            std::printf(
                "%-44s %s\n",
                fault.name.c_str(),
                found.violation.empty() ? "NOT FOUND" : found.violation.c_str()
            );
            return !found.violation.empty();
        }
    }
    return false;
}

}  // namespace

int main(int count, char** words)
{
    const bool is_large = count == 2 && std::strcmp(words[1], "--large") == 0;
    bool       is_good  = explore_all(is_large ? large_ones : small_ones);
    for (const mutant& fault : mutants) {
        is_good = find(fault) && is_good;
    }
    return is_good ? 0 : 1;
}
