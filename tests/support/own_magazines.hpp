// SPDX-License-Identifier: MIT
// The magazines of the thread that runs a test, for tests that may use the library's own headers.
#ifndef EGGBOX_TESTS_SUPPORT_OWN_MAGAZINES_HPP
#define EGGBOX_TESTS_SUPPORT_OWN_MAGAZINES_HPP

#include <cstddef>

extern "C" {
#include "cache/threads.h"
}

// None of this thread's magazines is open afterwards, so no purge can close one.
inline void let_go_of_magazines()
{
    egb_thread_* const thread = egb_thread_self_();
    for (std::size_t i = 0; i < thread->used; i++) {
        egb_magazine_let_go_(&thread->magazines[i]);
    }
}

#endif  // EGGBOX_TESTS_SUPPORT_OWN_MAGAZINES_HPP
