// SPDX-License-Identifier: MIT
// The clock's counter, as the authors of elr_mpl read it.
#ifndef EGGBOX_BENCH_TICKS_HPP
#define EGGBOX_BENCH_TICKS_HPP

#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
  #include <x86intrin.h>
#endif

namespace bench
{

inline std::uint64_t ticks()
{
#if defined(__x86_64__)
    return __rdtsc();
#else
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

}  // namespace bench

#endif  // EGGBOX_BENCH_TICKS_HPP
