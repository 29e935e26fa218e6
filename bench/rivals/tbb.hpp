// SPDX-License-Identifier: MIT
// TBB: a memory pool over the standard allocator, and its malloc. Both take any size, from any
// thread.
#ifndef EGGBOX_BENCH_RIVALS_TBB_HPP
#define EGGBOX_BENCH_RIVALS_TBB_HPP

#include "../bench.hpp"

#define TBB_PREVIEW_MEMORY_POOL 1
#include <tbb/memory_pool.h>
#include <tbb/scalable_allocator.h>

#include <memory>

namespace bench
{

class tbb_pool
{
  public:
    static constexpr const char* name = "tbb_pool";

    tbb_pool(place, std::size_t block_bytes, std::size_t) : block_bytes_(block_bytes) {}

    void* take()
    {
        return pool_.malloc(block_bytes_);
    }

    void give(void* block)
    {
        pool_.free(block);
    }

  private:
    tbb::memory_pool<std::allocator<char>> pool_;
    std::size_t                            block_bytes_;
};

class tbb_scalable
{
  public:
    static constexpr const char* name = "tbb_scalable";

    tbb_scalable(place, std::size_t block_bytes, std::size_t) : block_bytes_(block_bytes) {}

    void* take()
    {
        return scalable_malloc(block_bytes_);
    }

    void give(void* block)
    {
        scalable_free(block);
    }

  private:
    std::size_t block_bytes_;
};

}  // namespace bench

#endif  // EGGBOX_BENCH_RIVALS_TBB_HPP
