// SPDX-License-Identifier: MIT
// Forks of a process whose threads are inside calls of the library. The child goes on with every
// pool, and the blocks that were in magazines of the parent's threads are free there.
#include "stress.hpp"

#include <gtest/gtest.h>

#include <array>
#include <sys/wait.h>

namespace
{

enum : std::size_t { THREADS = 3, LIMIT = 100, KEPT = 7 };

struct pools {
    egb_pool              open    = stress::make(64);
    egb_pool              limited = stress::make(32, LIMIT, false);
    egb_pool              idle    = stress::make(48, LIMIT);
    std::array<void*, 10> kept{};  // blocks of `open` that a thread of the parent took
};

// Only with what the parent can make sure of: nobody is inside a call on `idle`.
void use_as_child(const pools& all)
{
    std::vector<void*> blocks;
    for (void* block = egb_pool_alloc(all.idle); block != nullptr;
         block       = egb_pool_alloc(all.idle)) {
        blocks.push_back(block);
    }
    MUST(blocks.size() == LIMIT - KEPT);
    egb_pool_free_many(all.idle, blocks.data(), blocks.size());
    MUST(stress::stats_of(all.idle).in_use == KEPT);
    for (void* const block : all.kept) {
        egb_pool_free(all.open, block);
    }
    blocks.clear();
    for (void* block = egb_pool_alloc(all.limited); block != nullptr;
         block       = egb_pool_alloc(all.limited)) {
        blocks.push_back(block);
    }
    // A thread of the parent had one, or was about to, at the time of the fork.
    MUST(blocks.size() >= LIMIT - THREADS * 10 && blocks.size() <= LIMIT);
    egb_pool_free_many(all.limited, blocks.data(), blocks.size());
    const egb_pool mine = stress::make(100);
    for (int i = 0; i < 300; i++) {
        void* const block = egb_pool_alloc(all.open);
        MUST(block != nullptr);
        egb_pool_free(all.open, block);
        egb_pool_free(mine, egb_pool_alloc(mine));
    }
    MUST(egb_pool_trim(mine, 0) != 0);
    MUST(egb_pool_destroy(mine, EGB_DESTROY_REFUSE) == EGB_OK);
    MUST(egb_pool_destroy(all.limited, EGB_DESTROY_FORCE) == EGB_OK);
    // No other thread's magazine is left, so nothing keeps a destroyed pool's addresses.
    const std::size_t    held   = stress::stats_of(all.idle).bytes_held;
    const stress::memory before = stress::memory_now();
    MUST(egb_pool_destroy(all.idle, EGB_DESTROY_FORCE) == EGB_OK);
    egb_pool_trim(egb_pool{}, 0);
    MUST(STRESS_IS_SANITIZED != 0 || stress::memory_now().mapped + held <= before.mapped);
}

void wait_for_child(pid_t child)
{
    int status = 0;
    MUST(waitpid(child, &status, 0) == child);
    MUST(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void work(const pools& all, stress::random* random)
{
    std::array<void*, 10> blocks{};
    for (const egb_pool pool : {all.open, all.limited}) {
        const std::size_t count = egb_pool_alloc_many(pool, blocks.data(), 1 + random->below(10));
        egb_pool_free_many(pool, blocks.data(), count);
    }
    const egb_pool passing = stress::make(16 + 8 * random->below(20));
    egb_pool_free(passing, egb_pool_alloc(passing));
    MUST(egb_pool_destroy(passing, EGB_DESTROY_REFUSE) == EGB_OK);
}

}  // namespace

TEST(fork, children_use_every_pool)
{
    const std::uint64_t forks =
        stress::setting("EGGBOX_STRESS_ROUNDS", STRESS_IS_SANITIZED ? 60 : 200);
    pools             all;
    std::atomic<bool> is_over{false};
    stress::barrier   is_ready(THREADS + 1);
    std::thread       parent([&] {
        is_ready.wait();
        for (std::uint64_t i = 0; i < forks; i++) {
            const pid_t child = fork();
            MUST(child >= 0);
            if (child == 0) {
                use_as_child(all);
                _exit(0);
            }
            wait_for_child(child);
        }
        is_over = true;
    });
    stress::in_threads(THREADS, [&](std::size_t self) {
        stress::random random(self);
        if (self == 0) {  // the others get none of these, nor does the parent
            std::array<void*, LIMIT> blocks{};
            MUST(egb_pool_alloc_many(all.idle, blocks.data(), LIMIT) == LIMIT);
            egb_pool_free_many(all.idle, blocks.data() + KEPT, LIMIT - KEPT);
            MUST(egb_pool_alloc_many(all.open, all.kept.data(), all.kept.size()) == 10);
        }
        is_ready.wait();
        while (!is_over) {
            work(all, &random);
        }
    });
    parent.join();
    EXPECT_EQ(stress::stats_of(all.idle).in_use, KEPT) << "the parent is as it was";
    for (const egb_pool pool : {all.open, all.limited, all.idle}) {
        EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_FORCE), EGB_OK);
    }
}
