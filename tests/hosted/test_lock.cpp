// SPDX-License-Identifier: MIT
// The lock of eggbox/lock.h: a plain store where there is no other thread, and also then a lock for
// one that starts while it is held. The first test is that of a process which has no thread yet.
#include <gtest/gtest.h>

#include <eggbox/lock.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace
{

egb_lock_ zero_lock;  // all zero, as every static object

void nap()
{
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
}

}  // namespace

TEST(lock, a_thread_that_starts_while_it_is_held_waits_for_it)
{
    egb_lock_take_(&zero_lock);
    std::atomic<bool> is_in{false};
    std::thread       other([&] {
        const egb_lock_held_ held(zero_lock);
        is_in = true;
    });
    nap();
    EXPECT_FALSE(is_in) << "the lock was taken when this thread was alone, and counts all the same";
    egb_lock_give_(&zero_lock);
    other.join();
    EXPECT_TRUE(is_in);
    EXPECT_TRUE(egb_lock_take_alone_(&zero_lock) || !egb_is_only_thread_());
    EXPECT_FALSE(egb_lock_take_alone_(&zero_lock)) << "held, or there may be others";
    zero_lock = egb_lock_();
}

TEST(lock, one_thread_at_a_time_holds_it)
{
    egb_lock_                lock   = egb_lock_();
    int                      count  = 0;  // not atomic: the lock must do
    const int                rounds = 20000;
    std::vector<std::thread> threads;
    const auto               work = [&] {
        for (int round = 0; round < rounds; round++) {
            const egb_lock_held_ held(lock);
            count++;
        }
    };
    for (int i = 0; i < 4; i++) {
        threads.emplace_back(work);
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    work();
    EXPECT_EQ(count, 5 * rounds);
}
