// SPDX-License-Identifier: MIT
#include "sums/totals.hpp"

#include "text/text.hpp"

#include <algorithm>
#include <set>

namespace tool
{
namespace
{

// Size classes by size, other pools by name and size.
using pool_key = std::pair<std::string, std::uint64_t>;

pool_key key_of(const pool_record& pool)
{
    return {pool.is_size_class ? "" : pool.name, pool.block_bytes};
}

pool_total& add_pool(
    std::map<pool_key, pool_total>& to, const pool_record& pool, bool is_measured, std::size_t run
)
{
    pool_total& total   = to[key_of(pool)];
    total.name          = pool.name;
    total.is_size_class = pool.is_size_class;
    total.block_bytes   = pool.block_bytes;
    total.align         = std::max(total.align, pool.stride_bytes & (0 - pool.stride_bytes));
    total.allocations   = plus(total.allocations, pool.allocations);
    total.failures      = plus(total.failures, pool.failures);
    total.in_use        = plus(total.in_use, pool.in_use);
    total.bytes_held    = std::max(total.bytes_held, pool.bytes_held);
    if (pool.peak > total.peak) {
        total.peak     = pool.peak;
        total.peak_run = run;
    }
    if (is_measured) {
        total.measured_bytes =
            plus(total.measured_bytes, times(pool.allocations, pool.block_bytes));
        total.requested_bytes = plus(total.requested_bytes, pool.requested_bytes);
    }
    return total;
}

// The runs of a pool or size. Each run counts once, and the runs come in order.
struct run_count {
    std::size_t runs = 0;
    std::size_t last = SIZE_MAX;

    void add(std::size_t run)
    {
        runs += last != run ? 1 : 0;
        last = run;
    }
};

// The use of one size of large blocks.
struct size_use {
    run_count     requested;
    std::uint64_t peak     = 0;
    std::size_t   peak_run = 0;
};

using size_uses = std::map<std::uint64_t, size_use>;  // by bytes

// How a sum is found without a look at all of them, while they are made.
struct places {
    std::map<pool_key, pool_total> pools;
    std::map<pool_key, run_count>  requested;
    size_uses                      sizes;
    counted_sums                   not_served;
    counted_sums                   misuse;
    std::set<std::string>          libraries;
};

void add_pools(places& to, const process_record& process, std::size_t run)
{
    std::map<pool_key, std::uint64_t> count;
    for (pool_record pool : process.pools) {
        // Its program has two heaps, and size classes are those of malloc.
        pool.is_size_class = pool.is_size_class && !process.is_beside;
        if (pool.is_size_class || pool.allocations > 0 || pool.failures > 0) {
            std::uint64_t& pools = count[key_of(pool)];
            pools                = plus(pools, std::max<std::uint64_t>(1, pool.ended));
            pool_total& total    = add_pool(to.pools, pool, process.is_measured, run);
            total.pools          = std::max(total.pools, pools);
        }
        if (pool.allocations > 0 || pool.failures > 0) {
            to.requested[key_of(pool)].add(run);
        }
    }
}

void add_sizes(size_uses& to, const large_record& large, std::size_t run)
{
    for (const large_size& each : large.sizes) {
        size_use& use = to[each.bytes];
        if (each.allocations > 0) {
            use.requested.add(run);
        }
        if (each.peak > use.peak) {
            use.peak     = each.peak;
            use.peak_run = run;
        }
    }
}

void add_process(totals& to, places& at, const process_record& process)
{
    std::uint64_t peak = 0;
    for (const pool_record& pool : process.pools) {
        peak = plus(peak, times(pool.peak, pool.block_bytes));
    }
    to.block_bytes_peak    = std::max(to.block_bytes_peak, plus(peak, process.large.peak_bytes));
    to.peak_resident_bytes = std::max(to.peak_resident_bytes, process.peak_resident_bytes);
    to.has_beside          = to.has_beside || process.is_beside;
    if (!process.is_beside) {  // else another record has counted the process
        to.processes    = plus(to.processes, process.processes);
        to.no_report    = plus(to.no_report, process.no_report.empty() ? 0 : process.processes);
        to.minor_faults = plus(to.minor_faults, process.minor_faults);
        to.major_faults = plus(to.major_faults, process.major_faults);
    }
    combine_large(to.large, process.large);
    at.not_served.add(process.not_served);
    at.misuse.add(process.misuse);
    if (!process.library.empty() && at.libraries.insert(process.library).second) {
        to.library += (to.library.empty() ? "" : ", ") + process.library;
    }
}

// As pools, one for each size that was requested often enough to be a plan, those of most bytes
// first.
std::vector<pool_total> sizes_of(const large_record& large, const size_uses& uses)
{
    constexpr std::size_t   sizes_max    = 16;
    constexpr std::uint64_t requests_min = 10;
    constexpr std::uint64_t align        = 64;  // a line of the processor's cache
    std::vector<pool_total> out;
    for (const large_size& each : large.sizes) {
        const std::uint64_t certain = minus(each.allocations, each.allocations_over);
        if (certain >= requests_min && certain >= each.allocations_over && each.peak > 0) {
            const size_use& use = uses.at(each.bytes);
            pool_total      size;
            size.name        = "large " + std::to_string(each.bytes);
            size.block_bytes = each.bytes;
            size.align       = align;
            size.allocations = each.allocations;
            size.in_use      = each.in_use;
            size.peak        = use.peak;
            size.peak_run    = use.peak_run;
            size.runs        = use.requested.runs;
            size.pools       = 1;
            out.push_back(std::move(size));
        }
    }
    std::stable_sort(out.begin(), out.end(), [](const pool_total& a, const pool_total& b) {
        return times(a.peak, a.block_bytes) > times(b.peak, b.block_bytes);
    });
    out.resize(std::min(out.size(), sizes_max));
    return out;
}

}  // namespace

std::uint64_t sum_of(const std::vector<counted>& all)
{
    std::uint64_t sum = 0;
    for (const counted& each : all) {
        sum = plus(sum, each.count);
    }
    return sum;
}

static std::uint64_t requests_to(const std::vector<pool_total>& pools)
{
    std::uint64_t sum = 0;
    for (const pool_total& each : pools) {
        sum = plus(sum, each.allocations);
    }
    return sum;
}

std::uint64_t totals::from_classes() const
{
    return requests_to(classes);
}

std::uint64_t totals::from_others() const
{
    return requests_to(others);
}

std::uint64_t totals::unserved() const
{
    return sum_of(not_served);  // includes refusals of size classes and the system
}

std::uint64_t totals::requests() const
{
    return plus(plus(from_classes(), large.allocations), unserved());
}

totals sum_up(const std::vector<run_record>& runs)
{
    totals out;
    places at{{}, {}, {}, counted_sums(out.not_served), counted_sums(out.misuse), {}};
    for (const run_record& run : runs) {
        for (const process_record& process : run.processes) {
            add_process(out, at, process);
            add_pools(at, process, out.runs);
            add_sizes(at.sizes, process.large, out.runs);
        }
        out.runs++;
        out.duration_s += run.wall_s;
        out.unreadable = plus(out.unreadable, run.unreadable);
        for (const silent_record& each : run.silent) {
            std::uint64_t& sum = each.is_linked ? out.silent_linked : out.silent;
            sum                = plus(sum, each.processes);
        }
    }
    for (auto& [key, total] : at.pools) {
        total.runs = at.requested[key].runs;
        if (total.allocations > 0 || total.failures > 0) {
            (total.is_size_class ? out.classes : out.others).push_back(total);
        }
    }
    out.large_sizes = sizes_of(out.large, at.sizes);
    std::sort(out.classes.begin(), out.classes.end(), [](const auto& a, const auto& b) {
        return a.block_bytes < b.block_bytes;
    });
    return out;
}

std::vector<run_record> read_reports(const std::vector<std::string>& paths)
{
    std::vector<run_record> out;
    for (const std::string& path : paths) {
        for (run_record& run : read_runs(path)) {
            out.push_back(std::move(run));
        }
    }
    return out;
}

std::string waste_text(const pool_total& pool)
{
    const double held  = static_cast<double>(pool.measured_bytes);
    const double asked = static_cast<double>(std::min(pool.requested_bytes, pool.measured_bytes));
    return percent_text(held - asked, held);
}

}  // namespace tool
