// SPDX-License-Identifier: MIT
// No allocator: ready-made pointers in rotation. It shows the cost of the loop itself.
#ifndef EGGBOX_BENCH_RIVALS_NONE_HPP
#define EGGBOX_BENCH_RIVALS_NONE_HPP

#include "../bench.hpp"

#include <vector>

namespace bench
{

class none
{
  public:
    static constexpr const char* name = "none";

    none(place where, std::size_t block_bytes, std::size_t count) : blocks_(count)
    {
        for (std::size_t i = 0; i < count; i++) {
            blocks_[i] = where.at + i * block_bytes;
        }
    }

    void* take()
    {
        next_ = next_ + 1 < blocks_.size() ? next_ + 1 : 0;
        return blocks_[next_];
    }

    void give(void*) {}

  private:
    std::vector<void*> blocks_;
    std::size_t        next_ = 0;
};

}  // namespace bench

#endif  // EGGBOX_BENCH_RIVALS_NONE_HPP
