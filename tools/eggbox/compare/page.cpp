// SPDX-License-Identifier: MIT
#include "compare/comparison.hpp"

#include "process/process.hpp"
#include "text/text.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include <fmt/format.h>

namespace tool
{

namespace
{

// Mean and standard deviation of the samples. One sample alone has no deviation: not a number,
// which is null in JSON, and so is all that is computed from it.
struct spread {
    double mean      = 0;
    double deviation = std::numeric_limits<double>::quiet_NaN();
    double least     = 0;
    double most      = 0;
};

// `number`: a member of sample, data or function.
template <class Number>
spread spread_of(const variant& of, Number number)
{
    std::vector<double> values;
    for (const sample& each : of.samples) {
        values.push_back(static_cast<double>(std::invoke(number, each)));
    }
    const double count = static_cast<double>(values.size());
    spread       out;
    out.mean       = std::accumulate(values.begin(), values.end(), 0.0) / count;
    out.least      = *std::min_element(values.begin(), values.end());
    out.most       = *std::max_element(values.begin(), values.end());
    double squares = 0;
    for (const double value : values) {
        squares += std::pow(value - out.mean, 2);
    }
    if (count > 1) {
        out.deviation = std::sqrt(squares / (count - 1));
    }
    return out;
}

// Time relative to the base, with the spread of the quotient of two runs.
struct factor {
    double value  = 1;
    double spread = 0;
};

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

template <class Number>
factor relative(const variant& base, const variant& other, Number number)
{
    return relative(spread_of(base, number), spread_of(other, number));
}

// Student's t for 5 % (two-sided), by the expansion for many degrees of freedom (Abramowitz and
// Stegun, 26.7.5). The error is at most 2 % from 4 degrees of freedom on.
double students_t(double freedom)
{
    return 1.96 + 2.37 / freedom + 2.82 / (freedom * freedom);
}

// Fewer show no difference, however large it is.
constexpr std::size_t runs_to_judge = 3;

// True if two means of n runs differ significantly. The error of a mean is 1/sqrt(n) of the spread
// of its runs. The logarithm makes the test symmetric between "fast" and "slow".
bool is_sure(const factor& found, std::size_t runs)
{
    const double count = static_cast<double>(runs);
    return runs >= runs_to_judge && found.value > 0 &&
           std::fabs(std::log(found.value)) >
               students_t(2 * count - 2) * found.spread / found.value / std::sqrt(count);
}

// Other programs on the machine disturb the time more than the CPU time, which tells a difference
// that the time hides.
std::string time_answer(const variant& base, const variant& other)
{
    const std::string one  = shown(other.name);
    const std::string two  = shown(base.name);
    const factor      time = relative(base, other, &sample::wall_s);
    const std::size_t runs = base.samples.size();
    if (runs < runs_to_judge) {
        return fmt::format(
            "{} of each, of {} and {}, {} too few to tell which is faster",
            number_of(runs, "run", "runs"),
            one,
            two,
            runs == 1 ? "is" : "are"
        );
    }
    if (is_sure(time, runs)) {
        const double times = time.value < 1 ? 1 / time.value : time.value;
        return fmt::format(
            "{} is {:.2f} ± {:.2f} times as {} as {}",
            one,
            times,
            time.spread / time.value * times,
            time.value < 1 ? "fast" : "slow",
            two
        );
    }
    const factor cpu = relative(base, other, &sample::cpu_s);
    std::string  out = fmt::format("{} is as fast as {}, as far as these runs show", one, two);
    if (is_sure(cpu, runs)) {
        out += fmt::format(", but takes {:.2f} ± {:.2f} times the CPU time", cpu.value, cpu.spread);
    }
    return out;
}

std::string deviation_cell(const spread& of)
{
    return std::isnan(of.deviation) ? "-" : seconds_text(of.deviation);
}

std::string factor_cell(const factor& of)
{
    return std::isnan(of.spread) ? "-" : fmt::format("{:.2f}", of.spread);
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

double median_of(const variant& of)
{
    std::vector<double> times;
    for (const sample& each : of.samples) {
        times.push_back(each.wall_s);
    }
    std::sort(times.begin(), times.end());
    return (times[(times.size() - 1) / 2] + times[times.size() / 2]) / 2;
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
         "CPU time",
         "relative",
         "±",
         "CPU",
         "±",
         "resident",
         "faults"}
    };
    for (const variant& each : done.variants) {
        const spread wall = spread_of(each, &sample::wall_s);
        const factor to   = relative(spread_of(base, &sample::wall_s), wall);
        const factor cpu  = relative(base, each, &sample::cpu_s);
        rows.add(
            {shown(each.name),
             seconds_text(wall.mean),
             deviation_cell(wall),
             seconds_text(wall.least),
             seconds_text(wall.most),
             seconds_text(spread_of(each, &sample::cpu_s).mean),
             fmt::format("{:.2f}", to.value),
             &each == &base ? "" : factor_cell(to),
             fmt::format("{:.2f}", cpu.value),
             &each == &base ? "" : factor_cell(cpu),
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
        const factor to         = relative(base, each, &sample::wall_s);
        const factor cpu        = relative(base, each, &sample::cpu_s);
        json         wall_times = json::array();
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
             {"cpu_s", spread_json(spread_of(each, &sample::cpu_s))},
             {"peak_resident_bytes", spread_json(spread_of(each, &sample::resident_bytes))},
             {"minor_faults", spread_json(spread_of(each, &sample::minor_faults))},
             {"major_faults", spread_json(spread_of(each, &sample::major_faults))},
             {"relative", to.value},
             {"relative_spread", to.spread},
             {"cpu_relative", cpu.value},
             {"cpu_relative_spread", cpu.spread},
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

std::string compare_data_of_hyperfine(const comparison& done)
{
    json results = json::array();
    for (const variant& each : done.variants) {
        const spread wall  = spread_of(each, &sample::wall_s);
        json         times = json::array();
        json         codes = json::array();
        json         bytes = json::array();
        for (const sample& run : each.samples) {
            times.push_back(run.wall_s);
            codes.push_back(process_end{0, run.status, 0}.exit_status());
            bytes.push_back(run.resident_bytes);
        }
        const std::string preload =
            each.library.empty() ? "" : "LD_PRELOAD=" + shell_quoted(each.library) + " ";
        results.push_back(
            {{"command", preload + shell_quoted(done.command)},
             {"mean", wall.mean},
             {"stddev", wall.deviation},
             {"median", median_of(each)},
             {"user", spread_of(each, &sample::user_s).mean},
             {"system", spread_of(each, &sample::system_s).mean},
             {"min", wall.least},
             {"max", wall.most},
             {"times", std::move(times)},
             {"memory_usage_byte", std::move(bytes)},
             {"exit_codes", std::move(codes)}}
        );
    }
    return json_text({{"results", std::move(results)}});
}

}  // namespace tool
