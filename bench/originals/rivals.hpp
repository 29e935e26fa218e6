// SPDX-License-Identifier: MIT
// The rivals: malloc, our compatibility headers as a program that has moved uses them, and the
// native call that is the natural choice in their place.
#ifndef EGGBOX_BENCH_ORIGINALS_RIVALS_HPP
#define EGGBOX_BENCH_ORIGINALS_RIVALS_HPP

#include "originals.hpp"

#include <eggbox/heap.h>
#include <eggbox/pool.h>

#include <cstdlib>

namespace originals
{

class malloc_heap
{
  public:
    static constexpr const char* name = "malloc";

    void* take(std::size_t bytes)
    {
        return std::malloc(bytes);
    }

    void give(void* block)
    {
        std::free(block);
    }
};

class egb_heap
{
  public:
    static constexpr const char* name = "egb_malloc";

    void* take(std::size_t bytes)
    {
        return egb_malloc(bytes);
    }

    void give(void* block)
    {
        egb_free(block);
    }
};

// A growing pool of one size, for any thread.
class pool_native
{
  public:
    static constexpr const char* name = "egb_pool";

    explicit pool_native(std::size_t block_bytes, unsigned flags = 0)
    {
        egb_pool_options options{};
        options.block_bytes = block_bytes;
        options.flags       = flags;
        if (egb_pool_create(&pool_, &options) != EGB_OK) {
            std::abort();
        }
    }

    ~pool_native()
    {
        (void)egb_pool_destroy(pool_, EGB_DESTROY_FORCE);
    }

    pool_native(const pool_native&)            = delete;
    pool_native& operator=(const pool_native&) = delete;

    void* take(std::size_t)
    {
        return egb_pool_alloc(pool_);
    }

    void give(void* block)
    {
        egb_pool_free(pool_, block);
    }

  private:
    egb_pool pool_{};
};

}  // namespace originals

#endif  // EGGBOX_BENCH_ORIGINALS_RIVALS_HPP
