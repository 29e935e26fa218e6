// SPDX-License-Identifier: MIT
#include "records/write.hpp"

namespace tool
{
namespace
{

void add_unless(json& to, const char* name, std::uint64_t value, std::uint64_t usual)
{
    if (value != usual) {
        to[name] = value;
    }
}

void add_truth(json& to, const char* name, bool truth)
{
    if (truth) {
        to[name] = true;
    }
}

json pool_record_json(const pool_record& pool)
{
    json out = {
        {"name", pool.name},
        {"parent", pool.parent},
        {"is_size_class", pool.is_size_class},
        {"block_bytes", pool.block_bytes},
        {"stride_bytes", pool.stride_bytes},
        {"max_blocks", pool.max_blocks},
        {"budget_bytes", pool.budget_bytes},
        {"capacity", pool.capacity},
        {"in_use", pool.in_use},
        {"cached", pool.cached},
        {"peak", pool.peak},
        {"allocations", pool.allocations},
        {"frees", pool.frees},
        {"failures", pool.failures},
        {"chunks", pool.chunks},
        {"bytes_held", pool.bytes_held},
        {"requested_bytes", pool.requested_bytes},
    };
    if (!pool.level.empty()) {
        out["level"] = pool.level;
    }
    add_unless(out, "in_use_over", pool.in_use_over, 0);
    add_unless(out, "ended", pool.ended, 0);
    return out;
}

json large_json(const large_record& large)
{
    json out = {
        {"allocations", large.allocations},
        {"frees", large.frees},
        {"in_use", large.in_use},
        {"peak", large.peak},
        {"bytes_in_use", large.bytes_in_use},
        {"peak_bytes", large.peak_bytes},
        {"failures", large.failures},
    };
    if (large.is_tracked) {
        out["is_tracked"] = true;
    }
    for (const large_size& each : large.sizes) {
        json size = {
            {"bytes", each.bytes},
            {"allocations", each.allocations},
            {"in_use", each.in_use},
            {"peak", each.peak},
        };
        add_unless(size, "allocations_over", each.allocations_over, 0);
        out["sizes"].push_back(std::move(size));
    }
    return out;
}

json of_pool(json site, const std::string& pool)
{
    site["pool"] = pool;
    return site;
}

void add_findings(json& to, const process_record& process)
{
    if (process.leaked.is_known) {
        to["leaks"] = json::array();
        for (const leak_record& each : process.leaks) {
            to["leaks"].push_back(of_pool(leak_json(each), each.pool));
        }
        to["leaked"] = leaked_json(process.leaked);
        if (process.reachable.is_known) {
            to["indirect"]  = leaked_json(process.indirect);
            to["reachable"] = leaked_json(process.reachable);
        }
    }
    if (process.sampling.period_bytes != 0) {
        to["allocated"] = json::array();
        for (const leak_record& site : process.allocated) {
            to["allocated"].push_back(of_pool(allocated_json(site), site.pool));
        }
        to["sampling"] = sampling_json(process.sampling);
    }
    if (process.without_stack != 0) {
        to["without_stack"] = process.without_stack;
    }
    for (const event_record& each : process.events) {
        to["events"].push_back(event_json(each));
    }
}

json process_json(const process_record& process)
{
    json pools = json::array();
    for (const pool_record& pool : process.pools) {
        pools.push_back(pool_record_json(pool));
    }
    json out = {
        {"schema", schema},
        {"kind", "eggbox-process"},
        {"program", process.program},
        {"arguments", process.arguments},
        {"pid", process.pid},
        {"parent_pid", process.parent_pid},
        {"duration_s", process.duration_s},
        {"level", process.level},
        {"library", process.library},
        {"peak_resident_bytes", process.peak_resident_bytes},
        {"minor_faults", process.minor_faults},
        {"major_faults", process.major_faults},
        {"is_measured", process.is_measured},
        {"pools", std::move(pools)},
        {"large", large_json(process.large)},
        {"not_served", counted_json(process.not_served, "reason")},
        {"misuse", counted_json(process.misuse, "kind")},
    };
    add_unless(out, "process_started", process.process_started, 0);
    add_unless(out, "started_ns", process.started_ns, 0);
    add_unless(out, "processes", process.processes, 1);
    add_truth(out, "is_linked", process.is_linked);
    add_truth(out, "is_beside", process.is_beside);
    add_unless(out, "signal", static_cast<std::uint64_t>(process.signal), 0);
    if (!process.no_report.empty()) {
        out["no_report"] = process.no_report;
    }
    add_findings(out, process);
    return out;
}

// Lists by member, not objects by moment: a third as long.
json timeline_json(const timeline_record& timeline)
{
    json pools = json::array();
    for (const timeline_pool& each : timeline.pools) {
        pools.push_back({{"name", each.name}, {"bytes_in_use", each.bytes_in_use}});
    }
    return {
        {"started_ns", timeline.started_ns},
        {"at_s", timeline.at_s},
        {"processes", timeline.processes},
        {"bytes_in_use", timeline.bytes_in_use},
        {"bytes_held", timeline.bytes_held},
        {"bytes_resident", timeline.bytes_resident},
        {"pools", std::move(pools)},
    };
}

}  // namespace

json place_json(const place_record& place)
{
    json out = json::object();
    for (const auto& [name, text] :
         {std::pair{"module", &place.module},
          std::pair{"file", &place.file},
          std::pair{"function", &place.function}}) {
        if (!text->empty()) {
            out[name] = *text;
        }
    }
    add_unless(out, "offset", place.offset, 0);
    add_unless(out, "address", place.address, 0);
    add_unless(out, "line", place.line, 0);
    if (place.is_inlined) {
        out["inlined"] = true;
    }
    return out;
}

void add_stack(json& to, const char* name, const stack_record& stack)
{
    for (const place_record& each : stack) {
        to[name].push_back(place_json(each));
    }
}

json event_json(const event_record& event)
{
    json out = {{"kind", event.kind}, {"pool", event.pool}};
    add_unless(out, "bytes", event.bytes, 0);
    if (event.is_damaged) {
        out["damaged"] = event.damaged;
    }
    for (const auto& [name, place] :
         {std::pair{"site", &event.site},
          std::pair{"alloc_site", &event.alloc_site},
          std::pair{"free_site", &event.free_site}}) {
        if (place->is_known()) {
            out[name] = place_json(*place);
        }
    }
    add_stack(out, "stack", event.stack);
    add_stack(out, "alloc_stack", event.alloc_stack);
    add_stack(out, "free_stack", event.free_stack);
    return out;
}

const char* reach_text(block_reach reach)
{
    switch (reach) {
        case block_reach::directly_lost: return "directly lost";
        case block_reach::indirectly_lost: return "indirectly lost";
        case block_reach::still_reachable: return "still reachable";
        default: return "";
    }
}

json leak_json(const site_record& leak)
{
    json out = {
        {"site", place_json(leak.site)},
        {"blocks", leak.blocks},
        {"bytes", leak.bytes},
        {"oldest_ms", leak.oldest_ms},
    };
    add_unless(out, "samples", leak.samples, 0);
    if (leak.reach != block_reach::unknown) {
        out["reach"] = reach_text(leak.reach);
    }
    add_stack(out, "stack", leak.stack);
    return out;
}

json allocated_json(const site_record& site)
{
    json out = leak_json(site);
    out.erase("oldest_ms");
    return out;
}

json leaked_json(const leak_sum& sum)
{
    json out = {{"places", sum.places}, {"blocks", sum.blocks}, {"bytes", sum.bytes}};
    add_unless(out, "samples", sum.samples, 0);
    return out;
}

json sampling_json(const sampling_record& sampling)
{
    json out            = leaked_json(sampling.sum);
    out["samples"]      = sampling.sum.samples;
    out["period_bytes"] = sampling.period_bytes;
    out["lost"]         = sampling.lost;
    add_truth(out, "is_mixed", sampling.is_mixed);
    return out;
}

json counted_json(const std::vector<counted>& all, const char* name)
{
    json out = json::array();
    for (const counted& each : all) {
        out.push_back({{name, each.what}, {"count", each.count}});
    }
    return out;
}

std::string report_text(const run_record& run)
{
    json processes = json::array();
    for (const process_record& process : run.processes) {
        processes.push_back(process_json(process));
    }
    json out = {
        {"schema", schema},
        {"kind", "eggbox-report"},
        {"command", run.command},
        {"exit_status", run.exit_status},
        {"wall_s", run.wall_s},
        {"unreadable", run.unreadable},
        {"processes", std::move(processes)},
    };
    for (const silent_record& each : run.silent) {
        json silent = {
            {"program", each.program},
            {"reason", each.reason},
            {"pid", each.pid},
            {"processes", each.processes},
        };
        add_truth(silent, "is_linked", each.is_linked);
        out["silent"].push_back(std::move(silent));
    }
    if (!run.timeline.at_s.empty()) {
        out["timeline"] = timeline_json(run.timeline);
    }
    return json_text(out);
}

}  // namespace tool
