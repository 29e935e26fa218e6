// SPDX-License-Identifier: MIT
// The screen of `eggbox top` for pools that processes share.
#pragma once

#include "shared/pools.hpp"
#include "top/view.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tool
{

/// Some looks at the pools. Nothing in a pool says since when a block is held, so the looks tell:
/// an attachment that had blocks in each of them has held some since the first.
class shared_looks
{
  public:
    void add(std::vector<seen_pool> pools, double at_s);

    const std::vector<seen_pool>& pools() const
    {
        return now_;
    }

    /// Published frames a second, between the last two looks; below 0: not known.
    double rate_of(const seen_pool& pool) const;

    /// Seconds since the first of the looks that saw the attachment hold blocks.
    double held_s(const seen_pool& pool, const egb_shared_attachment& one) const;

  private:
    using holder = std::pair<std::string, std::pair<unsigned, std::uint64_t>>;

    static holder key_of(const seen_pool& pool, const egb_shared_attachment& one);

    std::vector<seen_pool>               now_;
    std::map<std::string, std::uint64_t> published_;  // at the look before
    std::map<holder, double>             since_;
    double                               before_s_ = 0;
    double                               at_s_     = 0;
};

/// The pools, or the processes that have one of them open.
view shared_view_of(const shared_looks& looks, const view_options& wanted);

/// The same as a table of text, once; empty: there are none.
std::string shared_text(const std::vector<seen_pool>& pools);

}  // namespace tool
