// SPDX-License-Identifier: MIT
// Any text, taken for a report and for a configuration: either is refused with a reason, or all
// that the commands make of it can be made.
#include "fuzzing.hpp"

#include "records/records.hpp"
#include "report/page.hpp"
#include "size/configuration.hpp"
#include "text/failure.hpp"

#include <string>
#include <vector>

namespace
{

// The result is read again, and is the same.
void use_report(const std::string& text)
{
    const std::vector<tool::run_record> runs = {tool::parse_report(text, "a.json")};
    (void)tool::report_page(runs, {"a.json"});
    (void)tool::report_data(runs);
    const std::string written = tool::report_text(runs[0]);
    fuzz::require(
        tool::report_text(tool::parse_report(written, "b.json")) == written,
        "what is written is read again"
    );
    const tool::configuration plan = tool::plan(runs, "", 25, 95);
    (void)tool::size_page(plan, {"a.json"});
    (void
    )tool::fit_page(tool::check_fit(plan, tool::sum_up(runs)), "a", tool::sum_up(runs), {"a.json"});
    (void)tool::size_in_c(plan);
    (void)tool::size_in_cpp(plan);
}

void use_configuration(const std::string& text)
{
    const tool::configuration earlier = tool::parse_configuration(text, "a.h");
    const tool::totals        now;
    (void)tool::fit_page(tool::check_fit(earlier, now), "a.h", now, {"a.json"});
    (void)tool::fit_data(tool::check_fit(earlier, now));
}

template <class Use>
void refused_or_used(const std::string& text, Use&& use)
{
    try {
        use(text);
    } catch (const tool::failure& error) {
        fuzz::require(error.what()[0] != '\0', "a refusal has a reason");
    }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count)
{
    const std::string text(reinterpret_cast<const char*>(bytes), count);
    refused_or_used(text, use_report);
    refused_or_used(text, use_configuration);
    return 0;
}
