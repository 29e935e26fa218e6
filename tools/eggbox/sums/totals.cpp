// SPDX-License-Identifier: MIT
#include "sums/totals.hpp"

#include "text/text.hpp"

#include <algorithm>

namespace tool
{
namespace
{

// Size classes by size, other pools by name and size.
using pool_key = std::pair<std::string, std::uint64_t>;

void add_pool(
    std::map<pool_key, pool_total>& to, const pool_record& pool, bool is_measured, std::size_t run
)
{
    pool_total& total   = to[{pool.is_size_class ? "" : pool.name, pool.block_bytes}];
    total.name          = pool.name;
    total.is_size_class = pool.is_size_class;
    total.block_bytes   = pool.block_bytes;
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
}

void add_process(totals& to, const process_record& process)
{
    std::uint64_t peak = 0;
    for (const pool_record& pool : process.pools) {
        peak = plus(peak, times(pool.peak, pool.block_bytes));
    }
    to.processes           = plus(to.processes, process.processes);
    to.block_bytes_peak    = std::max(to.block_bytes_peak, plus(peak, process.large.peak_bytes));
    to.peak_resident_bytes = std::max(to.peak_resident_bytes, process.peak_resident_bytes);
    to.minor_faults        = plus(to.minor_faults, process.minor_faults);
    to.major_faults        = plus(to.major_faults, process.major_faults);
    combine_large(to.large, process.large);
    add_counted(to.not_served, process.not_served);
    add_counted(to.misuse, process.misuse);
    if (to.library.find(process.library) == std::string::npos) {
        to.library += (to.library.empty() ? "" : ", ") + process.library;
    }
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

std::uint64_t totals::from_classes() const
{
    std::uint64_t sum = 0;
    for (const pool_total& each : classes) {
        sum = plus(sum, each.allocations);
    }
    return sum;
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
    totals                         out;
    std::map<pool_key, pool_total> pools;
    for (const run_record& run : runs) {
        std::map<pool_key, pool_total> before = pools;
        for (const process_record& process : run.processes) {
            add_process(out, process);
            for (const pool_record& pool : process.pools) {
                if (pool.is_size_class || pool.allocations > 0 || pool.failures > 0) {
                    add_pool(pools, pool, process.is_measured, out.runs);
                }
            }
        }
        for (auto& [key, total] : pools) {
            const auto found = before.find(key);
            total.runs += found == before.end() || found->second.allocations != total.allocations;
        }
        out.runs++;
        out.duration_s += run.wall_s;
        out.unreadable = plus(out.unreadable, run.unreadable);
    }
    for (auto& [key, total] : pools) {
        if (total.allocations > 0 || total.failures > 0) {
            (total.is_size_class ? out.classes : out.others).push_back(total);
        }
    }
    std::sort(out.classes.begin(), out.classes.end(), [](const auto& a, const auto& b) {
        return a.block_bytes < b.block_bytes;
    });
    return out;
}

std::vector<run_record> read_reports(const std::vector<std::string>& files)
{
    std::vector<run_record> out;
    for (const std::string& file : files) {
        out.push_back(read_report(file));
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
