// SPDX-License-Identifier: MIT
// Not some histories of a small pool but every one: an arena of two regions of two blocks each, and
// at each of seven steps an alloc, a free of any of the four (right, double, never allocated, or
// foreign because its chunk is gone), a trim, or a reserve of three. The model says which block
// comes next, to the byte.
#include "events.hpp"
#include "every_history.hpp"

#include "eggbox/growing.h"

#include <array>

namespace
{

enum { blocks = 2, chunks = 2, operations = 7, depth = 7, histories_in_all = 823543 };
enum : std::size_t { block_bytes = 8, region_bytes_max = 256 };

struct arena {
    alignas(64) char memory[chunks][region_bytes_max];
    bool        is_out[chunks];
    std::size_t region_bytes;  // two blocks and what belongs to them, to the byte

    static void* reserve(void* user, std::size_t least, std::size_t* bytes)
    {
        auto* const self = static_cast<arena*>(user);
        *bytes = self->region_bytes = least + block_bytes;
        EXPECT_LE(*bytes, std::size_t(region_bytes_max));
        for (int i = 0; i < chunks; i++) {
            if (!self->is_out[i]) {
                self->is_out[i] = true;
                return self->memory[i];
            }
        }
        return nullptr;
    }

    static void give_back(void* user, void* region, std::size_t bytes)
    {
        auto* const self = static_cast<arena*>(user);
        const auto  at =
            std::size_t(static_cast<char*>(region) - self->memory[0]) / region_bytes_max;
        EXPECT_TRUE(region == self->memory[at] && self->is_out[at] && bytes == self->region_bytes);
        self->is_out[at] = false;
    }
};

struct model_chunk {
    int                     touched;
    bool                    live[blocks];
    short_list<int, blocks> free;  // the newest last
};

class history
{
  public:
    history()
    {
        egb_growing_options wanted{};
        wanted.block_bytes = block_bytes;
        wanted.max_blocks  = 4;
        wanted.backing     = {arena::reserve, nullptr, arena::give_back, &arena_, 0, false, 0};
        EXPECT_EQ(egb_growing_init(&pool_, &wanted), EGB_OK);
    }

    void step(int operation)
    {
        switch (operation) {
            case 0: alloc(); break;
            case 5: trim(); break;
            case 6: reserve(3); break;
            default: free((operation - 1) / blocks, (operation - 1) % blocks); break;
        }
        compare();
    }

  private:
    char* at(int chunk, int block)
    {
        return arena_.memory[chunk] + std::size_t(block) * block_bytes;
    }

    std::size_t spare() const
    {
        std::size_t sum = 0;
        for (const int i : order_) {
            sum += std::size_t(blocks - live(i));
        }
        return sum;
    }

    int live(int chunk) const
    {
        return chunks_[std::size_t(chunk)].live[0] + chunks_[std::size_t(chunk)].live[1];
    }

    bool grow()
    {
        for (int i = 0; i < chunks; i++) {
            if (!is_made_[std::size_t(i)]) {
                is_made_[std::size_t(i)] = true;
                chunks_[std::size_t(i)]  = {};
                order_.push_back(i);
                return true;
            }
        }
        return false;
    }

    void alloc()
    {
        void* expected = nullptr;
        if (!order_.empty() || grow()) {
            const int    i     = order_[0];
            model_chunk& from  = chunks_[std::size_t(i)];
            const int    taken = from.free.empty() ? from.touched++ : from.free.pop_back();
            from.live[taken]   = true;
            expected           = at(i, taken);
            if (live(i) == blocks) {
                order_.erase(0);
            }
        }
        ASSERT_EQ(egb_growing_alloc(&pool_), expected);
    }

    void free(int chunk, int block)
    {
        model_chunk& to = chunks_[std::size_t(chunk)];
        events       seen;
        egb_growing_free(&pool_, at(chunk, block));
        if (!is_made_[std::size_t(chunk)]) {
            ASSERT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
        } else if (block >= to.touched) {
            ASSERT_EQ(seen.take_kind(), EGB_MISUSE_NEVER_ALLOCATED);
        } else if (!to.live[block]) {
            ASSERT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
        } else {
            to.live[block] = false;
            to.free.push_back(block);
            remove(chunk);
            order_.push_front(chunk);
        }
    }

    void remove(int chunk)
    {
        for (std::size_t i = 0; i < order_.size(); i++) {
            if (order_[i] == chunk) {
                order_.erase(i);
                return;
            }
        }
    }

    void trim()
    {
        std::size_t gone = 0;
        for (int i = 0; i < chunks; i++) {
            if (is_made_[std::size_t(i)] && live(i) == 0) {
                is_made_[std::size_t(i)] = false;
                remove(i);
                gone += arena_.region_bytes;
            }
        }
        ASSERT_EQ(egb_growing_trim(&pool_, 0), gone);
    }

    void reserve(std::size_t count)
    {
        const auto before = is_made_;
        const auto order  = order_;
        const auto status = egb_growing_reserve(&pool_, count);
        if (in_use() + count > 4) {
            ASSERT_EQ(status, EGB_LIMIT);
            return;
        }
        while (spare() < count && grow()) {
        }
        ASSERT_EQ(status, spare() < count ? EGB_NO_MEMORY : EGB_OK);
        if (status != EGB_OK) {
            is_made_ = before;
            order_   = order;
        }
    }

    std::size_t in_use() const
    {
        std::size_t sum = 0;
        for (int i = 0; i < chunks; i++) {
            sum += is_made_[std::size_t(i)] ? std::size_t(live(i)) : 0;
        }
        return sum;
    }

    void compare()
    {
        ASSERT_TRUE(egb_growing_whole(&pool_));
        const std::size_t made = std::size_t(is_made_[0]) + std::size_t(is_made_[1]);
        ASSERT_EQ(egb_growing_in_use(&pool_), in_use());
        ASSERT_EQ(egb_growing_capacity(&pool_), made * blocks);
        ASSERT_EQ(egb_growing_held(&pool_), made * arena_.region_bytes);
        for (int i = 0; i < chunks; i++) {
            ASSERT_EQ(arena_.is_out[i], is_made_[std::size_t(i)]);
            ASSERT_EQ(egb_growing_owns(&pool_, at(i, 1)), is_made_[std::size_t(i)]);
        }
    }

    arena                           arena_{};
    egb_growing                     pool_{};
    std::array<model_chunk, chunks> chunks_{};
    std::array<bool, chunks>        is_made_{};
    short_list<int, chunks>         order_;  // the list of chunks with a free block
};

}  // namespace

TEST(growing_histories, every_short_history_of_a_small_pool_agrees_with_the_model)
{
    static history now;
    EXPECT_EQ(every_history(now, operations, depth), histories_in_all);
}
