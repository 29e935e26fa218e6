// SPDX-License-Identifier: MIT
// A program's own file, where macros and templates of ours become parts of it. strict_user.py
// compiles it with more warnings than anybody needs.
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

namespace
{

struct sample {
    std::int64_t when;
    std::int64_t value;
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
    fixed.destroy(fixed.make());
    live.destroy(live.make());
    outside.destroy(outside.make());
    bare.destroy(bare.make());
    pool.destroy(pool.make(eggbox::here{}));
    heap.free(heap.alloc(24), 24);
    resource.deallocate(resource.allocate(24), 24);
    const auto handle = slots.insert(sample{});
    const auto other  = more_slots.insert(sample{});
    delete new pooled_sample;
    return slots.contains(handle) && more_slots.contains(other);
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
