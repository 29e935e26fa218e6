// SPDX-License-Identifier: MIT
#include "export/profile.hpp"
#include "html/data.hpp"
#include "text/failure.hpp"
#include "text/text.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace tool
{
namespace
{

// The frames of all stacks of one subject, each once.
class frame_list
{
  public:
    std::size_t number_of(const profile_frame& frame)
    {
        const std::string file  = frame.file.substr(frame.file.rfind('/') + 1);
        std::string       place = file.empty() ? "" : fmt::format("{}:{}", file, frame.line);
        std::pair         key{page_name(frame.name), page_name(place)};
        const auto [at, is_new] = numbers_.try_emplace(std::move(key), numbers_.size());
        if (is_new) {
            frames_.push_back({at->first.first, at->first.second});
        }
        return at->second;
    }

    json take()
    {
        return std::move(frames_);
    }

  private:
    std::map<std::pair<std::string, std::string>, std::size_t> numbers_;
    json                                                       frames_ = json::array();
};

// Frames as numbers, the outermost first; the count; the bytes.
json sample_data(const profile_sample& sample, frame_list& frames)
{
    json calls = json::array();
    for (auto each = sample.frames.rbegin(); each != sample.frames.rend(); ++each) {
        calls.push_back(frames.number_of(*each));
    }
    return {std::move(calls), sample.count, sample.bytes};
}

// The first samples that fit into the page.
std::size_t fitting(const std::vector<profile_sample>& samples)
{
    std::size_t frames = 0;
    std::size_t count  = 0;
    while (count < std::min(samples.size(), page_stacks_max)) {
        frames += samples[count].frames.size();
        if (frames > page_frames_max) {
            break;
        }
        count++;
    }
    return count;
}

json samples_data(const profile& of, frame_list& frames)
{
    const std::size_t kept = fitting(of.samples);
    json              out  = json::array();
    for (std::size_t i = 0; i < kept; i++) {
        out.push_back(sample_data(of.samples[i], frames));
    }
    profile_sample folded;
    for (std::size_t i = kept; i < of.samples.size(); i++) {
        folded.count = plus(folded.count, of.samples[i].count);
        folded.bytes = plus(folded.bytes, of.samples[i].bytes);
    }
    if (kept < of.samples.size()) {
        folded.frames.emplace_back().name = fmt::format(
            "({})", number_of(of.samples.size() - kept, "smaller stack", "smaller stacks")
        );
        out.push_back(sample_data(folded, frames));
    }
    return out;
}

json subject_data(const std::vector<run_record>& runs, subject wanted)
{
    try {
        profile of = profile_of(runs, wanted);
        std::stable_sort(of.samples.begin(), of.samples.end(), [&](const auto& a, const auto& b) {
            return of.weight(a) > of.weight(b);
        });
        frame_list frames;
        json       samples = samples_data(of, frames);
        const auto kept    = fitting(of.samples);
        return {
            {"title", of.title},
            {"estimate", of.estimate},
            {"unit", of.has_bytes() ? "bytes" : "requests"},
            {"frames", frames.take()},
            {"samples", std::move(samples)},
            {"folded", of.samples.size() - kept},
        };
    } catch (const failure& none) {
        return {{"missing", none.what()}};
    }
}

}  // namespace

json stacks_data(const std::vector<run_record>& runs)
{
    return {
        {"leaked", subject_data(runs, subject::leaked)},
        {"in_use", subject_data(runs, subject::in_use)},
        {"allocated", subject_data(runs, subject::allocated)},
        {"peak", subject_data(runs, subject::peak)},
        {"requests", subject_data(runs, subject::requests)},
    };
}

}  // namespace tool
