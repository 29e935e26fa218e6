// SPDX-License-Identifier: MIT
// Many random operations on growing pools of many shapes. The model is the list of blocks in use,
// and their contents. After every step the pool must agree with it.
#include "backing.hpp"
#include "events.hpp"

#include <algorithm>
#include <random>
#include <set>

namespace
{

struct shape {
    std::size_t block_bytes;
    std::size_t block_align;
    std::size_t granule;
    std::size_t misalign;
    std::size_t chunk_bytes;
    std::size_t chunk_bytes_max;
    std::size_t max_blocks;
    bool        with_states;
    bool        zeroed;
};

const shape shapes[] = {
    {4, 0, 64, 0, 320, 320, 0, false, false},
    {4, 0, 0, 1, 300, 1000, 50, true, false},
    {8, 8, 4096, 0, 0, 0, 0, true, true},
    {8, 4, 4, 0, 256, 4096, 0, true, false},
    {12, 4, 0, 7, 250, 900, 0, false, false},
    {24, 8, 64, 0, 1, 1, 0, true, false},
    {64, 64, 64, 0, 512, 2048, 37, false, true},
    {64, 64, 0, 9, 700, 2048, 0, true, false},
    {96, 32, 512, 0, 1024, 1024, 0, true, true},
    {1000, 8, 256, 0, 4096, 16384, 33, false, false},
    {4096, 4096, 4096, 0, 0, 0, 0, false, false},
};

struct held {
    char* block;
    int   fill;
};

class model
{
  public:
    model(const shape& wanted, uint32_t seed)
        : shape_(wanted), backing_(wanted.granule, wanted.zeroed), random_(seed),
          all_(backing_, options_of(wanted))
    {
        backing_.misalign = wanted.misalign;
    }

    void step(unsigned alloc_percent)
    {
        const auto what = unsigned(random_() % 100);
        if (what < alloc_percent) {
            alloc();
        } else if (what < 88) {
            free_one();
        } else if (what < 91) {
            free_again();
        } else if (what < 94) {
            free_wrong();
        } else if (what < 96) {
            trim();
        } else if (what < 98) {
            reserve();
        } else {
            visit();
        }
        compare();
    }

    void free_all()
    {
        while (!live_.empty()) {
            free_one();
        }
        trim();
        compare();
    }

  private:
    static egb_growing_options options_of(const shape& wanted)
    {
        egb_growing_options options{};
        options.block_bytes     = wanted.block_bytes;
        options.block_align     = wanted.block_align;
        options.max_blocks      = wanted.max_blocks;
        options.chunk_bytes     = wanted.chunk_bytes;
        options.chunk_bytes_max = wanted.chunk_bytes_max;
        options.with_states     = wanted.with_states;
        return options;
    }

    void alloc()
    {
        backing_.refuse        = random_() % 8 == 0 ? backing_.requests + 1 : 0;
        backing_.refuse_from   = random_() % 8 == 0 ? backing_.requests + 1 : 0;
        auto* const block      = static_cast<char*>(all_.alloc());
        const bool  is_limited = shape_.max_blocks != 0 && live_.size() == shape_.max_blocks;
        if (block == nullptr) {
            // One refusal is not enough, unless the wish was for the least already.
            const bool wished_least = backing_.refuse != 0 && shape_.chunk_bytes_max == 1;
            ASSERT_TRUE(is_limited || backing_.refuse_from != 0 || wished_least);
        } else {
            ASSERT_FALSE(is_limited);
            ASSERT_TRUE(backing_.contains(block, shape_.block_bytes));
            ASSERT_EQ(
                reinterpret_cast<uintptr_t>(block) % std::max<std::size_t>(4, shape_.block_align),
                0u
            );
            ASSERT_TRUE(starts_.insert(block).second) << "handed out twice";
            freed_.erase(block);
            live_.push_back({block, int(random_() % 256)});
            std::memset(block, live_.back().fill, shape_.block_bytes);
            peak_ = std::max(peak_, live_.size());
        }
        backing_.refuse = backing_.refuse_from = 0;
    }

    void free_one()
    {
        if (live_.empty()) {
            return;
        }
        const std::size_t which = random_() % live_.size();
        expect_filled(live_[which]);
        all_.free(live_[which].block);
        starts_.erase(live_[which].block);
        freed_.insert(live_[which].block);
        live_[which] = live_.back();
        live_.pop_back();
    }

    void free_again()
    {
        if (!freed_.empty()) {
            all_.free(*freed_.begin());
            ASSERT_EQ(events_.take_kind(), EGB_MISUSE_DOUBLE_FREE);
        }
    }

    void free_wrong()
    {
        if (!live_.empty()) {
            all_.free(live_[random_() % live_.size()].block + 1 + random_() % 3);
            ASSERT_EQ(events_.take_kind(), EGB_MISUSE_INTERIOR);
        }
        all_.free(this);
        ASSERT_EQ(events_.take_kind(), EGB_MISUSE_FOREIGN);
        all_.free(nullptr);
    }

    // Blocks of chunks that are gone are no double free any more.
    void trim()
    {
        const std::size_t keep = live_.empty() ? 0 : random_() % 8192;
        const std::size_t held = egb_growing_held(&all_.pool);
        const std::size_t gone = egb_growing_trim(&all_.pool, keep);
        ASSERT_TRUE(gone == 0 || held - gone >= keep);
        for (auto block = freed_.begin(); block != freed_.end();) {
            block = egb_growing_owns(&all_.pool, *block) ? std::next(block) : freed_.erase(block);
        }
        for (const auto& one : live_) {
            ASSERT_TRUE(egb_growing_owns(&all_.pool, one.block));
            expect_filled(one);
        }
    }

    void reserve()
    {
        const std::size_t count  = random_() % 40;
        const auto        status = egb_growing_reserve(&all_.pool, count);
        if (shape_.max_blocks != 0 && live_.size() + count > shape_.max_blocks) {
            ASSERT_EQ(status, EGB_LIMIT);
        } else {
            ASSERT_EQ(status, EGB_OK);
            ASSERT_GE(egb_growing_capacity(&all_.pool), live_.size() + count);
        }
    }

    void visit()
    {
        std::vector<char*> seen;
        egb_growing_each(
            &all_.pool,
            [](void* block, void* user) {
                static_cast<std::vector<char*>*>(user)->push_back(static_cast<char*>(block));
            },
            &seen
        );
        ASSERT_TRUE(std::equal(seen.begin(), seen.end(), starts_.begin(), starts_.end()));
    }

    void compare()
    {
        ASSERT_TRUE(events_.none());
        ASSERT_TRUE(all_.whole());
        ASSERT_EQ(egb_growing_in_use(&all_.pool), live_.size());
        ASSERT_EQ(egb_growing_peak(&all_.pool), peak_);
        ASSERT_EQ(egb_growing_held(&all_.pool), backing_.bytes());
        ASSERT_EQ(all_.pool.chunks, backing_.ranges());
    }

    void expect_filled(const held& one)
    {
        for (std::size_t i = 0; i < shape_.block_bytes; i++) {
            ASSERT_EQ(static_cast<unsigned char>(one.block[i]), one.fill);
        }
    }

    events                            events_;
    shape                             shape_;
    counting_backing                  backing_;
    std::mt19937                      random_;
    growing_pool                      all_;
    std::vector<held>                 live_;
    std::set<char*, std::less<char*>> starts_;  // the same blocks
    std::set<char*, std::less<char*>> freed_;   // and not handed out again
    std::size_t                       peak_ = 0;
};

class growing_model : public testing::TestWithParam<shape>
{
};

std::string name_of_shape(const testing::TestParamInfo<shape>& made)
{
    return "shape_" + std::to_string(made.index) + "_" + std::to_string(made.param.block_bytes);
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(growing, growing_model, testing::ValuesIn(shapes), name_of_shape);

TEST_P(growing_model, random_operations_agree_with_the_model)
{
    for (uint32_t seed = 1; seed <= 3; seed++) {
        model checked(GetParam(), seed);
        for (int i = 0; i < 1200 && !HasFailure(); i++) {
            checked.step(i % 400 < 250 ? 60 : 20);
        }
        checked.free_all();
        ASSERT_FALSE(HasFailure()) << "seed " << seed;
    }
}
