// SPDX-License-Identifier: MIT
#include "diff/diff.hpp"
#include "text/text.hpp"
#include "json/writer.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace tool
{
namespace
{

constexpr std::size_t parts_max = 10;

std::string value_text(const figure_change& figure, std::uint64_t value)
{
    return figure.is_bytes ? bytes_text(value) : grouped(value);
}

// As a share of all that the figure was before.
std::string growth_text(const figure_change& figure, const change& part)
{
    if (part.before == part.after) {
        return "0 %";
    }
    if (figure.all.before == 0) {
        return "new";
    }
    const bool        has_grown = part.after > part.before;
    const double      by        = has_grown ? static_cast<double>(part.after - part.before)
                                            : static_cast<double>(part.before - part.after);
    const std::string share     = percent_text(by, static_cast<double>(figure.all.before));
    return share.front() == '<' ? share : (has_grown ? "+" : "-") + share;
}

void add_row(table& to, const figure_change& figure, const change& part, double percent)
{
    const bool is_above = percent >= 0 && difference::is_above(figure, part, percent);
    to.add(
        {figure.name,
         value_text(figure, part.before),
         value_text(figure, part.after),
         growth_text(figure, part),
         (is_above ? "ABOVE: " : "") + part.what}
    );
}

bool has_changed(const figure_change& figure)
{
    return figure.all.before != figure.all.after || !figure.parts.empty();
}

std::string answer(const difference& of, double percent)
{
    if (percent >= 0) {
        const std::size_t above = of.count_above(percent);
        return above == 0 ? fmt::format("Nothing grew by more than {} %.", percent)
                          : fmt::format(
                                "{} by more than {} %.",
                                number_of(above, "figure grew", "figures grew"),
                                percent
                            );
    }
    return std::any_of(of.figures.begin(), of.figures.end(), has_changed)
               ? "NEW differs from OLD."
               : "NEW has the figures of OLD.";
}

}  // namespace

std::string difference_page(const difference& of, double percent, const std::string& after_file)
{
    table       rows{{"figure", "old", "new", "growth", "what"}, true};
    std::size_t left_out = 0;
    for (const figure_change& figure : of.figures) {
        if (figure.all.before == 0 && !has_changed(figure)) {
            continue;
        }
        add_row(rows, figure, figure.all, percent);
        for (std::size_t i = 0; i < std::min(figure.parts.size(), parts_max); i++) {
            add_row(rows, figure, figure.parts[i], percent);
        }
        left_out += figure.parts.size() - std::min(figure.parts.size(), parts_max);
    }
    std::string out = headline(answer(of, percent)) + "\n";
    for (const std::string& note : of.notes) {
        out += note + ".\n";
    }
    out += "\n" + rows.text();
    if (left_out > 0) {
        out += fmt::format("... and {} more in `--json`\n", grouped(left_out));
    }
    return out +
           "\nGrowth is a share of all that the figure was in OLD. Each peak is that of one "
           "process or pool."
           "\n\nNext: eggbox report " +
           shell_quoted(after_file) + "\n";
}

std::string difference_data(const difference& of, double percent)
{
    json figures = json::array();
    for (const figure_change& figure : of.figures) {
        json parts = json::array();
        for (const change& part : figure.parts) {
            parts.push_back({{"what", part.what}, {"old", part.before}, {"new", part.after}});
            if (percent >= 0) {
                parts.back()["is_above"] = difference::is_above(figure, part, percent);
            }
        }
        figures.push_back({
            {"figure", figure.name},
            {"unit", figure.is_bytes ? "bytes" : "count"},
            {"old", figure.all.before},
            {"new", figure.all.after},
            {"parts", std::move(parts)},
        });
        if (percent >= 0) {
            figures.back()["is_above"] = difference::is_above(figure, figure.all, percent);
        }
    }
    json out = {
        {"schema", schema},
        {"kind", "eggbox-difference"},
        {"figures", std::move(figures)},
        {"notes", of.notes},
    };
    if (percent >= 0) {
        out["limit_percent"] = percent;
        out["above"]         = of.count_above(percent);
    }
    return json_text(out);
}

}  // namespace tool
