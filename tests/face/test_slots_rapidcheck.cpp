// SPDX-License-Identifier: MIT
// Random operations on slots, beside a std::unordered_map with the handles as keys, chosen and
// shrunk by rapidcheck.
#include "eggbox/slots.hpp"

#include "events.hpp"

#include <rapidcheck.h>

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace
{

template <class Slots>
class model
{
  public:
    explicit model(std::size_t room) : room_(room) {}

    void step(std::uint32_t what, std::uint32_t which)
    {
        const handle one = all_.empty() ? handle() : all_[which % all_.size()];
        switch (what % 8) {
            case 0:
            case 1:
            case 2: insert(which); break;
            case 3:
            case 4: erase(one); break;
            case 5: retire(one); break;
            case 6: advance(); break;
            default: erase_while_walking(which % 5 + 1); break;
        }
        RC_ASSERT(slots_.in_use() == live_.size());
        RC_ASSERT(slots_.in_limbo() == limbo_.size());
        RC_ASSERT(slots_.whole());
        for (const handle each : all_) {
            const auto        found  = live_.find(each);
            const auto* const object = slots_.get(each);
            RC_ASSERT((object != nullptr) == (found != live_.end()));
            const bool same = object == nullptr || *object == found->second;
            RC_ASSERT(same);
        }
    }

  private:
    using handle = typename Slots::handle_type;

    void insert(std::uint32_t value)
    {
        const handle one  = slots_.insert(value);
        const bool   full = live_.size() + limbo_.size() == room_;
        RC_ASSERT(bool(one) != full);
        if (one) {
            RC_ASSERT(live_.emplace(one, value).second);
            all_.push_back(one);
        }
    }

    void expect_misuse(handle one, bool is_live)
    {
        if (!is_live && one) {
            RC_ASSERT(misuse_.take_kind() == EGB_MISUSE_DOUBLE_FREE);
        }
        RC_ASSERT(misuse_.none());
    }

    void erase(handle one)
    {
        const bool is_live = live_.erase(one) != 0;
        RC_ASSERT(slots_.erase(one) == is_live);
        expect_misuse(one, is_live);
    }

    void retire(handle one)
    {
        const bool is_live = live_.erase(one) != 0;
        RC_ASSERT(slots_.retire(one, frame_) == (is_live ? EGB_OK : EGB_STALE));
        expect_misuse(one, is_live);
        if (is_live) {
            limbo_.push_back(frame_);
        }
    }

    void advance()
    {
        std::size_t freed = 0;
        while (!limbo_.empty() && limbo_.front() < frame_) {
            limbo_.erase(limbo_.begin());
            freed++;
        }
        RC_ASSERT(slots_.advance(frame_) == freed);
        frame_++;
    }

    void erase_while_walking(std::uint32_t every)
    {
        std::size_t met = 0;
        const auto  all = live_.size();
        for (auto at = slots_.begin(); at != slots_.end(); ++at, met++) {
            const auto found = live_.find(at.handle());
            const bool same  = found != live_.end() && found->second == *at;
            RC_ASSERT(same);
            if (*at % every == 0) {
                live_.erase(found);
                RC_ASSERT(slots_.erase(at.handle()));
            }
        }
        RC_ASSERT(met == all);
    }

    Slots                                     slots_;
    std::unordered_map<handle, std::uint32_t> live_;
    std::vector<handle>                       all_;    // that were ever given out
    std::vector<std::uint64_t>                limbo_;  // frames
    std::uint64_t                             frame_ = 0;
    std::size_t                               room_;
    events                                    misuse_;
};

template <class Slots>
bool any_history_agrees(const char* name, std::size_t room)
{
    using history = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
    return rc::check(name, [room](const history& steps) {
        model<Slots> checked(room);
        for (const auto& [what, which] : steps) {
            checked.step(what, which);
        }
        RC_ASSERT(!testing::Test::HasFailure());
    });
}

}  // namespace

TEST(slots_rapidcheck, in_place)
{
    EXPECT_TRUE((any_history_agrees<eggbox::slots<std::uint32_t, 9>>("slots agree", 9)));
}

TEST(slots_rapidcheck, growing)
{
    using growing = eggbox::growing_slots<std::uint32_t>;
    EXPECT_TRUE(any_history_agrees<growing>("growing slots agree", SIZE_MAX));
}
