// SPDX-License-Identifier: MIT
// The algorithm as printed: B. Kenwright, "Fast Efficient Fixed-Size Memory Pool: No Loops and No
// Overhead", 2012, listing 2. Written anew from its description, to compare with.
//
// Kept: 32-bit numbers; links that are indices, so that a free divides; each allocation puts one
// more fresh block on the list, needed or not. Changed: the memory is given, and a block's address
// is computed in 64 bits, because the printed 32 bits would put blocks of a pool beyond 4 GiB on
// top of each other.
#ifndef EGGBOX_BENCH_RIVALS_PRINTED_HPP
#define EGGBOX_BENCH_RIVALS_PRINTED_HPP

#include "../bench.hpp"

namespace bench
{

class printed
{
  public:
    static constexpr const char* name = "printed";

    printed(place where, std::size_t block_bytes, std::size_t count)
        : block_count_(static_cast<std::uint32_t>(count)),
          block_bytes_(static_cast<std::uint32_t>(block_bytes)), free_count_(block_count_),
          start_(where.at), next_(where.at)
    {
    }

    void* take()
    {
        if (prepared_count_ < block_count_) {
            link(block(prepared_count_)) = prepared_count_ + 1;
            prepared_count_++;
        }
        if (free_count_ == 0) {
            return nullptr;
        }
        std::byte* const taken = next_;
        free_count_--;
        next_ = free_count_ != 0 ? block(link(taken)) : nullptr;
        return taken;
    }

    void give(void* block)
    {
        auto* const freed = static_cast<std::byte*>(block);
        link(freed)       = next_ != nullptr ? index(next_) : block_count_;
        next_             = freed;
        free_count_++;
    }

  private:
    using link_word [[gnu::may_alias]] = std::uint32_t;

    static link_word& link(std::byte* block)
    {
        return *reinterpret_cast<link_word*>(block);
    }

    std::byte* block(std::uint32_t index) const
    {
        return start_ + std::size_t{index} * block_bytes_;
    }

    std::uint32_t index(const std::byte* block) const
    {
        return static_cast<std::uint32_t>(block - start_) / block_bytes_;
    }

    std::uint32_t block_count_;
    std::uint32_t block_bytes_;
    std::uint32_t free_count_;
    std::uint32_t prepared_count_ = 0;
    std::byte*    start_;
    std::byte*    next_;
};

}  // namespace bench

#endif  // EGGBOX_BENCH_RIVALS_PRINTED_HPP
