// SPDX-License-Identifier: MIT
// Takes one step of one process, from state to state.
#ifndef EGGBOX_TESTS_SHARED_EXPLORE_MACHINE_HPP
#define EGGBOX_TESTS_SHARED_EXPLORE_MACHINE_HPP

#include "explorer.hpp"

#include <csetjmp>

namespace explore
{

class machine
{
  public:
    machine(const scenario& what, const rules& how, result* out);

    state start();

    // Whether the process can take a step of its own now.
    bool can_run(const state& now, std::size_t number) const;
    // Takes it. `choice` of as many as it returns: a relaxed load has several answers.
    unsigned run(state* now, std::size_t number, unsigned choice);

    bool can_drain(const state& now, std::size_t number) const;
    void drain(state* now, std::size_t number) const;

    bool can_kill(const state& now, std::size_t number) const;
    void kill(state* now, std::size_t number) const;

    // Check the rules for every state, and those for a state in which no process has a step left.
    void look_at(const state& now);
    void look_at_end(state now);

    const action& action_of(const process& one, std::size_t number) const;

    uint64_t on_step(
        explore_kind         kind,
        volatile const void* at,
        int                  order,
        uint64_t             value,
        uint64_t             expected,
        const char*          function
    );
    void violate(const std::string& what);

  private:
    process& self();
    void     begin_call(const action& wish);
    void     make_request(const action& wish);
    void     make_call();
    void     end_call(const action& wish);
    void     end_with_block(const action& wish, hand* held);
    void     end_publish(const hand& held);
    void     compare_halves(const hand& held);
    void     know_frame(uint64_t sequence, unsigned stamp);
    void     skip_idle(process* one, std::size_t number) const;

    uint64_t mutate(const step& what, const char* function);
    uint64_t perform(const step& what);
    uint64_t load(const step& what);
    uint64_t change_word(const step& what);
    uint64_t lock_byte(const step& what);
    void     wake(int word);
    void     finish_stores();
    bool     is_mutated(const step& what, const char* function) const;

    explore_answer ask(explore_call call, int block, uint64_t after = 0);
    void           audit_words();
    void           audit_feed();
    void           audit_blocks();

    const scenario& scenario_;
    const rules&    rules_;
    result&         result_;
    bool            has_waits_  = false;
    int             publishers_ = 0;

    // The step in progress.
    state*          now_       = nullptr;
    std::size_t     number_    = 0;
    unsigned        choice_    = 0;
    unsigned        choices_   = 1;
    std::size_t     cursor_    = 0;
    std::size_t     told_      = 0;
    bool            is_done_   = false;
    bool            is_over_   = false;
    bool            is_audit_  = false;
    explore_own     own_       = {};
    explore_request request_   = {};
    explore_answer  answer_    = {};
    std::jmp_buf    suspended_ = {};
};

}  // namespace explore

#endif  // EGGBOX_TESTS_SHARED_EXPLORE_MACHINE_HPP
