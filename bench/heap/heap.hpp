// SPDX-License-Identifier: MIT
// What all patterns of the heap's benchmark share. They call malloc, new and the containers of C++,
// and know of no allocator: which one serves them is a matter of what is preloaded.
#ifndef EGGBOX_BENCH_HEAP_HPP
#define EGGBOX_BENCH_HEAP_HPP

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace heap_bench
{

// How much work: all of it, or a hundredth, so that every pattern runs in milliseconds.
struct scale {
    bool smoke;

    std::size_t of(std::size_t count) const
    {
        return smoke ? (count + 99) / 100 : count;
    }
};

// Does a fixed amount of work. Returns a number that depends on that work only, so that two runs
// can be seen to have done the same.
using pattern = std::uint64_t (*)(scale);

// The same numbers everywhere: those of C++ libraries differ.
class random_numbers
{
  public:
    explicit random_numbers(std::uint64_t seed) : state_(seed * 2 + 1) {}

    std::uint64_t next()
    {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return state_ >> 33 ^ state_ >> 11;
    }

    std::size_t below(std::size_t limit)
    {
        return static_cast<std::size_t>(next() % limit);
    }

    // Each doubling of sizes half as often as the one before: 1 to 64 bytes every second time, more
    // than 1 KiB three times in a hundred.
    std::size_t bytes(std::size_t most)
    {
        std::size_t range = 64;
        for (std::uint64_t coins = next(); (coins & 1) != 0 && range < most; coins >>= 1) {
            range *= 2;
        }
        return 1 + below(range < most ? range : most);
    }

  private:
    std::uint64_t state_;
};

// Says to the compiler that the block is read and written here.
inline void keep(void* block)
{
    asm volatile("" : : "r"(block) : "memory");
}

// A block with something in each of its cache lines, as callers have it.
inline unsigned char* filled(std::size_t bytes, unsigned char content)
{
    auto* const block = static_cast<unsigned char*>(std::malloc(bytes));
    if (block == nullptr) {
        std::abort();
    }
    for (std::size_t i = 0; i < bytes; i += 64) {
        block[i] = content;
    }
    keep(block);
    return block;
}

// blocks.cpp
std::uint64_t churn_few(scale);
std::uint64_t churn_many(scale);
std::uint64_t batch_lifo(scale);
std::uint64_t batch_fifo(scale);
std::uint64_t batch_random(scale);
std::uint64_t large(scale);
std::uint64_t growth(scale);

// containers.cpp
std::uint64_t strings(scale);
std::uint64_t dictionary(scale);
std::uint64_t ordered_map(scale);
std::uint64_t binary_trees(scale);

// threads.cpp
std::uint64_t larson(scale);
std::uint64_t handover(scale);
std::uint64_t cross_free(scale);
std::uint64_t scratch(scale);
std::uint64_t server(scale);

}  // namespace heap_bench

#endif  // EGGBOX_BENCH_HEAP_HPP
