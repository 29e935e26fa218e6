// SPDX-License-Identifier: MIT
#include "size/configuration.hpp"
#include "text/failure.hpp"
#include "text/text.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "eggbox/fixed.h"

namespace tool
{
namespace
{

std::uint64_t rounded_up(std::uint64_t bytes)
{
    const std::uint64_t most = UINT64_MAX / block_align * block_align;
    return bytes > most
               ? most
               : std::max((bytes + block_align - 1) / block_align, UINT64_C(1)) * block_align;
}

// At least one block more than the peak, so that even a peak of one block has headroom.
std::uint64_t with_headroom(std::uint64_t peak, double percent)
{
    const double more = std::ceil(static_cast<double>(peak) * percent / 100);
    if (percent <= 0) {
        return peak;
    }
    return plus(
        peak,
        more < 1e15 ? std::max<std::uint64_t>(1, static_cast<std::uint64_t>(more)) : UINT64_MAX / 2
    );
}

std::string reason_of(const pool_total& pool, std::size_t runs, double headroom_percent)
{
    std::string out = fmt::format("peak {}", grouped(pool.peak));
    if (runs > 1) {
        out += fmt::format(" in run {} of {}", pool.peak_run + 1, runs);
    }
    if (headroom_percent > 0) {
        out += fmt::format(", plus {:g} %", headroom_percent);
    }
    if (pool.runs < runs) {
        out += fmt::format("; requested in {} of {} runs only", pool.runs, runs);
    }
    if (pool.pools > 1 && !pool.is_size_class) {
        out += fmt::format("; for each of {} pools", grouped(pool.pools));
    }
    if (pool.failures > 0 && !pool.is_size_class) {
        out += fmt::format(
            "; it needs more, as it refused {}", number_of(pool.failures, "request", "requests")
        );
    }
    return out;
}

size_row row_of(const pool_total& pool, std::size_t runs, double headroom_percent)
{
    size_row out;
    out.block_bytes = pool.is_size_class ? rounded_up(pool.block_bytes) : pool.block_bytes;
    out.blocks      = std::max<std::uint64_t>(1, with_headroom(pool.peak, headroom_percent));
    out.peak        = pool.peak;
    out.requests    = pool.allocations;
    out.runs        = pool.runs;
    out.waste       = waste_text(pool);
    out.reason      = reason_of(pool, runs, headroom_percent);
    return out;
}

size_row pool_row_of(const pool_total& pool, std::size_t runs, double headroom_percent)
{
    constexpr std::uint64_t page  = 4096;  // no pool aligns its blocks to more
    size_row                out   = row_of(pool, runs, headroom_percent);
    const std::uint64_t     align = pool.align == 0 ? block_align : std::min(pool.align, page);
    out.name                      = pool.name;
    out.align                     = std::max<std::uint64_t>(EGB_WORD_BYTES, align);
    return out;
}

// Size classes with the same size after rounding share a row.
void add_row(std::vector<size_row>& to, const size_row& row)
{
    if (to.empty() || to.back().block_bytes != row.block_bytes) {
        to.push_back(row);
        return;
    }
    size_row& last = to.back();
    last.blocks    = plus(last.blocks, row.blocks);
    last.peak      = plus(last.peak, row.peak);
    last.requests  = plus(last.requests, row.requests);
    last.runs      = std::max(last.runs, row.runs);
    last.reason += "; and " + row.reason;
}

// Keeps the fewest sizes that reach the wanted share, those with the most requests first.
void choose(configuration& out, const std::vector<size_row>& all)
{
    std::vector<std::size_t> order(all.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return all[a].requests > all[b].requests;
    });
    const double      wanted = static_cast<double>(out.requests) * out.cover_percent / 100;
    std::vector<bool> is_kept(all.size());
    for (const std::size_t i : order) {
        if (out.cover_percent < 100 && static_cast<double>(out.covered) >= wanted) {
            break;
        }
        is_kept[i]  = true;
        out.covered = plus(out.covered, all[i].requests);
    }
    for (std::size_t i = 0; i < all.size(); i++) {
        (is_kept[i] ? out.rows : out.left_out).push_back(all[i]);
    }
}

// Sets least_bytes. A request of an omitted size must not take a block of the next larger size,
// because the block count of that size does not include it.
void find_least(configuration& out)
{
    std::uint64_t before = 0;
    auto          other  = out.left_out.cbegin();  // by size, as the rows
    for (size_row& row : out.rows) {
        for (; other != out.left_out.cend() && other->block_bytes < row.block_bytes; ++other) {
            before = std::max(before, other->block_bytes + 1);
        }
        row.least_bytes = std::max(row.least_bytes, before);
        before          = row.block_bytes + 1;
    }
}

std::string program_of(const std::vector<run_record>& runs)
{
    for (const run_record& run : runs) {
        if (!run.command.empty()) {
            return run.command.front();
        }
    }
    return "program";
}

std::string identifier_of(std::string name)
{
    for (char& c : name) {
        c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    }
    const auto are_two = [](char a, char b) {
        return a == '_' && b == '_';
    };
    name.erase(std::unique(name.begin(), name.end(), are_two), name.end());  // __ is C++'s own
    const std::size_t first = std::min(name.find_first_not_of('_'), name.size());
    name                    = name.substr(first, name.find_last_not_of('_') + 1 - first);
    name                    = name.substr(0, 40);
    name.erase(name.find_last_not_of('_') + 1);
    const bool is_fine = !name.empty() && std::isalpha(static_cast<unsigned char>(name[0])) != 0;
    return is_fine ? name : name.empty() ? "pools" : "pools_" + name;
}

// Names that differ may become the same identifier, and pools of one name may differ in size.
void find_identifiers(std::vector<size_row>& pools)
{
    std::set<std::string> taken;
    for (size_row& each : pools) {
        const std::string base = identifier_of(each.name);
        each.identifier        = base;
        for (std::size_t more = 2; !taken.insert(each.identifier).second; more++) {
            each.identifier = fmt::format("{}_{}", base, more);
        }
    }
}

// A pool for each size of large blocks that a pool can have, named "large" and the size. The system
// serves the other sizes as before.
void add_large_sizes(configuration& to, const totals& sums)
{
    for (const pool_total& each : sums.large_sizes) {
        size_row row = pool_row_of(each, sums.runs, to.headroom_percent);
        if (EGB_FIXED_BYTES(row.stride(), row.blocks) != 0) {
            to.planned_large = plus(to.planned_large, row.requests);
            to.pools.push_back(std::move(row));
            to.large_pools++;
        }
    }
}

}  // namespace

std::string usual_name(const std::string& program)
{
    return identifier_of(program.substr(program.rfind('/') + 1));
}

std::uint64_t size_row::stride() const
{
    return times(plus(block_bytes, align - 1) / align, align);
}

std::uint64_t size_row::bytes() const
{
    const std::uint64_t live_bits =
        EGB_FIXED_LIVE_BYTES(std::min<std::uint64_t>(blocks, UINT32_MAX));
    return plus(times(stride(), blocks), live_bits + sizeof(egb_fixed));
}

std::uint64_t configuration::bytes() const
{
    std::uint64_t sum = 0;
    for (const std::vector<size_row>* const part : {&rows, &pools}) {
        for (const size_row& row : *part) {
            sum = plus(sum, row.bytes());
        }
    }
    return sum;
}

std::string configuration::obstacle() const
{
    for (const std::vector<size_row>* const part : {&rows, &pools}) {
        for (const size_row& row : *part) {
            if (EGB_FIXED_BYTES(row.stride(), row.blocks) == 0) {
                return fmt::format(
                    "a pool cannot have {} of {} bytes",
                    number_of(row.blocks, "block", "blocks"),
                    grouped(row.block_bytes)
                );
            }
        }
    }
    return "";
}

double configuration::share() const
{
    return requests == 0 ? 100 : static_cast<double>(covered) / static_cast<double>(requests) * 100;
}

configuration plan(
    const std::vector<run_record>& runs,
    const std::string&             name,
    double                         headroom_percent,
    double                         cover_percent
)
{
    const totals  sums = sum_up(runs);
    configuration out;
    out.program          = program_of(runs);
    out.name             = name.empty() ? usual_name(out.program) : name;
    out.runs             = sums.runs;
    out.processes        = sums.processes;
    out.duration_s       = sums.duration_s;
    out.headroom_percent = headroom_percent;
    out.cover_percent    = cover_percent;
    out.requests         = sums.requests();
    out.large            = sums.large;
    out.unserved         = sums.unserved();
    std::vector<size_row> all;
    for (const pool_total& each : sums.classes) {
        add_row(all, row_of(each, sums.runs, headroom_percent));
    }
    if (all.empty() && sums.others.empty() && sums.large_sizes.empty()) {
        throw failure("nothing to size: no request was served from pools");
    }
    choose(out, all);
    find_least(out);
    for (const pool_total& each : sums.others) {
        out.pools.push_back(pool_row_of(each, sums.runs, headroom_percent));
    }
    add_large_sizes(out, sums);
    find_identifiers(out.pools);
    return out;
}

}  // namespace tool
