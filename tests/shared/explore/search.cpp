// SPDX-License-Identifier: MIT
// The search: depth first, through states that were not seen before.
#include "machine.hpp"

#include <algorithm>

namespace explore
{

namespace
{

void add_memory(const state& now, key* out)
{
    for (const uint64_t word : now.words) {
        out->add(word);
    }
    for (const unsigned char note : now.notes) {
        out->add(note);
    }
    for (const message& box : now.boxes) {
        out->add(box.handle.generation);
        out->add(uint64_t{box.handle.block} << 8U | box.stamp);
    }
    for (const uint8_t stamp : now.stamp_of) {
        out->add(stamp);
    }
    for (const int8_t owner : now.locks) {
        out->add(static_cast<uint8_t>(owner));
    }
    out->add(uint64_t{now.taken} << 16U | uint64_t{now.kills} << 1U | (now.is_feed_cut ? 1U : 0U));
}

// All that is known of a process between two calls, and what its present call was told.
void add_process(const process& one, key* out)
{
    out->add(
        uint64_t{static_cast<uint8_t>(one.is)} << 56U | uint64_t{one.at} << 48U |
        uint64_t{one.stamps} << 40U | uint64_t{one.told_count} << 32U |
        uint64_t{one.store_count} << 24U | uint64_t{static_cast<uint8_t>(one.sleeps_on)} << 16U |
        uint64_t{static_cast<uint8_t>(one.released)} << 8U | (one.is_late_due ? 1U : 0U)
    );
    if (one.is == life::dead) {
        return;
    }
    out->add(one.after);
    out->add(one.own.taken);
    out->add(uint64_t{one.own.slot} << 32U | one.own.is_publisher);
    for (const uint32_t held : one.own.held) {
        out->add(held);
    }
    out->add(one.late.value);
    out->add(
        uint64_t{static_cast<uint8_t>(one.late.kind)} << 8U | static_cast<uint8_t>(one.late.word)
    );
    for (const hand& held : one.holds) {
        out->add(held.generation);
        out->add(uint64_t{static_cast<uint8_t>(held.block)} << 16U | held.stamp);
    }
    for (std::size_t at = 0; at < one.store_count; at++) {
        out->add(static_cast<uint8_t>(one.stores[at].word));
        out->add(one.stores[at].value);
    }
    for (std::size_t at = 0; at < one.told_count; at++) {
        out->add(one.told[at]);
    }
}

}  // namespace

key key_of(const state& now, std::size_t count)
{
    key out;
    add_memory(now, &out);
    for (std::size_t i = 0; i < count; i++) {
        add_process(now.all[i], &out);
    }
    return out;
}

namespace
{

// The states seen, by open addressing.
class seen_states
{
  public:
    // Whether it is a new one.
    bool add(const key& one)
    {
        if (2 * count_ >= table_.size()) {
            grow();
        }
        key* const place = find(one);
        if (*place == one) {
            return false;
        }
        *place = one;
        count_++;
        return true;
    }

    std::size_t count() const
    {
        return count_;
    }

  private:
    static constexpr key nothing()
    {
        key out;
        out.low = out.high = 0;
        return out;
    }

    key* find(const key& one)
    {
        std::size_t at = static_cast<std::size_t>(one.low) & (table_.size() - 1);
        while (!(table_[at] == one) && !(table_[at] == nothing())) {
            at = (at + 1) & (table_.size() - 1);
        }
        return &table_[at];
    }

    void grow()
    {
        std::vector<key> old(table_.empty() ? 1U << 12U : 2 * table_.size(), nothing());
        old.swap(table_);
        for (const key& one : old) {
            if (!(one == nothing())) {
                *find(one) = one;
            }
        }
    }

    std::vector<key> table_;
    std::size_t      count_ = 0;
};

enum stage : uint8_t { run, drain, kill, time_out, no_more };

// A state, the step that led to it, and which of its own come next.
struct place {
    state   now;
    uint8_t by      = 0;
    stage   way     = run;
    uint8_t number  = 0;
    stage   next    = run;
    uint8_t choice  = 0;
    bool    is_busy = false;  // somebody can go on
};

class searcher
{
  public:
    searcher(const scenario& what, const rules& how)
        : scenario_(what), machine_(what, how, &result_)
    {
    }

    result all()
    {
        path_.push_back(place{machine_.start()});
        seen_.add(key_of(path_.back().now, count()));
        while (!path_.empty() && result_.violation.empty()) {
            visit();
        }
        result_.states = seen_.count();
        if (!result_.violation.empty()) {
            tell_path();
        }
        return result_;
    }

  private:
    std::size_t count() const
    {
        return scenario_.scripts.size();
    }

    void visit()
    {
        place after;
        if (!step_from(&path_.back(), &after)) {
            path_.pop_back();
            return;
        }
        result_.steps++;
        machine_.look_at(after.now);
        if (seen_.add(key_of(after.now, count())) || !result_.violation.empty()) {
            path_.push_back(after);
        }
    }

    // The next of the steps from there; false: there is none any more.
    bool step_from(place* from, place* after)
    {
        while (from->next != no_more) {
            for (; from->number < count(); from->number++) {
                if (take(from, after)) {
                    return true;
                }
            }
            from->number = 0;
            from->next   = static_cast<stage>(from->next + 1);
            // When nobody can go on, time passes, which is all that helps after a kill.
            if (from->next == time_out && (from->is_busy || from->now.kills == 0)) {
                from->next = no_more;
            }
        }
        if (!from->is_busy) {
            result_.ends++;
            machine_.look_at_end(from->now);
        }
        return false;
    }

    bool take(place* from, place* after)
    {
        const uint8_t number = from->number;
        const auto    is     = [&](bool can) {
            if (can) {
                after->now = from->now;
                after->by  = number;
                after->way = from->next;
            }
            return can;
        };
        switch (from->next) {
            case run:
                if (!is(machine_.can_run(from->now, number))) {
                    return false;
                }
                from->is_busy = true;
                from->choice++;
                if (machine_.run(&after->now, number, from->choice - 1U) <= from->choice) {
                    from->choice = 0;
                    from->number++;
                }
                return true;
            case drain:
                if (!is(machine_.can_drain(from->now, number))) {
                    return false;
                }
                from->is_busy = true;
                machine_.drain(&after->now, number);
                break;
            case kill:
                if (!is(machine_.can_kill(from->now, number))) {
                    return false;
                }
                machine_.kill(&after->now, number);
                break;
            default:
                if (!is(from->now.all[number].sleeps_on >= 0)) {
                    return false;
                }
                from->is_busy                    = true;
                after->now.all[number].sleeps_on = -1;
        }
        from->number++;
        return true;
    }

    void tell_path()
    {
        static const char* const calls[] = {
            "attach",
            "leave",
            "alloc",
            "alloc_wait",
            "fill",
            "read",
            "send",
            "open",
            "release",
            "publish",
            "next",
            "next_wait",
            "take",
            "latest",
            "recover"
        };
        for (std::size_t i = 1; i < path_.size(); i++) {
            const place&   to   = path_[i];
            const process& one  = path_[i - 1].now.all[to.by];
            const char*    what = to.way == drain      ? "a store reaches memory"
                                  : to.way == kill     ? "is killed"
                                  : to.way == time_out ? "has waited long"
                                                       : calls[machine_.action_of(one, to.by).call];
            result_.path.push_back(
                std::to_string(to.by) + ": " + what +
                (to.way == run ? " " + std::to_string(one.told_count) : std::string())
            );
        }
    }

    const scenario&    scenario_;
    result             result_;
    machine            machine_;
    seen_states        seen_;
    std::vector<place> path_;
};

}  // namespace

result search(const scenario& what, const rules& how)
{
    return searcher(what, how).all();
}

}  // namespace explore
