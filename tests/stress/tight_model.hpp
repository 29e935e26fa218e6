// SPDX-License-Identifier: MIT
// The protocol by which a pool that ran out of blocks is tight (docs/decisions/0035), as a model: a
// search through every order in which its steps can happen, as in magazine_model.hpp. One owner of
// a magazine allocates and frees by a script. Others allocate, and never free: from the chunks, and
// if these are empty they look into the magazine, unless it is known that nothing is there. One may
// trim the pool instead: it takes the blocks out of the magazine, and leaves its room as it is.
//
// An alloc that is refused without a look must be right: at that moment no block is in the
// magazine, unless the owner is inside a call. In the end each block is in one place. Each way of
// leaving out what the protocol rests on must be found wrong.
#ifndef EGGBOX_TESTS_STRESS_TIGHT_MODEL_HPP
#define EGGBOX_TESTS_STRESS_TIGHT_MODEL_HPP

#include "search.hpp"
#include "tight_state.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace tight_model
{

using magazine_model::add_to;
using magazine_model::has;
using magazine_model::search_of;
using magazine_model::take_from;

enum class fault {
    none,
    no_fence,
    room_before_top,   // the owner looks for room, then raises `top`
    room_stays,        // a look does not close the magazine for pushes
    entry_unseen,      // a look trusts a magazine that remembers a block
    open_while_tight,  // a magazine is loaded, and the pool stays tight
    closed_is_taken,   // the owner does not wait for the one who closed its magazine
    top_stays_behind,  // the owner goes on behind the last entry
    settles_later,     // the owner's cold calls leave its own blocks where they are
    unsure_guessed,    // the owner counts its magazine as sure that nobody had counted
    stays_behind,      // the entry behind the room remembers a block that was taken out
    not_led_aside,     // a look leaves `top` at an entry that remembers a block
    led_blindly,       // it leads `top` aside whatever the owner has stored there meanwhile
    left_aside,        // the owner goes on with the block that it put aside
};

class search : public search_of<state>
{
  public:
    // Each of the others allocates so often, or trims: a or t. The pool is tight until it has
    // a free block and so many calls were made as are `enough`.
    search(std::string script, std::string others, int rounds, int enough, int room, fault what)
        : search_of(std::move(script), std::move(others)), rounds_(rounds), enough_(enough),
          room_(room), fault_(what)
    {
    }

    // Refusals: without a look, and after one.
    std::size_t refused_at_once = 0;
    std::size_t refused         = 0;
    std::size_t taken_back      = 0;  // by the owner, and had been taken by another
    std::size_t was_taken       = 0;
    std::size_t came_from_aside = 0;  // frees with the lock, because `top` was led aside

  private:
    state first() const override
    {
        state start;
        start.memory.fill(NOTHING);
        start.at(TOP) = start.at(BOTTOM) = 0;
        start.at(FULL)                   = static_cast<std::int8_t>(room_);
        start.hand                       = (1 << BLOCKS) - 1;
        for (int i = 0; i < room_; i++) {
            start.at(ENTRY + i) = static_cast<std::int8_t>(i);  // it remembers these
        }
        return start;
    }

    // While the pool is tight the owner has made no block free without the lock, but in a call that
    // it was in when `top` was led aside.
    void look_at(const state& now) override
    {
        const bool has_lost_one = now.is_tight && !now.may_stray && now.lock == NOTHING &&
                                  now.step == IDLE && now.buffered == 0 &&
                                  now.memory[TOP] > now.lowest;
        is_safe_ = is_safe_ && !has_lost_one;
    }

    // ---- the owner ------------------------------------------------------------------------------

    enum : std::int8_t {
        IDLE,
        LOWER,
        POP,
        HAVE,
        RESTORE,
        ALLOC,
        REMEMBER,
        RAISE,
        ROOM_LEFT,
        TAKE_BACK,
        IS_BACK,
        PUT_AGAIN,
        WAIT_BACK,
        FREE,
        WRITE
    };

    bool owner_steps(state* now) override
    {
        switch (now->step) {
            case IDLE: return begin(now);
            case LOWER:
                now->top  = static_cast<std::int8_t>(now->owner_reads(TOP) - 1);
                now->step = POP;
                return now->owner_writes(TOP, now->top);
            case POP:
                now->step = now->top >= now->owner_reads(BOTTOM) ? HAVE : RESTORE;
                return true;
            case HAVE:
                is_safe_  = add_to(&now->hand, now->owner_reads(entry_at(now->top))) && is_safe_;
                now->step = IDLE;
                return true;
            case RESTORE: now->step = ALLOC; return now->owner_writes(TOP, now->top + 1);
            case ALLOC: return with_lock(now) && alloc_cold(now);
            case REMEMBER: return look_at_entry(now);
            case RAISE: return raise(now);
            case ROOM_LEFT:
                now->step = now->owner_reads(FULL) > now->top ? IDLE : TAKE_BACK;
                return true;
            case TAKE_BACK: now->step = IS_BACK; return now->owner_writes(TOP, now->top);
            case IS_BACK: return is_back(now);
            case PUT_AGAIN: now->step = WAIT_BACK; return now->owner_writes(TOP, now->top + 1);
            case WAIT_BACK: return with_lock(now) && wait_back(now);
            case FREE: return with_lock(now) && free_cold(now);
            case WRITE: now->step = RAISE; return now->owner_writes(entry_at(now->top), now->block);
            default: return false;
        }
    }

    // The work of the owner under the lock is one step: nobody else looks at it before the unlock.
    static bool with_lock(state* now)
    {
        if (now->lock != NOTHING) {
            return false;
        }
        now->drain();
        return true;
    }

    bool begin(state* now) const
    {
        if (static_cast<std::size_t>(now->script) == script_.size()) {
            return false;
        }
        now->is_last_try = false;
        now->block       = NOTHING;
        now->step = script_[static_cast<std::size_t>(now->script++)] == 'a' ? LOWER : REMEMBER;
        return true;
    }

    bool is_tight(state* now) const
    {
        if (now->is_tight) {
            now->calls    = static_cast<std::int8_t>(std::min(now->calls + 1, enough_));
            now->is_tight = now->calls < enough_ || now->chunks == 0;
        }
        return now->is_tight;
    }

    void settle(state* now)
    {
        if (fault_ == fault::settles_later) {
            return;
        }
        if (fault_ == fault::unsure_guessed && now->is_tight && !is_sure(now)) {
            is_safe_ = is_safe_ && now->is_unsure;  // else the count is that of another magazine
        }
        now->is_unsure = now->may_stray = false;
        for (int i = now->lowest; i < now->at(TOP); i++) {
            is_safe_ = add_to(&now->chunks, now->at(ENTRY + i)) && is_safe_;
        }
        now->at(TOP) = now->at(BOTTOM) = now->lowest = 0;
        if (fault_ != fault::room_stays) {
            now->at(FULL) = NO_ROOM;
        }
        now->at(ENTRY) = NOTHING;
        if (fault_ != fault::stays_behind) {
            now->at(ENTRY + room_) = NOTHING;
        }
    }

    // The entries move to the start, and the magazine is open.
    void load(state* now) const
    {
        const int count = std::max(now->at(TOP) - now->lowest, 0);
        for (int i = 0; i < count; i++) {
            now->at(ENTRY + i) = now->at(ENTRY + now->lowest + i);
        }
        now->at(TOP)    = static_cast<std::int8_t>(count);
        now->at(BOTTOM) = now->lowest = 0;
        now->at(FULL)                 = static_cast<std::int8_t>(room_);
        now->at(BESIDE)               = NOTHING;
        now->may_stray                = false;
        now->is_tight                 = now->is_tight && fault_ == fault::open_while_tight;
    }

    static int first_of(int blocks)
    {
        int block = 0;
        while (block < BLOCKS && !has(blocks, block)) {
            block++;
        }
        return block == BLOCKS ? +NOTHING : block;
    }

    bool alloc_cold(state* now)
    {
        const bool tight = is_tight(now) && fault_ != fault::open_while_tight;
        now->step        = IDLE;
        if (tight) {
            settle(now);
        } else if (now->at(TOP) > now->lowest) {
            now->at(BOTTOM)  = now->lowest;
            now->step        = now->is_last_try ? IDLE : LOWER;
            now->is_last_try = true;
            return true;
        }
        const int block = first_of(now->chunks);
        if (block == NOTHING) {
            return true;
        }
        take_from(&now->chunks, block);
        is_safe_ = add_to(&now->hand, block) && is_safe_;
        if (!tight) {
            load(now);
            now->at(ENTRY) = NOTHING;  // it forgets a block that it had alone
        }
        return true;
    }

    bool look_at_entry(state* now)
    {
        now->step              = IDLE;
        now->top               = now->owner_reads(TOP);
        const bool is_in_order = script_[static_cast<std::size_t>(now->script) - 1] == 's';
        const int  remembered =
            now->top == ENTRIES ? +NOTHING : now->owner_reads(entry_at(now->top));
        int block = remembered;
        for (int i = 0; !is_in_order && i < BLOCKS; i++) {
            block = has(now->hand, i) && i != remembered ? i : block;
        }
        if (block == NOTHING || !has(now->hand, block) || (!is_in_order && block == remembered)) {
            return true;
        }
        is_safe_ = is_safe_ && now->top < room_ + (is_in_order ? 0 : 1);  // a place of its own
        if (!is_safe_) {
            return true;
        }
        if (fault_ == fault::room_before_top && !is_in_order &&
            now->owner_reads(FULL) <= now->top) {
            return true;
        }
        now->block = static_cast<std::int8_t>(block);
        now->step  = is_in_order ? +RAISE : +WRITE;
        return true;
    }

    bool raise(state* now) const
    {
        const bool is_push = script_[static_cast<std::size_t>(now->script) - 1] == 'f';
        take_from(&now->hand, now->block);
        now->step = is_push && fault_ != fault::room_before_top ? +ROOM_LEFT : +IDLE;
        return now->owner_writes(TOP, now->top + 1);
    }

    bool is_back(state* now)
    {
        if (now->top >= now->owner_reads(BOTTOM)) {
            taken_back++;
            now->step = FREE;
            return now->owner_writes(entry_at(now->top), NOTHING);
        }
        now->step = fault_ == fault::closed_is_taken ? +IDLE : +PUT_AGAIN;
        return true;
    }

    bool wait_back(state* now)
    {
        const bool is_aside = now->at(TOP) == ASIDE + 1 && fault_ != fault::left_aside;
        if (now->at(TOP) > now->lowest || is_aside) {
            now->at(TOP)--;
            now->at(entry_at(now->at(TOP))) = NOTHING;
            now->step                       = FREE;
            came_from_aside += is_aside ? 1 : 0;
            return true;
        }
        was_taken++;
        now->step = IDLE;
        if (fault_ != fault::top_stays_behind) {
            settle(now);
        }
        return true;
    }

    bool free_cold(state* now)
    {
        now->step = IDLE;
        if (is_tight(now)) {
            settle(now);
            is_safe_ = add_to(&now->chunks, now->block) && is_safe_;
            return true;
        }
        load(now);
        if (now->at(TOP) == room_) {
            is_safe_ = add_to(&now->chunks, now->block) && is_safe_;
            return true;
        }
        now->at(ENTRY + now->at(TOP)) = now->block;
        now->at(TOP)++;
        return true;
    }

    // ---- the lookers ----------------------------------------------------------------------------

    enum : std::int8_t { ASK, CLOSE, FENCE, READ, TAKE, JUDGE, ANSWER };

    static void unlock(state* now, looker* self)
    {
        now->lock  = NOTHING;
        self->step = ASK;
        self->round++;
    }

    bool trims(std::size_t number) const
    {
        return others_[number] == 't';
    }

    bool other_steps(state* now, std::size_t number) override
    {
        looker& self = now->lookers[number];
        if (self.round == rounds_ || (self.step == ASK && now->lock != NOTHING)) {
            return false;
        }
        switch (self.step) {
            case ASK: ask(now, &self, number); break;
            case CLOSE:
                now->at(BOTTOM) = CLOSED;
                if (!trims(number)) {
                    now->calls    = 0;
                    now->at(FULL) = fault_ == fault::room_stays ? now->at(FULL) : +NO_ROOM;
                }
                self.step = FENCE;
                break;
            case FENCE:
                if (fault_ != fault::no_fence) {
                    now->drain();
                }
                self.step = READ;
                break;
            case READ:
                self.top  = now->at(TOP);
                self.step = TAKE;
                break;
            case TAKE:
                take(now, &self);
                if (trims(number)) {
                    unlock(now, &self);
                }
                break;
            case JUDGE:
                now->is_tight = true;
                if (now->at(TOP) > now->lowest) {
                    self.step = CLOSE;
                    break;
                }
                now->is_unsure = !is_sure(now);
                lead_aside(now);
                self.step = ANSWER;
                break;
            default: answer(now, &self); break;
        }
        return true;
    }

    // An alloc. It gets a block of the chunks, or a refusal at once, or it looks.
    void ask(state* now, looker* self, std::size_t number)
    {
        if (trims(number)) {
            now->lock  = static_cast<std::int8_t>(number);
            self->step = CLOSE;
            return;
        }
        const bool tight = is_tight(now);
        if (first_of(now->chunks) != NOTHING) {
            answer(now, self);
        } else if (tight && !now->is_unsure) {
            refused_at_once++;
            const bool is_between_calls = now->step == IDLE && now->buffered == 0;
            is_safe_ = is_safe_ && !(is_between_calls && now->at(TOP) > now->lowest);
            self->round++;
        } else {
            const bool has_none = tight && now->at(TOP) <= now->lowest;
            now->lock           = static_cast<std::int8_t>(number);
            self->step          = has_none ? JUDGE : CLOSE;
        }
    }

    bool is_sure(state* now) const
    {
        const int top = now->at(TOP);
        if (top != now->lowest || (now->at(FULL) != NO_ROOM && fault_ != fault::room_stays)) {
            return false;
        }
        return fault_ == fault::entry_unseen || top == ENTRIES || now->at(ENTRY + top) == NOTHING;
    }

    // One step, and the owner may have a store on its way.
    void lead_aside(state* now) const
    {
        const bool is_there = now->at(TOP) == now->lowest || fault_ == fault::led_blindly;
        if (now->is_unsure && is_there && fault_ != fault::not_led_aside) {
            now->at(TOP) = ASIDE;
        }
        now->may_stray =
            now->is_unsure && (now->may_stray || now->step != IDLE || now->buffered > 0);
    }

    void take(state* now, looker* self)
    {
        for (int i = now->lowest; i < self->top; i++) {
            is_safe_ = add_to(&now->chunks, now->at(ENTRY + i)) && is_safe_;
        }
        now->lowest     = self->top > now->lowest ? self->top : now->lowest;
        now->at(BOTTOM) = now->lowest;
        self->step      = JUDGE;
    }

    void answer(state* now, looker* self)
    {
        const int block = first_of(now->chunks);
        if (block != NOTHING) {
            take_from(&now->chunks, block);
            is_safe_ = add_to(&self->hand, block) && is_safe_;
        } else {
            refused++;
        }
        unlock(now, self);
    }

    // Nobody can go on. Each block is in one place.
    void look_at_end(const state& now) override
    {
        std::uint8_t all    = now.hand;
        bool         is_one = true;
        const auto   add    = [&](int block) {
            is_one = add_to(&all, block) && is_one;
        };
        for (int block = 0; block < BLOCKS; block++) {
            for (const int blocks : {+now.chunks, +now.lookers[0].hand, +now.lookers[1].hand}) {
                if (has(blocks, block)) {
                    add(block);
                }
            }
        }
        for (int i = now.lowest; i < now.memory[TOP]; i++) {
            add(now.memory[static_cast<std::size_t>(ENTRY + i)]);
        }
        is_safe_ = is_safe_ && is_one && all == (1 << BLOCKS) - 1 && now.lock == NOTHING;
        is_safe_ = is_safe_ && static_cast<std::size_t>(now.script) == script_.size();
        is_safe_ = is_safe_ && !(now.is_tight && !now.is_unsure && now.memory[TOP] > now.lowest);
    }

    int   rounds_;
    int   enough_;
    int   room_;
    fault fault_;
};

}  // namespace tight_model

#endif  // EGGBOX_TESTS_STRESS_TIGHT_MODEL_HPP
