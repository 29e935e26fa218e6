// SPDX-License-Identifier: MIT
// malloc and free: the C library's, or those of a preloaded library.
#ifndef EGGBOX_BENCH_RIVALS_MALLOC_HPP
#define EGGBOX_BENCH_RIVALS_MALLOC_HPP

#include "../bench.hpp"

#include <cstdlib>

namespace bench
{

class system_malloc
{
  public:
    static constexpr const char* name = "malloc";

    system_malloc(place, std::size_t block_bytes, std::size_t) : block_bytes_(block_bytes) {}

    void* take()
    {
        return std::malloc(block_bytes_);
    }

    void give(void* block)
    {
        std::free(block);
    }

  private:
    std::size_t block_bytes_;
};

}  // namespace bench

#endif  // EGGBOX_BENCH_RIVALS_MALLOC_HPP
