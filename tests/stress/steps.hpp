// SPDX-License-Identifier: MIT
// A signal after each instruction: with its trap flag set an x86 processor traps behind every one,
// and the system makes a SIGTRAP of that. No debugger is needed, and nothing is left out.
#ifndef EGGBOX_TESTS_STRESS_STEPS_HPP
#define EGGBOX_TESTS_STRESS_STEPS_HPP

#include <cerrno>

#include <signal.h>
#include <x86intrin.h>

// While one of these is stepping, `handler` is called after each instruction of this thread, in a
// signal handler.
class steps
{
  public:
    using function = void (*)();

    explicit steps(function handler)
    {
        the_handler()           = handler;
        struct sigaction action = {};
        action.sa_handler       = on_trap;
        sigaction(SIGTRAP, &action, &before_);
    }

    ~steps()
    {
        sigaction(SIGTRAP, &before_, nullptr);
    }

    steps(const steps&)            = delete;
    steps& operator=(const steps&) = delete;

    template <class Function>
    void through(Function&& calls) const
    {
        __writeeflags(__readeflags() | trap_flag);
        calls();
        __writeeflags(__readeflags() & ~trap_flag);
    }

  private:
    static constexpr unsigned trap_flag = 0x100;

    static function& the_handler()
    {
        static function handler;
        return handler;
    }

    static void on_trap(int)
    {
        const int before = errno;
        the_handler()();
        errno = before;
    }

    struct sigaction before_ = {};
};

#endif  // EGGBOX_TESTS_STRESS_STEPS_HPP
