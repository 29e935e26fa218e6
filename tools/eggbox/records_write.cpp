// SPDX-License-Identifier: MIT
#include "json_writer.hpp"
#include "records.hpp"

namespace tool
{
namespace
{

json pool_json(const pool_record& pool)
{
    return {
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
}

json large_json(const large_record& large)
{
    return {
        {"allocations", large.allocations},
        {"frees", large.frees},
        {"in_use", large.in_use},
        {"peak", large.peak},
        {"bytes_in_use", large.bytes_in_use},
        {"peak_bytes", large.peak_bytes},
        {"failures", large.failures},
    };
}

json process_json(const process_record& process)
{
    json pools = json::array();
    for (const pool_record& pool : process.pools) {
        pools.push_back(pool_json(pool));
    }
    return {
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
}

}  // namespace

json counted_json(const std::vector<counted>& all, const char* name)
{
    json out = json::array();
    for (const counted& each : all) {
        out.push_back({{name, each.what}, {"count", each.count}});
    }
    return out;
}

std::string json_text(const json& value)
{
    return value.dump(2, ' ', true, json::error_handler_t::replace) + "\n";
}

std::string json_line(const json& value)
{
    return value.dump(-1, ' ', true, json::error_handler_t::replace) + "\n";
}

std::string report_text(const run_record& run)
{
    json processes = json::array();
    for (const process_record& process : run.processes) {
        processes.push_back(process_json(process));
    }
    return json_text({
        {"schema", schema},
        {"kind", "eggbox-report"},
        {"command", run.command},
        {"exit_status", run.exit_status},
        {"wall_s", run.wall_s},
        {"unreadable", run.unreadable},
        {"processes", std::move(processes)},
    });
}

}  // namespace tool
