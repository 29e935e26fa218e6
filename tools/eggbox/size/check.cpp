// SPDX-License-Identifier: MIT
#include "size/configuration.hpp"

#include "text/text.hpp"
#include "json/writer.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace tool
{

bool fit::fits() const
{
    const auto row_fits = [](const fit_row& row) {
        return row.fits();
    };
    return share + 1e-9 >= promised && std::all_of(rows.begin(), rows.end(), row_fits) &&
           std::all_of(pools.begin(), pools.end(), row_fits);
}

// Each pool has a row of its own. A static pool refuses requests when it has no block left, so its
// peak alone does not show a lack. An earlier configuration without pools says nothing about them.
static std::vector<fit_row> fit_of_pools(const configuration& earlier, const totals& now)
{
    std::vector<fit_row> out;
    const auto           row_of = [&](const pool_total& pool) {
        return std::find_if(out.begin(), out.end(), [&](const fit_row& other) {
            return other.name == pool.name && other.block_bytes == pool.block_bytes;
        });
    };
    for (const size_row& row : earlier.pools) {
        out.push_back({row.name, row.block_bytes, row.blocks, 0, 0});
    }
    for (const pool_total& each : now.large_sizes) {  // the system serves those without a row
        const auto row = row_of(each);
        if (row != out.end()) {
            row->peak = each.peak;
        }
    }
    for (const pool_total& each : now.others) {
        auto row = row_of(each);
        if (row == out.end() && !earlier.pools.empty()) {
            row = out.insert(out.end(), {each.name, each.block_bytes, 0, 0, 0});
        }
        if (row != out.end()) {
            row->peak    = each.peak;
            row->refused = each.failures;
        }
    }
    return out;
}

// Each size of the new runs goes to the smallest row that fits. If every row has at least as many
// blocks as the sum of its peaks, no request needs a block of a larger row, so no row runs out.
// Sizes that were left out on purpose count only against the promised share.
fit check_fit(const configuration& earlier, const totals& now)
{
    fit           out;
    std::uint64_t covered = 0;
    for (const size_row& row : earlier.rows) {
        out.rows.push_back({"", row.block_bytes, row.blocks, 0, 0});
    }
    for (const pool_total& each : now.classes) {
        const auto row = std::lower_bound(
            earlier.rows.begin(),
            earlier.rows.end(),
            each.block_bytes,
            [](const size_row& r, std::uint64_t bytes) { return r.block_bytes < bytes; }
        );
        const bool is_left_out = row == earlier.rows.end() ? earlier.cover_percent < 100
                                                           : each.block_bytes < row->least_bytes;
        if (is_left_out) {
            continue;
        }
        if (row == earlier.rows.end()) {
            out.rows.push_back({"", each.block_bytes, 0, each.peak, 0});
            continue;
        }
        fit_row& there = out.rows[static_cast<std::size_t>(row - earlier.rows.begin())];
        there.peak     = plus(there.peak, each.peak);
        covered        = plus(covered, each.allocations);
    }
    out.pools               = fit_of_pools(earlier, now);
    const std::uint64_t all = now.requests();
    out.share = all == 0 ? 100 : static_cast<double>(covered) / static_cast<double>(all) * 100;
    // The configuration never covered large requests, so it promises no more than it reached.
    out.promised =
        earlier.cover_percent < 100 ? std::min(earlier.cover_percent, earlier.share()) : 0;
    return out;
}

static std::string verdict(const fit_row& row, const char* if_unknown)
{
    return row.refused > 0   ? fmt::format("REFUSED {}", grouped(row.refused))
           : row.fits()      ? ""
           : row.blocks == 0 ? if_unknown
                             : "TOO FEW";
}

static std::string used(const fit_row& row)
{
    return percent_text(static_cast<double>(row.peak), static_cast<double>(row.blocks));
}

static std::string rows_text(const fit& found)
{
    table out{{"block", "peak", "blocks", "used", ""}, true};
    for (const fit_row& row : found.rows) {
        out.add(
            {grouped(row.block_bytes),
             grouped(row.peak),
             grouped(row.blocks),
             used(row),
             verdict(row, "TOO LARGE")}
        );
    }
    return out.empty() ? "" : "\n" + out.text();
}

static std::string pools_text(const fit& found)
{
    table out{{"pool", "block", "peak", "blocks", "used", ""}, true};
    for (const fit_row& row : found.pools) {
        out.add(
            {shown(row.name),
             grouped(row.block_bytes),
             grouped(row.peak),
             grouped(row.blocks),
             used(row),
             verdict(row, "NOT PLANNED")}
        );
    }
    return out.empty() ? "" : "\n" + out.text();
}

static std::string coverage_text(const fit& found, const totals& now)
{
    if (now.requests() == 0) {
        return "";
    }
    return fmt::format(
               "\nThe configuration covers {} of the requests", percent_text(found.share, 100)
           ) +
           (found.promised > 0 ? fmt::format("; it promises {:.2f} %.\n", found.promised) : ".\n");
}

std::string fit_page(
    const fit&                      found,
    const std::string&              file,
    const totals&                   now,
    const std::vector<std::string>& reports
)
{
    const std::string answer = headline(fmt::format(
        "{} {} {}.",
        number_of(now.runs, "run", "runs"),
        found.fits() ? (now.runs == 1 ? "fits" : "fit")
                     : (now.runs == 1 ? "DOES NOT FIT" : "DO NOT FIT"),
        shown(file)
    ));
    return answer + coverage_text(found, now) + rows_text(found) + pools_text(found) +
           (found.fits()
                ? ""
                : "\nAdd the reports of the earlier runs to the next command.\nNext: eggbox "
                  "size " +
                      shell_quoted(reports) + "\n");
}

static json fit_json(const fit_row& row, const char* blocks)
{
    json out = {
        {"block_bytes", row.block_bytes},
        {"peak", row.peak},
        {blocks, row.blocks},
        {"fits", row.fits()},
    };
    if (!row.name.empty()) {
        out["name"]    = row.name;
        out["refused"] = row.refused;
    }
    return out;
}

std::string fit_data(const fit& found)
{
    json rows = json::array(), pools = json::array();
    for (const fit_row& row : found.rows) {
        rows.push_back(fit_json(row, "blocks"));
    }
    for (const fit_row& row : found.pools) {
        pools.push_back(fit_json(row, "max_blocks"));
    }
    return json_text({
        {"schema", schema},
        {"kind", "eggbox-fit"},
        {"fits", found.fits()},
        {"covered_percent", found.share},
        {"promised_percent", found.promised},
        {"rows", std::move(rows)},
        {"pools", std::move(pools)},
    });
}

}  // namespace tool
