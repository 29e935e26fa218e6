// SPDX-License-Identifier: MIT
#include "top/shared_view.hpp"

#include "text/text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace tool
{

shared_looks::holder shared_looks::key_of(const seen_pool& pool, const egb_shared_attachment& one)
{
    return {pool.name, {one.slot, one.pid}};
}

void shared_looks::add(std::vector<seen_pool> pools, double at_s)
{
    std::map<holder, double> since;
    published_.clear();
    for (const seen_pool& each : now_) {
        published_[each.name] = each.numbers.published;
    }
    for (const seen_pool& pool : pools) {
        for (const egb_shared_attachment& one : pool.attachments) {
            if (one.held != 0) {
                const holder key   = key_of(pool, one);
                const auto   known = since_.find(key);
                since[key]         = known == since_.end() ? at_s : known->second;
            }
        }
    }
    since_    = std::move(since);
    now_      = std::move(pools);
    before_s_ = at_s_;
    at_s_     = at_s;
}

double shared_looks::rate_of(const seen_pool& pool) const
{
    const auto then = published_.find(pool.name);
    return then == published_.end() || at_s_ <= before_s_
               ? -1
               : static_cast<double>(minus(pool.numbers.published, then->second)) /
                     (at_s_ - before_s_);
}

double shared_looks::held_s(const seen_pool& pool, const egb_shared_attachment& one) const
{
    const auto known = since_.find(key_of(pool, one));
    return known == since_.end() ? 0 : at_s_ - known->second;
}

namespace
{

std::string attached_text(const seen_pool& pool)
{
    const auto dead = std::count_if(
        pool.attachments.begin(),
        pool.attachments.end(),
        [](const egb_shared_attachment& each) { return !each.is_alive; }
    );
    return grouped(pool.attachments.size()) + (dead == 0 ? "" : fmt::format(", {} dead", dead));
}

row_key key_of_pool(const seen_pool& pool)
{
    row_key key;
    key.shared = pool.name;
    return key;
}

const std::vector<std::string> pool_columns = {
    "shared pool",
    "block",
    "blocks",
    "in use",
    "feed",
    "published/s",
    "published",
    "dropped",
    "refused",
    "attached"
};

line line_of_pool(const seen_pool& pool, double rate)
{
    const egb_shared_numbers& of     = pool.numbers;
    const std::uint64_t       in_use = times(of.in_use, of.block_bytes);
    line                      out{key_of_pool(pool), pool.name, rate, in_use, of.bytes, {}};
    if (pool.status == EGB_OK) {
        out.cells = {
            shown(pool.name),
            bytes_text(of.block_bytes),
            grouped(of.count),
            grouped(of.in_use),
            grouped(of.only_feed),
            rate_text(rate),
            grouped(of.published),
            grouped(of.dropped),
            grouped(of.failures),
            attached_text(pool)
        };
    } else {
        out.cells.assign(pool_columns.size(), "-");
        out.cells.front() = shown(pool.name);
        out.cells.back()  = refusal_text(pool.status);
    }
    return out;
}

view pools_view(const shared_looks& looks, const view_options& wanted)
{
    view              out{number_of(looks.pools().size(), "shared pool", "shared pools"), "", {}};
    std::vector<line> lines;
    for (const seen_pool& each : looks.pools()) {
        lines.push_back(line_of_pool(each, looks.rate_of(each)));
    }
    fill(
        out,
        table{pool_columns, true},
        std::move(lines),
        wanted,
        {"feed", "published", "block", "blocks", "refused", "dropped"}
    );
    return out;
}

line line_of_holder(
    const shared_looks& looks, const seen_pool& pool, const egb_shared_attachment& one
)
{
    const std::string   program = shown(one.program);
    const std::uint64_t held    = times(one.held, pool.numbers.block_bytes);
    line out{{one.pid, false, one.slot + std::uint64_t{1}, pool.name}, program, -1, held, held, {}};
    out.cells = {
        std::to_string(one.pid),
        one.is_alive ? "alive" : "dead",
        grouped(one.held),
        one.held == 0 ? "-" : seconds_text(looks.held_s(pool, one)),
        grouped(one.missed),
        grouped(one.waiting),
        program
    };
    return out;
}

view holders_view(const shared_looks& looks, const view_options& wanted)
{
    view              out{"shared pool " + shown(wanted.of.shared) + " has ended", "", {}};
    std::vector<line> lines;
    for (const seen_pool& pool : looks.pools()) {
        if (pool.name != wanted.of.shared) {
            continue;
        }
        out.title = fmt::format(
            "shared pool {}: {} of {} blocks in use, {} of them only in the feed",
            shown(pool.name),
            grouped(pool.numbers.in_use),
            grouped(pool.numbers.count),
            grouped(pool.numbers.only_feed)
        );
        for (const egb_shared_attachment& each : pool.attachments) {
            lines.push_back(line_of_holder(looks, pool, each));
        }
    }
    fill(
        out,
        table{{"process", "state", "holds", "for at least", "missed", "waits", "program"}, true},
        std::move(lines),
        wanted,
        {"waits", "missed", "for at least", "state"}
    );
    return out;
}

}  // namespace

view shared_view_of(const shared_looks& looks, const view_options& wanted)
{
    return wanted.of.shared.empty() ? pools_view(looks, wanted) : holders_view(looks, wanted);
}

std::string shared_text(const std::vector<seen_pool>& pools)
{
    shared_looks looks;
    looks.add(pools, 0);
    view_options wanted;
    wanted.by        = order::name;
    const view  all  = pools_view(looks, wanted);
    std::string text = pools.empty() ? "" : all.head + "\n";
    for (const view_row& each : all.rows) {
        text += each.text + "\n";
    }
    return text;
}

}  // namespace tool
