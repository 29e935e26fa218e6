// SPDX-License-Identifier: MIT
#include "memory.hpp"

#include <algorithm>

namespace demo
{
namespace
{

// Static, and so without a page of memory until a block is used for the first time.
template <class Record, pool_index Index>
struct storage {
    static constexpr std::size_t capacity = pool_kinds[Index].capacity_max;

    alignas(64) static inline unsigned char blocks[EGB_FIXED_BYTES(sizeof(Record), capacity)];
    static inline egb_word live_bits[EGB_FIXED_LIVE_BYTES(capacity) / EGB_WORD_BYTES];
};

template <class Record, pool_index Index>
egb_fixed make_pool(pool_check check, std::size_t wanted)
{
    using memory            = storage<Record, Index>;
    const std::size_t bytes = egb_fixed_bytes(sizeof(Record), std::min(wanted, memory::capacity));
    egb_fixed         pool{};
    const egb_status  status = check == pool_check::marks
                                   ? egb_fixed_init(&pool, memory::blocks, bytes, sizeof(Record))
                                   : egb_fixed_init_checked(
                                        &pool,
                                        memory::blocks,
                                        bytes,
                                        sizeof(Record),
                                        memory::live_bits,
                                        sizeof memory::live_bits
                                    );
    if (status != EGB_OK) {
        std::abort();  // only a `wanted` of 0 leads here, which main() refuses
    }
    return pool;
}

}  // namespace

std::array<egb_fixed, pool_count> make_pools(pool_check check, std::size_t capacity)
{
    return {
        make_pool<small_packet, pool_small>(check, capacity),
        make_pool<large_packet, pool_large>(check, capacity),
        make_pool<segment, pool_segments>(check, capacity),
        make_pool<flow, pool_flows>(check, capacity),
    };
}

}  // namespace demo
