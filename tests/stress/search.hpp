// SPDX-License-Identifier: MIT
// A search through every order in which the steps of a protocol can happen. The models in
// magazine_model.hpp, remote_model.hpp and tight_model.hpp derive from it. A protocol has an owner
// and some others. The owner works by a script, and its stores reach memory later.
#ifndef EGGBOX_TESTS_STRESS_SEARCH_HPP
#define EGGBOX_TESTS_STRESS_SEARCH_HPP

#include "magazine_state.hpp"

#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace magazine_model
{

// Every script of up to `length` calls, a letter for each.
inline std::vector<std::string> all_scripts(std::size_t length, const std::string& calls)
{
    std::vector<std::string> scripts{""};
    for (std::size_t i = 0; i < scripts.size() && scripts[i].size() < length; i++) {
        const std::string script = scripts[i];
        for (const char call : calls) {
            scripts.push_back(script + call);
        }
    }
    return scripts;
}

// Each state is visited once. A model defines the first state, the steps, and the rules.
template <typename State>
class search_of
{
  public:
    // `others` has a letter for each of the others: its task.
    search_of(std::string script, std::string others)
        : script_(std::move(script)), others_(std::move(others))
    {
    }

    virtual ~search_of() = default;

    // Whether nothing can go wrong.
    bool is_safe()
    {
        std::vector<State> open{first()};
        seen_.insert(open.back().key());
        while (!open.empty() && is_safe_) {
            const State now = open.back();
            open.pop_back();
            look_at(now);
            const std::vector<State> following = all_next(now);
            for (const State& next : following) {
                if (seen_.insert(next.key()).second) {
                    open.push_back(next);
                }
            }
            if (following.empty()) {
                look_at_end(now);
            }
        }
        return is_safe_;
    }

    std::size_t states() const
    {
        return seen_.size();
    }

  protected:
    virtual State first() const = 0;

    // One step, or false: the owner, or this one of the others, waits or is done.
    virtual bool owner_steps(State* now)                     = 0;
    virtual bool other_steps(State* now, std::size_t number) = 0;

    // The rules for every state, and those for a state in which nobody can go on.
    virtual void look_at(const State& now)     = 0;
    virtual void look_at_end(const State& now) = 0;

    std::string script_;
    std::string others_;
    bool        is_safe_ = true;

  private:
    std::vector<State> all_next(const State& now)
    {
        std::vector<State> next;
        if (now.buffered > 0) {  // the oldest store reaches memory
            next.push_back(now);
            next.back().drain_one();
        }
        State after = now;
        if (owner_steps(&after)) {
            next.push_back(after);
        }
        for (std::size_t i = 0; i < others_.size(); i++) {
            after = now;
            if (other_steps(&after, i)) {
                next.push_back(after);
            }
        }
        return next;
    }

    std::unordered_set<state_key, key_hash> seen_;
};

}  // namespace magazine_model

#endif  // EGGBOX_TESTS_STRESS_SEARCH_HPP
