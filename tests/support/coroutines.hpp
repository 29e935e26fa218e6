// SPDX-License-Identifier: MIT
// Threads that are coroutines: each runs until it waits for a block or its call is over, and the
// test says what happens next. A port lets a pool believe in them. The same history is therefore
// the same in each run, and takes no time of a clock.
#ifndef EGGBOX_TESTS_SUPPORT_COROUTINES_HPP
#define EGGBOX_TESTS_SUPPORT_COROUTINES_HPP

#include "eggbox/fixed_shared.h"

#include <gtest/gtest.h>

#include <ucontext.h>

#include <deque>
#include <memory>
#include <vector>

// A thread that can do one thing: wait for a block.
class waiting_thread
{
  public:
    enum class state { idle, waiting, ready };

    state      now      = state::idle;
    egb_status answer   = EGB_OK;   // from its last call
    void*      block    = nullptr;  // from its last call
    uint32_t   priority = 0;

  private:
    friend class coroutines;
    static constexpr std::size_t stack_bytes = 16 * 1024;

    std::unique_ptr<char[]> stack_;
    ucontext_t              context_{};
    bool                    is_urgent_ = false;
};

class coroutines
{
  public:
    explicit coroutines(std::size_t count) : threads(count)
    {
        EXPECT_EQ(now_, nullptr) << "one at a time";
        now_ = this;
        for (waiting_thread& thread : threads) {
            thread.stack_.reset(new char[waiting_thread::stack_bytes]);
        }
    }

    ~coroutines()
    {
        now_ = nullptr;
    }

    coroutines(const coroutines&)            = delete;
    coroutines& operator=(const coroutines&) = delete;

    // Has a thread ask for a block, until it waits or has its answer.
    void ask(waiting_thread& thread, egb_fixed_shared* shared, bool is_urgent)
    {
        ASSERT_EQ(thread.now, waiting_thread::state::idle);
        shared_           = shared;
        thread.is_urgent_ = is_urgent;
        getcontext(&thread.context_);
        thread.context_.uc_stack.ss_sp   = thread.stack_.get();
        thread.context_.uc_stack.ss_size = waiting_thread::stack_bytes;
        thread.context_.uc_link          = &home_;
        makecontext(&thread.context_, body, 0);
        run(thread);
    }

    // The time of a thread that waits is over.
    void time_out(waiting_thread& thread)
    {
        ASSERT_EQ(thread.now, waiting_thread::state::waiting);
        run(thread);
    }

    // Lets those run that were woken, in the order of their wakes, and returns them.
    std::vector<waiting_thread*> run_ready()
    {
        std::vector<waiting_thread*> ran;
        while (!ready_.empty()) {
            ran.push_back(ready_.front());
            ready_.pop_front();
            run(*ran.back());
        }
        return ran;
    }

    egb_port                    port = {enter, leave, wait, wake, nullptr, priority};
    std::vector<waiting_thread> threads;

  private:
    static void body()
    {
        waiting_thread& self = *now_->running_;
        const auto      call =
            self.is_urgent_ ? egb_fixed_shared_alloc_urgent_for : egb_fixed_shared_alloc_for;
        self.answer = call(now_->shared_, &self.block, 1);
        self.now    = waiting_thread::state::idle;
    }

    void run(waiting_thread& thread)
    {
        running_ = &thread;
        swapcontext(&home_, &thread.context_);
        running_ = nullptr;
        EXPECT_EQ(depth_, 0);
    }

    static uintptr_t enter(const egb_port*)
    {
        return uintptr_t(now_->depth_++);
    }

    static void leave(const egb_port*, uintptr_t before)
    {
        EXPECT_EQ(uintptr_t(--now_->depth_), before);
    }

    static uintptr_t wait(const egb_port*, egb_waiter* waiter, uint32_t, uintptr_t before)
    {
        EXPECT_EQ(before, 0u);
        waiting_thread& self = *now_->running_;
        waiter->event        = &self;
        self.now             = waiting_thread::state::waiting;
        now_->depth_--;
        swapcontext(&self.context_, &now_->home_);
        now_->depth_++;
        return before;
    }

    static void wake(const egb_port*, egb_waiter* waiter)
    {
        EXPECT_GT(now_->depth_, 0);
        auto* const thread = static_cast<waiting_thread*>(waiter->event);
        EXPECT_EQ(thread->now, waiting_thread::state::waiting) << "woken twice";
        thread->now = waiting_thread::state::ready;
        now_->ready_.push_back(thread);
    }

    static uint32_t priority(const egb_port*)
    {
        return now_->running_->priority;
    }

    ucontext_t                  home_{};
    waiting_thread*             running_ = nullptr;
    egb_fixed_shared*           shared_  = nullptr;
    int                         depth_   = 0;
    std::deque<waiting_thread*> ready_;

    static inline coroutines* now_ = nullptr;
};

#endif  // EGGBOX_TESTS_SUPPORT_COROUTINES_HPP
