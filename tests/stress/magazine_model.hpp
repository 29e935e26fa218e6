// SPDX-License-Identifier: MIT
// The protocol by which threads take blocks out of another thread's magazine, as a model: a search
// through every order in which its steps can happen, on a processor whose threads have store
// buffers (x86-64's order: a thread's stores reach memory later, but in their order).
// docs/decisions/0008-magazines.md says which step stands for which line of pool_hot.h, magazine.c
// and thread.c.
//
// One owner allocates and frees by a script; one or two others take all they find and put it in
// their hands, which are the chunks: an owner that finds nothing takes a block from there. One that
// trims then invalidates what the batch remembers of free blocks, and unmaps these. In the end each
// block must be in exactly one place, and nobody may have looked at one that is gone. Whenever
// nobody has the lock the process may fork, and the child must find no block twice. Each way of
// leaving out what the protocol rests on must be found wrong, else the search proves nothing.
#ifndef EGGBOX_TESTS_STRESS_MAGAZINE_MODEL_HPP
#define EGGBOX_TESTS_STRESS_MAGAZINE_MODEL_HPP

#include "search.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace magazine_model
{

// A fault: a step that is left out or changed.
enum class fault {
    none,
    no_fence,         // the other threads do not wait for the owner's stores
    fence_after_top,  // they do, but only when they have read `top`
    pop_looks_first,  // the owner reads `bottom`, then lowers `top`
    bottom_never_closed,
    opens_too_early,    // `bottom` is opened before `lowest` is raised
    push_before_entry,  // the owner raises `top`, then writes the entry
    pop_does_not_restore,
    refill_without_lock,
    invalidate_by_plain_store,  // not by a compare-exchange
    invalidate_in_use,          // the old entries of the batch, of any block
    invalidate_only_above,      // not the blocks that were taken out
    invalidate_before_taking,   // a trim does it first
    undo_without_state,         // the owner puts back what the entry remembers, free or not
    undo_without_comparing,
    fork_trusts_top,  // the child takes `top` for the end of the newest entry
};

class search : public search_of<state>
{
  public:
    // `takers` has a letter for each: r for one that takes, t for one that trims, too. Each does so
    // `rounds` times.
    search(std::string script, std::string takers, fault what, int rounds = 1)
        : search_of(std::move(script), std::move(takers)), fault_(what), rounds_(rounds)
    {
    }

    std::size_t ends() const
    {
        return ends_;
    }

    // Moments at which the process could fork.
    std::size_t forks() const
    {
        return forks_;
    }

    // How often it went this way.
    struct ways {
        std::size_t undone      = 0;
        std::size_t invalidated = 0;
        std::size_t spared      = 0;  // the owner had put another block there
        std::size_t refused     = 0;  // the second free of a block
    };

    const ways& went() const
    {
        return went_;
    }

  private:
    state first() const override
    {
        state start;
        start.memory.fill(NOTHING);
        start.memory[TOP]    = BLOCKS;
        start.memory[BOTTOM] = 0;
        for (int i = 0; i < BLOCKS; i++) {
            start.memory[static_cast<std::size_t>(ENTRY + i)] = static_cast<std::int8_t>(i);
        }
        return start;
    }

    // ---- the owner ------------------------------------------------------------------------------

    // Steps of a pop: 1 lower top, 2 look at bottom, 3 read the entry, 4 restore top, 5 wait for
    // the lock, 6 open bottom or refill, and try once more. Of a free: 8 is it what the entry at
    // top remembers? No: write it there; 9 raise top. A second free: steps 10 look, and refuse.
    bool owner_steps(state* now) override
    {
        thread_state& self = now->threads[0];
        switch (self.step) {
            case 0: return begin(*now, &self);
            case 1:
                self.top  = static_cast<std::int8_t>(now->owner_reads(TOP) - 1);
                self.step = 2;
                return now->owner_writes(TOP, self.top);
            case 2: return look_at_bottom(now, &self);
            case 3: hold(*now, &self, now->owner_reads(ENTRY + self.top)); return true;
            case 4:
                self.step = 5;
                return fault_ == fault::pop_does_not_restore ||
                       now->owner_writes(TOP, self.top + 1);
            case 5: return wait_for_lock(now, &self);
            case 6: return refill(now, &self);
            case 7: self.step = 3; return now->owner_writes(TOP, self.top);
            case 8: return look_at_entry(now, &self);
            case 9: return finish_free(now, &self);
            case 10: return free_again(now, &self);
            default: return false;
        }
    }

    bool begin(const state& now, thread_state* self) const
    {
        if (static_cast<std::size_t>(self->script) == script_.size()) {
            return false;
        }
        self->is_last_try = false;
        self->block       = NOTHING;
        switch (script_[static_cast<std::size_t>(self->script++)]) {
            case 'a': start_pop(now, self); break;
            case 'd': self->step = 10; break;
            default: self->step = 8; break;
        }
        return true;
    }

    void start_pop(const state& now, thread_state* self) const
    {
        self->step = fault_ == fault::pop_looks_first ? 2 : 1;
        if (self->step == 2) {
            self->top = static_cast<std::int8_t>(now.owner_reads(TOP) - 1);
        }
    }

    bool look_at_bottom(state* now, thread_state* self) const
    {
        if (self->top >= now->owner_reads(BOTTOM)) {
            self->step = fault_ == fault::pop_looks_first ? 7 : 3;
        } else if (fault_ == fault::pop_looks_first) {
            self->step = 5;
        } else {
            self->step = 4;
        }
        return true;
    }

    // A lock is taken and given back with the store buffer drained.
    bool wait_for_lock(state* now, thread_state* self) const
    {
        if (self->is_last_try) {  // there is none: alloc returns NULL, or goes to the chunks
            if (now->lock == 0) {
                now->drain();
                now->lock = NOTHING;
            }
            self->step = 0;
            return true;
        }
        if (fault_ != fault::refill_without_lock) {
            if (now->lock != NOTHING) {
                return false;
            }
            now->drain();
            now->lock = 0;
        }
        self->step = 6;
        return true;
    }

    bool refill(state* now, thread_state* self) const
    {
        self->is_last_try = true;
        if (now->owner_reads(TOP) > now->lowest) {
            start_pop(*now, self);
            return now->owner_writes(BOTTOM, now->lowest);
        }
        now->drain();  // with the lock it may as well be at once
        load_from_chunks(now);
        self->step = 5;
        if (now->memory[TOP] > 0) {
            start_pop(*now, self);
        }
        return true;
    }

    // The batch begins anew, with one block if there is any.
    static void load_from_chunks(state* now)
    {
        now->memory[TOP] = now->memory[BOTTOM] = now->lowest = 0;
        for (int block = 0; block < BLOCKS; block++) {
            if (is_free(*now, block) && !has(now->gone, block)) {
                now->take_from_chunks(block);
                now->memory[ENTRY] = static_cast<std::int8_t>(block);
                now->memory[TOP]   = 1;
                return;
            }
        }
    }

    void hold(const state& now, thread_state* self, int block)
    {
        add_to_hand(self, block);
        is_safe_   = is_safe_ && !has(now.gone, block);
        self->step = self->is_last_try ? 5 : 0;
    }

    // The newest block in the hand that the entry at top does not remember.
    static int other_than(const thread_state& self, int remembered)
    {
        int block = BLOCKS - 1;
        while (block != NOTHING && (!has(self.hand, block) || block == remembered)) {
            block--;
        }
        return block;
    }

    // The script says which block is freed; if it is not in the hand, none is.
    bool look_at_entry(state* now, thread_state* self)
    {
        self->step             = 0;
        self->top              = now->owner_reads(TOP);
        const int  at          = self->top;
        const bool is_in_order = script_[static_cast<std::size_t>(self->script) - 1] == 's';
        const int  remembered  = at == ENTRIES ? +NOTHING : now->owner_reads(ENTRY + at);
        const int  block       = is_in_order ? remembered : other_than(*self, remembered);
        if (at == ENTRIES || block == NOTHING || !has(self->hand, block)) {
            return true;
        }
        self->block = static_cast<std::int8_t>(block);
        self->step  = 9;
        if (is_in_order || fault_ == fault::undo_without_comparing) {
            went_.undone++;
            is_safe_ = is_safe_ && !has(now->gone, block);  // its state is looked at
            return true;
        }
        const bool is_wrong = fault_ == fault::push_before_entry;
        return now->owner_writes(is_wrong ? TOP : ENTRY + at, is_wrong ? at + 1 : block);
    }

    bool finish_free(state* now, thread_state* self) const
    {
        const bool is_push = script_[static_cast<std::size_t>(self->script) - 1] == 'f';
        take_from(&self->hand, self->block);
        self->step = 0;
        return is_push && fault_ == fault::push_before_entry
                   ? now->owner_writes(ENTRY + self->top, self->block)
                   : now->owner_writes(TOP, self->top + 1);
    }

    // The block that the entry at top remembers. The misuse does not race with a taker: it comes
    // before or after.
    bool free_again(state* now, thread_state* self)
    {
        if (now->lock != NOTHING) {
            return false;
        }
        self->step      = 0;
        const int top   = now->owner_reads(TOP);
        const int block = top == ENTRIES ? +NOTHING : now->owner_reads(ENTRY + top);
        if (block == NOTHING || has(self->hand, block)) {
            return true;
        }
        is_safe_ = is_safe_ && !has(now->gone, block);  // its state is looked at, and it is free
        went_.refused++;
        return fault_ != fault::undo_without_state || now->owner_writes(TOP, top + 1);
    }

    // ---- takers ---------------------------------------------------------------------------------

    enum : std::int8_t {
        LOCK,
        CLOSE,
        FENCE,
        READ,
        TAKE,
        RAISE,
        OPEN,
        LOOK,
        FIND,
        INVALIDATE,
        UNMAP,
        UNLOCK,
        DONE
    };

    // Their writes are in memory at once: they drain their buffers with the fence, with the lock
    // and with a compare-exchange, and the owner can read `bottom` early in any case.
    bool other_steps(state* now, std::size_t at) override
    {
        const std::size_t number = at + 1;  // the number of its thread
        thread_state&     self   = now->threads[number];
        switch (self.step) {
            case LOCK:
                if (now->lock != NOTHING) {
                    return false;
                }
                now->lock = static_cast<std::int8_t>(number);
                break;
            case CLOSE:
                if (fault_ != fault::bottom_never_closed) {
                    now->memory[BOTTOM] = CLOSED;
                }
                break;
            case FENCE:
                if (fault_ != fault::no_fence && fault_ != fault::fence_after_top) {
                    now->drain();
                }
                break;
            case READ: read_top(now, &self); break;
            case TAKE: return take(now, &self, number);
            case RAISE: now->lowest = self.top > now->lowest ? self.top : now->lowest; break;
            case OPEN: now->memory[BOTTOM] = now->lowest; break;
            case LOOK:
                self.top = now->memory[TOP];
                self.at  = 0;
                break;
            case FIND: return find(*now, &self, number);
            case INVALIDATE: invalidate(now, &self); return true;
            case UNMAP: now->gone = now->in_chunks(); break;
            case UNLOCK:
                now->lock = NOTHING;
                self.script++;
                break;
            default: return false;
        }
        const bool is_over = self.step == UNLOCK && self.script == rounds_;
        self.step = is_over ? +DONE : self.step == UNLOCK ? +LOCK : step_after(self.step, number);
        return true;
    }

    std::int8_t step_after(int step, std::size_t number) const
    {
        const bool is_trim = others_[number - 1] == 't';
        const bool is_odd  = is_trim && fault_ == fault::invalidate_before_taking;
        switch (step) {
            case LOCK: return is_odd ? LOOK : CLOSE;
            case OPEN: return !is_trim ? UNLOCK : is_odd ? UNMAP : LOOK;
            case FIND: return is_odd ? CLOSE : UNMAP;
            default: return static_cast<std::int8_t>(step + 1);
        }
    }

    void read_top(state* now, thread_state* self) const
    {
        self->top = now->memory[TOP];
        self->at  = now->lowest;
        if (fault_ == fault::opens_too_early) {
            now->memory[BOTTOM] = now->lowest;
        }
    }

    bool take(state* now, thread_state* self, std::size_t number)
    {
        if (fault_ == fault::fence_after_top) {
            now->drain();
        }
        if (self->at < self->top) {
            add_to_hand(self, now->memory[static_cast<std::size_t>(ENTRY + self->at++)]);
        } else {
            self->step = step_after(TAKE, number);
        }
        return true;
    }

    // Looks at the next entry; at those from `lowest` to `top` it need not.
    bool find(const state& now, thread_state* self, std::size_t number) const
    {
        if (self->at == ENTRIES) {
            self->step = step_after(FIND, number);
            return true;
        }
        const bool is_below   = self->at < now.lowest && fault_ != fault::invalidate_only_above;
        const bool is_outside = is_below || self->at >= self->top;
        self->block           = now.memory[static_cast<std::size_t>(ENTRY + self->at)];
        if (is_outside && self->block != NOTHING &&
            (is_free(now, self->block) || fault_ == fault::invalidate_in_use)) {
            self->step = INVALIDATE;
        } else {
            self->at++;
        }
        return true;
    }

    void invalidate(state* now, thread_state* self)
    {
        std::int8_t* const entry = &now->memory[static_cast<std::size_t>(ENTRY + self->at++)];
        (*entry == self->block ? went_.invalidated : went_.spared)++;
        if (*entry == self->block || fault_ == fault::invalidate_by_plain_store) {
            *entry = NOTHING;
        }
        self->block = NOTHING;
        self->step  = FIND;
    }

    // ---- invariants -----------------------------------------------------------------------------

    // Whether the chunk of the block is wholly free. The pool is locked.
    static bool is_free(const state& now, int block)
    {
        return has(now.in_chunks(), block);
    }

    void add_to_hand(thread_state* self, int block)
    {
        is_safe_ = add_to(&self->hand, block) && is_safe_;
    }

    // The state that the child of a fork finds. Only the thread that forks lives on there. Stores
    // that the owner has not yet made are lost there. A block that it is just taking or giving back
    // may be nowhere: then it counts as in use.
    void look_at(const state& now) override
    {
        if (now.lock != NOTHING) {
            return;
        }
        const int top      = now.memory[TOP];
        int       found    = now.in_chunks();
        const int expected = (1 << BLOCKS) - 1 - now.threads[0].hand;
        if (top < now.lowest && fault_ == fault::fork_trusts_top) {
            is_safe_ = false;
            return;
        }
        for (int i = now.lowest; i < top; i++) {
            const int block = now.memory[static_cast<std::size_t>(ENTRY + i)];
            is_safe_        = is_safe_ && block != NOTHING && !has(found, block);
            is_safe_        = is_safe_ && !has(now.gone, block);
            found |= block == NOTHING ? 0 : 1 << block;
        }
        forks_++;
        const int missing = expected & ~found;
        is_safe_          = is_safe_ && (now.buffered != 0 || (missing & (missing - 1)) == 0);
    }

    // Nobody can go on. Each block is in one hand, or in the magazine.
    void look_at_end(const state& now) override
    {
        ends_++;
        int count[BLOCKS] = {};
        for (const thread_state& one : now.threads) {
            for (int block = 0; block < BLOCKS; block++) {
                count[block] += one.hand >> block & 1;
            }
        }
        for (int i = now.lowest; i < now.memory[TOP]; i++) {
            const int block = now.memory[static_cast<std::size_t>(ENTRY + i)];
            if (block == NOTHING) {
                is_safe_ = false;
                return;
            }
            count[block]++;
        }
        for (const int one : count) {
            is_safe_ = is_safe_ && one == 1;
        }
        is_safe_ = is_safe_ && static_cast<std::size_t>(now.threads[0].script) == script_.size();
        for (std::size_t i = 1; i <= others_.size(); i++) {
            is_safe_ = is_safe_ && now.threads[i].step == DONE;
        }
        is_safe_ = is_safe_ && now.lock == NOTHING && now.memory[BOTTOM] == now.lowest;
    }

    fault       fault_;
    int         rounds_;
    std::size_t ends_  = 0;
    std::size_t forks_ = 0;
    ways        went_;
};

}  // namespace magazine_model

#endif  // EGGBOX_TESTS_STRESS_MAGAZINE_MODEL_HPP
