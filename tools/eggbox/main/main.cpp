// SPDX-License-Identifier: MIT
// eggbox: runs unmodified programs with malloc served from pools, and reports the result
// and a next step. This file turns the command line into the options of one command.
#include "compare/compare.hpp"
#include "doctor/doctor.hpp"
#include "report/report.hpp"
#include "run/run.hpp"
#include "shared/shared.hpp"
#include "size/size.hpp"
#include "text/failure.hpp"
#include "text/text.hpp"
#include "top/top.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <functional>
#include <sstream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "eggbox/base.h"

namespace
{

using namespace tool;

#define TEXT_OF(x)     #x
#define NUMBER_TEXT(x) TEXT_OF(x)
constexpr char version[] = "eggbox " NUMBER_TEXT(EGB_VERSION_MAJOR
) "." NUMBER_TEXT(EGB_VERSION_MINOR) "." NUMBER_TEXT(EGB_VERSION_PATCH);

constexpr char footer[] =
    "Exit status: 0 success; 1 wrong usage; 2 eggbox failed; 3 a limit is exceeded.\n"
    "`eggbox run` exits with the status of the program. Data goes to stdout, messages go to\n"
    "stderr. Manual: man eggbox-COMMAND\n"
    "\n"
    "Start with: eggbox run -- PROGRAM";

struct all_options {
    run_options     run;
    report_options  report;
    size_options    size;
    compare_options compare;
    doctor_options  doctor;
    top_options     top;
    shared_options  shared;
};

// "guard", or "frames:track,net*:guard,*:check".
std::string check_problem(const std::string& text)
{
    std::string level;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        level                 = text.substr(at, end - at);
        if (level == "passthrough") {
            return "passthrough is only for pools of the program itself, for example "
                   "frames:passthrough; eggbox run serves malloc from pools";
        }
        level = level.substr(level.find(':') + 1);
        if (level != "off" && level != "check" && level != "sample" && level != "guard" &&
            level != "track" && level != "passthrough") {
            return "unknown level; the levels are off, check, sample, guard and track";
        }
        at = end + 1;
    }
    return "";
}

// As the library reads it: 4096, 512k, 1m.
std::string sample_problem(const std::string& text)
{
    constexpr std::uint64_t most   = 1 << 30;
    const std::size_t       digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const std::string       unit   = text.substr(digits);
    const int               power  = unit.empty()                 ? 0
                                     : unit == "k" || unit == "K" ? 10
                                     : unit == "m" || unit == "M" ? 20
                                     : unit == "g" || unit == "G" ? 30
                                                                  : -1;
    const std::uint64_t     number = digits > 0 && digits <= 10 ? std::stoull(text) : 0;
    return power >= 0 && number > 0 && number <= most >> power
               ? ""
               : "no number of bytes from 1 to 1g; use one such as 512k";
}

// "large", "1/1000" or both.
std::string guard_pages_problem(const std::string& text)
{
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end       = std::min(text.find(',', at), text.size());
        const std::string entry     = text.substr(at, end - at);
        const std::string every     = entry.substr(0, 2) == "1/" ? entry.substr(2) : "";
        const bool        is_number = !every.empty() && every[0] != '0' && every.size() <= 9 &&
                               every.find_first_not_of("0123456789") == std::string::npos;
        if (entry != "large" && !is_number) {
            return "unknown value; use large, 1/NUMBER or both, separated by a comma";
        }
        at = end + 1;
    }
    return "";
}

// Replaces the first line of a help text, which CLI11 would make.
class with_usage : public CLI::Formatter
{
  public:
    explicit with_usage(std::string usage) : usage_(std::move(usage)) {}

    std::string make_usage(const CLI::App*, std::string) const override
    {
        return usage_ + "\n";
    }

  private:
    std::string usage_;
};

void set_usage(CLI::App* of, const char* text)
{
    of->formatter(std::make_shared<with_usage>(text));
}

// In place of CLI::Range, which accepts "nan" in each range.
std::function<std::string(const std::string&)> between(double least, double most)
{
    return [=](const std::string& text) {
        char*        end   = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        return !text.empty() && *end == '\0' && value >= least && value <= most
                   ? ""
                   : fmt::format("{} is no number from {} to {}", shown(text), least, most);
    };
}

CLI::Option* add_json(CLI::App* to, bool& json, const char* what = "Print JSON in place of text")
{
    return to->add_flag("--json", json, what);
}

bool takes_value(const CLI::App* app, const std::string& word)
{
    const CLI::Option* const option = app->get_option_no_throw(word);
    return option != nullptr && option->get_items_expected_max() > 0;
}

// Removes the program and its arguments from the end of `words` and returns them. They follow "--";
// without "--" they begin with the first word that is not an option of eggbox. CLI11 never sees
// them, because it would take the program's options for options of eggbox.
std::vector<std::string> take_command(const CLI::App* app, std::vector<std::string>& words)
{
    std::size_t at = 1;
    while (at < words.size() && words[at].size() > 1 && words[at][0] == '-' && words[at] != "--") {
        at += takes_value(app, words[at]) ? 2U : 1U;
    }
    at                            = std::min(at, words.size());
    const auto               from = words.begin() + static_cast<std::ptrdiff_t>(at);
    const std::size_t        skip = from != words.end() && *from == "--" ? 1 : 0;
    std::vector<std::string> command{from + static_cast<std::ptrdiff_t>(skip), words.end()};
    words.erase(from, words.end());
    return command;
}

void add_suppress(CLI::App* to, std::string& file)
{
    to->add_option("--suppress", file, "Leave out the leaks that this file names: leak:PATTERN")
        ->type_name("FILE");
}

void add_run(CLI::App& app, run_options& wanted)
{
    CLI::App* const sub = app.add_subcommand("run", "Run a program with malloc served from pools");
    sub->add_option("--report", wanted.report, "Write the report to this file")->type_name("FILE");
    sub->add_option(
           "--check", wanted.check, "Which misuse to detect: off, check, sample, guard, track"
    )
        ->type_name("LEVEL")
        ->check(CLI::Validator(check_problem, ""));
    sub->add_option(
           "--sample",
           wanted.sample,
           "At level sample, 1 stack in so many bytes on average; default 512k"
    )
        ->type_name("BYTES")
        ->check(CLI::Validator(sample_problem, ""));
    sub->add_option(
           "--guard-pages",
           wanted.guard_pages,
           "Which blocks end at a guard page: large, 1/NUMBER or both"
    )
        ->type_name("WHICH")
        ->check(CLI::Validator(guard_pages_problem, ""));
    add_suppress(sub, wanted.suppress);
    add_json(sub, wanted.json, "Print the summary as one line of JSON");
    set_usage(
        sub,
        "usage: eggbox run [--report FILE] [--check LEVEL] [--sample BYTES] [--guard-pages "
        "WHICH]\n"
        "                  [--suppress FILE] [--json] -- program [argument]..."
    );
}

void add_report(CLI::App& app, report_options& wanted)
{
    CLI::App* const sub = app.add_subcommand("report", "Summarize recorded runs");
    sub->add_option(
           "FILE",
           wanted.files,
           "Reports of `eggbox run`, or folders of EGGBOX_REPORT or "
           "egb_report_write()"
    )
        ->required();
    CLI::Option* const json   = add_json(sub, wanted.json);
    CLI::Option* const format = sub->add_option(
        "--format", wanted.format, "Print a file for this profiler or picture of stacks"
    );
    format->type_name("FORMAT")->excludes(json);
    sub->add_option(
           "--what",
           wanted.what,
           "What that file shows: leaked (the default) by stack, which levels track and sample "
           "record; in-use or allocated by stack, which level sample records; peak or requests by "
           "pool"
    )
        ->type_name("leaked|in-use|allocated|peak|requests")
        ->needs(format);
    add_suppress(sub, wanted.suppress);
    sub->add_flag(
        "--all", wanted.is_all, "Show stacks with the calls that only allocate for their callers"
    );
    CLI::Option* const html =
        sub->add_option("--html", wanted.html, "Write a page for a browser to this file");
    html->type_name("PAGE")->excludes(json)->excludes(format);
    CLI::Option* const diff =
        sub->add_flag("--diff", wanted.diff, "Print what changed from one report to another");
    diff->excludes(format)->excludes(html);
    sub->add_option(
           "--fail-above", wanted.fail_above, "Exit with 3 if a figure grew by more than this share"
    )
        ->type_name("PERCENT")
        ->needs(diff);
    set_usage(
        sub,
        "usage: eggbox report FILE... [--json]\n"
        "       eggbox report FILE... --html PAGE\n"
        "       eggbox report FILE... --format FORMAT [--what "
        "leaked|in-use|allocated|peak|requests]\n"
        "       eggbox report --diff OLD NEW [--fail-above PERCENT] [--json]\n"
        "Each form also takes --all and --suppress FILE.\n"
        "Formats: folded, heaptrack-folded, pprof, speedscope, dhat, massif, perfetto."
    );
}

void add_size(CLI::App& app, size_options& wanted)
{
    CLI::App* const sub =
        app.add_subcommand("size", "Compute how many blocks of each size recorded runs need");
    sub->add_option(
           "FILE",
           wanted.files,
           "Reports of `eggbox run`, or folders of EGGBOX_REPORT or "
           "egb_report_write()"
    )
        ->required();
    CLI::Option* const emit =
        sub->add_option("--emit", wanted.emit, "Print a header of static pools, or JSON")
            ->type_name("c|cpp|compat|json")
            ->check(CLI::IsMember({"c", "cpp", "compat", "json"}).description(""));
    sub->add_option(
           "--cover",
           wanted.cover_percent,
           "Keep only the sizes that this share of the requests needs"
    )
        ->type_name("PERCENT")
        ->check(between(0.1, 100));
    sub->add_option("--headroom", wanted.headroom_percent, "Blocks to add to each peak; default 25")
        ->type_name("PERCENT")
        ->check(between(0, 1000));
    sub->add_option(
        "--name", wanted.name, "Prefix of names in the header; default: the program's name"
    );
    sub->add_option(
           "--check", wanted.check, "Exit with 3 if the runs do not fit this configuration"
    )
        ->type_name("FILE")
        ->excludes(emit);
    add_json(sub, wanted.json);
    set_usage(
        sub,
        "usage: eggbox size FILE... [--emit c|cpp|compat|json] [--cover PERCENT]\n"
        "                   [--headroom PERCENT] [--name NAME] [--check FILE] [--json]"
    );
}

void add_compare(CLI::App& app, compare_options& wanted)
{
    CLI::App* const sub = app.add_subcommand(
        "compare", "Measure a program on glibc, on pools and on other allocators"
    );
    sub->add_option("--with", wanted.with, "Another library to preload; may be repeated")
        ->type_name("LIB.so")
        ->take_all()
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    sub->add_option("--runs", wanted.runs, "Measured runs of each; default 10")
        ->type_name("N")
        ->check(CLI::Range(1, 100000).description(""));
    sub->add_option("--warmup", wanted.warmup, "Unmeasured runs of each before; default 1")
        ->type_name("N")
        ->check(CLI::Range(0, 100000).description(""));
    sub->add_option("--input", wanted.input, "File for the program's stdin; default: empty")
        ->type_name("FILE");
    sub->add_flag(
        "--check-output", wanted.check_output, "Fail unless all runs print the same output"
    );
    sub->add_flag("--ignore-failure", wanted.ignore_failure, "Continue when the program fails");
    CLI::Option* const hyperfine =
        sub->add_flag("--hyperfine", wanted.hyperfine, "Print the JSON that hyperfine exports");
    add_json(sub, wanted.json)->excludes(hyperfine);
    set_usage(
        sub,
        "usage: eggbox compare [--with LIB.so]... [--runs N] [--warmup N] [--input FILE]\n"
        "                      [--check-output] [--ignore-failure] [--json | --hyperfine]\n"
        "                      -- program [argument]..."
    );
}

void add_doctor(CLI::App& app, doctor_options& wanted)
{
    CLI::App* const sub = app.add_subcommand("doctor", "Check whether a program can run on pools");
    sub->add_option("PROGRAM", wanted.program, "A path, or a name to look up in PATH")->required();
    add_json(sub, wanted.json);
    set_usage(sub, "usage: eggbox doctor PROGRAM [--json]");
}

void add_top(CLI::App& app, top_options& wanted)
{
    CLI::App* const sub = app.add_subcommand("top", "Show the pools of running processes");
    sub->add_option("PROCESS", wanted.process, "A process number, or the name of a program");
    CLI::Option* const once =
        sub->add_flag("--once", wanted.once, "Print what is there now, and end");
    CLI::Option* const metrics = sub->add_flag(
        "--openmetrics", wanted.openmetrics, "Print OpenMetrics, the format of Prometheus"
    );
    metrics->needs(once);
    add_json(sub, wanted.json)->needs(once)->excludes(metrics);
    set_usage(sub, "usage: eggbox top [PROCESS] [--once [--json | --openmetrics]]");
}

void add_shared(CLI::App& app, shared_options& wanted)
{
    CLI::App* const ls = app.add_subcommand("ls", "List the pools that processes share");
    add_json(ls, wanted.json);
    set_usage(ls, "usage: eggbox ls [--json]");
    CLI::App* const gc =
        app.add_subcommand("gc", "Remove shared pools whose processes are all dead");
    add_json(gc, wanted.json);
    set_usage(gc, "usage: eggbox gc [--json]");
}

// An empty value is that of a variable of a script that is not set. It would be taken for a file
// without a name, or as if the option were not there. transform() puts this check before the
// others.
void refuse_empty_values(CLI::App& app)
{
    const CLI::Validator is_there{
        [](const std::string& value) { return value.empty() ? "its value is empty" : ""; }, ""
    };
    for (CLI::App* const sub : app.get_subcommands([](const CLI::App*) { return true; })) {
        for (CLI::Option* const each : sub->get_options()) {
            if (each->get_items_expected_max() > 0) {
                each->transform(is_there);
            }
        }
    }
}

void add_all(CLI::App& app, all_options& wanted)
{
    app.set_version_flag("--version", version);
    app.require_subcommand(1);
    app.footer(footer);
    add_run(app, wanted.run);
    add_report(app, wanted.report);
    add_size(app, wanted.size);
    add_compare(app, wanted.compare);
    add_doctor(app, wanted.doctor);
    add_top(app, wanted.top);
    add_shared(app, wanted.shared);
    refuse_empty_values(app);
}

// Returns the words for CLI11 in reverse order, as CLI11 takes them. The program and its arguments
// go to `command`.
std::vector<std::string>
split_off(const CLI::App& app, char** argv, std::vector<std::string>& command)
{
    std::vector<std::string> words;
    for (char** word = argv + 1; *word != nullptr; word++) {
        words.emplace_back(*word);
    }
    if (!words.empty() && (words.front() == "run" || words.front() == "compare")) {
        command = take_command(app.get_subcommand(words.front()), words);
    }
    std::reverse(words.begin(), words.end());
    return words;
}

// CLI11 would answer all these faults with the same message, "a subcommand is required".
void require_command(const CLI::App& app, const char* word)
{
    constexpr char all_names[] =
        "the commands are run, report, size, compare, doctor, top, ls and gc";
    if (word == nullptr) {
        throw bad_usage(fmt::format("no command is given; {}", all_names));
    }
    const std::string first = word;
    if (first == "-h" || first == "--help" || first == "--version") {
        return;
    }
    if (!first.empty() && first.front() == '-') {
        throw bad_usage(fmt::format("unknown option \"{}\" before the command", shown(first)));
    }
    const auto all = app.get_subcommands([](const CLI::App*) { return true; });
    if (std::none_of(all.begin(), all.end(), [&](const CLI::App* one) {
            return one->get_name() == first;
        })) {
        throw bad_usage(fmt::format("unknown command \"{}\"; {}", shown(first), all_names));
    }
}

int dispatch(const CLI::App& app, all_options& wanted, std::vector<std::string> command)
{
    if (app.got_subcommand("run") || app.got_subcommand("compare")) {
        if (command.empty() || command.front().empty()) {
            throw bad_usage("no program is given");
        }
        wanted.run.command = wanted.compare.command = std::move(command);
    }
    return app.got_subcommand("run")       ? run_command(wanted.run)
           : app.got_subcommand("report")  ? report_command(wanted.report)
           : app.got_subcommand("size")    ? size_command(wanted.size)
           : app.got_subcommand("compare") ? compare_command(wanted.compare)
           : app.got_subcommand("doctor")  ? doctor_command(wanted.doctor)
           : app.got_subcommand("top")     ? top_command(wanted.top)
           : app.got_subcommand("ls")      ? ls_command(wanted.shared)
                                           : gc_command(wanted.shared);
}

int run_main(char** argv)
{
    CLI::App app{
        "Runs unmodified programs with malloc served from memory pools. Reports what happened\n"
        "and what to do next.",
        "eggbox"
    };
    all_options wanted;
    add_all(app, wanted);
    require_command(app, argv[1]);
    std::vector<std::string> command;
    try {
        app.parse(split_off(app, argv, command));
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) {
            std::ostringstream text;
            app.exit(error, text, text);
            print(fitted(text.str()));
            return exit_done;
        }
        throw bad_usage(error.what());
    }
    return dispatch(app, wanted, std::move(command));
}

}  // namespace

int main(int, char** argv)
{
    go_on_after_refused_writes();
    keep_closed_streams();
    try {
        return run_main(argv);
    } catch (const bad_usage& error) {
        say(std::string(error.what()) + "; see --help");
        return exit_usage;
    } catch (const failure& error) {
        say(error.what());
    } catch (const std::exception& error) {
        say(error.what());
    }
    return exit_failure;
}
