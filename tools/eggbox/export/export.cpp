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

enum trait : unsigned {
    plain        = 0,
    binary       = 1,
    needs_bytes  = 2,
    needs_moment = 4  // the figures must be those of one moment
};

struct named_format {
    const char* name;
    std::string (*write)(const profile&);
    std::string (*write_runs)(const std::vector<run_record>&);  // or this: there are no subjects
    unsigned traits;
};

constexpr std::array all_formats = {
    named_format{"folded", folded_text, nullptr, plain},
    named_format{"heaptrack-folded", heaptrack_text, nullptr, plain},
    named_format{"pprof", pprof_bytes, nullptr, binary},
    named_format{"speedscope", speedscope_text, nullptr, plain},
    named_format{"dhat", dhat_text, nullptr, needs_bytes},
    named_format{"massif", massif_text, nullptr, needs_bytes | needs_moment},
    named_format{"perfetto", nullptr, perfetto_text, plain},
};

struct named_subject {
    const char* name;
    subject     value;
};

constexpr std::array all_subjects = {
    named_subject{"leaked", subject::leaked},
    named_subject{"in-use", subject::in_use},
    named_subject{"allocated", subject::allocated},
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

// Why the figures of a subject are not those of one moment.
const char* times_of(subject wanted)
{
    return wanted == subject::allocated ? "allocated counts the blocks of the whole run"
                                        : "the peaks of pools are of different moments";
}

}  // namespace

bool is_binary(const std::string& format)
{
    return (entry_of(all_formats, format, "format").traits & binary) != 0;
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
    if ((how.traits & needs_bytes) != 0 && wanted == subject::requests) {
        throw bad_usage(
            fmt::format("{} shows bytes, and a report has no bytes of requests", how.name)
        );
    }
    if ((how.traits & needs_moment) != 0 && wanted != subject::leaked &&
        wanted != subject::in_use) {
        throw bad_usage(fmt::format(
            "{} shows one moment, and {}; use --what leaked", how.name, times_of(wanted)
        ));
    }
    return how.write(profile_of(runs, wanted));
}

}  // namespace tool
