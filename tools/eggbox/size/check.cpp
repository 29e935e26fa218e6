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
    return share + 1e-9 >= promised &&
           std::all_of(rows.begin(), rows.end(), [](const fit_row& row) {
               return row.peak <= row.blocks;
           });
}

// Each size of the new runs goes to the smallest row that fits. If every row has at least as many
// blocks as the sum of its peaks, no request needs a block of a larger row, so no row runs out.
// Sizes that were left out on purpose count only against the promised share.
fit check_fit(const configuration& earlier, const totals& now)
{
    fit           out;
    std::uint64_t covered = 0;
    for (const size_row& row : earlier.rows) {
        out.rows.push_back({row.block_bytes, row.blocks, 0});
    }
    for (const pool_total& each : now.classes) {
        const auto row = std::find_if(earlier.rows.begin(), earlier.rows.end(), [&](const auto& r) {
            return each.block_bytes <= r.block_bytes;
        });
        const bool is_left_out = row == earlier.rows.end() ? earlier.cover_percent < 100
                                                           : each.block_bytes < row->least_bytes;
        if (is_left_out) {
            continue;
        }
        if (row == earlier.rows.end()) {
            out.rows.push_back({each.block_bytes, 0, each.peak});
            continue;
        }
        fit_row& there = out.rows[static_cast<std::size_t>(row - earlier.rows.begin())];
        there.peak     = plus(there.peak, each.peak);
        covered        = plus(covered, each.allocations);
    }
    const std::uint64_t all = now.requests();
    out.share = all == 0 ? 100 : static_cast<double>(covered) / static_cast<double>(all) * 100;
    // The configuration never covered large requests, so it promises no more than it reached.
    out.promised =
        earlier.cover_percent < 100 ? std::min(earlier.cover_percent, earlier.share()) : 0;
    return out;
}

std::string fit_page(const fit& found, const std::string& file, const totals& now)
{
    std::string out = headline(fmt::format(
        "{} {} {}.",
        number_of(now.runs, "run", "runs"),
        found.fits() ? (now.runs == 1 ? "fits" : "fit")
                     : (now.runs == 1 ? "DOES NOT FIT" : "DO NOT FIT"),
        shown(file)
    ));
    out += fmt::format(
        "\nThe configuration covers {} of the requests", percent_text(found.share, 100)
    );
    out +=
        found.promised > 0 ? fmt::format("; it promises {:.2f} %.\n\n", found.promised) : ".\n\n";
    table rows{{"block", "peak", "blocks", "used", ""}, true};
    for (const fit_row& row : found.rows) {
        rows.add(
            {grouped(row.block_bytes),
             grouped(row.peak),
             grouped(row.blocks),
             percent_text(static_cast<double>(row.peak), static_cast<double>(row.blocks)),
             row.peak <= row.blocks ? ""
             : row.blocks == 0      ? "TOO LARGE"
                                    : "TOO FEW"}
        );
    }
    return out + rows.text() +
           (found.fits() ? "" : "\nNext: eggbox size with the reports of all runs\n");
}

std::string fit_data(const fit& found)
{
    json rows = json::array();
    for (const fit_row& row : found.rows) {
        rows.push_back(
            {{"block_bytes", row.block_bytes},
             {"peak", row.peak},
             {"blocks", row.blocks},
             {"fits", row.peak <= row.blocks}}
        );
    }
    return json_text({
        {"schema", schema},
        {"kind", "eggbox-fit"},
        {"fits", found.fits()},
        {"covered_percent", found.share},
        {"promised_percent", found.promised},
        {"rows", std::move(rows)},
    });
}

}  // namespace tool
