// SPDX-License-Identifier: MIT
#include "export/profile.hpp"

#include "sums/findings.hpp"
#include "sums/stacks.hpp"
#include "text/failure.hpp"
#include "text/text.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace tool
{
namespace
{

// A report from elsewhere may have any number of either.
constexpr std::size_t parents_max = 16;
constexpr std::size_t frames_max  = 256;

using frames     = std::vector<profile_frame>;
using frames_map = std::map<frames, profile_sample>;

profile_frame named(const std::string& name)
{
    profile_frame out;
    out.name = shown(name);
    return out;
}

std::vector<profile_sample> values_of(const frames_map& samples)
{
    std::vector<profile_sample> out;
    for (const auto& [key, sample] : samples) {
        out.push_back({key, sample.count, sample.bytes});
    }
    return out;
}

// ---- leaks --------------------------------------------------------------------------------------

profile_frame frame_of(const place_record& place)
{
    profile_frame out = named(call_name(place));
    out.file          = shown(place.file);
    out.line          = place.line;
    out.module        = shown(place.module);
    out.address       = place.module.empty() ? place.address : place.offset;
    out.is_inlined    = place.is_inlined;
    return out;
}

frames frames_of(const leak_total& leak)
{
    frames out;
    for (const place_record& each :
         leak.stack.empty() ? stack_record{leak.site} : shown_calls(leak.stack)) {
        if (out.size() < frames_max) {
            out.push_back(frame_of(each));
        }
    }
    return out;
}

void add_sum(frames_map& to, const frames& at, std::uint64_t blocks, std::uint64_t bytes)
{
    if (blocks > 0) {
        profile_sample& sample = to[at];
        sample.count           = plus(sample.count, blocks);
        sample.bytes           = plus(sample.bytes, bytes);
    }
}

// Sites with their stacks, and the rest of their sum: sites that the report does not list.
frames_map samples_of(const std::vector<leak_total>& sites, const leak_sum& all)
{
    frames_map    samples;
    std::uint64_t blocks = 0;
    std::uint64_t bytes  = 0;
    for (const leak_total& each : sites) {
        add_sum(samples, frames_of(each), each.blocks, each.bytes);
        blocks = plus(blocks, each.blocks);
        bytes  = plus(bytes, each.bytes);
    }
    add_sum(
        samples,
        {named("(sites that the report does not list)")},
        minus(all.blocks, blocks),
        minus(all.bytes, bytes)
    );
    return samples;
}

void require_leaks(const findings& found)
{
    if (found.held_sum.is_known && !found.all.is_known) {
        throw failure("a signal ended the program, so its unfreed blocks are not leaks but in use");
    }
    if (!found.all.is_known) {
        throw failure(
            "the report has no leaks by place; record them with `eggbox run --check track`, or "
            "`--check sample` for an estimate"
        );
    }
}

void add_in_use(profile& to, const std::vector<run_record>& runs)
{
    const findings found = find_all(runs);
    if (!found.held_sum.is_known) {
        throw failure("the report has no blocks in use when a signal ended a program; record them "
                      "with `eggbox run --check sample`");
    }
    to.samples  = values_of(samples_of(found.held, found.held_sum));
    to.estimate = sampled_text(found.sampling, found.held_sum.samples);
}

void add_allocated(profile& to, const std::vector<run_record>& runs)
{
    const findings found = find_all(runs);
    if (found.sampling.period_bytes == 0) {
        throw failure(
            "the report has no requests by place; record them with `eggbox run --check sample`"
        );
    }
    to.samples  = values_of(samples_of(found.allocated, found.sampling.sum));
    to.estimate = sampled_text(found.sampling, found.sampling.sum.samples);
}

void add_leaked(profile& to, const std::vector<run_record>& runs)
{
    const findings found = find_all(runs);
    require_leaks(found);
    frames_map samples = samples_of(found.leaks, found.all);
    add_sum(
        samples,
        {named("(large blocks, allocation site not recorded)")},
        found.large.blocks,
        found.large.bytes
    );
    to.samples  = values_of(samples);
    to.estimate = sampled_text(found.sampling, found.all.samples);
}

// ---- pools --------------------------------------------------------------------------------------

// The pool, its parent and so on, and the program. A report may have a circle of parents.
frames frames_of(
    const pool_record&                               pool,
    const std::map<std::string, const pool_record*>& pools,
    const std::string&                               program
)
{
    frames             out  = {named(pool.name)};
    const std::string* name = &pool.parent;
    while (!name->empty() && out.size() < parents_max) {
        out.push_back(named(*name));
        const auto parent = pools.find(*name);
        if (parent == pools.end()) {
            break;
        }
        name = &parent->second->parent;
    }
    out.push_back(named(program));
    return out;
}

// As `eggbox report` does it: a peak is the largest of one pool, requests are a sum.
void add_blocks(
    frames_map& to, const frames& at, subject wanted, std::uint64_t count, std::uint64_t bytes
)
{
    if (count == 0) {
        return;
    }
    profile_sample& sample = to[at];
    if (wanted == subject::requests) {
        sample.count = plus(sample.count, count);
    } else {
        sample.count = std::max(sample.count, count);
        sample.bytes = std::max(sample.bytes, bytes);
    }
}

void add_process(frames_map& to, const process_record& process, subject wanted)
{
    const bool                                is_peak = wanted == subject::peak;
    std::map<std::string, const pool_record*> pools;
    for (const pool_record& each : process.pools) {
        pools.emplace(each.name, &each);
    }
    for (const pool_record& each : process.pools) {
        add_blocks(
            to,
            frames_of(each, pools, process.program),
            wanted,
            is_peak ? each.peak : each.allocations,
            times(each.peak, each.block_bytes)
        );
    }
    add_blocks(
        to,
        {named("large blocks, from the system"), named(process.program)},
        wanted,
        is_peak ? process.large.peak : process.large.allocations,
        process.large.peak_bytes
    );
    for (const counted& each : process.not_served) {
        add_blocks(
            to,
            {named(each.what), named("not served"), named(process.program)},
            wanted,
            is_peak ? 0 : each.count,
            0
        );
    }
}

std::vector<profile_sample> pool_samples(const std::vector<run_record>& runs, subject wanted)
{
    frames_map samples;
    for (const run_record& run : runs) {
        for (const process_record& process : run.processes) {
            add_process(samples, process, wanted);
        }
    }
    if (samples.empty()) {
        throw failure("the report has no pool that served a request");
    }
    return values_of(samples);
}

template <subject Wanted>
void add_pools(profile& to, const std::vector<run_record>& runs)
{
    to.samples = pool_samples(runs, Wanted);
}

struct named_profile {
    subject     value;
    const char* title;
    const char* count_name;
    const char* bytes_name;
    void (*add)(profile& to, const std::vector<run_record>& runs);
};

constexpr named_profile all_profiles[] = {
    {subject::leaked, "blocks that were never freed", "leaked_blocks", "leaked_bytes", add_leaked},
    {subject::in_use,
     "blocks in use when a signal ended the program",
     "in_use_blocks",
     "in_use_bytes",
     add_in_use},
    {subject::allocated,
     "all blocks, an estimate from samples",
     "allocated_blocks",
     "allocated_bytes",
     add_allocated},
    {subject::peak, "the peak of each pool", "peak_blocks", "peak_bytes", add_pools<subject::peak>},
    {subject::requests, "requests", "requests", "", add_pools<subject::requests>},
};

}  // namespace

bool profile_frame::operator<(const profile_frame& other) const
{
    return std::tie(name, file, line, module, address, is_inlined) <
           std::tie(
               other.name, other.file, other.line, other.module, other.address, other.is_inlined
           );
}

profile profile_of(const std::vector<run_record>& runs, subject wanted)
{
    const run_record& first = runs.front();
    profile           out;
    for (const named_profile& each : all_profiles) {
        if (each.value == wanted) {
            out.title      = each.title;
            out.count_name = each.count_name;
            out.bytes_name = each.bytes_name;
            each.add(out, runs);
        }
    }
    out.command    = shell_quoted(first.command);
    out.pid        = first.processes.empty() ? 0 : first.processes.front().pid;
    out.duration_s = first.wall_s;
    return out;
}

}  // namespace tool
