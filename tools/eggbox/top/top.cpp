// SPDX-License-Identifier: MIT
#include "top/top.hpp"

#include "live/running.hpp"
#include "text/failure.hpp"
#include "text/text.hpp"
#include "top/find.hpp"
#include "top/metrics.hpp"
#include "top/pools.hpp"
#include "top/screen.hpp"
#include "top/shared_view.hpp"
#include "json/writer.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace tool
{
namespace
{

std::string processes_text(const std::vector<egb_live_slot>& slots)
{
    constexpr std::size_t lines_max = 40;
    table                 out{{"process", "pools", "requests", "in use", "held", "program"}, true};
    for (std::size_t i = 0; i < std::min(slots.size(), lines_max); i++) {
        const egb_live_slot&         slot  = slots[i];
        const std::vector<pool_line> pools = pools_of(slot);
        const process_sum            sum   = sum_of(slot);
        out.add(
            {std::to_string(slot.pid),
             grouped(pools.size()),
             slot.is_measured != 0 ? grouped(sum.requests) : "-",
             bytes_text(sum.in_use),
             bytes_text(sum.held),
             program_of(slot)}
        );
    }
    return out.text() + (slots.size() > lines_max
                             ? fmt::format("... and {} more\n", slots.size() - lines_max)
                             : "");
}

// Pools that have ended leave their places.
std::string beyond_text(const egb_live_slot& slot)
{
    return pools_beyond(slot) == 0
               ? ""
               : fmt::format(
                     "Up to {} more pools are not recorded: a slot has room for {}.\n",
                     grouped(pools_beyond(slot)),
                     EGB_LIVE_POOLS - 1
                 );
}

std::string pools_text(const egb_live_slot& slot)
{
    constexpr std::size_t        lines_max = 20;
    const std::vector<pool_line> pools     = pools_of(slot);
    table out{{"pool", "block", "requests", "in use", "peak", "held", "refused"}};
    for (std::size_t i = 0; i < std::min(pools.size(), lines_max); i++) {
        const egb_live_pool& pool = *pools[i].pool;
        out.add(
            {shown(live_text(pool.name, sizeof pool.name)),
             grouped(pool.block_bytes),
             pools[i].counts != nullptr ? grouped(pools[i].counts->requests) : "-",
             grouped(blocks_in_use(pool)),
             grouped(pool.peak),
             bytes_text(pool.bytes_held),
             grouped(pool.failures)}
        );
    }
    if (has_large(slot)) {
        out.add(
            {"large",
             "-",
             grouped(slot.large.allocations),
             grouped(slot.large.in_use),
             grouped(slot.large.peak),
             bytes_text(slot.large.bytes),
             grouped(slot.large.failures)}
        );
    }
    return (out.empty() ? "" : "\n" + out.text()) +
           (pools.size() > lines_max
                ? fmt::format("... and {} more, that hold less\n", pools.size() - lines_max)
                : "") +
           beyond_text(slot);
}

std::string refused_text(std::uint64_t refused)
{
    return refused == 0 ? ""
                        : fmt::format(
                              "{} not recorded: all slots were in use.\n",
                              number_of(refused, "process was", "processes were")
                          );
}

std::string page(const recorded_processes& found, const std::vector<seen_pool>& shared)
{
    const std::vector<egb_live_slot>& slots = found.slots;
    return headline(number_of(slots.size(), "process is", "processes are") + " recorded.") + "\n" +
           refused_text(found.refused) + "\n" + processes_text(slots) +
           (slots.size() == 1 ? pools_text(slots[0]) : "") +
           (shared.empty() ? "" : "\n" + shared_text(shared)) +
           "\nIn use: as last counted, without free blocks that threads keep. \"-\": not "
           "counted.\n" +
           (slots.size() <= 1 ? ""
                              : fmt::format("\nNext: eggbox top {} --once\n", slots.front().pid));
}

json pool_line_json(const pool_line& of)
{
    json out = {
        {"name", live_text(of.pool->name, sizeof of.pool->name)},
        {"block_bytes", of.pool->block_bytes},
        {"in_use", blocks_in_use(*of.pool)},
        {"in_magazines", std::min<std::uint64_t>(of.pool->in_magazines, of.pool->in_use)},
        {"peak", of.pool->peak},
        {"bytes_held", of.pool->bytes_held},
        {"failures", of.pool->failures},
    };
    if (of.counts != nullptr) {
        out["requests"]        = of.counts->requests;
        out["requested_bytes"] = of.counts->requested_bytes;
    }
    return out;
}

json process_json(const egb_live_slot& slot)
{
    json out = {
        {"program", live_text(slot.program, sizeof slot.program)},
        {"arguments", arguments_now(slot)},
        {"pid", slot.pid},
        {"parent_pid", slot.parent_pid},
        {"is_linked", slot.is_linked != 0},
        {"is_measured", slot.is_measured != 0},
        {"pools_not_recorded_max", pools_beyond(slot)},
        {"pools", json::array()},
        {"large",
         {{"allocations", slot.large.allocations},
          {"frees", slot.large.frees},
          {"in_use", slot.large.in_use},
          {"peak", slot.large.peak},
          {"bytes_in_use", slot.large.bytes},
          {"peak_bytes", slot.large.bytes_peak},
          {"failures", slot.large.failures}}},
    };
    for (const pool_line& each : pools_of(slot)) {
        out["pools"].push_back(pool_line_json(each));
    }
    return out;
}

json data(const recorded_processes& found, const std::vector<seen_pool>& shared)
{
    json out = {
        {"schema", schema},
        {"kind", "eggbox-top"},
        {"processes_not_recorded", found.refused},
        {"processes", json::array()},
        {"shared", json::array()}
    };
    for (const egb_live_slot& each : found.slots) {
        out["processes"].push_back(process_json(each));
    }
    for (const seen_pool& each : shared) {
        out["shared"].push_back(seen_pool_json(each));
    }
    return out;
}

bool is_running(const std::string& wanted)
{
    const std::vector<std::uint64_t> all = running_processes();
    return std::any_of(all.begin(), all.end(), [&](std::uint64_t pid) {
        return std::to_string(pid) == wanted || running_name(pid) == wanted;
    });
}

// The reason why there is nothing to show, and a remedy.
std::string nothing(const std::string& wanted, const std::vector<std::string>& problems)
{
    constexpr const char* how = "start it with `eggbox run -- PROGRAM`, or with EGGBOX_LIVE=1 and "
                                "LD_PRELOAD=libeggbox-malloc.so in its environment";
    if (!problems.empty()) {
        return problems.front();
    }
    if (running_processes().empty()) {  // this one would be there
        return "processes are found in /proc, which is not mounted here; mount it with `mount -t "
               "proc none /proc`";
    }
    if (wanted.empty()) {
        return fmt::format("no running process is recorded; to record one, {}", how);
    }
    return is_running(wanted)
               ? fmt::format(
                     "{} is not recorded, or belongs to another user; {}", shown(wanted), how
                 )
               : fmt::format("no process {} is running", shown(wanted));
}

}  // namespace

int top_command(const top_options& wanted)
{
    const recorded_processes     found = find_recorded(wanted.process);
    const std::vector<seen_pool> shared =
        wanted.process.empty() ? all_pools() : std::vector<seen_pool>{};
    if (found.slots.empty() && shared.empty() && !(wanted.openmetrics && wanted.process.empty())) {
        throw failure(nothing(wanted.process, found.problems));
    }
    for (const std::string& each : found.problems) {
        say(each);
    }
    if (!wanted.once) {
        show_screen(wanted.process);
        return exit_done;
    }
    print(
        wanted.openmetrics ? metrics_text(found)
        : wanted.json      ? json_text(data(found, shared))
                           : fitted(page(found, shared))
    );
    return exit_done;
}

}  // namespace tool
