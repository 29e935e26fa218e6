// SPDX-License-Identifier: MIT
// The batch in which a thread collects blocks of other lanes' chunks,
// as a model like that of magazine_model.hpp. docs/decisions/0008-magazines.md has the steps, under
// "Blocks of other lanes' chunks"; they are put_remote(), egb_magazine_make_room_remote_() and
// egb_magazine_flush_remote_().
//
// One owner appends blocks from its hand by a script, makes room where there is none, and gets
// blocks back from the chunks. One or two others take all they find into the chunks. One that trims
// then invalidates what the batch remembers of free blocks, and unmaps these.
#ifndef EGGBOX_TESTS_STRESS_REMOTE_MODEL_HPP
#define EGGBOX_TESTS_STRESS_REMOTE_MODEL_HPP

#include "search.hpp"

#include <string>
#include <utility>

namespace magazine_model
{

// A fault: a step that is left out or changed.
enum class remote_fault {
    none,
    top_before_entry,   // the owner raises `top`, then writes the entry
    room_without_lock,  // the owner makes room without the lock
    ships_all,          // it mistakes a full batch for a batch from which nothing was taken
    not_raised,         // a taker leaves `lowest` where it is
    top_read_twice,     // a taker raises `lowest` to the later `top`
    invalidate_by_plain_store,
    invalidate_in_use,
};

class remote_search : public search_of<state>
{
  public:
    // The script has f for a free, a for an alloc, u for a look at what the batch remembers, which
    // an undo has when the batch is loaded in time. `takers` as for the magazine.
    remote_search(std::string script, std::string takers, remote_fault what, int rounds = 1)
        : search_of(std::move(script), std::move(takers)), fault_(what), rounds_(rounds)
    {
    }

    // How often it went this way.
    struct ways {
        std::size_t shipped     = 0;  // a full batch from which nothing was taken
        std::size_t flushed     = 0;  // a batch from which something was taken
        std::size_t invalidated = 0;
        std::size_t spared      = 0;  // the owner had put another block there
        std::size_t recalled    = 0;  // a look found a block
    };

    const ways& went() const
    {
        return went_;
    }

  private:
    enum : int { ROOM = 2 };  // entries of a batch

    state first() const override
    {
        state start;
        start.memory.fill(NOTHING);
        start.memory[TOP]     = 0;
        start.threads[0].hand = (1 << BLOCKS) - 1;
        return start;
    }

    // ---- the owner ------------------------------------------------------------------------------

    enum : std::int8_t { BEGIN, WRITE, FINISH, WAIT, MAKE_ROOM, ALLOC };

    bool owner_steps(state* now) override
    {
        thread_state& self = now->threads[0];
        switch (self.step) {
            case BEGIN: return begin(*now, &self);
            case WRITE: return write(now, &self);
            case FINISH: return finish(now, &self);
            case WAIT: return wait_for_lock(now, &self);
            case MAKE_ROOM: make_room(now, &self); return true;
            default: return alloc(now, &self);
        }
    }

    bool begin(const state& now, thread_state* self)
    {
        if (static_cast<std::size_t>(self->script) == script_.size()) {
            return false;
        }
        switch (script_[static_cast<std::size_t>(self->script++)]) {
            case 'f': self->step = WRITE; break;
            case 'a': self->step = ALLOC; break;
            default: look(now); break;
        }
        return true;
    }

    void look(const state& now)
    {
        const int top = now.owner_reads(TOP);
        if (top < ROOM && now.owner_reads(ENTRY + top) != NOTHING) {
            went_.recalled++;
            is_safe_ = is_safe_ && !has(now.gone, now.owner_reads(ENTRY + top));
        }
    }

    bool write(state* now, thread_state* self) const
    {
        self->block = BLOCKS - 1;
        while (self->block != NOTHING && !has(self->hand, self->block)) {
            self->block--;
        }
        self->top = now->owner_reads(TOP);
        if (self->block == NOTHING) {
            self->step = BEGIN;
            return true;
        }
        if (self->top == ROOM) {
            self->step = fault_ == remote_fault::room_without_lock ? MAKE_ROOM : WAIT;
            return true;
        }
        self->step = FINISH;
        return fault_ == remote_fault::top_before_entry
                   ? now->owner_writes(TOP, self->top + 1)
                   : now->owner_writes(ENTRY + self->top, self->block);
    }

    bool finish(state* now, thread_state* self) const
    {
        const int block = self->block;
        take_from(&self->hand, block);
        self->step  = BEGIN;
        self->block = NOTHING;
        return fault_ == remote_fault::top_before_entry
                   ? now->owner_writes(ENTRY + self->top, block)
                   : now->owner_writes(TOP, self->top + 1);
    }

    // A lock is taken with the store buffer drained.
    static bool wait_for_lock(state* now, thread_state* self)
    {
        if (now->lock != NOTHING) {
            return false;
        }
        now->drain();
        now->lock  = 0;
        self->step = MAKE_ROOM;
        return true;
    }

    // The blocks of the batch go to the depot, whose batches the others empty first, or to the
    // chunks. Here both are one place. The next batch is one that was used before, and remembers.
    void make_room(state* now, thread_state* self)
    {
        const bool is_whole = now->lowest == 0 || fault_ == remote_fault::ships_all;
        (is_whole ? went_.shipped : went_.flushed)++;
        for (int i = is_whole ? 0 : +now->lowest; i < now->owner_reads(TOP); i++) {
            is_safe_ = add_to(&now->threads[1].hand, now->owner_reads(ENTRY + i)) && is_safe_;
        }
        now->drain();
        now->memory[TOP] = now->lowest = 0;
        if (now->lock == 0) {
            now->lock = NOTHING;
        }
        self->step = WRITE;
    }

    static bool alloc(state* now, thread_state* self)
    {
        if (now->lock != NOTHING) {
            return false;
        }
        now->drain();
        self->step = BEGIN;
        for (int block = 0; block < BLOCKS; block++) {
            if (has(now->in_chunks(), block) && !has(now->gone, block)) {
                now->take_from_chunks(block);
                (void)add_to(&self->hand, block);
                return true;
            }
        }
        return true;
    }

    // ---- takers ---------------------------------------------------------------------------------

    enum : std::int8_t { LOCK, READ, TAKE, RAISE, LOOK, FIND, INVALIDATE, UNMAP, UNLOCK, DONE };

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
            case READ:
                self.top = now->memory[TOP];
                self.at  = now->lowest;
                break;
            case TAKE:
                if (self.at < self.top) {
                    const int block = now->memory[static_cast<std::size_t>(ENTRY + self.at++)];
                    is_safe_        = add_to(&self.hand, block) && is_safe_;
                    return true;
                }
                break;
            case RAISE: raise(now, self); break;
            case LOOK:
                self.top = now->memory[TOP];
                self.at  = 0;
                break;
            case FIND: return find(*now, &self);
            case INVALIDATE: invalidate(now, &self); return true;
            case UNMAP: now->gone = now->in_chunks(); break;
            case UNLOCK:
                now->lock = NOTHING;
                self.script++;
                self.step = self.script == rounds_ ? +DONE : +LOCK;
                return true;
            default: return false;
        }
        const bool is_over = self.step == RAISE && others_[at] != 't';
        self.step          = is_over ? +UNLOCK : static_cast<std::int8_t>(self.step + 1);
        return true;
    }

    void raise(state* now, const thread_state& self) const
    {
        if (fault_ == remote_fault::top_read_twice) {
            now->lowest = now->memory[TOP];
        } else if (fault_ != remote_fault::not_raised) {
            now->lowest = self.top;
        }
    }

    bool find(const state& now, thread_state* self) const
    {
        if (self->at == ROOM) {
            self->step = UNMAP;
            return true;
        }
        const bool is_outside = self->at < now.lowest || self->at >= self->top;
        self->block           = now.memory[static_cast<std::size_t>(ENTRY + self->at)];
        if (is_outside && self->block != NOTHING &&
            (has(now.in_chunks(), self->block) || fault_ == remote_fault::invalidate_in_use)) {
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
        if (*entry == self->block || fault_ == remote_fault::invalidate_by_plain_store) {
            *entry = NOTHING;
        }
        self->block = NOTHING;
        self->step  = FIND;
    }

    // ---- invariants -----------------------------------------------------------------------------

    // The blocks in the batch, each once and none that is in the chunks.
    bool find_remote(const state& now, std::uint8_t* found) const
    {
        bool is_good = true;
        for (int i = now.lowest; i < now.memory[TOP]; i++) {
            const int block = now.memory[static_cast<std::size_t>(ENTRY + i)];
            is_good         = is_good && !has(now.in_chunks(), block) && add_to(found, block);
        }
        return is_good;
    }

    // The state that the child of a fork finds. Stores that the owner has not yet made are lost
    // there. A block that it is just giving back may be in its hand and in the batch, or nowhere.
    void look_at(const state& now) override
    {
        std::uint8_t found = 0;
        if (now.lock == NOTHING) {
            is_safe_ = is_safe_ && find_remote(now, &found);
        }
    }

    // Nobody can go on. Each block is in one place.
    void look_at_end(const state& now) override
    {
        std::uint8_t all = 0;
        is_safe_         = is_safe_ && find_remote(now, &all) && (all & now.threads[0].hand) == 0 &&
                   (now.threads[1].hand & now.threads[2].hand) == 0 &&
                   (all | now.threads[0].hand | now.in_chunks()) == (1 << BLOCKS) - 1 &&
                   (now.threads[0].hand & now.in_chunks()) == 0 && now.lock == NOTHING &&
                   static_cast<std::size_t>(now.threads[0].script) == script_.size();
        for (std::size_t i = 1; i <= others_.size(); i++) {
            is_safe_ = is_safe_ && now.threads[i].step == DONE;
        }
    }

    remote_fault fault_;
    int          rounds_;
    ways         went_;
};

}  // namespace magazine_model

#endif  // EGGBOX_TESTS_STRESS_REMOTE_MODEL_HPP
