// SPDX-License-Identifier: MIT
// A port of a machine with one thread, on which only the test acts: `on_wait` stands for the others
// while the thread waits. Checks that the pool keeps the port's contract.
#ifndef EGGBOX_TESTS_SUPPORT_STILL_PORT_HPP
#define EGGBOX_TESTS_SUPPORT_STILL_PORT_HPP

#include "eggbox/port.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

class still_port
{
  public:
    still_port()
    {
        EXPECT_EQ(now_, nullptr) << "one at a time";
        now_ = this;
    }

    ~still_port()
    {
        EXPECT_EQ(depth, 0) << "a critical section has no end";
        now_ = nullptr;
    }

    still_port(const still_port&)            = delete;
    still_port& operator=(const still_port&) = delete;

    std::function<void(egb_waiter&, uint32_t)> on_wait = [](egb_waiter&, uint32_t) {
    };
    std::vector<const egb_waiter*> woken;
    int                            depth         = 0;  // nested critical sections
    int                            sections      = 0;  // that have begun
    int                            reschedules   = 0;
    uint32_t                       priority_next = 0;  // the priority of the calling thread

    egb_port port = {enter, leave, wait, wake, reschedule, priority};

  private:
    static uintptr_t enter(const egb_port*)
    {
        now_->sections++;
        return uintptr_t(now_->depth++);
    }

    static void leave(const egb_port*, uintptr_t before)
    {
        ASSERT_EQ(uintptr_t(--now_->depth), before) << "sections end in the order of a stack";
    }

    static uintptr_t
    wait(const egb_port*, egb_waiter* waiter, uint32_t timeout_ms, uintptr_t before)
    {
        EXPECT_EQ(now_->depth, 1);
        EXPECT_EQ(before, 0u);
        EXPECT_EQ(waiter->answer, EGB_BUSY);
        waiter->event = now_;
        now_->depth   = 0;
        now_->on_wait(*waiter, timeout_ms);
        EXPECT_EQ(now_->depth, 0);
        now_->depth = 1;
        return 0;
    }

    static void wake(const egb_port*, egb_waiter* waiter)
    {
        EXPECT_GT(now_->depth, 0) << "outside of a critical section a waiter may be gone";
        EXPECT_EQ(waiter->event, now_);
        EXPECT_NE(waiter->answer, EGB_BUSY);
        now_->woken.push_back(waiter);
    }

    static void reschedule(const egb_port*)
    {
        EXPECT_EQ(now_->depth, 0);
        now_->reschedules++;
    }

    static uint32_t priority(const egb_port*)
    {
        return now_->priority_next;
    }

    static inline still_port* now_ = nullptr;
};

#endif  // EGGBOX_TESTS_SUPPORT_STILL_PORT_HPP
