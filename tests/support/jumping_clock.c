// SPDX-License-Identifier: MIT
// A library to preload: each look at a clock adds JUMP_MS to it. scripts/busy.py runs the tests
// with it, since on a busy machine any time may pass between two lines.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long long passed;  // nanoseconds, atomic

static long long jump(void)
{
    static long long step;  // atomic; 0: not known yet
    long long        here = __atomic_load_n(&step, __ATOMIC_RELAXED);
    if (here == 0) {
        const char* const text = getenv("JUMP_MS");
        here                   = (text == NULL ? 1 : atoll(text)) * 1000000;
        __atomic_store_n(&step, here, __ATOMIC_RELAXED);
    }
    return __atomic_add_fetch(&passed, here, __ATOMIC_RELAXED);
}

int clock_gettime(clockid_t clock, struct timespec* time)
{
    const long result = syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && clock != CLOCK_PROCESS_CPUTIME_ID && clock != CLOCK_THREAD_CPUTIME_ID) {
        const long long nanoseconds = time->tv_nsec + jump();
        time->tv_sec += (time_t)(nanoseconds / 1000000000);
        time->tv_nsec = (long)(nanoseconds % 1000000000);
    }
    return (int)result;
}

time_t time(time_t* to)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (to != NULL) {
        *to = now.tv_sec;
    }
    return now.tv_sec;
}

int gettimeofday(struct timeval* restrict to, void* restrict zone)
{
    struct timespec now;
    (void)zone;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    to->tv_sec  = now.tv_sec;
    to->tv_usec = (suseconds_t)(now.tv_nsec / 1000);
    return 0;
}
