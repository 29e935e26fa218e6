// SPDX-License-Identifier: MIT
// The behaviour of a fixed pool in its simplest form: an array of states and a stack. The model
// runs operations on a pool and on itself and compares everything after each.
#ifndef EGGBOX_TESTS_SUPPORT_MODEL_HPP
#define EGGBOX_TESTS_SUPPORT_MODEL_HPP

#include "any_pool.hpp"
#include "events.hpp"

#include <algorithm>

class model
{
  public:
    model(way made, std::size_t block_bytes, std::size_t count_max)
        : all(made, block_bytes, count_max), count_max_(count_max), count_(count_max),
          live_(count_max), fill_(count_max)
    {
    }

    // Any number is an operation, so any sequence of numbers is a test.
    void step(uint32_t what, uint32_t which)
    {
        switch (what % 16) {
            case 0:
            case 1:
            case 2:
            case 3:
            case 4:
            case 5: alloc(which); break;
            case 6:
            case 7:
            case 8:
            case 9: free_live(which); break;
            case 10: free_again(which); break;
            case 11: free_at(which % (2 * all.block_bytes * count_max_)); break;
            case 12: free_at(which % 64 * all.block_bytes); break;
            case 13: resize(which % (count_max_ + 3)); break;
            case 14: hold_marks(which); break;
            default: which % 64 == 0 ? clear() : alloc(which); break;
        }
        compare();
    }

    void alloc(uint32_t fill)
    {
        void* const block    = all.alloc();
        void*       expected = nullptr;
        if (!free_.empty()) {
            expected = all.at(free_.back());
            free_.pop_back();
        } else if (touched_ < count_) {
            expected = all.at(touched_++);
        }
        ASSERT_EQ(block, expected);
        if (block != nullptr) {
            const std::size_t index = index_of(block);
            ASSERT_FALSE(live_[index]) << "handed out twice";
            live_[index] = true;
            write(index, fill);
        }
    }

    void free_live(uint32_t which)
    {
        std::vector<std::size_t> held;
        for (std::size_t i = 0; i < live_.size(); i++) {
            if (live_[i]) {
                held.push_back(i);
            }
        }
        if (!held.empty()) {
            const std::size_t index = held[which % held.size()];
            expect_filled(index);
            free_at(index * all.block_bytes);
        }
    }

    // Frees an address at `offset` bytes from the region's start, right or wrong.
    void free_at(std::size_t offset)
    {
        const std::size_t index    = offset / all.block_bytes;
        const bool        is_start = offset % all.block_bytes == 0;
        if (is_start && index < touched_ && live_[index]) {
            all.free(all.at(0) + offset);
            live_[index] = false;
            free_.push_back(index);
        } else if (all.made != way::unchecked) {
            all.free(reinterpret_cast<char*>(uintptr_t(all.at(0)) + offset));
            ASSERT_EQ(events_.take_kind(), kind_of(index, is_start));
        }
    }

    void free_again(uint32_t which)
    {
        if (!free_.empty()) {
            free_at(free_[which % free_.size()] * all.block_bytes);
        }
    }

    void resize(std::size_t count)
    {
        const egb_status status = egb_fixed_resize(&all.pool, count * all.block_bytes);
        if (count == 0) {
            ASSERT_EQ(status, EGB_INVALID);
        } else if (count < touched_) {
            ASSERT_EQ(status, EGB_BUSY);
        } else if (count > count_max_) {
            // Beyond our memory: the pool may say yes where it does not count bits.
            if (status == EGB_OK) {
                ASSERT_EQ(egb_fixed_resize(&all.pool, count_ * all.block_bytes), EGB_OK);
            }
        } else {
            ASSERT_EQ(status, EGB_OK);
            count_ = count;
        }
    }

    void clear()
    {
        egb_fixed_clear(&all.pool);
        std::fill(live_.begin(), live_.end(), false);
        free_.clear();
        touched_ = 0;
    }

    // Data that looks like ours, in a block in use.
    void hold_marks(uint32_t which)
    {
        for (std::size_t i = 0; i < live_.size(); i++) {
            if (live_[i] && (which >> i % 32 & 1) != 0) {
                write(i, which % 2 == 0 ? EGB_FIXED_MARK_ : which % 7);
            }
        }
    }

    void compare()
    {
        ASSERT_TRUE(events_.none());
        ASSERT_TRUE(all.whole());
        const auto held = std::size_t(std::count(live_.begin(), live_.end(), true));
        ASSERT_EQ(egb_fixed_in_use(&all.pool), held);
        ASSERT_EQ(egb_fixed_capacity(&all.pool), count_);
        ASSERT_EQ(egb_fixed_available(&all.pool), count_ - held);
        ASSERT_EQ(egb_fixed_touched(&all.pool), touched_);
        ASSERT_EQ(egb_fixed_peak(&all.pool), touched_);
    }

    void expect_all_filled()
    {
        for (std::size_t i = 0; i < live_.size(); i++) {
            if (live_[i]) {
                expect_filled(i);
            }
        }
    }

    any_pool all;

  private:
    std::size_t index_of(const void* block) const
    {
        return std::size_t(static_cast<const char*>(block) - all.at(0)) / all.block_bytes;
    }

    egb_misuse_kind kind_of(std::size_t index, bool is_start) const
    {
        if (index >= count_) {
            return EGB_MISUSE_FOREIGN;
        }
        if (!is_start) {
            return EGB_MISUSE_INTERIOR;
        }
        return index < touched_ ? EGB_MISUSE_DOUBLE_FREE : EGB_MISUSE_NEVER_ALLOCATED;
    }

    void write(std::size_t index, uint32_t fill)
    {
        fill_[index] = fill;
        for (std::size_t at = 0; at < all.block_bytes; at += 4) {
            std::memcpy(all.at(index) + at, &fill, 4);
        }
    }

    void expect_filled(std::size_t index)
    {
        for (std::size_t at = 0; at < all.block_bytes; at += 4) {
            ASSERT_EQ(std::memcmp(all.at(index) + at, &fill_[index], 4), 0);
        }
    }

    events                   events_;
    std::size_t              count_max_;
    std::size_t              count_;
    std::size_t              touched_ = 0;
    std::vector<bool>        live_;
    std::vector<uint32_t>    fill_;
    std::vector<std::size_t> free_;  // the newest last
};

#endif  // EGGBOX_TESTS_SUPPORT_MODEL_HPP
