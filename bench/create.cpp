// SPDX-License-Identifier: MIT
// Make a pool and drop it again (`create`); make it, take one block, give it back, drop it
// (`create_take`). Blocks of 16 bytes; the memory is there before the clock starts.
//
// Expected: the same time for any number of blocks, and no page touched before the first take,
// except with Boost.Pool, which links all blocks of its reserve when the first is taken.
#include "rivals/all.hpp"

#include <vector>

namespace
{

using namespace bench;

constexpr std::size_t block_bytes = 16;

template <class Rival>
__attribute__((noinline)) void create(place where, std::size_t count, bool take)
{
    Rival rival(where, block_bytes, count);
    void* self = &rival;
    keep(self);
    if (take) {
        void* block = rival.take();
        keep(block);
        rival.give(block);
    }
    settle();
}

template <class Rival>
void run(benchmark::State& state, std::size_t count, bool take)
{
    const std::size_t bytes = block_bytes * count + slack_bytes;
    {
        fresh memory(bytes);
        create<Rival>(memory.where(), count, take);
        state.counters["pages"] = static_cast<double>(memory.resident_pages());
    }
    const place where = warm(bytes);
    create<Rival>(where, count, take);
    for (auto _ : state) {
        create<Rival>(where, count, take);
    }
}

// Live bits are the caller's memory: made before the clock starts, as a static array would be.
__attribute__((noinline)) void
create_live(egb_fixed* pool, place where, std::size_t count, std::vector<std::uint32_t>& bits)
{
    must(egb_fixed_init_checked(
        pool, where.at, block_bytes * count, block_bytes, bits.data(), bits.size() * EGB_WORD_BYTES
    ));
    settle();
}

void run_live(benchmark::State& state, std::size_t count)
{
    std::vector<std::uint32_t> bits(EGB_FIXED_LIVE_BYTES(count) / EGB_WORD_BYTES);
    egb_fixed                  pool;
    const std::size_t          bytes = block_bytes * count + slack_bytes;
    {
        fresh memory(bytes);
        create_live(&pool, memory.where(), count, bits);
        state.counters["pages"] = static_cast<double>(memory.resident_pages());
    }
    const place where = warm(bytes);
    for (auto _ : state) {
        create_live(&pool, where, count, bits);
    }
}

struct add_one {
    template <class Rival>
    void operator()(std::size_t count) const
    {
        benchmark::RegisterBenchmark(
            case_name("create", count, Rival::name).c_str(), run<Rival>, count, false
        );
        benchmark::RegisterBenchmark(
            case_name("create_take", count, Rival::name).c_str(), run<Rival>, count, true
        );
    }
};

}  // namespace

void bench::add_create(scale size)
{
    for (const std::size_t count : {10u, 1000u, 100000u, 10000000u}) {
        if (size.smoke && count > 1000) {
            break;
        }
        for_each(rivals<eggbox_check, eggbox_unchecked, boost_pool, printed>{}, add_one{}, count);
        benchmark::RegisterBenchmark(
            case_name("create", count, eggbox_live::name).c_str(), run_live, count
        );
    }
}
