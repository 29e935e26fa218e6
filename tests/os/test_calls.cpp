// SPDX-License-Identifier: MIT
// The calls of a thread as they are walked by rules, beside those that the C library tells.
extern "C" {
#include "os.h"
}

#include <gtest/gtest.h>

#include <alloca.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>
#include <vector>

namespace
{

constexpr std::size_t most = 200;

thread_local volatile char sink;

// How often somebody looked, how often the calls were walked, and how often they were others than
// the C library says.
thread_local unsigned looked;
thread_local unsigned walked;
thread_local unsigned wrong;

// The two stacks differ in the calls of the two askers, at the inner end.
__attribute__((noinline)) int look()
{
    const egb_os_call first = EGB_OS_CALL_HERE_();
    egb_os_call       calls[most];
    void*             said[most];
    std::size_t       count = egb_os_calls_(first, calls, most, true);
    looked++;
    walked += count == 0 ? 0u : 1u;
    if (count == 0) {
        count = egb_os_calls_(first, calls, most, false);
    }
    const auto total = static_cast<std::size_t>(backtrace(said, static_cast<int>(most)));
    const bool is_it = count >= 2 && count < total && total < most &&
                       std::equal(
                           calls,
                           calls + count,
                           said + (total - count),
                           [](const egb_os_call& one, void* other) { return one.address == other; }
                       );
    wrong += is_it ? 0u : 1u;
    return 0;
}

using callee = int (*)();

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

// A function that saves rbx and takes room, with information by hand.
extern "C" int egb_test_by_hand(callee call);
__asm__(".text\n"
        ".type egb_test_by_hand, @function\n"
        "egb_test_by_hand:\n"
        ".cfi_startproc\n"
        "  pushq %rbx\n"
        ".cfi_adjust_cfa_offset 8\n"
        ".cfi_rel_offset %rbx, 0\n"
        "  subq $48, %rsp\n"
        ".cfi_adjust_cfa_offset 48\n"
        "  call *%rdi\n"
        "  addq $48, %rsp\n"
        ".cfi_adjust_cfa_offset -48\n"
        "  popq %rbx\n"
        ".cfi_adjust_cfa_offset -8\n"
        ".cfi_restore %rbx\n"
        "  ret\n"
        ".cfi_endproc\n"
        ".size egb_test_by_hand, . - egb_test_by_hand\n");

// The frame pointer holds something else meanwhile, and where the frame is saved is told.
extern "C" int egb_test_without_frame(callee call);
__asm__(".text\n"
        ".type egb_test_without_frame, @function\n"
        "egb_test_without_frame:\n"
        ".cfi_startproc\n"
        "  subq $24, %rsp\n"
        ".cfi_adjust_cfa_offset 24\n"
        "  movq %rbp, 8(%rsp)\n"
        ".cfi_offset %rbp, -24\n"
        "  movq $1, %rbp\n"
        "  call *%rdi\n"
        "  movq 8(%rsp), %rbp\n"
        ".cfi_restore %rbp\n"
        "  addq $24, %rsp\n"
        ".cfi_adjust_cfa_offset -24\n"
        "  ret\n"
        ".cfi_endproc\n"
        ".size egb_test_without_frame, . - egb_test_without_frame\n");

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

class calls : public testing::Test
{
  protected:
    void SetUp() override
    {
        egb_os_prepare_();
        egb_os_prepare_calls_();
        looked = 0;
        walked = 0;
        wrong  = 0;
    }
};

void on_signal(int)
{
    (void)look();
}

}  // namespace

TEST_F(calls, are_those_that_the_c_library_tells)
{
    go_all_ways();
    EXPECT_EQ(wrong, 0u);
    go_by(std::vector<std::size_t>(60, 2));  // deeper than all others
    looked = 0;
    walked = 0;
    go_all_ways();  // now the depth is known, and so are all addresses
    EXPECT_EQ(wrong, 0u);
    EXPECT_GE(looked, way_count * way_count * way_count);
    EXPECT_EQ(walked, looked);
}

TEST_F(calls, are_right_in_threads)
{
    std::vector<std::thread> threads;
    unsigned                 all_wrong[3] = {};
    for (unsigned& each : all_wrong) {
        threads.emplace_back([&each] {
            go_all_ways();
            each = wrong;
        });
    }
    for (std::thread& each : threads) {
        each.join();
    }
    EXPECT_EQ(all_wrong[0] + all_wrong[1] + all_wrong[2], 0u);
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

// The child calls what nobody called before.
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
    using entry        = int (*)(callee);
    const void* before = nullptr;
    unsigned    again  = 0;
    for (unsigned i = 0; i < 6; i++) {
        void* const library =
            dlopen(i % 2 == 0 ? UNLOAD_FIRST : UNLOAD_SECOND, RTLD_NOW | RTLD_LOCAL);
        ASSERT_NE(library, nullptr) << dlerror();
        void* const found = dlsym(library, "through");
        ASSERT_NE(found, nullptr);
        again += found == before ? 1u : 0u;
        before = found;
        for (int j = 0; j < 3; j++) {
            EXPECT_EQ(reinterpret_cast<entry>(found)(look), 0);
        }
        EXPECT_EQ(wrong, 0u) << i;
        ASSERT_EQ(dlclose(library), 0);
    }
    RecordProperty("loaded_at_the_same_place", static_cast<int>(again));
}
