// SPDX-License-Identifier: MIT
#include "records/records.hpp"
#include "text/text.hpp"

#include <algorithm>
#include <tuple>

namespace tool
{
namespace
{

void combine_pool(pool_record& to, const pool_record& from)
{
    to.allocations     = plus(to.allocations, from.allocations);
    to.frees           = plus(to.frees, from.frees);
    to.failures        = plus(to.failures, from.failures);
    to.in_use          = plus(to.in_use, from.in_use);
    to.in_use_over     = plus(to.in_use_over, from.in_use_over);
    to.requested_bytes = plus(to.requested_bytes, from.requested_bytes);
    to.ended           = plus(to.ended, from.ended);
    to.level           = to.level == from.level ? to.level : "mixed";
    to.capacity        = std::max(to.capacity, from.capacity);
    to.cached          = std::max(to.cached, from.cached);
    to.peak            = std::max(to.peak, from.peak);
    to.chunks          = std::max(to.chunks, from.chunks);
    to.bytes_held      = std::max(to.bytes_held, from.bytes_held);
}

auto key_of(const pool_record& pool)
{
    return std::make_tuple(pool.name, pool.block_bytes, pool.is_size_class);
}

void combine_pools(std::vector<pool_record>& to, const std::vector<pool_record>& from)
{
    std::map<decltype(key_of(to.front())), std::size_t> places;
    for (std::size_t i = 0; i < to.size(); i++) {
        places.emplace(key_of(to[i]), i);
    }
    for (const pool_record& each : from) {
        const auto [found, is_new] = places.emplace(key_of(each), to.size());
        if (is_new) {
            to.push_back(each);
        } else {
            combine_pool(to[found->second], each);
        }
    }
}

// The limits for one process record, which may cover any number of processes.
constexpr std::size_t leaks_max  = 1000;
constexpr std::size_t events_max = 100;

// Numbers of places that are in both records.
struct known_places {
    std::uint64_t lost      = 0;
    std::uint64_t indirect  = 0;  // a part of these
    std::uint64_t reachable = 0;
};

void count_place(known_places& known, block_reach reach)
{
    (reach == block_reach::still_reachable ? known.reachable : known.lost)++;
    known.indirect += reach == block_reach::indirectly_lost ? 1 : 0;
}

// Returns how many of the places are in both.
known_places add_sites(std::vector<leak_record>& to, const std::vector<leak_record>& from)
{
    known_places known;
    for (const leak_record& each : from) {
        const auto found = std::find_if(to.begin(), to.end(), [&](const leak_record& other) {
            return other.site == each.site && other.stack == each.stack &&
                   other.pool == each.pool && other.reach == each.reach;
        });
        if (found != to.end()) {
            found->blocks    = plus(found->blocks, each.blocks);
            found->bytes     = plus(found->bytes, each.bytes);
            found->samples   = plus(found->samples, each.samples);
            found->oldest_ms = std::max(found->oldest_ms, each.oldest_ms);
            count_place(known, each.reach);
        } else if (to.size() < leaks_max) {
            to.push_back(each);
        }
    }
    return known;
}

// `known`: places that both have.
void add_sum(leak_sum& to, const leak_sum& from, std::uint64_t known)
{
    to.is_known = to.is_known || from.is_known;
    to.places   = plus(to.places, minus(from.places, known));
    to.blocks   = plus(to.blocks, from.blocks);
    to.bytes    = plus(to.bytes, from.bytes);
    to.samples  = plus(to.samples, from.samples);
}

void add_leaks(process_record& to, const process_record& from)
{
    const known_places known = add_sites(to.leaks, from.leaks);
    add_sum(to.leaked, from.leaked, known.lost);
    add_sum(to.indirect, from.indirect, known.indirect);
    add_sum(to.reachable, from.reachable, known.reachable);
}

// These sites count all blocks that were ever allocated, also before an exec.
void add_allocated(process_record& to, const process_record& from)
{
    const std::uint64_t known = add_sites(to.allocated, from.allocated).lost;
    combine_sampling(to.sampling, from.sampling);
    to.sampling.sum.places = minus(to.sampling.sum.places, known);
}

// The system reuses process numbers, so the start time must agree as well.
bool is_same_process(const process_record& a, const process_record& b)
{
    return a.pid == b.pid && a.process_started == b.process_started && a.process_started != 0;
}

bool began_earlier(const process_record& a, const process_record& b)
{
    return a.started_ns < b.started_ns;
}

bool is_in_front(const process_record& a, const process_record& b)
{
    return a.is_linked < b.is_linked;
}

}  // namespace

std::uint64_t process_record::requests() const
{
    std::uint64_t out = large.allocations;
    for (const pool_record& each : pools) {
        out = plus(out, each.is_size_class ? each.allocations : 0);
    }
    return out;
}

bool place_record::is_known() const
{
    return !module.empty() || !file.empty() || address != 0;
}

bool place_record::operator==(const place_record& other) const
{
    return module == other.module && offset == other.offset && address == other.address &&
           file == other.file && line == other.line && is_inlined == other.is_inlined;
}

static void combine_size(large_size& to, const large_size& from)
{
    to.allocations      = plus(to.allocations, from.allocations);
    to.allocations_over = plus(to.allocations_over, from.allocations_over);
    to.in_use           = plus(to.in_use, from.in_use);
    to.peak             = std::max(to.peak, from.peak);
}

// A record covers any number of processes, and has the most frequent sizes.
static void combine_sizes(std::vector<large_size>& to, const std::vector<large_size>& from)
{
    constexpr std::size_t                sizes_max = 64;
    std::map<std::uint64_t, std::size_t> places;
    for (std::size_t i = 0; i < to.size(); i++) {
        places.emplace(to[i].bytes, i);
    }
    for (const large_size& each : from) {
        const auto [found, is_new] = places.emplace(each.bytes, to.size());
        if (is_new) {
            to.push_back(each);
        } else {
            combine_size(to[found->second], each);
        }
    }
    if (to.size() > sizes_max) {
        std::stable_sort(to.begin(), to.end(), [](const large_size& a, const large_size& b) {
            return a.allocations > b.allocations;
        });
        to.resize(sizes_max);
    }
}

void combine_sampling(sampling_record& to, const sampling_record& from)
{
    const bool has_both = to.period_bytes != 0 && from.period_bytes != 0;
    to.is_mixed =
        to.is_mixed || from.is_mixed || (has_both && to.period_bytes != from.period_bytes);
    to.period_bytes = to.period_bytes == 0 ? from.period_bytes : to.period_bytes;
    to.lost         = plus(to.lost, from.lost);
    add_sum(to.sum, from.sum, 0);
}

void combine_large(large_record& to, const large_record& from)
{
    combine_sizes(to.sizes, from.sizes);
    to.allocations  = plus(to.allocations, from.allocations);
    to.frees        = plus(to.frees, from.frees);
    to.in_use       = plus(to.in_use, from.in_use);
    to.bytes_in_use = plus(to.bytes_in_use, from.bytes_in_use);
    to.failures     = plus(to.failures, from.failures);
    to.is_tracked   = to.is_tracked && from.is_tracked;
    to.peak         = std::max(to.peak, from.peak);
    to.peak_bytes   = std::max(to.peak_bytes, from.peak_bytes);
}

counted_sums::counted_sums(std::vector<counted>& to) : to_(to)
{
    for (std::size_t i = 0; i < to.size(); i++) {
        places_.emplace(to[i].what, i);
    }
}

void counted_sums::add(const std::vector<counted>& from)
{
    for (const counted& each : from) {
        const auto [found, is_new] = places_.emplace(each.what, to_.size());
        if (is_new) {
            to_.push_back(each);
        } else {
            to_[found->second].count = plus(to_[found->second].count, each.count);
        }
    }
}

static void combine(process_record& to, const process_record& from)
{
    combine_pools(to.pools, from.pools);
    combine_large(to.large, from.large);
    counted_sums(to.not_served).add(from.not_served);
    counted_sums(to.misuse).add(from.misuse);
    add_allocated(to, from);
    for (const event_record& each : from.events) {
        if (to.events.size() < events_max) {
            to.events.push_back(each);
        }
    }
    to.without_stack = plus(to.without_stack, from.without_stack);
    to.duration_s += from.duration_s;
    to.peak_resident_bytes = std::max(to.peak_resident_bytes, from.peak_resident_bytes);
    to.is_measured         = to.is_measured && from.is_measured;
}

// The process called exec, which discarded the blocks of the previous program.
static void become(process_record& process, const process_record& next)
{
    for (pool_record& each : process.pools) {
        each.in_use = each.in_use_over = 0;
    }
    process.large.in_use = process.large.bytes_in_use = 0;
    combine(process, next);
    process.program      = next.program;
    process.arguments    = next.arguments;
    process.level        = next.level;
    process.no_report    = next.no_report;
    process.signal       = next.signal;
    process.library      = next.library;
    process.leaks        = next.leaks;
    process.leaked       = next.leaked;
    process.indirect     = next.indirect;
    process.reachable    = next.reachable;
    process.minor_faults = next.minor_faults;  // the system's counters continue over exec
    process.major_faults = next.major_faults;
    if (!next.no_report.empty()) {
        process.duration_s = 0;  // not known of the whole process
    }
}

std::vector<std::vector<process_record>> whole_processes(std::vector<process_record> files)
{
    std::vector<std::vector<process_record>> out;
    std::sort(files.begin(), files.end(), began_earlier);
    for (process_record& each : files) {
        if (out.empty() || !is_same_process(out.back().front(), each)) {
            out.push_back({std::move(each)});
            continue;
        }
        std::vector<process_record>& records = out.back();
        const auto same = std::find_if(records.begin(), records.end(), [&](const auto& other) {
            return other.is_linked == each.is_linked;
        });
        same == records.end() ? records.push_back(std::move(each)) : become(*same, each);
    }
    for (std::vector<process_record>& records : out) {
        for (process_record& each : records) {
            each.is_beside = each.is_linked && records.size() > 1;
        }
        std::sort(records.begin(), records.end(), is_in_front);
    }
    return out;
}

void join(process_record& group, const process_record& another)
{
    combine(group, another);
    add_leaks(group, another);
    group.processes    = plus(group.processes, another.processes);
    group.minor_faults = plus(group.minor_faults, another.minor_faults);
    group.major_faults = plus(group.major_faults, another.major_faults);
}

}  // namespace tool
