// SPDX-License-Identifier: MIT
#include "records/records.hpp"
#include "text/text.hpp"

#include <algorithm>

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
    to.requested_bytes = plus(to.requested_bytes, from.requested_bytes);
    to.level           = to.level == from.level ? to.level : "mixed";
    to.capacity        = std::max(to.capacity, from.capacity);
    to.cached          = std::max(to.cached, from.cached);
    to.peak            = std::max(to.peak, from.peak);
    to.chunks          = std::max(to.chunks, from.chunks);
    to.bytes_held      = std::max(to.bytes_held, from.bytes_held);
}

void combine_pools(std::vector<pool_record>& to, const std::vector<pool_record>& from)
{
    for (const pool_record& each : from) {
        const auto found = std::find_if(to.begin(), to.end(), [&](const pool_record& other) {
            return other.name == each.name && other.block_bytes == each.block_bytes &&
                   other.is_size_class == each.is_size_class;
        });
        if (found == to.end()) {
            to.push_back(each);
        } else {
            combine_pool(*found, each);
        }
    }
}

// The limits for one process record, which may cover any number of processes.
constexpr std::size_t leaks_max  = 1000;
constexpr std::size_t events_max = 100;

void add_leaks(process_record& to, const process_record& from)
{
    std::uint64_t known = 0;  // places in both records
    for (const leak_record& each : from.leaks) {
        const auto found =
            std::find_if(to.leaks.begin(), to.leaks.end(), [&](const leak_record& other) {
                return other.site == each.site && other.pool == each.pool;
            });
        if (found != to.leaks.end()) {
            found->blocks    = plus(found->blocks, each.blocks);
            found->bytes     = plus(found->bytes, each.bytes);
            found->oldest_ms = std::max(found->oldest_ms, each.oldest_ms);
            known++;
        } else if (to.leaks.size() < leaks_max) {
            to.leaks.push_back(each);
        }
    }
    to.leaked.is_known = to.leaked.is_known || from.leaked.is_known;
    to.leaked.places =
        plus(to.leaked.places, from.leaked.places - std::min(known, from.leaked.places));
    to.leaked.blocks = plus(to.leaked.blocks, from.leaked.blocks);
    to.leaked.bytes  = plus(to.leaked.bytes, from.leaked.bytes);
}

}  // namespace

bool place_record::is_known() const
{
    return !module.empty() || !file.empty() || address != 0;
}

bool place_record::operator==(const place_record& other) const
{
    return module == other.module && offset == other.offset && address == other.address &&
           file == other.file && line == other.line;
}

void combine_large(large_record& to, const large_record& from)
{
    to.allocations  = plus(to.allocations, from.allocations);
    to.frees        = plus(to.frees, from.frees);
    to.in_use       = plus(to.in_use, from.in_use);
    to.bytes_in_use = plus(to.bytes_in_use, from.bytes_in_use);
    to.failures     = plus(to.failures, from.failures);
    to.peak         = std::max(to.peak, from.peak);
    to.peak_bytes   = std::max(to.peak_bytes, from.peak_bytes);
}

void add_counted(std::vector<counted>& to, const std::vector<counted>& from)
{
    for (const counted& each : from) {
        const auto found = std::find_if(to.begin(), to.end(), [&](const counted& other) {
            return other.what == each.what;
        });
        if (found == to.end()) {
            to.push_back(each);
        } else {
            found->count = plus(found->count, each.count);
        }
    }
}

static void combine(process_record& to, const process_record& from)
{
    combine_pools(to.pools, from.pools);
    combine_large(to.large, from.large);
    add_counted(to.not_served, from.not_served);
    add_counted(to.misuse, from.misuse);
    for (const event_record& each : from.events) {
        if (to.events.size() < events_max) {
            to.events.push_back(each);
        }
    }
    to.duration_s += from.duration_s;
    to.peak_resident_bytes = std::max(to.peak_resident_bytes, from.peak_resident_bytes);
    to.is_measured         = to.is_measured && from.is_measured;
}

void become(process_record& process, const process_record& next)
{
    combine(process, next);
    process.program      = next.program;
    process.arguments    = next.arguments;
    process.level        = next.level;
    process.library      = next.library;
    process.leaks        = next.leaks;  // exec discarded the memory of the previous program
    process.leaked       = next.leaked;
    process.minor_faults = next.minor_faults;  // the system's counters continue over exec
    process.major_faults = next.major_faults;
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
