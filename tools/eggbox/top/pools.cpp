// SPDX-License-Identifier: MIT
#include "top/pools.hpp"

#include "live/running.hpp"
#include "text/text.hpp"

#include <algorithm>

namespace tool
{
namespace
{

constexpr std::size_t program_bytes_max = 120;  // the most bytes of a command in a line

}  // namespace

std::vector<pool_line> pools_of(const egb_live_slot& slot)
{
    std::vector<pool_line> out;
    for (std::size_t i = 1; i < EGB_LIVE_POOLS; i++) {
        const egb_live_pool& pool = slot.pools[i];
        if (pool.key == 0 || (pool.peak == 0 && pool.failures == 0)) {
            continue;
        }
        const auto* const counts =
            std::find_if(std::begin(slot.classes), std::end(slot.classes), [&](const auto& each) {
                return each.pool == i;
            });
        out.push_back(
            {&pool, slot.is_measured != 0 && counts != std::end(slot.classes) ? counts : nullptr}
        );
    }
    std::stable_sort(out.begin(), out.end(), [](const pool_line& a, const pool_line& b) {
        return a.pool->bytes_held > b.pool->bytes_held;
    });
    return out;
}

process_sum sum_of(const egb_live_slot& slot)
{
    process_sum out{slot.large.allocations, slot.large.bytes, slot.large.bytes};
    for (const pool_line& each : pools_of(slot)) {
        out.requests = plus(out.requests, each.counts == nullptr ? 0 : each.counts->requests);
        out.in_use   = plus(out.in_use, times(blocks_in_use(*each.pool), each.pool->block_bytes));
        out.held     = plus(out.held, each.pool->bytes_held);
    }
    return out;
}

bool has_large(const egb_live_slot& slot)
{
    return slot.large.allocations != 0 || slot.large.failures != 0;
}

std::string program_of(const egb_live_slot& slot)
{
    const std::vector<std::string> arguments = arguments_now(slot);
    const std::string              program   = live_text(slot.program, sizeof slot.program);
    return shown(
               arguments.empty() ? program : shortened(arguments_text(arguments), program_bytes_max)
           ) +
           (slot.is_linked != 0 ? ", the library that it links" : "");
}

std::uint64_t pools_beyond(const egb_live_slot& slot)
{
    return minus(slot.pools_beyond, EGB_LIVE_POOLS - 1);
}

}  // namespace tool
