// SPDX-License-Identifier: MIT
// Take every block of a new pool once and write to it, over memory that no one has touched: the
// cost at a program's start. 64 MiB; time per block.
//
// Expected: the page faults of the system (a 4 KiB page each) are nearly all of it. Allocators that
// touch memory in order, and not before it is needed, are good here.
//
// The mallocs and std::pmr have memory left over from earlier benchmarks of the process. Only the
// first benchmark of a process is cold, so scripts/bench.py starts a process for each.
#include "rivals/all.hpp"

#include <vector>

namespace
{

using namespace bench;

template <class Rival>
__attribute__((noinline)) void take_all(Rival& rival, void** blocks, std::size_t count)
{
    for (std::size_t i = 0; i < count; i++) {
        void* block    = rival.take();
        content(block) = i;
        keep(block);
        blocks[i] = block;
    }
}

template <class Rival>
void run(benchmark::State& state, std::size_t block_bytes, std::size_t count)
{
    fresh  memory(block_bytes * count + slack_bytes);
    fresh  list(count * sizeof(void*));  // not from malloc, which would not be new any more then
    void** blocks = reinterpret_cast<void**>(list.where().at);
    for (std::size_t i = 0; i < count; i++) {
        blocks[i] = &list;  // its page faults are not measured
    }
    const seated<Rival> seat(memory.where(), block_bytes, count);
    Rival&              rival = *seat;
    while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(count))) {
        take_all(rival, blocks, count);
    }
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i < count; i++) {
        hash = hash * 31 + content(blocks[i]);
        rival.give(blocks[i]);
    }
    same_work(state, case_name("first_touch", block_bytes, ""), hash);
}

struct add_one {
    template <class Rival>
    void operator()(std::size_t block_bytes, std::size_t count) const
    {
        const std::string name = case_name("first_touch", block_bytes, Rival::name);
        benchmark::RegisterBenchmark(name.c_str(), run<Rival>, block_bytes, count)
            ->Iterations(static_cast<benchmark::IterationCount>(count));
    }
};

}  // namespace

void bench::add_first_touch(scale size)
{
    const std::size_t bytes = size.smoke ? std::size_t{1} << 20 : std::size_t{64} << 20;
    for (const std::size_t block_bytes : {64u, 1024u, 16384u}) {
        for_each(all_rivals{}, add_one{}, block_bytes, bytes / block_bytes);
    }
}
