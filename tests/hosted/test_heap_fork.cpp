// SPDX-License-Identifier: MIT
// Forks of a process whose threads are inside calls of the heap: the child goes on with all of it.
#include "stress.hpp"

#include "eggbox/guard.h"
#include "eggbox/heap.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace
{

enum : std::size_t { THREADS = 3, BLOCKS = 40 };

constexpr std::size_t MiB = std::size_t{1} << 20;

std::size_t random_bytes(stress::random* random)
{
    switch (random->below(4)) {
        case 0: return 33000 + random->below(MiB);
        case 1: return random->below(30000);
        default: return random->below(600);
    }
}

// Small, large, zeroed and changed ones.
void use(stress::random* random, std::array<unsigned char*, BLOCKS>* blocks)
{
    unsigned char*&   block = (*blocks)[random->below(BLOCKS)];
    const std::size_t bytes = random_bytes(random);
    if (random->below(2) == 0) {
        block = static_cast<unsigned char*>(egb_realloc(block, bytes + 1));
    } else {
        egb_free(block);
        block = static_cast<unsigned char*>(egb_calloc(1, bytes + 1));
        MUST(block != nullptr && block[0] == 0 && block[bytes] == 0);
    }
    MUST(block != nullptr);
    block[bytes] = 7;
    if (random->below(100) == 0) {
        (void)egb_heap_trim(0);
    }
}

void use_for_a_while(std::uint64_t seed, int rounds)
{
    stress::random                     random(seed);
    std::array<unsigned char*, BLOCKS> blocks{};
    for (int i = 0; i < rounds; i++) {
        use(&random, &blocks);
    }
    for (unsigned char* const block : blocks) {
        egb_free(block);
    }
}

struct kept {
    unsigned char* small = static_cast<unsigned char*>(egb_calloc(1, 100));
    unsigned char* large = static_cast<unsigned char*>(egb_calloc(1, MiB));
};

// Nobody else touches the kept ones. A thread of the child meets what the parent's left.
void use_as_child(const kept& ours)
{
    use_for_a_while(1, 200);
    if (STRESS_IS_SANITIZED == 0) {  // ThreadSanitizer forbids it
        std::thread([] { use_for_a_while(2, 100); }).join();
    }
    MUST(ours.small[99] == 0 && ours.large[MiB - 1] == 0);
    MUST(egb_block_bytes(ours.large) == MiB);
    egb_free(ours.small);
    egb_free(ours.large);
    (void)egb_heap_trim(0);
    egb_heap_stats numbers;
    MUST(egb_heap_get_stats(&numbers) == EGB_OK && numbers.cached == 0);
}

void wait_for_child(pid_t child)
{
    int status = 0;
    MUST(waitpid(child, &status, 0) == child);
    MUST(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void fork_while_threads_use_it(std::uint64_t forks)
{
    const stress::only_stale misuse(false);
    const kept               ours;
    std::atomic<bool>        is_over{false};
    std::thread              parent([&] {
        for (std::uint64_t i = 0; i < forks; i++) {
            const pid_t child = fork();
            MUST(child >= 0);
            if (child == 0) {
                use_as_child(ours);
                _exit(0);
            }
            wait_for_child(child);
        }
        is_over = true;
    });
    stress::in_threads(THREADS, [&](std::size_t self) {
        for (std::uint64_t round = 0; !is_over; round++) {
            use_for_a_while(self * 1000 + round, 50);
        }
    });
    parent.join();
    EXPECT_EQ(ours.small[99], 0);
    egb_free(ours.small);
    egb_free(ours.large);
}

}  // namespace

TEST(heap_fork, children_use_all_of_it)
{
    fork_while_threads_use_it(
        stress::setting("EGGBOX_STRESS_ROUNDS", STRESS_IS_SANITIZED ? 40 : 200)
    );
}

TEST(heap_fork, with_guard_pages_too)
{
    ASSERT_EQ(egb_heap_guard_pages("large,1/10"), EGB_OK);
    fork_while_threads_use_it(
        stress::setting("EGGBOX_STRESS_ROUNDS", STRESS_IS_SANITIZED ? 20 : 100)
    );
    ASSERT_EQ(egb_heap_guard_pages(nullptr), EGB_OK);
}

// Before that a process has made no pool, and nothing of its own to do at a fork.
TEST(heap_fork, the_first_request_is_made_in_the_child)
{
    const pid_t child = fork();
    if (child == 0) {
        use_for_a_while(3, 100);
        _exit(0);
    }
    wait_for_child(child);
}

// The number is remembered, and the child has another one.
TEST(heap_fork, the_thread_of_the_child_is_named_by_its_own_number)
{
    egb_pool_options options = {};
    options.block_bytes      = 50;
    options.level            = EGB_LEVEL_TRACK;
    egb_pool pool            = {0, 0};
    ASSERT_EQ(egb_pool_create(&pool, &options), EGB_OK);
    void* const its = egb_pool_alloc(pool);
    egb_pool_free(pool, its);
    const pid_t child = fork();
    if (child == 0) {
        long seen = 0;
        MUST(egb_pool_alloc(pool) != nullptr);
        egb_holders_each(
            pool,
            [](const egb_holder* one, void* user) {
                *static_cast<long*>(user) = static_cast<long>(one->thread);
            },
            &seen
        );
        MUST(seen == syscall(SYS_gettid));
        _exit(0);
    }
    wait_for_child(child);
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
}
