// SPDX-License-Identifier: MIT
#include "top/metrics.hpp"

#include "text/text.hpp"
#include "top/pools.hpp"
#include "json/writer.hpp"

#include <map>
#include <vector>

#include <fmt/format.h>

namespace tool
{
namespace
{

struct family {
    const char* name;
    const char* kind;
    const char* unit;  // empty: none
    const char* help;
};

constexpr family families[] = {
    {"eggbox_pool_in_use_bytes",
     "gauge",
     "bytes",
     "Blocks in use, as last counted, without free ones that threads keep, times their size."},
    {"eggbox_pool_held_bytes", "gauge", "bytes", "Memory that the pool has from the system."},
    {"eggbox_pool_peak_blocks", "gauge", "", "The most blocks that were in use at one time."},
    {"eggbox_pool_failures", "counter", "", "Requests that found no memory."},
    {"eggbox_pool_requests", "counter", "", "Requests, where they are counted."},
};
enum { IN_USE, HELD, PEAK, FAILURES, REQUESTS, FAMILIES };

struct series {
    std::uint64_t values[FAMILIES] = {};
    bool          has_requests     = false;
};

// A quoted value. A name of a process may hold any bytes, and may be cut within a character.
std::string label(const std::string& text)
{
    return json(shown(text)).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string labels_of(const egb_live_slot& slot, const std::string& pool, std::uint64_t bytes)
{
    return fmt::format(
        "{{pid=\"{}\",program={},library=\"{}\",pool={},block_bytes=\"{}\"}}",
        slot.pid,
        label(live_text(slot.program, sizeof slot.program)),
        slot.is_linked != 0 ? "linked" : "malloc",
        label(pool),
        bytes
    );
}

void add(
    series& to, std::uint64_t in_use, std::uint64_t held, std::uint64_t peak, std::uint64_t failures
)
{
    const std::uint64_t more[] = {in_use, held, peak, failures};
    for (std::size_t i = 0; i < std::size(more); i++) {
        to.values[i] = plus(to.values[i], more[i]);
    }
}

void add_requests(series& to, std::uint64_t requests)
{
    to.has_requests     = true;
    to.values[REQUESTS] = plus(to.values[REQUESTS], requests);
}

using all_series = std::map<std::string, series>;  // by labels

void add_process(all_series& to, const egb_live_slot& slot)
{
    for (const pool_line& each : pools_of(slot)) {
        const egb_live_pool& pool = *each.pool;
        series& one = to[labels_of(slot, live_text(pool.name, sizeof pool.name), pool.block_bytes)];
        add(one,
            times(blocks_in_use(pool), pool.block_bytes),
            pool.bytes_held,
            pool.peak,
            pool.failures);
        if (each.counts != nullptr) {
            add_requests(one, each.counts->requests);
        }
    }
    if (has_large(slot)) {
        const egb_live_large& large = slot.large;
        series&               one   = to[labels_of(slot, "large", 0)];
        add(one, large.bytes, large.bytes, large.peak, large.failures);
        add_requests(one, large.allocations);
    }
}

}  // namespace

std::string metrics_text(const recorded_processes& found)
{
    all_series all;
    for (const egb_live_slot& slot : found.slots) {
        add_process(all, slot);
    }
    std::string out;
    for (std::size_t i = 0; i < FAMILIES; i++) {
        const family&     one    = families[i];
        const std::string suffix = one.kind == std::string("counter") ? "_total" : "";
        out += fmt::format("# TYPE {} {}\n", one.name, one.kind);
        out += *one.unit == '\0' ? "" : fmt::format("# UNIT {} {}\n", one.name, one.unit);
        out += fmt::format("# HELP {} {}\n", one.name, one.help);
        for (const auto& [labels, each] : all) {
            if (i != REQUESTS || each.has_requests) {
                out += fmt::format("{}{}{} {}\n", one.name, suffix, labels, each.values[i]);
            }
        }
    }
    return out + "# EOF\n";
}

}  // namespace tool
