// SPDX-License-Identifier: MIT
// The protocol by which threads take blocks out of another thread's magazine, tried in every order
// in which its steps can happen, on a processor whose threads have store buffers (x86-64's order:
// a thread's stores reach memory later, but in their order). docs/decisions/0008-magazines.md says
// which step stands for which line of pool_hot.h and thread.c.
//
// One owner allocates and frees by a script; one or two others take all they find and put it in
// their hands. In the end each block must be in exactly one place. Each way of leaving out what the
// protocol rests on must be found wrong, else the search proves nothing.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace
{

enum : int { BLOCKS = 3, ENTRIES = 4, CLOSED = 100, NOTHING = -1 };

// What is left out or changed.
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
};

// A place in memory: `top`, `bottom` or an entry.
enum : int { TOP = 0, BOTTOM = 1, ENTRY = 2, PLACES = ENTRY + ENTRIES };

struct store {
    std::int8_t place;
    std::int8_t value;
};

struct thread_state {
    std::int8_t  step        = 0;
    std::int8_t  script      = 0;
    std::int8_t  top         = 0;  // what it has read or computed
    std::int8_t  at          = 0;
    bool         is_last_try = false;
    std::uint8_t hand        = 0;  // blocks in it, a bit for each
};

struct state {
    std::array<std::int8_t, PLACES> memory{};
    std::array<store, 4>            buffer{};  // the owner's, oldest first
    std::int8_t                     buffered = 0;
    std::int8_t                     lowest   = 0;  // kept by the lock
    std::int8_t                     lock     = NOTHING;
    std::array<thread_state, 3>     threads;  // the owner, and those who take

    std::string key() const
    {
        std::string text;
        const auto  add = [&](int number) {
            text.push_back(static_cast<char>(number + 1));
        };
        for (const std::int8_t one : memory) {
            add(one);
        }
        for (std::int8_t i = 0; i < buffered; i++) {
            add(buffer[static_cast<std::size_t>(i)].place);
            add(buffer[static_cast<std::size_t>(i)].value);
        }
        add(CLOSED + 1);
        add(lowest);
        add(lock);
        for (const thread_state& one : threads) {
            for (const int number :
                 {+one.step, +one.script, +one.top, +one.at, +one.is_last_try, +one.hand}) {
                add(number);
            }
        }
        return text;
    }
};

class search
{
  public:
    search(std::string script, std::size_t takers, fault what)
        : script_(std::move(script)), takers_(takers), fault_(what)
    {
    }

    // Whether nothing can go wrong.
    bool is_safe()
    {
        state start;
        start.memory.fill(NOTHING);
        start.memory[TOP]    = BLOCKS;
        start.memory[BOTTOM] = 0;
        for (int i = 0; i < BLOCKS; i++) {
            start.memory[static_cast<std::size_t>(ENTRY + i)] = static_cast<std::int8_t>(i);
        }
        std::vector<state> open{start};
        seen_.insert(start.key());
        while (!open.empty() && is_safe_) {
            const state now = open.back();
            open.pop_back();
            bool can_go_on = false;
            for (const state& next : all_next(now)) {
                can_go_on = true;
                if (seen_.insert(next.key()).second) {
                    open.push_back(next);
                }
            }
            if (!can_go_on) {
                look_at_end(now);
            }
        }
        return is_safe_;
    }

    std::size_t states() const
    {
        return seen_.size();
    }

    std::size_t ends() const
    {
        return ends_;
    }

  private:
    std::vector<state> all_next(const state& now)
    {
        std::vector<state> next;
        if (now.buffered > 0) {  // the oldest store reaches memory
            next.push_back(now);
            drain_one(&next.back());
        }
        state after = now;
        if (owner_steps(&after)) {
            next.push_back(after);
        }
        for (std::size_t i = 1; i <= takers_; i++) {
            after = now;
            if (taker_steps(&after, i)) {
                next.push_back(after);
            }
        }
        return next;
    }

    // ---- memory as the owner sees it ------------------------------------------------------------

    static void drain_one(state* now)
    {
        const store oldest                                  = now->buffer[0];
        now->memory[static_cast<std::size_t>(oldest.place)] = oldest.value;
        for (std::size_t i = 1; i < now->buffer.size(); i++) {
            now->buffer[i - 1] = now->buffer[i];
        }
        now->buffered--;
    }

    static void drain(state* now)
    {
        while (now->buffered > 0) {
            drain_one(now);
        }
    }

    // False if the buffer is full: the owner waits until a store has left it.
    static bool owner_writes(state* now, int place, int value)
    {
        if (now->buffered == static_cast<std::int8_t>(now->buffer.size())) {
            return false;
        }
        now->buffer[static_cast<std::size_t>(now->buffered++)] = {
            static_cast<std::int8_t>(place), static_cast<std::int8_t>(value)
        };
        return true;
    }

    static std::int8_t owner_reads(const state& now, int place)
    {
        for (int i = now.buffered - 1; i >= 0; i--) {
            if (now.buffer[static_cast<std::size_t>(i)].place == place) {
                return now.buffer[static_cast<std::size_t>(i)].value;
            }
        }
        return now.memory[static_cast<std::size_t>(place)];
    }

    // ---- the owner ------------------------------------------------------------------------------

    // Steps of a pop: 1 lower top, 2 look at bottom, 3 read the entry, 4 restore top, 5 wait for
    // the lock, 6 open bottom and try once more. Of a push: 10 write the entry, 11 raise top.
    bool owner_steps(state* now)
    {
        thread_state& self = now->threads[0];
        switch (self.step) {
            case 0: return begin(now, &self);
            case 1:
                self.top  = static_cast<std::int8_t>(owner_reads(*now, TOP) - 1);
                self.step = 2;
                return owner_writes(now, TOP, self.top);
            case 2: return look_at_bottom(now, &self);
            case 3: hold(now, &self, owner_reads(*now, ENTRY + self.top)); return true;
            case 4:
                self.step = 5;
                return fault_ == fault::pop_does_not_restore ||
                       owner_writes(now, TOP, self.top + 1);
            case 5: return wait_for_lock(now, &self);
            case 6: return refill(now, &self);
            case 7: self.step = 3; return owner_writes(now, TOP, self.top);
            case 10:
            case 11: return push(now, &self);
            default: return false;
        }
    }

    bool begin(state* now, thread_state* self)
    {
        if (static_cast<std::size_t>(self->script) == script_.size()) {
            return false;
        }
        const bool is_pop = script_[static_cast<std::size_t>(self->script++)] == 'a';
        self->is_last_try = false;
        if (!is_pop && (self->hand == 0 || owner_reads(*now, TOP) == ENTRIES)) {
            return true;
        }
        self->step = is_pop ? (fault_ == fault::pop_looks_first ? 2 : 1) : 10;
        if (self->step == 2) {
            self->top = static_cast<std::int8_t>(owner_reads(*now, TOP) - 1);
        }
        return true;
    }

    bool look_at_bottom(state* now, thread_state* self) const
    {
        if (self->top >= owner_reads(*now, BOTTOM)) {
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
                drain(now);
                now->lock = NOTHING;
            }
            self->step = 0;
            return true;
        }
        if (fault_ != fault::refill_without_lock) {
            if (now->lock != NOTHING) {
                return false;
            }
            drain(now);
            now->lock = 0;
        }
        self->step = 6;
        return true;
    }

    bool refill(state* now, thread_state* self) const
    {
        self->is_last_try = true;
        if (owner_reads(*now, TOP) > now->lowest) {
            self->step = fault_ == fault::pop_looks_first ? 2 : 1;
            self->top  = static_cast<std::int8_t>(owner_reads(*now, TOP) - 1);
            return owner_writes(now, BOTTOM, now->lowest);
        }
        self->step = 5;
        return true;
    }

    void hold(state* now, thread_state* self, int block)
    {
        add_to_hand(self, block);
        self->step = self->is_last_try ? 5 : 0;
        (void)now;
    }

    bool push(state* now, thread_state* self) const
    {
        const bool is_entry = (self->step == 10) == (fault_ != fault::push_before_entry);
        const int  top      = self->step == 10 ? owner_reads(*now, TOP) : self->top;
        int        block    = BLOCKS - 1;
        while ((self->hand >> block & 1) == 0) {  // not the one that was here before
            block--;
        }
        if (!owner_writes(now, is_entry ? ENTRY + top : TOP, is_entry ? block : top + 1)) {
            return false;
        }
        self->top  = static_cast<std::int8_t>(top);
        self->step = self->step == 10 ? 11 : 0;
        if (self->step == 0) {
            self->hand = static_cast<std::uint8_t>(self->hand & ~(1 << block));
        }
        return true;
    }

    // ---- those who take -------------------------------------------------------------------------

    // 0 lock, 1 close bottom, 2 fence, 3 read top, 4 take an entry, 5 raise lowest, 6 open bottom,
    // 7 unlock. What they write is in memory at once: they drain their buffers with the fence and
    // with the lock, and the owner can read `bottom` early in any case.
    bool taker_steps(state* now, std::size_t number)
    {
        thread_state& self = now->threads[number];
        switch (self.step) {
            case 0:
                if (now->lock != NOTHING) {
                    return false;
                }
                now->lock = static_cast<std::int8_t>(number);
                self.step = fault_ == fault::bottom_never_closed ? 2 : 1;
                return true;
            case 1: now->memory[BOTTOM] = CLOSED; break;
            case 2:
                if (fault_ != fault::no_fence && fault_ != fault::fence_after_top) {
                    drain(now);
                }
                break;
            case 3:
                self.top = now->memory[TOP];
                self.at  = now->lowest;
                if (fault_ == fault::opens_too_early) {
                    now->memory[BOTTOM] = now->lowest;
                }
                break;
            case 4:
                if (fault_ == fault::fence_after_top) {
                    drain(now);
                }
                if (self.at < self.top) {
                    add_to_hand(&self, now->memory[static_cast<std::size_t>(ENTRY + self.at++)]);
                    return true;
                }
                break;
            case 5: now->lowest = self.top > now->lowest ? self.top : now->lowest; break;
            case 6: now->memory[BOTTOM] = now->lowest; break;
            case 7: now->lock = NOTHING; break;
            default: return false;
        }
        self.step++;
        return true;
    }

    // ---- what must hold -------------------------------------------------------------------------

    void add_to_hand(thread_state* self, int block)
    {
        if (block == NOTHING || (self->hand >> block & 1) != 0) {
            is_safe_ = false;  // an entry that was not written, or a block twice
            return;
        }
        self->hand = static_cast<std::uint8_t>(self->hand | 1 << block);
    }

    // Nobody can go on. Each block is in one hand, or in the magazine.
    void look_at_end(const state& now)
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
        for (std::size_t i = 1; i <= takers_; i++) {
            is_safe_ = is_safe_ && now.threads[i].step == 8;
        }
        is_safe_ = is_safe_ && now.lock == NOTHING && now.memory[BOTTOM] == now.lowest;
    }

    std::string           script_;
    std::size_t           takers_;
    fault                 fault_;
    std::set<std::string> seen_;
    std::size_t           ends_    = 0;
    bool                  is_safe_ = true;
};

// Every script of up to `length` calls: a for alloc, f for free.
std::vector<std::string> all_scripts(std::size_t length)
{
    std::vector<std::string> scripts{""};
    for (std::size_t from = 0, i = 0; i < length; i++) {
        const std::size_t to = scripts.size();
        for (; from < to; from++) {
            scripts.push_back(scripts[from] + 'a');
            scripts.push_back(scripts[from] + 'f');
        }
    }
    return scripts;
}

bool is_found_wrong(fault what)
{
    for (const std::string& script : all_scripts(5)) {
        for (const std::size_t takers : {1u, 2u}) {
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
    std::size_t states = 0;
    std::size_t ends   = 0;
    for (const std::string& script : all_scripts(6)) {
        for (const std::size_t takers : {1u, 2u}) {
            search one(script, takers, fault::none);
            ASSERT_TRUE(one.is_safe()) << script << " with " << takers;
            states += one.states();
            ends += one.ends();
        }
    }
    std::printf("%zu states, %zu ends\n", states, ends);
    EXPECT_GT(states, 100000u);
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
}
