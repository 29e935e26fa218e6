// SPDX-License-Identifier: MIT
// A thread that stays on its processor.
#ifndef EGGBOX_BENCH_PIN_HPP
#define EGGBOX_BENCH_PIN_HPP

#include <cstddef>
#include <pthread.h>
#include <sched.h>

namespace bench
{

// Thread `which` stays on one processor, if there are that many; otherwise two may share one for a
// while. Threads that it makes stay there, too.
inline void pin(std::size_t which)
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        return;
    }
    std::size_t seen = 0;
    for (std::size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &allowed) && seen++ == which) {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            (void)pthread_setaffinity_np(pthread_self(), sizeof one, &one);
            return;
        }
    }
}

}  // namespace bench

#endif  // EGGBOX_BENCH_PIN_HPP
