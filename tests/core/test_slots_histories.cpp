// SPDX-License-Identifier: MIT
// Every history of seven steps of slots for three elements, in the last lives of the slots: each
// answer is compared with that of a list of all handles that were ever given out.
#include "eggbox/slots.h"

#include "events.hpp"
#include "every_history.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace
{

constexpr std::uint32_t count      = 3;
constexpr int           steps      = 7;
constexpr int           kinds      = 6;       // insert; erase and retire of two handles; advance
constexpr int           histories  = 279936;  // kinds ^ steps
constexpr std::uint32_t lives_left = 2;

enum class state { live, limbo, gone };

struct one {
    egb_slot      handle;
    state         is;
    std::uint64_t frame;
};

class history
{
  public:
    history()
    {
        EXPECT_EQ(egb_slots_init(&slots_, memory_.data(), sizeof memory_, 8, count), EGB_OK);
        EXPECT_EQ(egb_slots_start_at(&slots_, EGB_SLOT_LIVES_MAX - lives_left), EGB_OK);
    }

    // Handles are counted from the newest: 0 is the one of the latest insert.
    void step(int kind)
    {
        switch (kind) {
            case 0: insert(); break;
            case 1:
            case 2: erase(static_cast<std::size_t>(kind - 1)); break;
            case 3:
            case 4: retire(static_cast<std::size_t>(kind - 3)); break;
            default: advance(); break;
        }
        agree();
    }

  private:
    std::size_t number_of(state wanted) const
    {
        std::size_t number = 0;
        for (const one& each : all_) {
            number += each.is == wanted;
        }
        return number;
    }

    // Slots whose last life has ended.
    std::size_t given_up() const
    {
        std::array<std::uint32_t, count> ended{};
        std::size_t                      number = 0;
        for (const one& each : all_) {
            number += each.is == state::gone && ++ended[each.handle.index] == lives_left;
        }
        return number;
    }

    void insert()
    {
        const bool  full   = number_of(state::live) + number_of(state::limbo) + given_up() == count;
        egb_slot    handle = {9, 9};
        void* const element = egb_slots_insert(&slots_, &handle);
        ASSERT_EQ(element == nullptr, full);
        if (full) {
            return;
        }
        for (const one& each : all_) {
            ASSERT_FALSE(
                each.handle.index == handle.index &&
                (each.is != state::gone || each.handle.generation == handle.generation)
            );
        }
        all_.push_back({handle, state::live, 0});
    }

    // The handle, or NULL if there were not so many inserts.
    one* newest(std::size_t back)
    {
        return back < all_.size() ? &all_[all_.size() - 1 - back] : nullptr;
    }

    void erase(std::size_t back)
    {
        one* const chosen = newest(back);
        const bool lives  = chosen != nullptr && chosen->is == state::live;
        const auto handle = chosen != nullptr ? chosen->handle : EGB_SLOT_NONE;
        events     seen;
        ASSERT_EQ(egb_slots_erase(&slots_, handle), lives);
        if (lives) {
            chosen->is = state::gone;
        } else if (chosen != nullptr) {
            ASSERT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
        }
    }

    void retire(std::size_t back)
    {
        one* const chosen = newest(back);
        const bool lives  = chosen != nullptr && chosen->is == state::live;
        const auto handle = chosen != nullptr ? chosen->handle : EGB_SLOT_NONE;
        events     seen;
        ASSERT_EQ(egb_slots_retire(&slots_, handle, frame_), lives ? EGB_OK : EGB_STALE);
        if (lives) {
            chosen->is    = state::limbo;
            chosen->frame = frame_;
        } else if (chosen != nullptr) {
            ASSERT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
        }
    }

    // The frame before this one is over.
    void advance()
    {
        std::size_t freed = 0;
        for (one& each : all_) {
            if (each.is == state::limbo && each.frame < frame_) {
                each.is = state::gone;
                freed++;
            }
        }
        ASSERT_EQ(egb_slots_advance(&slots_, frame_, nullptr, nullptr), freed);
        frame_++;
    }

    void agree()
    {
        for (const one& each : all_) {
            ASSERT_EQ(egb_slots_contains(&slots_, each.handle), each.is == state::live);
        }
        std::size_t met = 0;
        for (egb_slot at = EGB_SLOT_NONE; egb_slots_next(&slots_, &at) != nullptr; met++) {
            ASSERT_TRUE(egb_slots_contains(&slots_, at));
        }
        ASSERT_EQ(met, number_of(state::live));
        ASSERT_EQ(egb_slots_in_use(&slots_), met);
        ASSERT_EQ(egb_slots_in_limbo(&slots_), number_of(state::limbo));
        ASSERT_EQ(egb_slots_given_up(&slots_), given_up());
        ASSERT_TRUE(egb_slots_whole(&slots_));
    }

    egb_slots                                                  slots_{};
    std::array<std::size_t, EGB_SLOTS_BYTES(8, count) / 4 + 1> memory_{};
    short_list<one, steps>                                     all_;
    std::uint64_t                                              frame_ = 1;
};

}  // namespace

TEST(slots_histories, every_history_of_seven_steps_agrees_with_the_model)
{
    static history now;
    EXPECT_EQ(every_history(now, kinds, steps), histories);
}
