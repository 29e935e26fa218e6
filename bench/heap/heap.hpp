// SPDX-License-Identifier: MIT
// Shared by all patterns of the heap's benchmark. They call malloc, new and the containers of C++,
// and know of no allocator: the preloaded library serves them.
#ifndef EGGBOX_BENCH_HEAP_HPP
#define EGGBOX_BENCH_HEAP_HPP

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace heap_bench
{

// The amount of work of each thread: all of it, or a hundredth, so that every pattern runs in
// milliseconds. And the number of threads, which is even, for the patterns that have several.
struct scale {
    bool        smoke;
    std::size_t threads = 2;

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

// A block with a byte written at each step.
inline unsigned char* written(std::size_t bytes, std::size_t step, unsigned char content)
{
    auto* const block = static_cast<unsigned char*>(std::malloc(bytes));
    if (block == nullptr) {
        std::abort();
    }
    for (std::size_t at = 0; at < bytes; at += step) {
        block[at] = content;
    }
    keep(block);
    return block;
}

// One byte in each of its cache lines, as callers write.
inline unsigned char* filled(std::size_t bytes, unsigned char content)
{
    return written(bytes, 64, content);
}

// Replaces a random one of the blocks, `rounds` times, by one of `next_bytes(random)` bytes, and
// touches each page of it. Returns the sum of their bytes.
template <class Next>
std::uint64_t
replace_paged(random_numbers& random, std::size_t live, std::size_t rounds, Next next_bytes)
{
    std::vector<unsigned char*> blocks(live);
    std::uint64_t               sum = 0;
    for (std::size_t i = 0; i < rounds; i++) {
        unsigned char*&   victim = blocks[random.below(live)];
        const std::size_t bytes  = next_bytes(random);
        std::free(victim);
        victim = written(bytes, 4096, static_cast<unsigned char>(i));
        sum += bytes;
    }
    for (unsigned char* block : blocks) {
        std::free(block);
    }
    return sum;
}

// blocks.cpp
std::uint64_t churn_few(scale);
std::uint64_t churn_many(scale);
std::uint64_t batch_lifo(scale);
std::uint64_t batch_fifo(scale);
std::uint64_t batch_random(scale);
std::uint64_t large(scale);
std::uint64_t growth(scale);
std::uint64_t vectors(scale);
std::uint64_t phases(scale);

// containers.cpp
std::uint64_t strings(scale);
std::uint64_t dictionary(scale);
std::uint64_t ordered_map(scale);
std::uint64_t swept_list(scale);
std::uint64_t binary_trees(scale);

// threads.cpp
std::uint64_t larson(scale);
std::uint64_t handover(scale);
std::uint64_t cross_free(scale);
std::uint64_t scratch(scale);
std::uint64_t server(scale);
std::uint64_t buffers(scale);
std::uint64_t short_lives(scale);

}  // namespace heap_bench

#endif  // EGGBOX_BENCH_HEAP_HPP
