// SPDX-License-Identifier: MIT
#include "export/export.hpp"

#include "export/formats.hpp"
#include "text/failure.hpp"
#include "text/text.hpp"

#include <array>

#include <fmt/format.h>

namespace tool
{
namespace
{

struct named_format {
    const char* name;
    std::string (*write)(const profile&);
    std::string (*write_runs)(const std::vector<run_record>&);  // or this: there are no subjects
    bool needs_bytes;
    bool needs_moment;  // the figures must be those of one moment
    bool is_binary;
};

constexpr std::array all_formats = {
    named_format{"folded", folded_text, nullptr, false, false, false},
    named_format{"heaptrack-folded", heaptrack_text, nullptr, false, false, false},
    named_format{"pprof", pprof_bytes, nullptr, false, false, true},
    named_format{"speedscope", speedscope_text, nullptr, false, false, false},
    named_format{"dhat", dhat_text, nullptr, true, false, false},
    named_format{"massif", massif_text, nullptr, true, true, false},
    named_format{"perfetto", nullptr, perfetto_text, false, false, false},
};

struct named_subject {
    const char* name;
    subject     value;
};

constexpr std::array all_subjects = {
    named_subject{"leaked", subject::leaked},
    named_subject{"peak", subject::peak},
    named_subject{"requests", subject::requests},
};

template <typename Table>
const auto& entry_of(const Table& table, const std::string& name, const char* what)
{
    std::string names;
    for (const auto& each : table) {
        if (each.name == name) {
            return each;
        }
        names += (names.empty() ? "" : ", ") + std::string(each.name);
    }
    throw bad_usage(fmt::format("unknown {} \"{}\"; there are {}", what, shown(name), names));
}

}  // namespace

bool is_binary(const std::string& format)
{
    return entry_of(all_formats, format, "format").is_binary;
}

std::string
exported(const std::vector<run_record>& runs, const std::string& format, const std::string& what)
{
    const named_format& how = entry_of(all_formats, format, "format");
    if (how.write_runs != nullptr && !what.empty()) {
        throw bad_usage(fmt::format("{} shows the processes; leave out --what", how.name));
    }
    if (how.write_runs != nullptr) {
        return how.write_runs(runs);
    }
    const subject wanted =
        what.empty() ? subject::leaked : entry_of(all_subjects, what, "value of --what").value;
    if (how.needs_bytes && wanted == subject::requests) {
        throw bad_usage(
            fmt::format("{} shows bytes, and a report has no bytes of requests", how.name)
        );
    }
    if (how.needs_moment && wanted != subject::leaked) {
        throw bad_usage(fmt::format(
            "{} shows moments, and the peaks of pools are of different ones; use --what leaked",
            how.name
        ));
    }
    return how.write(profile_of(runs, wanted));
}

}  // namespace tool
