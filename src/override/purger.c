// SPDX-License-Identifier: MIT
// Layer override: a thread that gives unused memory of the heap back, once the program has threads
// itself. A program with one thread stays so: the heap bounds what it keeps there.
//
// EGGBOX_PURGE=calls: there is no such thread, and the calls of the program do its work.
#include "next.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#pragma GCC visibility push(hidden)
#include "eggbox/heap.h"
#pragma GCC visibility pop

#define EXPORT __attribute__((visibility("default")))

typedef int (*create_function)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

EGB_NEXT_(create_function, pthread_create)

enum { STACK_BYTES = 256 << 10 };

static bool is_started;  // atomic

static void* purge(void* nothing)
{
    (void)nothing;
    (void)prctl(PR_SET_NAME, "eggbox-purge", 0, 0, 0);
    for (;;) {
        egb_heap_purge_wait_(egb_heap_purge());
    }
    return NULL;
}

// The program's signals are for its own threads.
static bool start_purger(create_function create)
{
    pthread_attr_t attributes;
    pthread_t      thread;
    sigset_t       all, before;
    if (pthread_attr_init(&attributes) != 0) {
        return false;
    }
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool is_there = create(&thread, &attributes, purge, NULL) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    return is_there;
}

static void in_forked_child(void)
{
    __atomic_store_n(&is_started, false, __ATOMIC_RELAXED);
}

static bool is_wanted(void)
{
    static bool       has_asked;
    const char* const setting = secure_getenv("EGGBOX_PURGE");
    if (setting != NULL && strcmp(setting, "calls") == 0) {
        return false;
    }
    return has_asked || (has_asked = pthread_atfork(NULL, NULL, in_forked_child) == 0);
}

// Its own thread comes after the first one of the program. Refused, it is not tried again: the
// calls of the program do the work.
EXPORT int pthread_create(
    pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument
)
{
    const int status = next_pthread_create()(thread, attributes, start, argument);
    if (status == 0 && !__atomic_exchange_n(&is_started, true, __ATOMIC_RELAXED) && is_wanted()) {
        (void)start_purger(next_pthread_create());
    }
    return status;
}
