// SPDX-License-Identifier: MIT
// The formats of Valgrind's tools DHAT and Massif.
#include "export/formats.hpp"
#include "text/text.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace tool
{
namespace
{

// As both tools write it: 0x1234: main (shop.c:12).
std::string call_text(const profile_frame& frame)
{
    const std::string place = !frame.file.empty() ? fmt::format(" ({}:{})", frame.file, frame.line)
                              : !frame.module.empty() ? fmt::format(" (in {})", frame.module)
                                                      : "";
    return (frame.address == 0 ? "" : fmt::format("{:#x}: ", frame.address)) + frame.name + place;
}

// Calls of one place, each with those that call it.
struct massif_node {
    std::uint64_t                      bytes = 0;
    std::map<std::string, massif_node> callers;
};

void add_nodes(std::string& to, const std::string& text, const massif_node& node, std::size_t depth)
{
    to += fmt::format(
        "{}n{}: {} {}\n", std::string(depth, ' '), node.callers.size(), node.bytes, text
    );
    std::vector<const std::pair<const std::string, massif_node>*> callers;
    for (const auto& each : node.callers) {
        callers.push_back(&each);
    }
    std::stable_sort(callers.begin(), callers.end(), [](const auto* a, const auto* b) {
        return a->second.bytes > b->second.bytes;
    });
    for (const auto* each : callers) {
        add_nodes(to, each->first, each->second, depth + 1);
    }
}

// A second has so many parts.
std::uint64_t parts_of_time(double seconds, double parts)
{
    return static_cast<std::uint64_t>(std::min(seconds, 1e12) * parts);
}

}  // namespace

std::string dhat_text(const profile& of)
{
    json                                               table = {"[root]"};
    std::map<std::string, std::size_t>                 numbers;
    std::map<std::vector<std::size_t>, profile_sample> merged;
    for (const profile_sample& sample : of.samples) {
        std::vector<std::size_t> frames;
        for (const profile_frame& frame : sample.frames) {
            const auto [found, is_new] = numbers.try_emplace(call_text(frame), numbers.size() + 1);
            if (is_new) {
                table.push_back(found->first);
            }
            frames.push_back(found->second);
        }
        profile_sample& sum = merged[frames];  // dh_view.html takes each list of frames once
        sum.count           = plus(sum.count, sample.count);
        sum.bytes           = plus(sum.bytes, sample.bytes);
    }
    json points = json::array();
    for (const auto& [frames, sum] : merged) {
        points.push_back({{"tb", sum.bytes}, {"tbk", sum.count}, {"fs", frames}});
    }
    return json_text({
        {"dhatFileVersion", 2},
        {"mode", std::string("eggbox, ") + of.title},
        {"verb", "Allocated"},
        {"bklt", false},   // no lifetimes,
        {"bkacc", false},  // and no accesses to blocks
        {"tu", "µs"},
        {"Mtu", "s"},  // a million of the unit above
        {"cmd", of.command},
        {"pid", of.pid},
        {"te", parts_of_time(of.duration_s, 1e6)},
        {"pps", std::move(points)},
        {"ftbl", std::move(table)},
    });
}

std::string massif_text(const profile& of)
{
    massif_node root;
    for (const profile_sample& sample : of.samples) {
        massif_node* at = &root;
        at->bytes       = plus(at->bytes, sample.bytes);
        for (const profile_frame& frame : sample.frames) {
            at        = &at->callers[call_text(frame)];
            at->bytes = plus(at->bytes, sample.bytes);
        }
    }
    std::string out = fmt::format(
        "desc: eggbox: {}\ncmd: {}\ntime_unit: ms\n"
        "#-----------\nsnapshot=0\n#-----------\n"
        "time={}\nmem_heap_B={}\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=peak\n",
        of.title,
        of.command,
        parts_of_time(of.duration_s, 1e3),
        root.bytes
    );
    add_nodes(out, fmt::format("({})", of.title), root, 0);
    return out;
}

}  // namespace tool
