// SPDX-License-Identifier: MIT
#include "top/view.hpp"

#include "text/fold.hpp"
#include "text/text.hpp"
#include "top/pools.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include <fmt/format.h>

namespace tool
{
namespace
{

row_key key_of(const egb_live_slot& slot, std::uint64_t pool = 0)
{
    return {slot.pid, slot.is_linked != 0, pool, ""};
}

// The key of the line of large blocks: no pool has it.
constexpr std::uint64_t large_key = UINT64_MAX;

double rate_of(const counted_requests& before, const counted_requests& now, const row_key& key)
{
    const auto then    = before.of.find(key);
    const auto current = now.of.find(key);
    if (then == before.of.end() || current == now.of.end() || now.at_s <= before.at_s) {
        return -1;
    }
    return static_cast<double>(minus(current->second, then->second)) / (now.at_s - before.at_s);
}

std::string waste_text(std::uint64_t in_use, std::uint64_t held)
{
    return percent_text(static_cast<double>(minus(held, in_use)), static_cast<double>(held));
}

std::string more_text(std::uint64_t count, const char* one, const char* many)
{
    return count == 0 ? "" : "; NOT recorded: " + number_of(count, one, many);
}

std::string title_of(const recorded_processes& found)
{
    process_sum all;
    for (const egb_live_slot& slot : found.slots) {
        const process_sum one = sum_of(slot);
        all.in_use            = plus(all.in_use, one.in_use);
        all.held              = plus(all.held, one.held);
    }
    return fmt::format(
               "{}, {} in use, {} held",
               number_of(found.slots.size(), "process", "processes"),
               bytes_text(all.in_use),
               bytes_text(all.held)
           ) +
           more_text(found.refused, "more process", "more processes");
}

view processes_view(
    const recorded_processes& found,
    const counted_requests&   before,
    const counted_requests&   now,
    const view_options&       wanted
)
{
    view              out{title_of(found), "", {}};
    std::vector<line> lines;
    for (const egb_live_slot& slot : found.slots) {
        const process_sum sum = sum_of(slot);
        line              one{
            key_of(slot),
            program_of(slot),
            rate_of(before, now, key_of(slot)),
            sum.in_use,
            sum.held,
                         {}
        };
        one.cells = {
            std::to_string(slot.pid),
            grouped(pools_of(slot).size()),
            rate_text(slot.is_measured != 0 ? one.rate : -1),
            bytes_text(sum.in_use),
            bytes_text(sum.held),
            waste_text(sum.in_use, sum.held),
            one.name
        };
        lines.push_back(std::move(one));
    }
    fill(
        out,
        table{{"process", "pools", "requests/s", "in use", "held", "unused", "program"}, true},
        std::move(lines),
        wanted,
        {"pools", "unused", "held", "requests/s"}
    );
    return out;
}

line line_of(
    const egb_live_slot&    slot,
    const pool_line&        from,
    const counted_requests& before,
    const counted_requests& now
)
{
    const egb_live_pool& pool   = *from.pool;
    const std::uint64_t  in_use = times(blocks_in_use(pool), pool.block_bytes);
    line                 out{
        key_of(slot, pool.key),
        shown(live_text(pool.name, sizeof pool.name)),
        from.counts == nullptr ? -1 : rate_of(before, now, key_of(slot, pool.key)),
        in_use,
        pool.bytes_held,
                        {}
    };
    out.cells = {
        out.name,
        grouped(pool.block_bytes),
        rate_text(out.rate),
        grouped(blocks_in_use(pool)),
        grouped(pool.peak),
        bytes_text(pool.bytes_held),
        waste_text(in_use, pool.bytes_held),
        grouped(pool.failures)
    };
    return out;
}

line large_line(const egb_live_slot& slot)
{
    const egb_live_large& large = slot.large;
    return {
        key_of(slot, large_key),
        "large",
        -1,
        large.bytes,
        large.bytes,
        {"large",
         "-",
         "-",
         grouped(large.in_use),
         grouped(large.peak),
         bytes_text(large.bytes),
         "-",
         grouped(large.failures)}
    };
}

view pools_view(
    const recorded_processes& found,
    const counted_requests&   before,
    const counted_requests&   now,
    const view_options&       wanted
)
{
    view              out{fmt::format("process {} has ended", wanted.of.pid), "", {}};
    std::vector<line> lines;
    for (const egb_live_slot& slot : found.slots) {
        if (!(key_of(slot) == wanted.of)) {
            continue;
        }
        out.title = fmt::format("process {}: {}", slot.pid, program_of(slot)) +
                    more_text(pools_beyond(slot), "more pool", "more pools");
        for (const pool_line& each : pools_of(slot)) {
            lines.push_back(line_of(slot, each, before, now));
        }
        if (has_large(slot)) {
            lines.push_back(large_line(slot));
        }
    }
    fill(
        out,
        table{{"pool", "block", "requests/s", "in use", "peak", "held", "unused", "refused"}},
        std::move(lines),
        wanted,
        {"unused", "block", "peak", "requests/s"}
    );
    return out;
}

}  // namespace

std::string rate_text(double rate)
{
    return rate < 0 ? "-" : grouped(static_cast<std::uint64_t>(std::llround(rate)));
}

namespace
{

bool comes_first(const line& a, const line& b, order by)
{
    switch (by) {
        case order::in_use: return a.in_use > b.in_use;
        case order::rate: return a.rate > b.rate;
        case order::name: return a.name < b.name;
        case order::held: break;
    }
    return a.held > b.held;
}

}  // namespace

// A name in the last column may be cut: its beginning tells enough.
static bool fits(const std::string& head, bool has_name, std::size_t width)
{
    constexpr std::size_t name_min = 20;
    return width == 0 || (has_name ? head.rfind("  ") + 2 + name_min : columns(head)) <= width;
}

void fill(
    view&                           to,
    table                           columns,
    std::vector<line>               lines,
    const view_options&             wanted,
    const std::vector<std::string>& spare
)
{
    lines.erase(
        std::remove_if(
            lines.begin(),
            lines.end(),
            [&](const line& each) { return each.name.find(wanted.filter) == std::string::npos; }
        ),
        lines.end()
    );
    std::stable_sort(lines.begin(), lines.end(), [&](const line& a, const line& b) {
        return comes_first(a, b, wanted.by);
    });
    for (const line& each : lines) {
        columns.add(each.cells);
    }
    const auto does_fit = [&] {
        const std::string all = columns.text(0);
        return fits(all.substr(0, all.find('\n')), columns.ends_with_text(), wanted.width);
    };
    for (auto each = spare.begin(); each != spare.end() && !does_fit(); ++each) {
        columns = columns.without(*each);
    }
    std::istringstream text{columns.text(0)};
    std::getline(text, to.head);
    for (const line& each : lines) {
        to.rows.push_back({each.key, ""});
        std::getline(text, to.rows.back().text);
    }
}

const char* order_name(order by)
{
    switch (by) {
        case order::in_use: return "in use";
        case order::rate: return "requests/s";
        case order::name: return "name";
        case order::held: break;
    }
    return "held";
}

order order_after(order by)
{
    return by == order::name ? order::held : static_cast<order>(static_cast<int>(by) + 1);
}

counted_requests requests_in(const recorded_processes& found, double at_s)
{
    counted_requests out;
    out.at_s = at_s;
    for (const egb_live_slot& slot : found.slots) {
        out.of[key_of(slot)] = sum_of(slot).requests;
        for (const pool_line& each : pools_of(slot)) {
            if (each.counts != nullptr) {
                out.of[key_of(slot, each.pool->key)] = each.counts->requests;
            }
        }
    }
    return out;
}

view view_of(
    const recorded_processes& found,
    const counted_requests&   before,
    const counted_requests&   now,
    const view_options&       wanted
)
{
    return wanted.of.pid == 0 ? processes_view(found, before, now, wanted)
                              : pools_view(found, before, now, wanted);
}

}  // namespace tool
