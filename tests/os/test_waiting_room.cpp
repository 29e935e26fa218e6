// SPDX-License-Identifier: MIT
// Waits for a word where the system has no futex, by condition variables: the locks of such a
// system take the place of the library's here.
#include <gtest/gtest.h>

extern "C" {
#include "os.h"
}

#include <atomic>

#include <pthread.h>

namespace
{

std::uint32_t     word;
std::atomic<bool> has_begun{false}, has_ended{false};

void* wait_for_word(void*)
{
    has_begun = true;
    while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == 0) {
        egb_os_wait_(&word, 0, 0);
    }
    has_ended = true;
    return &word;
}

}  // namespace

// The thread is no holder of a lock when it is cancelled, and a wait is no point at which it is.
TEST(waiting_room, is_left_as_usual_by_a_thread_that_is_cancelled_in_it)
{
    pthread_t thread;
    void*     result = nullptr;
    ASSERT_EQ(pthread_create(&thread, nullptr, wait_for_word, nullptr), 0);
    while (!has_begun) {
        egb_os_wait_(&word, 0, 1);
    }
    EXPECT_EQ(pthread_cancel(thread), 0);
    egb_os_wait_(&word, 0, 10);  // in the room that the other thread is in
    __atomic_store_n(&word, 1, __ATOMIC_RELEASE);
    egb_os_wake_(&word);
    EXPECT_EQ(pthread_join(thread, &result), 0);
    EXPECT_TRUE(has_ended);
    EXPECT_EQ(result, &word);
}
