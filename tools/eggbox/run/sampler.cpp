// SPDX-License-Identifier: MIT
#include "run/sampler.hpp"

#include "text/text.hpp"

#include <algorithm>
#include <fstream>
#include <set>

#include <fmt/format.h>
#include <unistd.h>

namespace tool
{
namespace
{

constexpr std::size_t samples_max     = 500;
constexpr std::size_t pools_max       = 8;     // in the report
constexpr std::size_t names_max       = 1000;  // further ones are one
constexpr auto        first_interval  = std::chrono::milliseconds(20);
constexpr const char* other_pools     = "other pools";
constexpr const char* blocks_of_large = "large";

// The resident bytes of a process; false: it has ended, waited for or not, or another user hides
// it.
bool read_resident(std::uint64_t pid, std::uint64_t& bytes)
{
    static const auto page_bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    std::ifstream     file{fmt::format("/proc/{}/statm", pid)};
    std::uint64_t     all = 0, resident = 0;
    file >> all >> resident;
    bytes = times(resident, page_bytes);
    return file && all != 0;
}

}  // namespace

sampler::sampler(const live_file& live)
    : live_(&live), begin_(clock::now()), due_(begin_ + first_interval), interval_(first_interval)
{
}

void sampler::add_pool(sample& to, const std::string& name, std::uint64_t bytes)
{
    if (bytes != 0) {
        const bool is_new = names_.count(name) == 0 && names_.size() >= names_max;
        auto       found  = names_.try_emplace(is_new ? other_pools : name, names_.size()).first;
        to.pools[found->second] = plus(to.pools[found->second], bytes);
        to.in_use               = plus(to.in_use, bytes);
    }
}

void sampler::add(sample& to, const egb_live_slot& slot)
{
    for (std::size_t i = 1; i < EGB_LIVE_POOLS; i++) {
        const egb_live_pool& pool = slot.pools[i];
        if (pool.key != 0) {
            add_pool(
                to,
                live_text(pool.name, sizeof pool.name),
                times(blocks_in_use(pool), pool.block_bytes)
            );
            to.held = plus(to.held, pool.bytes_held);
        }
    }
    add_pool(to, blocks_of_large, slot.large.bytes);
    to.held = plus(to.held, slot.large.bytes);
}

// A process that has written its report is ending.
sampler::sample sampler::take()
{
    sample                  out;
    std::set<std::uint32_t> seen;
    for (const std::uint32_t place : live_->places()) {
        const std::uint32_t pid = live_->pid_at(place);
        if (pid == 0) {
            continue;
        }
        const live_slot slot     = live_->copy(place);
        std::uint64_t   resident = 0;
        if (slot.data.state != EGB_LIVE_REPORTED && read_resident(pid, resident)) {
            add(out, slot.data);
            if (seen.insert(pid).second) {
                out.resident = plus(out.resident, resident);
            }
        }
    }
    out.processes = seen.size();
    return out;
}

void sampler::halve()
{
    for (std::size_t i = 0; 2 * i + 1 < samples_.size(); i++) {
        samples_[i] = std::move(samples_[2 * i + 1]);
    }
    samples_.resize(samples_.size() / 2);
    interval_ *= 2;
}

sampler::clock::time_point sampler::look(clock::time_point now)
{
    if (!live_->is_there()) {
        return clock::time_point::max();
    }
    if (now < due_) {
        return due_;
    }
    samples_.push_back(take());
    samples_.back().at_s = std::chrono::duration<double>(now - begin_).count();
    if (samples_.size() >= samples_max) {
        halve();
    }
    due_ = now + interval_;
    return due_;
}

std::vector<std::size_t> sampler::largest_pools() const
{
    std::vector<std::pair<std::uint64_t, std::size_t>> peaks(names_.size());
    for (std::size_t i = 0; i < peaks.size(); i++) {
        peaks[i].second = i;
    }
    for (const sample& each : samples_) {
        for (const auto& [pool, bytes] : each.pools) {
            peaks[pool].first = std::max(peaks[pool].first, bytes);
        }
    }
    std::sort(peaks.rbegin(), peaks.rend());
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < std::min(peaks.size(), pools_max); i++) {
        out.push_back(peaks[i].second);
    }
    return out;
}

timeline_record sampler::timeline() const
{
    timeline_record out;
    out.started_ns =
        static_cast<std::uint64_t>(std::chrono::nanoseconds(begin_.time_since_epoch()).count());
    for (const sample& each : samples_) {
        out.at_s.push_back(each.at_s);
        out.processes.push_back(each.processes);
        out.bytes_in_use.push_back(each.in_use);
        out.bytes_held.push_back(each.held);
        out.bytes_resident.push_back(each.resident);
    }
    for (const std::size_t place : largest_pools()) {
        timeline_pool pool;
        pool.name = std::find_if(names_.begin(), names_.end(), [&](const auto& each) {
                        return each.second == place;
                    })->first;
        for (const sample& each : samples_) {
            const auto found = each.pools.find(place);
            pool.bytes_in_use.push_back(found == each.pools.end() ? 0 : found->second);
        }
        out.pools.push_back(std::move(pool));
    }
    return out;
}

}  // namespace tool
