// SPDX-License-Identifier: MIT
// The pool that any thread may use, at its two levels, and a magazine of it that its user owns.
#ifndef EGGBOX_BENCH_RIVALS_POOL_HPP
#define EGGBOX_BENCH_RIVALS_POOL_HPP

#include "eggbox.hpp"

#include <eggbox/pool.h>

namespace bench
{

inline egb_pool make_pool(std::size_t block_bytes, egb_level level, egb_pool parent = {0, 0})
{
    egb_pool_options options{};
    options.block_bytes = block_bytes;
    options.level       = level;
    options.parent      = parent;
    egb_pool pool;
    must(egb_pool_create(&pool, &options));
    return pool;
}

template <bool Checked>
class eggbox_pool_at
{
  public:
    static constexpr const char* name  = Checked ? "eggbox_pool" : "eggbox_pool_off";
    static constexpr egb_level   level = Checked ? EGB_LEVEL_CHECK : EGB_LEVEL_OFF;

    eggbox_pool_at(place, std::size_t block_bytes, std::size_t)
        : pool_(make_pool(block_bytes, level))
    {
    }

    ~eggbox_pool_at()
    {
        must(egb_pool_destroy(pool_, EGB_DESTROY_FORCE));
    }

    eggbox_pool_at(const eggbox_pool_at&)            = delete;
    eggbox_pool_at& operator=(const eggbox_pool_at&) = delete;

    BENCH_INLINE void* take()
    {
        return egb_pool_alloc(pool_);
    }

    BENCH_INLINE void give(void* block)
    {
        egb_pool_free(pool_, block);
    }

  private:
    egb_pool pool_;
};

using eggbox_pool     = eggbox_pool_at<true>;
using eggbox_pool_off = eggbox_pool_at<false>;

// At the default level.
class eggbox_cache
{
  public:
    static constexpr const char* name = "eggbox_cache";

    eggbox_cache(place, std::size_t block_bytes, std::size_t)
        : pool_(make_pool(block_bytes, EGB_LEVEL_CHECK))
    {
        must(egb_magazine_open(&cache_, pool_));
    }

    ~eggbox_cache()
    {
        egb_magazine_close(&cache_);
        must(egb_pool_destroy(pool_, EGB_DESTROY_FORCE));
    }

    eggbox_cache(const eggbox_cache&)            = delete;
    eggbox_cache& operator=(const eggbox_cache&) = delete;

    BENCH_INLINE void* take()
    {
        return egb_magazine_alloc(&cache_);
    }

    BENCH_INLINE void give(void* block)
    {
        egb_magazine_free(&cache_, block);
    }

    egb_pool pool() const
    {
        return pool_;
    }

  private:
    egb_magazine cache_;
    egb_pool     pool_;
};

}  // namespace bench

#endif  // EGGBOX_BENCH_RIVALS_POOL_HPP
