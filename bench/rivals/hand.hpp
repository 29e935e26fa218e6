// SPDX-License-Identifier: MIT
// One thread's part of a rival that several threads share: the rival itself, or an owned magazine
// of the thread's own.
#ifndef EGGBOX_BENCH_RIVALS_HAND_HPP
#define EGGBOX_BENCH_RIVALS_HAND_HPP

#include "pool.hpp"

namespace bench
{

template <class Rival>
class hand
{
  public:
    explicit hand(Rival& rival) : rival_(rival) {}

    BENCH_INLINE void* take()
    {
        return rival_.take();
    }

    BENCH_INLINE void give(void* block)
    {
        rival_.give(block);
    }

  private:
    Rival& rival_;
};

template <>
class hand<eggbox_cache>
{
  public:
    explicit hand(eggbox_cache& rival)
    {
        must(egb_magazine_open(&cache_, rival.pool()));
    }

    ~hand()
    {
        egb_magazine_close(&cache_);
    }

    hand(const hand&)            = delete;
    hand& operator=(const hand&) = delete;

    BENCH_INLINE void* take()
    {
        return egb_magazine_alloc(&cache_);
    }

    BENCH_INLINE void give(void* block)
    {
        egb_magazine_free(&cache_, block);
    }

  private:
    alignas(128) egb_magazine cache_;
};

}  // namespace bench

#endif  // EGGBOX_BENCH_RIVALS_HAND_HPP
