// SPDX-License-Identifier: MIT
// The pools of the C++ standard library, as a user gets them: memory from operator new.
#ifndef EGGBOX_BENCH_RIVALS_PMR_HPP
#define EGGBOX_BENCH_RIVALS_PMR_HPP

#include "../bench.hpp"

#include <algorithm>
#include <memory_resource>
#include <type_traits>

namespace bench
{

template <class Resource>
class pmr_pool
{
  public:
    static constexpr const char* name =
        std::is_same_v<Resource, std::pmr::unsynchronized_pool_resource> ? "pmr_unsync"
                                                                         : "pmr_sync";

    pmr_pool(place, std::size_t block_bytes, std::size_t count)
        : resource_(std::pmr::pool_options{count, std::max<std::size_t>(block_bytes, 4096)}),
          block_bytes_(block_bytes)
    {
    }

    void* take()
    {
        return resource_.allocate(block_bytes_);
    }

    void give(void* block)
    {
        resource_.deallocate(block, block_bytes_);
    }

  private:
    Resource    resource_;
    std::size_t block_bytes_;
};

using pmr_unsync = pmr_pool<std::pmr::unsynchronized_pool_resource>;
using pmr_sync   = pmr_pool<std::pmr::synchronized_pool_resource>;

}  // namespace bench

#endif  // EGGBOX_BENCH_RIVALS_PMR_HPP
