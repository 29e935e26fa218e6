// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <algorithm>
#include <cstring>

namespace demo
{
namespace
{

bool is_same(const counts& a, const counts& b)
{
    return std::memcmp(&a, &b, sizeof a) == 0;  // nothing but numbers of one size: no padding
}

bool is_same_use(const pool_use& a, const pool_use& b)
{
    return a.peak == b.peak && a.capacity == b.capacity && a.is_well && b.is_well;
}

// Whether two runs that ought to give the same did.
bool is_same_outcome(const outcome& a, const outcome& b)
{
    return is_same(a.result, b.result) &&
           std::equal(a.pools.begin(), a.pools.end(), b.pools.begin(), is_same_use);
}

// The first run of either kind, malloc or pools.
const outcome& first_run(const experiment& done, bool of_pools)
{
    const auto found = std::find_if(
        done.measurements.begin(),
        done.measurements.end(),
        [of_pools](const measurement& each) { return uses_pools(each.kind.id) == of_pools; }
    );
    return found->runs.front();
}

bool is_like_first(const experiment& done, const measurement& each)
{
    const bool     of_pools = uses_pools(each.kind.id);
    const outcome& first    = first_run(done, of_pools);
    return std::all_of(each.runs.begin(), each.runs.end(), [&](const outcome& run) {
        return of_pools ? is_same_outcome(run, first) : is_same(run.result, first.result);
    });
}

}  // namespace

std::uint64_t measurement::median(std::uint64_t outcome::* number) const
{
    std::vector<std::uint64_t> numbers;
    for (const outcome& run : runs) {
        numbers.push_back(run.*number);
    }
    std::sort(numbers.begin(), numbers.end());
    return numbers[numbers.size() / 2];
}

const outcome& measurement::median() const
{
    const std::uint64_t ns = median(&outcome::ns);
    return *std::find_if(runs.begin(), runs.end(), [ns](const outcome& run) {
        return run.ns == ns;
    });
}

const measurement* experiment::find(variant id) const
{
    for (const measurement& each : measurements) {
        if (each.kind.id == id) {
            return &each;
        }
    }
    return nullptr;
}

agreement compare(const experiment& done)
{
    for (const measurement& each : done.measurements) {
        if (!is_like_first(done, each)) {
            return agreement::different;
        }
    }
    const counts& malloc_result = first_run(done, false).result;
    const counts& pools_result  = first_run(done, true).result;
    if (is_same(malloc_result, pools_result)) {
        return agreement::same;
    }
    return pools_result.dropped() != 0 ? agreement::too_small : agreement::different;
}

advice advise(const outcome& run, std::size_t pool)
{
    const pool_kind&    kind = pool_kinds[pool];
    const std::uint64_t peak = run.pools[pool].peak;
    if (peak == 0 || run.result.dropped() != 0) {
        return {};
    }
    advice out;
    out.capacity = peak + (peak + 3) / 4;
    out.static_bytes =
        kind.block_bytes * out.capacity + EGB_FIXED_LIVE_BYTES(out.capacity) + sizeof(egb_fixed);
    out.definition = std::string("EGB_FIXED_DEFINE(") + kind.name + ", " + kind.type + ", " +
                     std::to_string(out.capacity) + ");";
    return out;
}

}  // namespace demo
