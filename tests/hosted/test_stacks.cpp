// SPDX-License-Identifier: MIT
// Level "track": the calls that led to an allocation and to a free.
#include "eggbox/guard.h"
#include "events.hpp"
#include "guarded.hpp"
extern "C" {
#include "stacks/call_tree.h"
#include "stacks/stacks.h"
}

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#if defined(__GLIBC__)
  #include <alloca.h>
  #include <execinfo.h>
  #include <sys/mman.h>
  #include <ucontext.h>

namespace
{

using calls = std::vector<const void*>;

calls calls_of(const void* const* stack)
{
    calls out;
    for (; stack != nullptr && *stack != nullptr; stack++) {
        out.push_back(*stack);
    }
    return out;
}

// The calls of the only holder.
calls held_by(egb_pool pool)
{
    std::vector<calls> out;
    const auto         visit = [](const egb_holder* holder, void* user) {
        static_cast<std::vector<calls>*>(user)->push_back(calls_of(holder->stack));
        EXPECT_TRUE(holder->stack == nullptr || holder->stack[0] == holder->site);
    };
    EXPECT_EQ(egb_holders_each(pool, visit, &out), EGB_OK);
    EXPECT_EQ(out.size(), 1u);
    return out.empty() ? calls{} : out.front();
}

// The same calls, as the C library sees them. A sanitizer adds one of its own.
__attribute__((noinline)) calls calls_here()
{
    void*     found[256];
    const int count = backtrace(found, 256);
    return calls(found, found + count);
}

// All but the first `left_out` of `stack` are the last of `whole`.
bool is_end_of(const calls& whole, const calls& stack, std::ptrdiff_t left_out)
{
    return stack.size() >= 3 && stack.size() <= whole.size() &&
           std::equal(stack.rbegin(), stack.rend() - left_out, whole.rbegin());
}

// ---- calls through frames of all kinds ----------------------------------------------------------

struct walk {
    egb_pool     pool;
    std::mt19937 chance;
    unsigned     wrong = 0;

    unsigned below(unsigned limit)
    {
        return static_cast<unsigned>(chance() % limit);
    }
};

thread_local volatile char sink;

// The innermost call differs: it is another line of this function.
__attribute__((noinline)) void look(walk& on)
{
    void* const block = egb_pool_alloc(on.pool);
    on.wrong += is_end_of(calls_here(), held_by(on.pool), 1) ? 0u : 1u;
    egb_pool_free(on.pool, block);
}

void go(walk& on, unsigned depth);

__attribute__((noinline)) void through_small(walk& on, unsigned depth)
{
    go(on, depth);
    sink = 1;
}

__attribute__((noinline)) void through_large(walk& on, unsigned depth)
{
    volatile char room[5000];
    room[depth] = 1;
    go(on, depth);
    sink = room[depth];
}

// The frame of this one has one of so many sizes, which may be that of a neighbour.
__attribute__((noinline)) void
through_variable(walk& on, unsigned depth, unsigned sizes, void (*next)(walk&, unsigned))
{
    volatile char* const room = static_cast<char*>(alloca(16 + 16 * on.below(sizes)));
    room[0]                   = 1;
    next(on, depth);
    sink = room[0];
}

__attribute__((noinline)) void go(walk& on, unsigned depth)
{
    if (depth == 0) {
        look(on);
        return;
    }
    switch (on.below(4)) {
        case 0: through_large(on, depth - 1); break;
        case 1: through_variable(on, depth - 1, 8, go); break;
        default: through_small(on, depth - 1); break;
    }
    sink = 2;
}

// A tree of calls: a look goes on from a stack that differs from its own in some calls, also where
// calls farther in are the same at the same place.
__attribute__((noinline)) void grow(walk& on, unsigned depth)
{
    if (depth == 0 || on.below(8) == 0) {
        look(on);
    }
    for (unsigned left = depth == 0 ? 0 : 1 + on.below(2); left > 0; left--) {
        if (on.below(3) == 0) {
            through_variable(on, depth - 1, 3, grow);
        } else {
            grow(on, depth - 1);
        }
        sink = static_cast<char>(left);
    }
}

unsigned wrong_stacks_of_trees(unsigned seed)
{
    const guarded all(40, "track");
    walk          on{all.pool, std::mt19937(seed)};
    for (int i = 0; i < 8; i++) {
        grow(on, 8);
    }
    return on.wrong;
}

unsigned wrong_stacks(unsigned seed)
{
    const guarded all(40, "track");
    walk          on{all.pool, std::mt19937(seed)};
    for (int i = 0; i < 500; i++) {
        go(on, on.below(12));
    }
    return on.wrong;
}

// ---- calls on purpose ---------------------------------------------------------------------------

__attribute__((noinline)) void release(egb_pool pool, void* block)
{
    egb_pool_free(pool, block);
    sink = 3;
}

__attribute__((noinline)) calls on_error(egb_pool pool, void* block)
{
    release(pool, block);
    const calls out = calls_here();
    sink            = 6;  // behind the call, so that it is no jump
    return out;
}

__attribute__((noinline)) calls on_close(egb_pool pool, void* block)
{
    release(pool, block);
    const calls out = calls_here();
    sink            = 7;
    return out;
}

// ---- coroutines ---------------------------------------------------------------------------------

struct coroutine {
    egb_pool    pool{};
    std::size_t frame_bytes = 0;
    ucontext_t  outside{};
    ucontext_t  inside{};
};

coroutine running;

__attribute__((noinline)) void take_below(std::size_t frame_bytes)
{
    volatile char* const room = static_cast<char*>(alloca(frame_bytes));
    room[0]                   = 1;
    egb_pool_free(running.pool, egb_pool_alloc(running.pool));
    sink = room[0];
}

void in_coroutine()
{
    take_below(running.frame_bytes);
    sink = 8;
}

// On a stack of its own, with nothing around it.
void run_coroutine(egb_pool pool, std::size_t frame_bytes)
{
    constexpr std::size_t part = std::size_t{1} << 18;
    void* const all = mmap(nullptr, 3 * part, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(all, MAP_FAILED);
    ASSERT_EQ(mprotect(static_cast<char*>(all) + part, part, PROT_READ | PROT_WRITE), 0);
    running.pool        = pool;
    running.frame_bytes = frame_bytes;
    ASSERT_EQ(getcontext(&running.inside), 0);
    running.inside.uc_stack.ss_sp   = static_cast<char*>(all) + part;
    running.inside.uc_stack.ss_size = part;
    running.inside.uc_link          = &running.outside;
    makecontext(&running.inside, in_coroutine, 0);
    ASSERT_EQ(swapcontext(&running.outside, &running.inside), 0);
    ASSERT_EQ(munmap(all, 3 * part), 0);
}

// The bits of `path` say how the last calls are made.
__attribute__((noinline)) const void* deep(unsigned depth, unsigned path);

__attribute__((noinline)) const void* deep_on_one_side(unsigned depth, unsigned path)
{
    const void* const out = deep(depth - 1, path);
    sink                  = 4;
    return out;
}

__attribute__((noinline)) const void* site_here()
{
    return egb_stack_here_(EGB_CALLER());
}

__attribute__((noinline)) const void* deep(unsigned depth, unsigned path)
{
    const void* const out = depth == 0                      ? site_here()
                            : (path >> depth % 32) % 2 == 0 ? deep_on_one_side(depth, path)
                                                            : deep(depth - 1, path);
    sink                  = 5;
    return out;
}

// A stack in each of so many calls, the next one with one call more.
__attribute__((noinline)) void ask_in_each(unsigned calls_left, std::vector<std::size_t>* sizes)
{
    sizes->push_back(calls_of(egb_site_stack_(site_here())).size());
    if (calls_left > 0) {
        ask_in_each(calls_left - 1, sizes);
    }
    sink = 12;
}

__attribute__((noinline)) const void* with_no_call_of_it()
{
    const void* const out = egb_stack_here_(&running);
    sink                  = 9;
    return out;
}

// As deep as deep(1, 0) is.
__attribute__((noinline)) const void* beside(bool asks_for_it)
{
    const void* const out = asks_for_it ? with_no_call_of_it() : site_here();
    sink                  = 10;
    return out;
}

__attribute__((noinline)) const void* beside_deep(bool asks_for_it)
{
    const void* const out = beside(asks_for_it);
    sink                  = 11;
    return out;
}

// The second stack has outer calls that the first one has, too.
__attribute__((noinline)) const void* last_of_two(bool asks_for_it)
{
    const void* out = nullptr;
    for (volatile int left = 2; left > 0; left = left - 1) {
        out         = beside_deep(asks_for_it);
        asks_for_it = false;
    }
    return out;
}

}  // namespace

TEST(stacks, are_those_that_the_c_library_tells)
{
    EXPECT_EQ(wrong_stacks(1), 0u);
}

TEST(stacks, of_random_trees_of_calls_are_those_that_the_c_library_tells)
{
    EXPECT_EQ(wrong_stacks_of_trees(1), 0u);
}

TEST(stacks, are_right_in_many_threads_at_a_time)
{
    std::vector<std::thread> threads;
    unsigned                 wrong[4] = {};
    for (unsigned i = 0; i < 4; i++) {
        threads.emplace_back([&wrong, i] { wrong[i] = wrong_stacks(2 + i % 2); });
    }
    for (std::thread& each : threads) {
        each.join();
    }
    EXPECT_EQ(wrong[0] + wrong[1] + wrong[2] + wrong[3], 0u);
}

TEST(stacks, tell_two_callers_of_one_function)
{
    events        seen;
    const guarded all(40, "track");
    void* const   block = egb_pool_alloc(all.pool);
    const calls   first = on_error(all.pool, block);
    const calls   again = on_close(all.pool, block);
    EXPECT_EQ(seen.history().alloc_stack[0], seen.history().alloc_site);
    EXPECT_EQ(seen.history().free_stack[0], seen.history().free_site);
    const calls            freed  = calls_of(seen.history().free_stack);
    const egb_misuse_event event  = seen.take();
    const calls            called = calls_of(event.stack);
    ASSERT_EQ(event.kind, EGB_MISUSE_DOUBLE_FREE);
    ASSERT_EQ(freed.size(), called.size());
    ASSERT_GT(freed.size(), 3u);
    EXPECT_EQ(freed[0], called[0]);  // in release()
    EXPECT_NE(freed[1], called[1]);
    EXPECT_TRUE(is_end_of(first, freed, 2));
    EXPECT_TRUE(is_end_of(again, called, 2));
}

// A guess from the frame of another call would read behind the coroutine's stack.
TEST(stacks, of_coroutines_are_read_no_further_than_they_go)
{
    const guarded all(40, "track");
    for (const std::size_t frame_bytes : {12000u, 16u, 16u, 12000u, 16u}) {
        run_coroutine(all.pool, frame_bytes);
    }
}

TEST(stacks, have_all_their_calls)
{
    const void* const* stacks[2];
    volatile unsigned  count = 2;  // by one call: the stack has it, too
    for (unsigned i = 0; i < count; i++) {
        stacks[i] = egb_site_stack_(deep(200, 0));
    }
    ASSERT_NE(stacks[0], nullptr);
    EXPECT_GT(calls_of(stacks[0]).size(), 200u);
    EXPECT_EQ(calls_of(stacks[0]), calls_of(stacks[1]));
    EXPECT_EQ(stacks[0], stacks[1]);
}

TEST(stacks, have_the_innermost_64_calls_if_they_are_too_deep)
{
    const void* const* const stack = egb_site_stack_(deep(700, 0));
    ASSERT_NE(stack, nullptr);
    EXPECT_EQ(calls_of(stack).size(), 64u);
    (void)deep(10, 0);  // nothing is left of it for the next
    EXPECT_EQ(egb_site_stack_(deep(700, 0)), stack);
}

TEST(stacks, have_64_calls_also_if_the_one_before_had_nearly_all_of_them)
{
    constexpr unsigned       levels = 540;
    std::vector<std::size_t> sizes;
    egb_stacks_begin_();
    volatile unsigned rounds = 2;
    for (unsigned i = 0; i < rounds; i++) {  // the unwinder reads the first ones
        sizes.clear();
        ask_in_each(levels, &sizes);
    }
    std::size_t all = 1;
    while (all < sizes.size() && sizes[all] == sizes[all - 1] + 1) {
        all++;
    }
    EXPECT_GT(sizes[all - 1], 480u);
    ASSERT_LT(all, sizes.size());
    for (; all < sizes.size(); all++) {
        EXPECT_EQ(sizes[all], 64u) << all;
    }
}

// Nothing of the stack before that one is taken for a part of the next.
TEST(stacks, are_right_after_a_site_that_no_call_has)
{
    const void*       sites[4];
    volatile unsigned count = 4;  // by one call: the stack has it, too
    egb_stacks_begin_();
    for (unsigned i = 0; i < count; i++) {
        (void)deep(4, 0);
        sites[i] = last_of_two(i % 2 != 0);
    }
    EXPECT_EQ(with_no_call_of_it(), static_cast<const void*>(&running));
    ASSERT_NE(egb_site_stack_(sites[0]), nullptr);
    EXPECT_EQ(calls_of(egb_site_stack_(sites[0])), calls_of(egb_site_stack_(sites[1])));
    EXPECT_EQ(sites[2], sites[3]);
}

TEST(stacks, of_many_threads_at_a_time_are_there_once)
{
    constexpr unsigned       paths   = 500;
    const auto               unknown = egb_stacks_unknown_();
    std::vector<const void*> sites[4];
    std::atomic<unsigned>    ready{0};
    const auto               work = [&ready](std::vector<const void*>* out) {
        ready++;
        while (ready < 4) {
            std::this_thread::yield();
        }
        for (unsigned path = 0; path < paths; path++) {
            out->push_back(deep(40, path));
        }
    };
    std::vector<std::thread> threads;
    for (std::vector<const void*>& each : sites) {
        threads.emplace_back(work, &each);
    }
    for (std::thread& each : threads) {
        each.join();
    }
    for (unsigned path = 0; path < paths; path++) {
        ASSERT_NE(egb_site_stack_(sites[0][path]), nullptr);
        EXPECT_EQ(sites[0][path], sites[1][path]);
        EXPECT_EQ(sites[0][path], sites[2][path]);
        EXPECT_EQ(sites[0][path], sites[3][path]);
    }
    EXPECT_EQ(egb_stacks_unknown_(), unknown);
}

TEST(stacks, are_no_other_pointers)
{
    const void* const site = deep(5, 3);
    const auto* const at   = static_cast<const unsigned char*>(site);
    ASSERT_NE(egb_site_stack_(site), nullptr);
    EXPECT_EQ(egb_site_address_(site), egb_site_stack_(site)[0]);
    for (const std::ptrdiff_t away : {-16, -8, -4, 1, 4, 8, 16, 1 << 20, 100 << 20}) {
        const auto* const other = reinterpret_cast<const void*>(
            reinterpret_cast<std::uintptr_t>(at) + static_cast<std::uintptr_t>(away)
        );
        EXPECT_EQ(egb_site_stack_(other), nullptr) << away;
        EXPECT_EQ(egb_site_address_(other), other) << away;
    }
    EXPECT_EQ(egb_site_stack_(nullptr), nullptr);
    EXPECT_EQ(egb_site_stack_(&at), nullptr);
    const auto address = reinterpret_cast<std::uintptr_t>(site);
    EXPECT_GT(egb_stacks_end_(address), address);
    EXPECT_EQ(egb_stacks_end_(reinterpret_cast<std::uintptr_t>(&at)), 0u);
}

// The tree that has the node. The node around it was added just before.
egb_call_tree* tree_of(const void* site)
{
    const auto* const    node   = static_cast<const egb_call_node*>(site);
    const auto           number = node->parent & ~(std::uint32_t{1} << 31);
    auto* const          first  = const_cast<egb_call_node*>(node) - 1 - number;
    unsigned char* const from   = reinterpret_cast<unsigned char*>(first);
    return reinterpret_cast<egb_call_tree*>(from - offsetof(egb_call_tree, nodes));
}

// The last test of this file: nothing makes room again.
TEST(stacks, are_sites_alone_when_their_memory_is_full)
{
    const void* sites[2];
    for (std::size_t i = 0; i < 2; i++) {
        asm volatile("" : "+r"(i));  // the loop is not unrolled: both stacks are by one call
        sites[i]                = deep(31, 0x2AAAAAAA);
        tree_of(sites[0])->used = EGB_CALL_NODES - 1;
    }
    ASSERT_NE(egb_site_stack_(sites[0]), nullptr);
  #if defined(__x86_64__)  // elsewhere nothing guesses, and the unwinder rests
    EXPECT_EQ(sites[0], sites[1]);
  #endif
    const void* const before = egb_site_stack_(sites[0]);
    const auto        known  = egb_stacks_unknown_();
    EXPECT_FALSE(egb_site_is_stack_(deep(31, 0x15555555)));
    EXPECT_EQ(egb_stacks_unknown_(), known + 1);
    EXPECT_EQ(egb_site_stack_(sites[0]), before);
}

#endif
