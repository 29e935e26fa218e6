// SPDX-License-Identifier: MIT
#include "report/report.hpp"

#include "diff/diff.hpp"
#include "export/export.hpp"
#include "html/html.hpp"
#include "process/report_file.hpp"
#include "report/page.hpp"
#include "sums/suppress.hpp"
#include "sums/totals.hpp"
#include "sums/wrappers.hpp"
#include "text/failure.hpp"
#include "text/text.hpp"

#include <filesystem>
#include <fstream>
#include <set>

#include <fmt/format.h>
#include <unistd.h>

namespace tool
{
namespace
{

// Without the leaks that the user does not want to hear of.
std::vector<run_record>
unfolded_runs(const report_options& wanted, const std::vector<std::string>& files)
{
    std::vector<run_record> runs = read_reports(files);
    if (!wanted.suppress.empty()) {
        suppress_leaks(runs, read_suppressions(wanted.suppress));
    }
    if (wanted.is_all) {
        unfold_wrappers(runs);
    }
    return runs;
}

std::vector<run_record> runs_of(const report_options& wanted)
{
    std::vector<run_record> runs = unfolded_runs(wanted, wanted.files);
    if (!wanted.is_all) {
        fold_wrappers(runs, wrappers_in(runs));
    }
    return runs;
}

int export_command(const report_options& wanted)
{
    if (is_binary(wanted.format) && isatty(STDOUT_FILENO) != 0) {
        throw bad_usage(wanted.format + " is not text; send it to a file with >");
    }
    print(exported(runs_of(wanted), wanted.format, wanted.what));
    return exit_done;
}

int diff_command(const report_options& wanted)
{
    if (wanted.files.size() != 2) {
        throw bad_usage("--diff takes two reports, OLD and NEW");
    }
    const double            percent = wanted.fail_above ? percent_of(*wanted.fail_above) : -1;
    std::vector<run_record> before  = unfolded_runs(wanted, {wanted.files.front()});
    std::vector<run_record> after   = unfolded_runs(wanted, {wanted.files.back()});
    if (!wanted.is_all) {  // a place has one name in both
        std::set<std::string> wrappers = wrappers_in(before);
        wrappers.merge(wrappers_in(after));
        fold_wrappers(before, wrappers);
        fold_wrappers(after, wrappers);
    }
    const difference found = difference_of(before, after);
    print(
        wanted.json ? difference_data(found, percent)
                    : fitted(difference_page(found, percent, wanted.files.back()))
    );
    return percent >= 0 && found.count_above(percent) > 0 ? exit_limit : exit_done;
}

// `--html *.json` names a report in place of the page.
void refuse_to_lose(const std::string& page)
{
    std::error_code ignored;
    char            first = '\0';
    if (std::filesystem::is_regular_file(page, ignored) && std::ifstream{page} >> first &&
        first == '{') {
        throw bad_usage(fmt::format("--html: {} is JSON, and would be lost", shown(page)));
    }
}

int html_command(const report_options& wanted)
{
    refuse_to_lose(wanted.html);
    const std::string page = html_page(runs_of(wanted), wanted.files);
    report_file       file{wanted.html};
    const std::string problem = file.write(page);
    if (!problem.empty()) {
        throw failure(fmt::format("{}: cannot be written: {}", shown(wanted.html), problem));
    }
    return exit_done;
}

}  // namespace

int report_command(const report_options& wanted)
{
    if (!wanted.format.empty()) {
        return export_command(wanted);
    }
    if (!wanted.html.empty()) {
        return html_command(wanted);
    }
    if (wanted.diff) {
        return diff_command(wanted);
    }
    const std::vector<run_record> runs = runs_of(wanted);
    print(wanted.json ? report_data(runs) : fitted(report_page(runs, wanted.files)));
    return exit_done;
}

}  // namespace tool
