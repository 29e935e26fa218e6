// SPDX-License-Identifier: MIT
// Plays a capture again and again, at many sites at once, so that a small file makes hours of
// traffic.
//
// Every site plays the whole capture in each round, but begins at a place of its own in it: while
// one is at the start another is in the middle. No two playings share a flow (flow_key::copy).
#pragma once

#include "capture.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

namespace demo
{

class replay
{
  public:
    replay(const capture& source, std::uint32_t sites)
        : source_(source), sites_(sites), period_us_(source.frames.back().time_us + pause_us)
    {
        events_.reserve(source.frames.size() * sites);
        for (std::uint32_t site = 0; site < sites; site++) {
            add_site(site);
        }
        std::sort(events_.begin(), events_.end(), [](const event& a, const event& b) {
            return std::tie(a.time_us, a.site, a.frame_index) <
                   std::tie(b.time_us, b.site, b.frame_index);
        });
    }

    template <class Pipeline>
    void play(Pipeline& into, std::uint32_t rounds) const
    {
        for (std::uint32_t round = 0; round < rounds; round++) {
            for (const event& each : events_) {
                if (round >= each.begun_before) {
                    const frame&        part = source_.frames[each.frame_index];
                    const std::uint32_t copy = (round - each.begun_before) * sites_ + each.site;
                    into.receive(
                        &source_.bytes[part.offset],
                        part.captured,
                        copy,
                        round * period_us_ + each.time_us
                    );
                }
            }
        }
    }

  private:
    static constexpr std::uint64_t pause_us = 10000;  // between the last frame and the first one

    struct event {
        std::uint64_t time_us;  // in the round
        std::uint32_t frame_index;
        std::uint16_t site;
        std::uint16_t begun_before;  // 1: part of the playing that began in the round before
    };

    void add_site(std::uint32_t site)
    {
        const std::uint64_t start_us = period_us_ / sites_ * site;
        for (std::size_t i = 0; i < source_.frames.size(); i++) {
            const std::uint64_t time_us = start_us + source_.frames[i].time_us;
            events_.push_back(
                {time_us % period_us_,
                 static_cast<std::uint32_t>(i),
                 static_cast<std::uint16_t>(site),
                 static_cast<std::uint16_t>(time_us / period_us_)}
            );
        }
    }

    const capture&     source_;
    std::uint32_t      sites_;
    std::uint64_t      period_us_;
    std::vector<event> events_;
};

}  // namespace demo
