// SPDX-License-Identifier: MIT
// The calls of a thread as they are walked by rules, beside those that the C library tells.
extern "C" {
#include "os.h"
}

#include "calls_by_hand.hpp"

#include <gtest/gtest.h>

#include <alloca.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <thread>
#include <vector>

namespace
{

constexpr std::size_t most = 200;

// The results of the last walk: a walk begins with them.
thread_local egb_os_calls own_calls;
egb_os_calls              one_for_all;
thread_local bool         uses_one_for_all;

thread_local volatile char sink;

// How often somebody looked, how often the calls were walked, and how often they differed from
// those of the C library.
thread_local unsigned    looked;
thread_local unsigned    walked;
thread_local std::size_t reused;  // calls of the stack before
thread_local unsigned    wrong;

// The two stacks differ in the calls of the two askers, at the inner end.
__attribute__((noinline)) int look()
{
    const egb_os_call first = EGB_OS_CALL_HERE_();
    egb_os_calls&     all   = uses_one_for_all ? one_for_all : own_calls;
    void*             said[most];
    const bool        is_walked = egb_os_calls_(&first, nullptr, &all, true);
    looked++;
    walked += is_walked ? 1u : 0u;
    reused += is_walked ? all.same : 0u;
    if (!is_walked && !egb_os_calls_(&first, nullptr, &all, false)) {
        all.count = 0;
    }
    const auto total = static_cast<std::size_t>(backtrace(said, static_cast<int>(most)));
    const bool is_it = all.count >= 2 && all.count < total && total < most && !all.is_cut &&
                       std::equal(
                           all.calls,
                           all.calls + all.count,
                           std::make_reverse_iterator(said + total),
                           [](const egb_os_call& one, void* other) { return one.address == other; }
                       );
    wrong += is_it ? 0u : 1u;
    return 0;
}

__attribute__((noinline)) int through_small(callee call)
{
    const int out = call();
    sink          = 1;
    return out;
}

__attribute__((noinline)) int through_large(callee call)
{
    volatile char room[3000];
    room[0]       = 1;
    const int out = call();
    sink          = room[0];
    return out;
}

__attribute__((noinline)) int through_variable(callee call)
{
    thread_local std::size_t bytes = 16;
    volatile char* const     room  = static_cast<char*>(alloca(bytes));
    bytes                          = bytes % 400 + 16;
    room[0]                        = 1;
    const int out                  = call();
    sink                           = room[0];
    return out;
}

__attribute__((noinline)) int
with_many(callee call, long b, long c, long d, long e, long f, long g, long h, long i, long j)
{
    const int out = call();
    sink          = static_cast<char>(b + c + d + e + f + g + h + i + j);
    return out;
}

__attribute__((noinline)) int through_many(callee call)
{
    const int out = with_many(call, 1, 2, 3, 4, 5, 6, 7, 8, sink);
    sink          = 2;
    return out;
}

__attribute__((noinline, force_align_arg_pointer)) int through_aligned(callee call)
{
    alignas(64) volatile char room[64];
    room[0]       = 1;
    const int out = call();
    sink          = room[0];
    return out;
}

// Both the frame of variable size and the alignment.
__attribute__((noinline, force_align_arg_pointer)) int through_both(callee call)
{
    alignas(64) volatile char room[64];
    volatile char* const more = static_cast<char*>(alloca(16 + static_cast<std::size_t>(sink & 7)));
    more[0]                   = 1;
    room[0]                   = 1;
    const int out             = call();
    sink                      = static_cast<char>(room[0] + more[0]);
    return out;
}

thread_local callee compared_by;

int compare(const void*, const void*)
{
    return compared_by();
}

// Through the C library, whose function is bound at its first call.
__attribute__((noinline)) int through_library(callee call)
{
    int numbers[2] = {1, 2};
    compared_by    = call;
    std::qsort(numbers, 2, sizeof numbers[0], compare);
    sink = 3;
    return 0;
}

using through = int (*)(callee);

constexpr through ways[] = {
    through_small,
    through_large,
    through_variable,
    through_many,
    through_aligned,
    through_both,
    through_library,
    egb_test_by_hand,
    egb_test_without_frame
};
constexpr std::size_t way_count = sizeof ways / sizeof ways[0];

thread_local std::vector<std::size_t> plan;

// The next of the plan, or the look at its end.
int go()
{
    if (plan.empty()) {
        return look();
    }
    const through next = ways[plan.back()];
    plan.pop_back();
    const int out = next(go);
    sink          = 4;
    return out;
}

void go_by(std::vector<std::size_t> by)
{
    plan = std::move(by);
    (void)go();
    sink = 5;
}

void go_all_ways()
{
    for (std::size_t i = 0; i < way_count; i++) {
        for (std::size_t j = 0; j < way_count; j++) {
            for (std::size_t k = 0; k < way_count; k++) {
                go_by({i, j, k, i});
            }
        }
    }
}

// `takes_turns`: with one memory of the last stack.
unsigned wrong_in_threads(bool takes_turns)
{
    std::mutex               turn;
    std::atomic<unsigned>    all_wrong{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++) {
        threads.emplace_back([takes_turns, &turn, &all_wrong] {
            uses_one_for_all = takes_turns;
            for (std::size_t by = 0; by < way_count * way_count * way_count; by++) {
                const auto own = takes_turns ? std::unique_lock<std::mutex>(turn)
                                             : std::unique_lock<std::mutex>();
                go_by({by % way_count, by / way_count % way_count, by / way_count / way_count});
            }
            all_wrong += wrong;
        });
    }
    for (std::thread& each : threads) {
        each.join();
    }
    return all_wrong;
}

class calls : public testing::Test
{
  protected:
    void SetUp() override
    {
        if (dlsym(RTLD_DEFAULT, "_dl_find_object") == nullptr) {
            GTEST_SKIP() << "without _dl_find_object() all calls are the unwinder's";
        }
        egb_os_prepare_();
        (void)egb_os_prepare_calls_();
        looked = 0;
        walked = 0;
        reused = 0;
        wrong  = 0;
    }
};

void on_signal(int)
{
    (void)look();
}

// Pages that can be used, one that cannot, and one more.
constexpr std::size_t page       = 4096;
constexpr std::size_t alternate  = 16 * page;
unsigned char*        guard_page = nullptr;

void on_overflow(int)
{
    (void)look();
    if (mprotect(guard_page, page, PROT_READ | PROT_WRITE) != 0) {
        _exit(1);
    }
}

// After a call of address 0: it returns.
void on_null_call(int, siginfo_t*, void* context)
{
    (void)look();
    auto& registers    = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    auto  stack        = static_cast<std::uintptr_t>(registers[REG_RSP]);
    registers[REG_RIP] = *reinterpret_cast<greg_t*>(stack);
    registers[REG_RSP] += static_cast<greg_t>(sizeof(greg_t));
}

// The argument of the system's own sigaction.
struct kernel_action {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)();
    unsigned long mask;
};

// With the loader's lock held, until the other thread has walked.
struct meeting {
    std::atomic<bool> is_locked{false};
    std::atomic<bool> has_walked{false};
};

int on_module(dl_phdr_info*, std::size_t, void* user)
{
    auto& both     = *static_cast<meeting*>(user);
    both.is_locked = true;
    while (!both.has_walked) {
        std::this_thread::yield();
    }
    return 1;
}

using entry = int (*)(callee);

// The library, its function, and whether it was called three times as it should.
bool call_library(const char* path, const void** place)
{
    void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void* const found   = library == nullptr ? nullptr : dlsym(library, "through");
    if (found == nullptr) {
        return false;
    }
    *place = found;
    for (int i = 0; i < 3; i++) {
        (void)reinterpret_cast<entry>(found)(look);
    }
    const unsigned before = walked;
    (void)reinterpret_cast<entry>(found)(look);
    return walked > before && wrong == 0 && dlclose(library) == 0;
}

}  // namespace

TEST_F(calls, are_those_that_the_c_library_tells)
{
    go_all_ways();
    EXPECT_EQ(wrong, 0u);
    go_by(std::vector<std::size_t>(60, 2));  // deeper than all others
    looked = walked = 0;
    reused          = 0;
    go_all_ways();  // now the depth is known, and so are all addresses
    EXPECT_EQ(wrong, 0u);
    EXPECT_GE(looked, way_count * way_count * way_count);
    EXPECT_EQ(walked, looked);
    EXPECT_GT(reused, 4u * looked);  // they go on from those before
}

TEST_F(calls, are_right_in_threads)
{
    EXPECT_EQ(wrong_in_threads(false), 0u);
    EXPECT_EQ(wrong_in_threads(true), 0u);  // each goes on from the stack of another one
}

TEST_F(calls, through_a_signal_handler_are_the_unwinders)
{
    struct sigaction by = {}, before = {};
    by.sa_handler = on_signal;
    ASSERT_EQ(sigaction(SIGUSR1, &by, &before), 0);
    for (int i = 0; i < 3; i++) {
        ASSERT_EQ(raise(SIGUSR1), 0);
    }
    ASSERT_EQ(sigaction(SIGUSR1, &before, nullptr), 0);
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(walked, 0u);
}

// The child calls functions that nobody called before.
TEST_F(calls, are_known_in_the_child_of_a_fork)
{
    go_by({0, 0, 0, 0, 0});
    const pid_t child = fork();
    if (child == 0) {
        go_by({0});
        _exit(wrong == 0 && walked != 0 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

// Rules of the first library are wrong for the second one, which is at the same place.
TEST_F(calls, are_right_after_other_code_was_loaded_in_place_of_some)
{
    go_by(std::vector<std::size_t>(60, 2));
    const void* before = nullptr;
    const void* place  = nullptr;
    unsigned    again  = 0;
    for (unsigned i = 0; i < 6; i++) {
        ASSERT_TRUE(call_library(i % 2 == 0 ? UNLOAD_FIRST : UNLOAD_SECOND, &place)) << i;
        again += place == before ? 1u : 0u;
        before = place;
    }
    RecordProperty("loaded_at_the_same_place", static_cast<int>(again));
}

TEST_F(calls, are_right_in_a_child_that_loads_other_code)
{
    go_by(std::vector<std::size_t>(60, 2));
    const void* place = nullptr;
    ASSERT_TRUE(call_library(UNLOAD_FIRST, &place));
    const pid_t child = fork();
    if (child == 0) {
        _exit(call_library(UNLOAD_SECOND, &place) ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

// A program may take a lock in a callback of the loader, and call with that lock held. The library
// has code that nobody called before.
TEST_F(calls, take_no_lock_of_the_loader)
{
    void* const library = dlopen(UNLOAD_FIRST, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    const auto  found     = reinterpret_cast<entry>(dlsym(library, "through"));
    unsigned    all_wrong = 1;
    meeting     both;
    std::thread other([&] {
        while (!both.is_locked) {
            std::this_thread::yield();
        }
        for (int i = 0; i < 3; i++) {
            (void)found(look);
        }
        all_wrong       = wrong;
        both.has_walked = true;
    });
    EXPECT_EQ(dl_iterate_phdr(on_module, &both), 1);
    other.join();
    EXPECT_EQ(all_wrong, 0u);
    EXPECT_EQ(dlclose(library), 0);
}

// The alternate stack of signals is below the stack that has no room left: nothing between is read.
TEST_F(calls, are_right_when_a_stack_is_full)
{
    void* const all = mmap(
        nullptr, alternate + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0
    );
    ASSERT_NE(all, MAP_FAILED);
    guard_page = static_cast<unsigned char*>(all) + alternate;
    ASSERT_EQ(mprotect(guard_page, page, PROT_NONE), 0);
    stack_t stack = {}, stack_before = {};
    stack.ss_sp   = all;
    stack.ss_size = alternate;
    ASSERT_EQ(sigaltstack(&stack, &stack_before), 0);
    struct sigaction by = {}, before = {};
    by.sa_handler = on_overflow;
    by.sa_flags   = SA_ONSTACK;
    ASSERT_EQ(sigaction(SIGSEGV, &by, &before), 0);
    egb_test_overflow(guard_page + page);
    ASSERT_EQ(sigaction(SIGSEGV, &before, nullptr), 0);
    ASSERT_EQ(sigaltstack(&stack_before, nullptr), 0);
    EXPECT_EQ(looked, 1u);
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(munmap(all, alternate + 2 * page), 0);
}

// clang would look at the words in front of the function that is called.
__attribute__((noinline, no_sanitize("undefined"))) static void call(void (*volatile function)())
{
    function();
}

// The calls of that handler end with it, and those of the next handler do not.
TEST_F(calls, through_a_signal_handler_are_right_after_a_call_of_nothing)
{
    go_by(std::vector<std::size_t>(60, 2));
    wrong               = 0;
    struct sigaction by = {}, before = {}, user = {}, user_before = {};
    by.sa_sigaction = on_null_call;
    by.sa_flags     = SA_SIGINFO;
    user.sa_handler = on_signal;
    ASSERT_EQ(sigaction(SIGSEGV, &by, &before), 0);
    ASSERT_EQ(sigaction(SIGUSR1, &user, &user_before), 0);
    call(nullptr);
    go_by(std::vector<std::size_t>(60, 2));
    ASSERT_EQ(raise(SIGUSR1), 0);
    ASSERT_EQ(raise(SIGUSR1), 0);
    ASSERT_EQ(sigaction(SIGSEGV, &before, nullptr), 0);
    ASSERT_EQ(sigaction(SIGUSR1, &user_before, nullptr), 0);
    EXPECT_EQ(wrong, 0u);
}

// The unwinder knows what returns from a signal handler by its bytes.
TEST_F(calls, through_a_signal_handler_are_right_without_information)
{
    constexpr unsigned long has_restorer = 0x04000000;
    go_by(std::vector<std::size_t>(60, 2));
    looked           = 0;
    wrong            = 0;
    kernel_action by = {on_signal, has_restorer, egb_test_restorer, 0}, before = {};
    ASSERT_EQ(syscall(SYS_rt_sigaction, SIGUSR1, &by, &before, sizeof by.mask), 0);
    for (int i = 0; i < 3; i++) {
        ASSERT_EQ(raise(SIGUSR1), 0);
    }
    ASSERT_EQ(syscall(SYS_rt_sigaction, SIGUSR1, &before, nullptr, sizeof by.mask), 0);
    EXPECT_EQ(looked, 3u);
    EXPECT_EQ(wrong, 0u);
}

// The inner call is where it was, and so is the return address into the outer function of the first
// turn, which nobody has written to. Only the frame pointer that the inner function has saved tells
// that the middle one is elsewhere by now.
TEST_F(calls, are_right_where_only_a_saved_frame_pointer_tells_the_next_one)
{
    constexpr std::size_t bytes    = 4096;
    const callee          inner[2] = {
        [] { return through_small(look); },
        [] {
            return through_large(look);
        }
    };
    for (std::size_t i = 0; i < 8; i++) {  // all from one place
        const std::size_t outer = bytes / 4 * (1 + i % 2);
        egb_test_outer(inner[i % 2], outer, bytes - outer, i % 2 == 1);
    }
    EXPECT_EQ(looked, 8u);
    EXPECT_GE(walked, 4u);
    EXPECT_EQ(wrong, 0u);
}

TEST_F(calls, are_walked_where_a_stack_ends_with_0)
{
    constexpr std::size_t bytes = 64 * page;
    void* const           all =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(all, MAP_FAILED);
    for (int i = 0; i < 3; i++) {
        plan = {0, 1, 0};
        egb_test_on_stack(static_cast<unsigned char*>(all) + bytes / 2, go);
    }
    EXPECT_EQ(looked, 3u);
    EXPECT_EQ(walked, 2u);
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(munmap(all, bytes), 0);
}
