// SPDX-License-Identifier: MIT
// A signal after each instruction: with its trap flag set an x86 processor traps behind every one,
// and the system makes a SIGTRAP of that. No debugger is needed, and nothing is left out. A string
// instruction with a repeat prefix traps behind each repetition: it counts once, for it is one
// instruction, and a sanitizer's runtime fills 64 KiB of shadow memory with one.
#ifndef EGGBOX_TESTS_STRESS_STEPS_HPP
#define EGGBOX_TESTS_STRESS_STEPS_HPP

#include <atomic>
#include <cerrno>

#include <signal.h>
#include <ucontext.h>
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
        action.sa_flags         = SA_SIGINFO;
        action.sa_sigaction     = on_trap;
        sigaction(SIGTRAP, &action, &before_);
    }

    ~steps()
    {
        sigaction(SIGTRAP, &before_, nullptr);
    }

    steps(const steps&)            = delete;
    steps& operator=(const steps&) = delete;

    // In the handler: the bytes of the instruction that is next.
    static const unsigned char* next_bytes()
    {
        return reinterpret_cast<const unsigned char*>(the_place());
    }

    template <class Function>
    void through(Function&& calls) const
    {
        std::atomic_signal_fence(std::memory_order_seq_cst);  // stores the handler's data
        __writeeflags(__readeflags() | trap_flag);
        calls();
        __writeeflags(__readeflags() & ~trap_flag);
    }

    // In a handler: whether the next instruction calls the system (syscall, sysenter, int 0x80).
    static bool is_system_next()
    {
        const unsigned char* const code = next_bytes();
        return (code[0] == 0x0f && (code[1] == 0x05 || code[1] == 0x34)) ||
               (code[0] == 0xcd && code[1] == 0x80);
    }

  private:
    static constexpr unsigned trap_flag = 0x100;

    static function& the_handler()
    {
        static function handler;
        return handler;
    }

    static greg_t& the_place()
    {
        static greg_t place = 0;
        return place;
    }

    // The place at which the thread goes on: the same place again while an instruction is repeated.
    static greg_t next_of(const void* context)
    {
#ifdef __x86_64__
        return static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
#else
        return static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_EIP];
#endif
    }

    static void on_trap(int, siginfo_t*, void* context)
    {
        const greg_t next = next_of(context);
        if (next == the_place()) {
            return;
        }
        the_place()     = next;
        const int saved = errno;
        the_handler()();
        errno = saved;
    }

    struct sigaction before_ = {};
};

#endif  // EGGBOX_TESTS_STRESS_STEPS_HPP
