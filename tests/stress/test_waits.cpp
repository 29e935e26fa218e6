// SPDX-License-Identifier: MIT
// Threads that wait for blocks, while others free, cancel, time out, trim, destroy and fork: no
// block is lost, and nobody waits for ever beside a free block.
#include "stress.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>

namespace
{

std::uint64_t rounds(std::uint64_t most)
{
    return stress::setting("EGGBOX_STRESS_ROUNDS", STRESS_IS_SANITIZED ? most / 8 : most);
}

void until_waiting(egb_pool pool, std::size_t count)
{
    while (egb_pool_waiting(pool) != count) {
        std::this_thread::yield();
    }
}

void end(egb_pool pool)
{
    MUST(egb_pool_waiting(pool) == 0);
    MUST(stress::stats_of(pool).in_use == 0);
    MUST(egb_pool_destroy(pool, EGB_DESTROY_REFUSE) == EGB_OK);
}

const char* const levels[] = {"off", "check", "guard"};

}  // namespace

// Each block has at most one owner, which writes its number into it.
TEST(waits, many_threads_take_few_blocks_in_turns)
{
    for (const std::size_t limit : {std::size_t(1), std::size_t(3), std::size_t(40)}) {
        for (const char* const level : levels) {
            const stress::only_stale none(false);
            egb_pool_options         options{};
            options.block_bytes = 64;
            options.max_blocks  = limit;
            options.level       = level_named(level);
            const egb_pool pool = stress::make(options);
            stress::in_threads(64, [&](std::size_t self) {
                stress::random random(self);
                for (std::uint64_t round = rounds(160); round > 0; round--) {
                    void* block = nullptr;
                    MUST(egb_pool_alloc_for(pool, &block, EGB_FOREVER) == EGB_OK);
                    auto* const owner = static_cast<std::atomic<std::size_t>*>(block);
                    owner->store(self);
                    if (random.below(8) == 0) {
                        std::this_thread::yield();
                    }
                    MUST(owner->load() == self);
                    egb_pool_free(pool, block);
                }
            });
            end(pool);
        }
    }
}

// Threads take several blocks at a time, out of magazines, and free them in the order of a stack or
// in another one. Nobody waits with a block in his hand.
TEST(waits, no_block_stays_in_a_magazine_while_a_thread_waits)
{
    for (const char* const level : levels) {
        const stress::only_stale none(false);
        egb_pool_options         options{};
        options.block_bytes = 64;
        options.max_blocks  = 12;
        options.level       = level_named(level);
        const egb_pool pool = stress::make(options);
        stress::in_threads(6, [&](std::size_t self) {
            stress::random random(self + 1);
            egb_magazine   cache{};
            MUST(egb_magazine_open(&cache, pool) == EGB_OK);
            for (std::uint64_t round = rounds(4000); round > 0; round--) {
                void*             blocks[4];
                const std::size_t wanted = 1 + random.below(4);
                std::size_t       count  = 0;
                MUST(egb_pool_alloc_for(pool, &blocks[count++], EGB_FOREVER) == EGB_OK);
                while (count < wanted) {
                    void* const more =
                        random.below(2) != 0 ? egb_pool_alloc(pool) : egb_magazine_alloc(&cache);
                    if (more == nullptr) {
                        break;
                    }
                    blocks[count++] = more;
                }
                const bool is_stack = random.below(2) != 0;
                for (std::size_t i = 0; i < count; i++) {
                    void* const block = blocks[is_stack ? count - 1 - i : i];
                    if (random.below(3) == 0) {
                        egb_magazine_free(&cache, block);
                    } else {
                        egb_pool_free(pool, block);
                    }
                }
            }
            egb_magazine_close(&cache);
        });
        end(pool);
    }
}

// Two threads wait for one block, one of them not long, while it is freed and the waits are
// cancelled. Whoever got it has it, and the block is there once in the end.
TEST(waits, a_free_a_timeout_and_a_cancel_may_meet)
{
    const stress::only_stale none(false);
    const egb_pool           pool = stress::make(64, 1);
    stress::barrier          step(4);
    void*                    first = nullptr;
    std::atomic<int>         got{0};
    const std::uint64_t      all = rounds(2000);
    stress::in_threads(4, [&](std::size_t self) {
        stress::random random(self + 10);
        for (std::uint64_t round = 0; round < all; round++) {
            if (self == 3) {
                first = egb_pool_alloc(pool);
                MUST(first != nullptr);
                got = 0;
            }
            step.wait();
            if (self < 2) {
                void*               block   = nullptr;
                const std::uint32_t timeout = self == 0 ? 1 : EGB_FOREVER;
                const egb_status    answer  = egb_pool_alloc_for(pool, &block, timeout);
                MUST((answer == EGB_OK) == (block != nullptr));
                MUST(
                    answer == EGB_OK || answer == EGB_CANCELLED ||
                    (self == 0 && answer == EGB_TIMED_OUT)
                );
                if (answer == EGB_OK) {
                    MUST(++got == 1);
                    MUST(egb_pool_is_live(pool, block));
                    got--;
                    egb_pool_free(pool, block);
                }
            } else if (self == 2) {
                (void)egb_pool_cancel(pool);
            } else {
                if (random.below(4) == 0) {
                    std::this_thread::yield();
                }
                egb_pool_free(pool, first);
            }
            step.wait();
            MUST(egb_pool_waiting(pool) == 0);
            step.wait();
        }
    });
    end(pool);
}

// Pools below one budget: each has its chunk until it gives it back, and the others wait for that.
TEST(waits, budgets_go_round)
{
    const stress::only_stale none(false);
    egb_pool_options         options{};
    options.block_bytes  = 1024;
    options.budget_bytes = 65536;
    const egb_pool root  = stress::make(options);
    options.budget_bytes = 0;
    options.parent       = root;
    stress::in_threads(4, [&](std::size_t) {
        const egb_pool pool = stress::make(options);
        for (std::uint64_t round = rounds(400); round > 0; round--) {
            void* block = nullptr;
            MUST(egb_pool_alloc_for(pool, &block, EGB_FOREVER) == EGB_OK);
            egb_pool_free(pool, block);
            (void)egb_pool_trim(pool, 0);
        }
        MUST(egb_pool_destroy(pool, EGB_DESTROY_REFUSE) == EGB_OK);
    });
    MUST(egb_pool_destroy(root, EGB_DESTROY_REFUSE) == EGB_OK);
}

TEST(waits, a_pool_may_be_destroyed_at_any_moment_of_a_wait)
{
    const stress::only_stale stale;
    for (std::uint64_t round = rounds(300); round > 0; round--) {
        const egb_pool  pool  = stress::make(64, 2);
        void* const     block = egb_pool_alloc(pool);
        stress::barrier step(4);
        stress::in_threads(4, [&](std::size_t self) {
            step.wait();
            if (self == 3) {
                egb_pool_free(pool, block);
                MUST(egb_pool_destroy(pool, EGB_DESTROY_FORCE) == EGB_OK);
                return;
            }
            for (egb_status answer = EGB_OK; answer != EGB_STALE;) {
                void* one = nullptr;
                answer    = egb_pool_alloc_for(pool, &one, EGB_FOREVER);
                MUST(answer == EGB_OK || answer == EGB_STALE);
                MUST((answer == EGB_OK) == (one != nullptr));
            }
        });
    }
}

// A thread that ends gives back what its magazine has: a block may be among it for which another
// one waits.
TEST(waits, the_end_of_a_thread_ends_a_wait)
{
    const stress::only_stale none(false);
    const egb_pool           pool = stress::make(64, 7);
    for (std::uint64_t round = rounds(100); round > 0; round--) {
        std::thread waiting;
        std::thread([&] {
            void* blocks[7];
            MUST(egb_pool_alloc_many(pool, blocks, 7) == 7);
            waiting = std::thread([&] {
                void* block = nullptr;
                MUST(egb_pool_alloc_for(pool, &block, EGB_FOREVER) == EGB_OK);
                egb_pool_free(pool, block);
            });
            until_waiting(pool, 1);
            egb_pool_free_many(pool, blocks, 7);
        }).join();
        waiting.join();
    }
    end(pool);
}

// The child has none of the threads that wait. In the parent they go on.
TEST(waits, the_child_of_a_fork_has_nobody_who_waits)
{
    const stress::only_stale none(false);
    for (const char* const level : levels) {
        egb_pool_options options{};
        options.block_bytes = 64;
        options.max_blocks  = 2;
        options.level       = level_named(level);
        const egb_pool pool = stress::make(options);
        void*          blocks[2];
        MUST(egb_pool_alloc_many(pool, blocks, 2) == 2);
        std::thread waiting[3];
        for (std::thread& one : waiting) {
            one = std::thread([&] {
                void* block = nullptr;
                MUST(egb_pool_alloc_for(pool, &block, EGB_FOREVER) == EGB_OK);
                egb_pool_free(pool, block);
            });
        }
        until_waiting(pool, 3);
        const pid_t child = fork();
        if (child == 0) {
            void* block = nullptr;
            MUST(egb_pool_waiting(pool) == 0);
            MUST(egb_pool_cancel(pool) == 0);
            MUST(egb_pool_alloc_for(pool, &block, 1) == EGB_TIMED_OUT);
            egb_pool_free(pool, blocks[1]);
            MUST(egb_pool_alloc_for(pool, &block, EGB_FOREVER) == EGB_OK);
            MUST(stress::stats_of(pool).in_use == 2);
            _exit(0);
        }
        MUST(egb_pool_waiting(pool) == 3);
        int status = -1;
        MUST(waitpid(child, &status, 0) == child && status == 0);
        egb_pool_free(pool, blocks[0]);
        for (std::thread& one : waiting) {
            one.join();
        }
        egb_pool_free(pool, blocks[1]);
        end(pool);
    }
}
