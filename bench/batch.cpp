// SPDX-License-Identifier: MIT
// Take 10,000 blocks and write to each, then give all back: newest first (lifo), oldest first
// (fifo), or in a random order that is the same for all.
//
// Expected: from 256 bytes on the cache decides more than the allocator. Blocks of 4 KiB that lie
// exactly one page apart compete for the same few cache sets; malloc's, with a header before each,
// do not. Random order leaves the free list shuffled, so takes are random as well.
#include "rivals/all.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace
{

using namespace bench;

constexpr std::size_t count_max = 10000;
constexpr std::size_t bytes_max = std::size_t{64} << 20;

constexpr std::size_t list_offset = 1024;  // in its page: away from the pools' first words

struct batch_job {
    std::size_t                block_bytes;
    std::vector<std::uint32_t> order;  // the order of the gives
};

template <class Rival>
__attribute__((noinline)) std::uint64_t batch(Rival& rival, const batch_job& job, void** blocks)
{
    const std::size_t          count = job.order.size();
    const std::uint32_t* const order = job.order.data();
    for (std::size_t i = 0; i < count; i++) {
        void* block    = rival.take();
        content(block) = i;
        keep(block);
        blocks[i] = block;
    }
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i < count; i++) {
        void* block = blocks[order[i]];
        keep(block);
        hash = hash * 31 + content(block);
        rival.give(block);
        settle();
    }
    return hash;
}

struct add_one {
    template <class Rival>
    void
    operator()(const char* pattern, std::size_t block_bytes, std::vector<std::uint32_t> order) const
    {
        const std::string name = case_name(pattern, block_bytes, Rival::name);
        const std::string work = case_name(pattern, block_bytes, "");
        const batch_job   job{block_bytes, order};
        const auto        run = [work, job](benchmark::State& state) {
            const std::size_t count = job.order.size();
            const std::size_t bytes = (job.block_bytes * count + slack_bytes) / 4096 * 4096;
            const place       where = warm(bytes + list_offset + count * sizeof(void*));
            // The list of blocks lies at the same place of a page each time, not in the heap.
            auto* const         blocks = reinterpret_cast<void**>(where.at + bytes + list_offset);
            const seated<Rival> seat(place{where.at, bytes}, job.block_bytes, count);
            Rival&              rival = *seat;
            batch(
                rival, job, blocks
            );  // twice, so that it runs in the order that the frees left behind
            same_work(state, work, batch(rival, job, blocks));
            while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(count))) {
                benchmark::DoNotOptimize(batch(rival, job, blocks));
            }
        };
        benchmark::RegisterBenchmark(name.c_str(), run);
    }
};

}  // namespace

void bench::add_batch(scale size)
{
    for (const std::size_t block_bytes : {16u, 64u, 256u, 1024u, 4096u, 16384u}) {
        const std::size_t count = std::min(size.smoke ? 100 : count_max, bytes_max / block_bytes);
        std::vector<std::uint32_t> fifo(count);
        std::iota(fifo.begin(), fifo.end(), 0u);
        const std::vector<std::uint32_t> lifo(fifo.rbegin(), fifo.rend());
        std::vector<std::uint32_t>       random = fifo;
        std::mt19937                     generator(1);
        for (std::size_t i = count - 1; i > 0; i--) {  // std::shuffle differs between libraries
            std::swap(random[i], random[generator() % (i + 1)]);
        }
        for_each(all_rivals{}, add_one{}, "batch_lifo", block_bytes, lifo);
        for_each(all_rivals{}, add_one{}, "batch_fifo", block_bytes, fifo);
        for_each(all_rivals{}, add_one{}, "batch_random", block_bytes, random);
    }
}
