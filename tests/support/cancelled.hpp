// SPDX-License-Identifier: MIT
// Calls of a thread that is to be cancelled. It ends at the first cancellation point.
#ifndef EGGBOX_TESTS_SUPPORT_CANCELLED_HPP
#define EGGBOX_TESTS_SUPPORT_CANCELLED_HPP

#include <pthread.h>

// Whether the function comes back.
template <class function>
bool comes_back_though_cancelled(function call)
{
    pthread_t  thread;
    void*      result  = nullptr;
    const auto in_turn = [](void* argument) -> void* {
        int before = 0;
        (void)pthread_cancel(pthread_self());
        (*static_cast<function*>(argument))();
        (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
        return argument;
    };
    return pthread_create(&thread, nullptr, in_turn, &call) == 0 &&
           pthread_join(thread, &result) == 0 && result == &call;
}

#endif  // EGGBOX_TESTS_SUPPORT_CANCELLED_HPP
