// SPDX-License-Identifier: MIT
#include "export/formats.hpp"
#include "text/text.hpp"
#include "json/writer.hpp"

#include <map>

namespace tool
{
namespace
{

json frame_json(const profile_frame& frame)
{
    json out = {{"name", frame.name}};
    if (!frame.file.empty()) {
        out["file"] = frame.file;
        out["line"] = frame.line;
    }
    return out;
}

json profile_json(const char* name, const char* unit, const json& samples)
{
    return {
        {"type", "sampled"},
        {"name", name},
        {"unit", unit},
        {"startValue", 0},
        {"endValue", 0},
        {"samples", samples},
        {"weights", json::array()},
    };
}

void add_weight(json& to, std::uint64_t weight)
{
    to["weights"].push_back(weight);
    to["endValue"] = plus(to["endValue"].get<std::uint64_t>(), weight);
}

}  // namespace

std::string speedscope_text(const profile& of)
{
    json                                 frames  = json::array();
    json                                 samples = json::array();
    std::map<profile_frame, std::size_t> numbers;
    for (const profile_sample& sample : of.samples) {
        json stack = json::array();
        for (auto at = sample.frames.rbegin(); at != sample.frames.rend(); ++at) {
            const auto [found, is_new] = numbers.try_emplace(*at, numbers.size());
            if (is_new) {
                frames.push_back(frame_json(*at));
            }
            stack.push_back(found->second);
        }
        samples.push_back(std::move(stack));
    }
    json counts = profile_json(of.count_name, "none", samples);
    json bytes  = profile_json(of.bytes_name, "bytes", samples);
    for (const profile_sample& sample : of.samples) {
        add_weight(counts, sample.count);
        add_weight(bytes, sample.bytes);
    }
    json profiles = json::array();
    if (of.has_bytes()) {
        profiles.push_back(std::move(bytes));
    }
    profiles.push_back(std::move(counts));
    return json_text({
        {"$schema", "https://www.speedscope.app/file-format-schema.json"},
        {"name", of.command.empty() ? of.title : of.command},
        {"exporter", "eggbox"},
        {"activeProfileIndex", 0},
        {"shared", {{"frames", std::move(frames)}}},
        {"profiles", std::move(profiles)},
    });
}

}  // namespace tool
