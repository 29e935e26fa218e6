// SPDX-License-Identifier: MIT
// The rules for every state of an exploration, and the checks of a survivor at each end.
#include "machine.hpp"

#include <algorithm>
#include <vector>

namespace explore
{

// No generation moves under a holder, and its bit stays.
void machine::look_at(const state& now)
{
    for (const process& one : now.all) {
        for (const hand& held : one.holds) {
            if (one.is == life::dead || held.block < 0) {
                continue;
            }
            const uint64_t word = now.word_of(held.block);
            if ((word & (uint64_t{1} << one.own.slot)) == 0 || (word & retiring) != 0) {
                violate("a block lost its holder");
            }
            if (now.generation_of(held.block) != held.generation) {
                violate("a generation moved under a holder");
            }
        }
    }
}

explore_answer machine::ask(explore_call call, int block, uint64_t after)
{
    explore_request request = {};
    request.call            = call;
    request.block           = block;
    request.after           = after;
    explore_answer answer   = {};
    explore_do(static_cast<unsigned>(number_), &self().own, &request, &answer);
    return answer;
}

// Nobody is in a call: one more process attaches, recovers the dead, and counts.
void machine::look_at_end(state now)
{
    for (std::size_t i = 0; i < processes; i++) {
        if (now.all[i].is == life::in_script) {
            violate(
                now.all[i].sleeps_on >= 0 ? "a process sleeps, and nobody will wake it"
                                          : "a process waits for ever"
            );
            return;
        }
    }
    now_      = &now;
    number_   = EXPLORE_AUDITOR;
    is_audit_ = true;
    std::copy(now.notes.begin(), now.notes.end(), explore_notes());
    self() = process();
    if (!ask(CALL_ATTACH, 0).has) {
        violate("no slot is free");
    }
    (void)ask(CALL_RECOVER, 0);
    audit_words();
    audit_feed();
    audit_blocks();
    is_audit_ = false;
}

// Each word is the living ones that hold the block, and perhaps the feed.
void machine::audit_words()
{
    for (unsigned block = 0; block < scenario_.shape.blocks; block++) {
        uint64_t expected = 0;
        for (const process& one : now_->all) {
            if (one.is != life::dead && one.own.held[block] != 0) {
                expected |= uint64_t{1} << one.own.slot;
            }
        }
        const uint64_t word = now_->word_of(static_cast<int>(block));
        if ((word & ~feed_bit) != expected) {
            violate("a word does not tell the holders");
        }
    }
    uint64_t attached = 0;
    for (const process& one : now_->all) {
        const bool has_slot =
            one.is != life::dead &&
            now_->locks[one.own.slot] == static_cast<int8_t>(&one - now_->all.data() + 1);
        attached |= has_slot ? uint64_t{1} << one.own.slot : 0;
    }
    if (now_->words[EXPLORE_ATTACHED] != attached) {
        violate("the attachments are not those that live");
    }
}

// Every published frame that had to stay can be read, and all frames that can be read are whole.
void machine::audit_feed()
{
    std::vector<int> read;
    uint64_t         after   = 0;
    unsigned         missing = 0;
    for (explore_answer frame = ask(CALL_NEXT, 0); frame.has; frame = ask(CALL_NEXT, 0, after)) {
        hand held;
        held.stamp = static_cast<uint8_t>(frame.stamp);
        know_frame(frame.sequence, frame.stamp);
        answer_ = ask(CALL_READ, frame.block);
        compare_halves(held);
        read.push_back(frame.block);
        after = frame.sequence;
        if (read.size() > scenario_.shape.feed) {
            violate("the feed has more frames than it keeps");
            break;
        }
    }
    unsigned in_feed = 0;
    for (unsigned block = 0; block < scenario_.shape.blocks; block++) {
        in_feed += (now_->word_of(static_cast<int>(block)) & feed_bit) != 0 ? 1U : 0U;
    }
    if (in_feed != read.size()) {
        violate("a block is the feed's, and no entry tells of it");
    }
    const uint64_t head = now_->words[EXPLORE_HEAD];
    for (uint64_t s = head > scenario_.shape.feed ? head - scenario_.shape.feed + 1 : 1;
         s <= head && !now_->is_feed_cut && !scenario_.shape.drops_oldest;
         s++) {
        missing += (now_->taken >> (s % 16) & 1U) == 0 ? 1 : 0;
    }
    if (missing > read.size()) {
        violate("a published frame is not in the feed");
    }
    for (const int block : read) {
        (void)ask(CALL_RELEASE, block);
    }
}

// All blocks that nobody holds can be allocated.
void machine::audit_blocks()
{
    unsigned wanted = 0;
    unsigned got    = 0;
    for (unsigned block = 0; block < scenario_.shape.blocks; block++) {
        const uint64_t word    = now_->word_of(static_cast<int>(block));
        const bool     is_free = word == 0 || (word == feed_bit && scenario_.shape.drops_oldest);
        wanted += is_free ? 1 : 0;
    }
    while (got <= wanted && ask(CALL_ALLOC, 0).has) {
        got++;
    }
    if (got != wanted) {
        violate("a block is lost");
    }
}

}  // namespace explore
