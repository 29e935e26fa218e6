// SPDX-License-Identifier: MIT
#include "size/size.hpp"

#include "size/configuration.hpp"
#include "text/failure.hpp"
#include "text/text.hpp"
#include "json/writer.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace tool
{
namespace
{

// "3 pools of the program and 2 pools for large blocks"
std::string pools_text(const configuration& plan)
{
    const std::size_t own = plan.pools.size() - plan.large_pools;
    std::string       out = own > 0 ? number_of(own, "pool", "pools") + " of the program" : "";
    if (plan.large_pools > 0) {
        out += (own > 0 ? " and " : "") + number_of(plan.large_pools, "pool", "pools") +
               " for large blocks";
    }
    return out;
}

std::string subject(const configuration& plan)
{
    const std::string pools = pools_text(plan);
    if (plan.rows.empty()) {
        return pools + ", " + bytes_text(plan.bytes()) + " in total";
    }
    const bool has_both = plan.large_pools > 0 && plan.large_pools < plan.pools.size();
    return fmt::format(
        "blocks of {}{}{}, {} in total, cover {} of the requests",
        number_of(plan.rows.size(), "size", "sizes"),
        pools.empty() ? ""
        : has_both    ? ", "
                      : " and ",
        pools,
        bytes_text(plan.bytes()),
        percent_text(static_cast<double>(plan.covered), static_cast<double>(plan.requests))
    );
}

std::string answer(const configuration& plan)
{
    std::string out = headline(fmt::format("{}: {}.", shown(plan.program), subject(plan)));
    return out + fmt::format(
                     "\nMeasured in {}, {}, {} in total; headroom {:g} %.\n"
                     "A peak is not a limit: other input may need more.{}\n",
                     number_of(plan.runs, "run", "runs"),
                     number_of(plan.processes, "process", "processes"),
                     seconds_text(plan.duration_s),
                     plan.headroom_percent,
                     plan.runs < 3 ? " Record several runs, and pass all their reports." : ""
                 );
}

std::string rows_text(const configuration& plan)
{
    table out{{"block", "blocks", "memory", "requests", "share", "waste", "reason"}, true};
    for (const size_row& row : plan.rows) {
        out.add(
            {grouped(row.block_bytes),
             grouped(row.blocks),
             bytes_text(row.bytes()),
             grouped(row.requests),
             percent_text(static_cast<double>(row.requests), static_cast<double>(plan.requests)),
             row.waste,
             row.reason}
        );
    }
    return out.empty() ? "" : "\n" + out.text();
}

// Lists the omitted sizes with the most requests, and counts the others: there can be dozens.
template <class Add>
void add_left_out(const configuration& plan, const Add& add)
{
    constexpr std::size_t lines_max = 5;
    std::vector<size_row> rows      = plan.left_out;
    std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
        return a.requests > b.requests;
    });
    std::uint64_t others = 0;
    for (std::size_t i = 0; i < rows.size(); i++) {
        if (i < lines_max) {
            add(grouped(rows[i].block_bytes),
                rows[i].requests,
                fmt::format(
                    "not needed for {:g} %; peak {}", plan.cover_percent, grouped(rows[i].peak)
                ));
        } else {
            others = plus(others, rows[i].requests);
        }
    }
    if (rows.size() > lines_max) {
        add(number_of(rows.size() - lines_max, "more size", "more sizes"),
            others,
            fmt::format("not needed for {:g} %", plan.cover_percent));
    }
}

std::string uncovered_text(const configuration& plan)
{
    table      out{{"not covered", "requests", "share", "why"}, true};
    const auto add = [&](const std::string& what, std::uint64_t requests, const std::string& why) {
        out.add(
            {what,
             grouped(requests),
             percent_text(static_cast<double>(requests), static_cast<double>(plan.requests)),
             why}
        );
    };
    add_left_out(plan, add);
    if (plan.large.allocations > 0) {
        add("large",
            plan.large.allocations,
            fmt::format(
                "larger than every size class; peak {} in {}{}",
                bytes_text(plan.large.peak_bytes),
                number_of(plan.large.peak, "block", "blocks"),
                plan.planned_large == 0
                    ? ""
                    : fmt::format("; pools for {} of them below", grouped(plan.planned_large))
            ));
    }
    if (plan.unserved > 0) {
        add("not served", plan.unserved, "see `eggbox report`");
    }
    return out.empty() ? "" : "\n" + out.text();
}

std::string limits_text(const configuration& plan)
{
    table out{{"pool", "block", "max_blocks", "memory", "requests", "reason"}, true};
    for (const size_row& row : plan.pools) {
        out.add(
            {shown(row.name),
             grouped(row.block_bytes),
             grouped(row.blocks),
             bytes_text(row.bytes()),
             grouped(row.requests),
             row.reason}
        );
    }
    return out.empty() ? "" : "\n" + out.text();
}

json row_json(const size_row& row)
{
    return {
        {"block_bytes", row.block_bytes},
        {"least_bytes", row.least_bytes},
        {"blocks", row.blocks},
        {"peak", row.peak},
        {"requests", row.requests},
        {"runs", row.runs},
        {"bytes", row.bytes()},
        {"waste", row.waste},
        {"reason", row.reason},
    };
}

json rows_json(const std::vector<size_row>& rows)
{
    json out = json::array();
    for (const size_row& row : rows) {
        out.push_back(row_json(row));
    }
    return out;
}

bool is_identifier(const std::string& name)
{
    return !name.empty() && name.size() <= 60 &&
           (std::isdigit(static_cast<unsigned char>(name[0])) == 0) &&
           std::all_of(name.begin(), name.end(), [](unsigned char c) {
               return c == '_' || (c < 0x80 && std::isalnum(c) != 0);
           });
}

int check(const size_options& wanted)
{
    const configuration earlier = parse_configuration(read_file(wanted.check), wanted.check);
    const totals        now     = sum_up(read_reports(wanted.files));
    if (now.requests() == 0 && now.others.empty()) {
        throw failure("nothing to check: the runs contain no request; fixed pools are in no report"
        );
    }
    const fit found = check_fit(earlier, now);
    print(wanted.json ? fit_data(found) : fitted(fit_page(found, wanted.check, now, wanted.files)));
    return found.fits() ? exit_done : exit_limit;
}

// With the options that made this page.
std::string next_text(const configuration& plan, const std::vector<std::string>& files)
{
    const std::string obstacle = plan.obstacle();
    if (!obstacle.empty()) {
        return fmt::format("\nNo header can be made: {}.\n", obstacle);
    }
    const configuration usual;
    std::string         options;
    if (plan.cover_percent < 100) {
        options += fmt::format(" --cover {}", plan.cover_percent);
    }
    if (plan.headroom_percent != usual.headroom_percent) {
        options += fmt::format(" --headroom {}", plan.headroom_percent);
    }
    if (plan.name != usual_name(plan.program)) {
        options += " --name " + plan.name;
    }
    return fmt::format(
        "\nBlock counts are for one process.\nNext: eggbox size --emit c{} {} > {}_pools.h\n",
        options,
        shell_quoted(files),
        plan.name
    );
}

}  // namespace

std::string size_page(const configuration& plan, const std::vector<std::string>& files)
{
    return answer(plan) + rows_text(plan) + uncovered_text(plan) + limits_text(plan) +
           next_text(plan, files);
}

std::string size_data(const configuration& plan)
{
    json pools = json::array();
    for (const size_row& row : plan.pools) {
        pools.push_back(
            {{"name", row.name},
             {"identifier", row.identifier},
             {"block_bytes", row.block_bytes},
             {"max_blocks", row.blocks},
             {"peak", row.peak},
             {"requests", row.requests},
             {"bytes", row.bytes()},
             {"reason", row.reason}}
        );
    }
    return json_text({
        {"schema", schema},
        {"kind", "eggbox-size"},
        {"name", plan.name},
        {"program", plan.program},
        {"runs", plan.runs},
        {"processes", plan.processes},
        {"duration_s", plan.duration_s},
        {"headroom_percent", plan.headroom_percent},
        {"cover_percent", plan.cover_percent},
        {"requests", plan.requests},
        {"covered", plan.covered},
        {"covered_percent", plan.share()},
        {"bytes", plan.bytes()},
        {"rows", rows_json(plan.rows)},
        {"left_out", rows_json(plan.left_out)},
        {"pools", std::move(pools)},
        {"large", {{"requests", plan.large.allocations}, {"peak_bytes", plan.large.peak_bytes}}},
        {"not_served", plan.unserved},
    });
}

int size_command(const size_options& wanted)
{
    if (!wanted.name.empty() && !is_identifier(wanted.name)) {
        throw bad_usage("--name: not a C identifier");
    }
    if (!wanted.check.empty()) {
        return check(wanted);
    }
    const configuration made = plan(
        read_reports(wanted.files), wanted.name, wanted.headroom_percent, wanted.cover_percent
    );
    const bool has_functions = wanted.emit == "c" || wanted.emit == "cpp";
    print(
        wanted.emit == "c"                     ? size_in_c(made)
        : wanted.emit == "cpp"                 ? size_in_cpp(made)
        : wanted.emit == "compat"              ? size_in_compat(made)
        : wanted.emit == "json" || wanted.json ? size_data(made)
                                               : fitted(size_page(made, wanted.files))
    );
    if (has_functions && made.large.allocations > 0) {
        say(fmt::format(
            "{} larger than any size class: the header refuses {}",
            number_of(made.large.allocations, "request was", "requests were"),
            made.large.allocations == 1 ? "it" : "them"
        ));
    }
    return exit_done;
}

}  // namespace tool
