// SPDX-License-Identifier: MIT
// Caches of threads that are gone in the child of a fork: their memory may be anything.
#include "eggbox/pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <future>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

namespace
{

// The state that the child finds. Its exit status says where it went wrong.
int use_in_child(egb_pool pool, egb_magazine* mine, egb_magazine* gone)
{
    std::memset(static_cast<void*>(gone), 0x5A, sizeof *gone);
    egb_pool_stats stats{};
    if (egb_pool_get_stats(pool, &stats) != EGB_OK || stats.in_use != 0) {
        return 1;
    }
    void* const block = egb_magazine_alloc(mine);  // opens itself again
    if (block == nullptr) {
        return 2;
    }
    egb_magazine_free(mine, block);
    if (egb_pool_get_stats(pool, &stats) != EGB_OK || stats.in_use != 0 ||
        stats.in_magazines == 0) {
        return 3;
    }
    egb_magazine_close(mine);
    return egb_pool_destroy(pool, EGB_DESTROY_REFUSE) == EGB_OK ? 0 : 4;
}

}  // namespace

TEST(pool_fork, caches_of_threads_that_are_gone_are_forgotten_in_the_child)
{
    egb_pool_options options{};
    options.block_bytes = 64;
    egb_pool pool{};
    ASSERT_EQ(egb_pool_create(&pool, &options), EGB_OK);
    egb_magazine       mine;
    egb_magazine       gone;
    std::promise<void> is_open;
    std::promise<void> is_over;
    ASSERT_EQ(egb_magazine_open(&mine, pool), EGB_OK);
    egb_magazine_free(&mine, egb_magazine_alloc(&mine));
    std::thread other([&] {
        EXPECT_EQ(egb_magazine_open(&gone, pool), EGB_OK);
        egb_magazine_free(&gone, egb_magazine_alloc(&gone));
        is_open.set_value();
        is_over.get_future().wait();
        egb_magazine_close(&gone);
    });
    is_open.get_future().wait();
    const pid_t child = fork();
    if (child == 0) {
        _exit(use_in_child(pool, &mine, &gone));
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    is_over.set_value();
    other.join();
    egb_magazine_close(&mine);
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
}
