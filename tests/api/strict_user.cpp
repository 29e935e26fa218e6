// SPDX-License-Identifier: MIT
// A program's own file, where macros and templates of ours become parts of it. strict_user.py
// compiles it with more warnings than anybody needs; and clang makes a program of it that ends at
// the first number that does not fit, in this file or in a header.
#include <eggbox/allocator.hpp>
#include <eggbox/eggbox.h>
#include <eggbox/eggbox.hpp>
#include <eggbox/fixed_placed.h>
#include <eggbox/memory_resource.hpp>
#include <eggbox/pooled.hpp>
#include <eggbox/shared.hpp>
#include <eggbox/slots.hpp>
#include <eggbox/wait.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace
{

struct sample {
    std::int64_t when;
    std::int64_t value;
    std::int64_t other;  // blocks are no power of two
};

class pooled_sample : public eggbox::pooled<pooled_sample>
{
  public:
    std::int64_t when = 0;
};

EGB_FIXED_DEFINE(samples, sample, 12);
EGB_FIXED_DEFINE(words, std::uint32_t, 12);
EGB_FIXED_DEFINE_MARKED(quick_samples, sample, 12);
EGB_FIXED_DEFINE_MARKED(quick_words, std::uint32_t, 12);
EGB_FIXED_DEFINE_UNCHECKED(bare_samples, sample, 12);
#if defined(__ELF__)
EGB_FIXED_DEFINE_IN("egb_test_dma", placed_samples, sample, 12);
#endif

// A macro of the program may have a comma that is in no parentheses.
template <std::size_t rows, std::size_t columns>
struct table {
    static constexpr std::size_t fields = rows * columns;
};
#define TABLE_FIELDS table<2, 3>::fields
static_assert(EGB_FIXED_BYTES(8, TABLE_FIELDS) == 48 && EGB_FIXED_LIVE_BYTES(TABLE_FIELDS) != 0);

constexpr std::size_t sizes =
    EGB_FIXED_BYTES(sizeof(sample), 3) + EGB_FIXED_LIVE_BYTES(3) + EGB_FIXED_OUTSIDE_BYTES(3U) +
    EGB_SLOTS_BYTES(sizeof(sample), std::size_t{3}) + EGB_POOL_BYTES(sizeof(sample), 3) +
    EGB_POOL_BYTES_AT(EGB_LEVEL_TRACK, 64, 100, 3) + EGB_LEAD_BYTES_MAX +
    EGB_REGION_CACHE_BYTES_MAX + EGB_REGION_CACHE_ADDRESSES_MAX;
static_assert(sizes != 0 && EGB_SHARED_HELD_BY_FEED != 0, "each is a constant expression");

bool static_pools() noexcept
{
    egb_fixed_free(&samples, egb_fixed_alloc(&samples));
    samples_free(samples_alloc());
    words_free(words_alloc());
    quick_samples_free(quick_samples_alloc());
    quick_words_free(quick_words_alloc());
    bare_samples_free(bare_samples_alloc());
#if defined(__ELF__)
    placed_samples_free(placed_samples_alloc());
#endif
    return egb_fixed_whole(&samples);
}

template <class Pool>
void make_two(Pool& pool)
{
    auto* const first  = pool.make();
    auto* const second = pool.make();
    pool.destroy(first);
    pool.destroy(second);
}

// How many of two elements are live after one is gone.
template <class Slots>
std::size_t live_after(Slots& slots)
{
    const auto first  = slots.insert(sample{});
    const auto second = slots.insert(sample{});
    (void)slots.erase(first);
    std::size_t count = 0;
    for (const sample& one : slots) {
        count += one.when == 0 ? 1U : 0U;
    }
    return slots.contains(second) && !slots.contains(first) ? count : 0;
}

bool objects()
{
    eggbox::fixed_pool<sample, 3>                                  fixed;
    eggbox::fixed_pool<sample, 3, eggbox::fixed_check::live_bits>  live;
    eggbox::fixed_pool<sample, 3, eggbox::fixed_check::outside>    outside;
    eggbox::fixed_pool<std::uint16_t, 3, eggbox::fixed_check::off> bare;
    eggbox::fixed_slots<sample, 3>                                 slots;
    eggbox::growing_slots<sample>                                  more_slots;
    eggbox::pool<sample>                                           pool;
    eggbox::heap                                                   heap;
    eggbox::memory_resource                                        resource;
    make_two(fixed);
    make_two(live);
    make_two(outside);
    make_two(bare);
    make_two(pool);
    pool.destroy(pool.make(eggbox::here{}));
    for (std::size_t bytes = 1; bytes < 5000; bytes += 70) {
        heap.free(heap.alloc(bytes, 32), bytes, 32);
        resource.deallocate(resource.allocate(bytes, 64), bytes, 64);
    }
    const std::vector<sample, eggbox::allocator<sample>> some(9);
    delete new pooled_sample;
    return live_after(slots) == 1 && live_after(more_slots) == 1 && some.size() == 9;
}

bool frames() noexcept
{
    const auto shared = eggbox::shared_pool_of<sample>::attach("/no-such-pool");
    return static_cast<bool>(shared);
}

}  // namespace

int main()
{
    return static_pools() && objects() && !frames() ? 0 : 1;
}
