// SPDX-License-Identifier: MIT
#include "compare/comparison.hpp"

#include "text/text.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace tool
{

template <class Number>
spread spread_of(const variant& of, Number sample::* number)
{
    spread       out;
    const double count = static_cast<double>(of.samples.size());
    out.least = out.most = static_cast<double>(of.samples.front().*number);
    for (const sample& each : of.samples) {
        const double value = static_cast<double>(each.*number);
        out.mean += value / count;
        out.least = std::min(out.least, value);
        out.most  = std::max(out.most, value);
    }
    double squares = 0;
    for (const sample& each : of.samples) {
        squares += std::pow(static_cast<double>(each.*number) - out.mean, 2);
    }
    out.deviation = count > 1 ? std::sqrt(squares / (count - 1)) : 0;
    return out;
}

// From the spreads of single runs: relative spreads combine as the root of the sum of squares.
factor relative(const spread& base, const spread& other)
{
    factor out;
    if (base.mean <= 0 || other.mean <= 0) {
        return out;
    }
    out.value  = other.mean / base.mean;
    out.spread = out.value * std::hypot(base.deviation / base.mean, other.deviation / other.mean);
    return out;
}

namespace
{

// Student's t for 5 % (two-sided), by the expansion for many degrees of freedom (Abramowitz and
// Stegun, 26.7.5). The error is at most 2 % from 4 degrees of freedom on.
double students_t(double freedom)
{
    return 1.96 + 2.37 / freedom + 2.82 / (freedom * freedom);
}

// True if two means of n runs differ significantly. The error of a mean is 1/sqrt(n) of the spread
// of its runs. The logarithm makes the test symmetric between "fast" and "slow".
bool is_sure(const factor& found, std::size_t runs)
{
    const double count = static_cast<double>(runs);
    return runs > 2 && found.value > 0 &&
           std::fabs(std::log(found.value)) >
               students_t(2 * count - 2) * found.spread / found.value / std::sqrt(count);
}

std::string time_answer(const variant& base, const variant& other)
{
    const factor found =
        relative(spread_of(base, &sample::wall_s), spread_of(other, &sample::wall_s));
    if (!is_sure(found, base.samples.size())) {
        return fmt::format(
            "{} is as fast as {}, as far as these runs show", shown(other.name), shown(base.name)
        );
    }
    const double times = found.value < 1 ? 1 / found.value : found.value;
    return fmt::format(
        "{} is {:.2f} ± {:.2f} times as {} as {}",
        shown(other.name),
        times,
        found.spread / found.value * times,
        found.value < 1 ? "fast" : "slow",
        shown(base.name)
    );
}

std::string memory_answer(const variant& base, const variant& other)
{
    const double before = spread_of(base, &sample::resident_bytes).mean;
    const double after  = spread_of(other, &sample::resident_bytes).mean;
    return before <= 0 ? "" : fmt::format(", with {:.2f} times the memory", after / before);
}

std::string answer(const variant& base, const variant& other)
{
    return time_answer(base, other) + memory_answer(base, other) + ".";
}

std::string notes_text(const comparison& done)
{
    std::string out;
    for (const std::string& note : done.notes) {
        out += note + "\n";
    }
    return out;
}

json spread_json(const spread& of)
{
    return {{"mean", of.mean}, {"stddev", of.deviation}, {"min", of.least}, {"max", of.most}};
}

}  // namespace

std::string compare_page(const comparison& done)
{
    const variant& base = done.variants.front();
    std::string    out;
    for (std::size_t i = 1; i < done.variants.size(); i++) {
        out += headline(answer(base, done.variants[i])) + "\n";
    }
    table rows{
        {"",
         "time",
         "± spread",
         "min",
         "max",
         "user",
         "system",
         "relative",
         "±",
         "resident",
         "faults"}
    };
    for (const variant& each : done.variants) {
        const spread wall = spread_of(each, &sample::wall_s);
        const factor to   = relative(spread_of(base, &sample::wall_s), wall);
        rows.add(
            {shown(each.name),
             seconds_text(wall.mean),
             seconds_text(wall.deviation),
             seconds_text(wall.least),
             seconds_text(wall.most),
             seconds_text(spread_of(each, &sample::user_s).mean),
             seconds_text(spread_of(each, &sample::system_s).mean),
             fmt::format("{:.2f}", to.value),
             &each == &base ? "" : fmt::format("{:.2f}", to.spread),
             bytes_text(static_cast<std::uint64_t>(spread_of(each, &sample::resident_bytes).mean)),
             grouped(static_cast<std::uint64_t>(
                 spread_of(each, &sample::minor_faults).mean +
                 spread_of(each, &sample::major_faults).mean
             ))}
        );
    }
    return out + "\n" + rows.text() +
           fmt::format(
               "\n{} of each, in turns, after {}. Times and faults are those of the program\nand "
               "its "
               "children; resident is the peak of the largest process.{}\n{}"
               "\nNext: eggbox run --report report.json -- {}\n",
               number_of(done.runs, "run", "runs"),
               number_of(done.warmup, "warm-up run", "warm-up runs"),
               done.outputs_were_compared ? " All outputs were the same." : "",
               notes_text(done),
               shell_quoted(done.command)
           );
}

std::string compare_data(const comparison& done)
{
    json           variants = json::array();
    const variant& base     = done.variants.front();
    for (const variant& each : done.variants) {
        const factor to =
            relative(spread_of(base, &sample::wall_s), spread_of(each, &sample::wall_s));
        json wall_times = json::array();
        for (const sample& run : each.samples) {
            wall_times.push_back(run.wall_s);
        }
        variants.push_back(
            {{"name", each.name},
             {"library", each.library},
             {"answer", &each == &base ? "" : answer(base, each)},
             {"wall_s", spread_json(spread_of(each, &sample::wall_s))},
             {"user_s", spread_json(spread_of(each, &sample::user_s))},
             {"system_s", spread_json(spread_of(each, &sample::system_s))},
             {"peak_resident_bytes", spread_json(spread_of(each, &sample::resident_bytes))},
             {"minor_faults", spread_json(spread_of(each, &sample::minor_faults))},
             {"major_faults", spread_json(spread_of(each, &sample::major_faults))},
             {"relative", to.value},
             {"relative_spread", to.spread},
             {"wall_times_s", std::move(wall_times)}}
        );
    }
    return json_text({
        {"schema", schema},
        {"kind", "eggbox-comparison"},
        {"command", done.command},
        {"runs", done.runs},
        {"warmup", done.warmup},
        {"outputs_were_compared", done.outputs_were_compared},
        {"variants", std::move(variants)},
        {"notes", done.notes},
    });
}

}  // namespace tool
