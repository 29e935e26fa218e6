// SPDX-License-Identifier: MIT
#include "doctor/doctor.hpp"

#include "preload/judge.hpp"
#include "preload/library.hpp"
#include "text/failure.hpp"
#include "text/text.hpp"
#include "json/writer.hpp"

#include <fmt/format.h>

namespace tool
{
namespace
{

std::string verdict_text(const verdict& found)
{
    const finding* const blocker = found.blocker();
    std::string          out     = headline(fmt::format(
                          "{} {} on pools{}",
                          shown(found.asked),
                          blocker == nullptr ? "can run" : "cannot run",
                          blocker == nullptr ? "." : ": " + blocker->text + "."
                      )) +
                      "\n";
    if (!found.path.empty()) {
        out += fmt::format("\n  program      {}\n", shown(found.path));
    }
    for (const std::string& interpreter : found.runs_by) {
        out += fmt::format("  interpreter  {}\n", shown(interpreter));
    }
    if (!found.machine.empty()) {
        out += fmt::format("  machine      {}\n", found.machine);
    }
    for (const finding& each : found.findings) {
        if (&each != blocker) {
            out += fmt::format("  {}         {}\n", each.blocks ? "also" : "note", each.text);
        }
        if (!each.remedy.empty()) {
            out += fmt::format("  remedy       {}\n", each.remedy);
        }
    }
    if (blocker == nullptr) {
        out += fmt::format("\nNext: eggbox run -- {}\n", shell_quoted(found.asked));
    }
    return out;
}

json verdict_json(const verdict& found)
{
    json findings = json::array();
    for (const finding& each : found.findings) {
        findings.push_back(
            {{"reason", each.reason},
             {"blocks", each.blocks},
             {"text", each.text},
             {"remedy", each.remedy}}
        );
    }
    return {
        {"schema", schema},
        {"kind", "eggbox-doctor"},
        {"asked", found.asked},
        {"path", found.path},
        {"machine", found.machine},
        {"runs_by", found.runs_by},
        {"can_be_served", found.can_be_served()},
        {"findings", std::move(findings)},
    };
}

}  // namespace

int doctor_command(const doctor_options& wanted)
{
    std::string library;
    finding     no_library{};
    try {
        library = find_malloc_library();
        require_preloadable(library);
    } catch (const failure& error) {
        no_library = {true, "no-library", error.what(), "install eggbox, or set EGGBOX_MALLOC_LIB"};
    }
    verdict found = judge(wanted.program, library);
    if (no_library.blocks) {
        found.findings.push_back(no_library);
    }
    print(wanted.json ? json_text(verdict_json(found)) : fitted(verdict_text(found)));
    return found.can_be_served() ? exit_done : exit_failure;
}

}  // namespace tool
