// SPDX-License-Identifier: MIT
// Random operations on a tree of pools of all kinds, next to a model that counts on its fingers.
#include "events.hpp"
#include "levels.hpp"
#include "pools.hpp"

#include <algorithm>
#include <memory>
#include <set>

namespace
{

struct live_block {
    void*         block;
    std::uint64_t number;
};

// A pool, and the numbers that it should report.
struct modelled {
    egb_pool                      pool{};
    egb_pool_options              options{};
    std::unique_ptr<char[]>       memory;  // static pools only
    std::vector<live_block>       live;
    modelled*                     parent = nullptr;
    std::unique_ptr<egb_magazine> cache;
    std::size_t                   taken = 0, refused = 0, peak = 0, caches = 0;
};

class forest
{
  public:
    explicit forest(std::uint64_t seed) : random_(seed) {}

    ~forest()
    {
        while (!pools_.empty()) {
            destroy(pools_.front().get());
        }
        EXPECT_EQ(subtree_of(egb_pool{}).pools, 0u);
        EXPECT_EQ(subtree_of(egb_pool{}).bytes_held, 0u);
    }

    forest(const forest&)            = delete;
    forest& operator=(const forest&) = delete;

    void step()
    {
        const std::size_t what = random_.below(1000);
        if (pools_.empty() || (what < 5 && pools_.size() < 12)) {
            create();
            return;
        }
        modelled* const one = pools_[random_.below(pools_.size())].get();
        if (what < 7) {
            random_.below(4) == 0 ? destroy(one) : destroy_politely(one);
        } else if (what < 13) {
            toggle_cache(one);
        } else if (what < 23) {
            trim(one);
        } else if (what < 33) {
            reserve(one);
        } else if (what < 38) {
            look_at_blocks(one);
        } else {
            // Each pool grows for a while, and shrinks for a while.
            const bool grows = (turn_++ / 3000 + one->pool.slot) % 2 == 0;
            random_.below(100) < (grows ? 60u : 40u) ? take(one) : give(one);
        }
        compare(one);
    }

    void compare_all()
    {
        for (const auto& one : pools_) {
            compare(one.get());
            std::size_t          count = 0, in_use = 0;
            const egb_pool_stats sum = subtree_of(one->pool);
            for (const auto& other : pools_) {
                if (is_below(other.get(), one.get())) {
                    count++;
                    in_use += other->live.size();
                }
            }
            ASSERT_EQ(sum.pools, count);
            ASSERT_EQ(sum.in_use, in_use);
            ASSERT_LE(charged(one.get()), budget_of(one.get()));
        }
    }

    std::size_t refusals = 0, deaths = 0;

  private:
    static bool is_below(const modelled* below, const modelled* above)
    {
        while (below != nullptr && below != above) {
            below = below->parent;
        }
        return below != nullptr;
    }

    static std::size_t budget_of(const modelled* one)
    {
        return one->options.budget_bytes == 0 ? SIZE_MAX : one->options.budget_bytes;
    }

    // The memory of the system that the pool and its descendants hold.
    std::size_t charged(const modelled* above) const
    {
        std::size_t sum = 0;
        for (const auto& one : pools_) {
            if (is_below(one.get(), above) && one->memory == nullptr) {
                sum += stats_of(one->pool).bytes_held;
            }
        }
        return sum;
    }

    void create()
    {
        static const std::size_t sizes[] = {1, 8, 24, 40, 64, 200, 1000, 5000, 40000, 70000};
        auto                     made    = std::make_unique<modelled>();
        egb_pool_options&        options = made->options;
        options.block_bytes              = sizes[random_.below(10)];
        options.level                    = level_named(random_.below(2) == 0 ? "check" : "off");
        options.flags                    = random_.below(4) == 0 ? EGB_CACHE_LINE : 0;
        options.max_blocks               = random_.below(2) == 0 ? 1 + random_.below(300) : 0;
        options.budget_bytes = random_.below(3) == 0 ? unit_bytes * (1 + random_.below(20)) : 0;
        made->parent   = random_.below(2) == 0 || pools_.empty() ? nullptr : pools_.back().get();
        options.parent = made->parent == nullptr ? egb_pool{} : made->parent->pool;
        if (random_.below(4) == 0) {
            options.memory_bytes = 1 + random_.below(20 * options.block_bytes + 1000);
            made->memory.reset(new char[options.memory_bytes]);
            options.memory = made->memory.get();
        }
        const egb_status status = egb_pool_create(&made->pool, &options);
        if (options.memory == nullptr || options.memory_bytes > 2 * options.block_bytes + 400) {
            ASSERT_EQ(status, EGB_OK);
        }
        if (status == EGB_OK) {
            pools_.push_back(std::move(made));
        }
    }

    void destroy_politely(modelled* one)
    {
        std::size_t in_use = 0;
        for (const auto& other : pools_) {
            in_use += is_below(other.get(), one) ? other->live.size() : 0;
        }
        if (in_use == 0) {
            destroy(one);
        } else {
            ASSERT_EQ(egb_pool_destroy(one->pool, EGB_DESTROY_REFUSE), EGB_BUSY);
        }
    }

    // Caches are closed before and after, by chance.
    void destroy(modelled* one)
    {
        ASSERT_EQ(egb_pool_destroy(one->pool, EGB_DESTROY_FORCE), EGB_OK);
        deaths++;
        std::vector<modelled*> going;
        for (const auto& other : pools_) {
            if (is_below(other.get(), one)) {
                going.push_back(other.get());
            }
        }
        for (modelled* const gone : going) {
            ASSERT_FALSE(egb_pool_alive(gone->pool));
            if (gone->cache != nullptr) {
                egb_magazine_close(gone->cache.get());
            }
        }
        const auto is_gone = [&](const std::unique_ptr<modelled>& other) {
            return std::find(going.begin(), going.end(), other.get()) != going.end();
        };
        pools_.erase(std::remove_if(pools_.begin(), pools_.end(), is_gone), pools_.end());
    }

    void toggle_cache(modelled* one)
    {
        if (one->cache != nullptr) {
            egb_magazine_close(one->cache.get());
            one->cache.reset();
            return;
        }
        auto              cache  = std::make_unique<egb_magazine>();
        const std::size_t stride = stats_of(one->pool).stride_bytes;
        const egb_status  status = egb_magazine_open(cache.get(), one->pool);
        ASSERT_EQ(status, stride > EGB_MAGAZINE_BYTES_MAX ? EGB_INVALID : EGB_OK);
        if (status == EGB_OK) {
            one->cache = std::move(cache);
            one->caches++;
        }
    }

    bool by_cache(const modelled* one)
    {
        return one->cache != nullptr && random_.below(2) == 0;
    }

    // NULL is right when the pool has no free block and may get none.
    void expect_exhausted(modelled* one)
    {
        refusals++;
        const egb_pool_stats stats = stats_of(one->pool);
        ASSERT_EQ(stats.in_magazines, 0u);
        if (one->options.max_blocks != 0 && stats.in_use == one->options.max_blocks) {
            return;
        }
        ASSERT_EQ(stats.in_use, stats.capacity);
        if (one->memory != nullptr) {
            return;
        }
        const std::size_t least = (stats.stride_bytes + 1 + 400) / unit_bytes * unit_bytes;
        bool              fits  = true;
        for (const modelled* above = one; above != nullptr; above = above->parent) {
            fits = fits && budget_of(above) - charged(above) > least + unit_bytes;
        }
        ASSERT_FALSE(fits) << "there was room for a chunk";
    }

    void take(modelled* one)
    {
        void* const block =
            by_cache(one) ? egb_magazine_alloc(one->cache.get()) : egb_pool_alloc(one->pool);
        if (block == nullptr) {
            one->refused++;
            expect_exhausted(one);
            return;
        }
        const std::size_t bytes = one->options.block_bytes;
        const std::size_t align = one->options.flags == EGB_CACHE_LINE ? 64 : 4;
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block) % align, 0u);
        one->taken++;
        one->live.push_back({block, next_number_});
        fill(block, bytes, next_number_++);
        one->peak = std::max(one->peak, one->live.size());
    }

    void give(modelled* one)
    {
        if (one->live.empty()) {
            return;
        }
        std::swap(one->live[random_.below(one->live.size())], one->live.back());
        const live_block last = one->live.back();
        one->live.pop_back();
        ASSERT_TRUE(is_filled(last.block, one->options.block_bytes, last.number));
        if (by_cache(one)) {
            egb_magazine_free(one->cache.get(), last.block);
        } else if (random_.below(4) == 0) {
            egb_free(last.block);
        } else {
            egb_pool_free(one->pool, last.block);
        }
    }

    void trim(modelled* one)
    {
        const std::size_t held  = stats_of(one->pool).bytes_held;
        const std::size_t keep  = random_.below(held + 2);
        const std::size_t given = egb_pool_trim(one->pool, keep);
        const std::size_t left  = stats_of(one->pool).bytes_held;
        ASSERT_EQ(held - given, left);
        ASSERT_TRUE(given == 0 || left >= keep);
        ASSERT_TRUE(one->memory == nullptr || given == 0);
    }

    void reserve(modelled* one)
    {
        const std::size_t    blocks = random_.below(100);
        const egb_pool_stats before = stats_of(one->pool);
        const egb_status     status = egb_pool_reserve(one->pool, blocks);
        const egb_pool_stats after  = stats_of(one->pool);
        if (status == EGB_OK) {
            ASSERT_GE(after.capacity - after.in_use, blocks);
        } else {
            ASSERT_EQ(status, EGB_LIMIT);
            ASSERT_EQ(after.bytes_held, before.bytes_held);
            ASSERT_EQ(after.capacity, before.capacity);
        }
        if (one->options.max_blocks != 0) {
            ASSERT_TRUE(status != EGB_OK || blocks <= one->options.max_blocks - after.in_use);
        } else if (one->memory == nullptr && one->options.budget_bytes == 0 && !one->parent) {
            ASSERT_EQ(status, EGB_OK);
        }
    }

    void look_at_blocks(modelled* one)
    {
        std::set<void*> seen;
        egb_pool_each_block(
            one->pool,
            [](void* block, void* user) { static_cast<std::set<void*>*>(user)->insert(block); },
            &seen
        );
        ASSERT_EQ(seen.size(), one->live.size());
        for (const live_block& live : one->live) {
            ASSERT_EQ(seen.count(live.block), 1u);
            ASSERT_TRUE(is_filled(live.block, one->options.block_bytes, live.number));
            ASSERT_TRUE(egb_pool_of(live.block) == one->pool);
        }
    }

    void compare(modelled* one)
    {
        if (std::none_of(pools_.begin(), pools_.end(), [&](const auto& other) {
                return other.get() == one;
            })) {
            return;
        }
        const egb_pool_stats stats = stats_of(one->pool);
        ASSERT_EQ(stats.in_use, one->live.size());
        ASSERT_EQ(stats.allocations, one->taken);
        ASSERT_EQ(stats.frees, one->taken - one->live.size());
        ASSERT_EQ(stats.failures, one->refused);
        ASSERT_LE(stats.in_use + stats.in_magazines, stats.capacity);
        ASSERT_GE(stats.peak, one->peak);
        const std::size_t per_batch = std::min<std::size_t>(
            EGB_MAGAZINE_BLOCKS_MAX, EGB_MAGAZINE_BYTES_MAX / stats.stride_bytes
        );
        ASSERT_LE(stats.peak, one->peak + 2 * per_batch * (one->caches + 1));
        ASSERT_LE(
            stats.bytes_held, one->memory != nullptr ? one->options.memory_bytes : budget_of(one)
        );
        ASSERT_EQ(stats.max_blocks, one->options.max_blocks);
        if (one->options.max_blocks != 0) {
            ASSERT_LE(stats.peak, one->options.max_blocks);
        }
    }

    events                                 unexpected_;
    randoms                                random_;
    std::vector<std::unique_ptr<modelled>> pools_;
    std::uint64_t                          next_number_ = 0;
    std::size_t                            turn_        = 0;
};

}  // namespace

// A million operations; with sanitizers 400,000, which take as long.
TEST(pool_model, random_operations_agree_with_it)
{
    std::size_t         refusals = 0, deaths = 0;
    const std::uint64_t seeds = is_sanitized ? 8 : 20;
    for (std::uint64_t seed = 1; seed <= seeds; seed++) {
        SCOPED_TRACE(seed);
        forest all(seed);
        for (int step = 0; step < 50000; step++) {
            all.step();
            if (step % 100 == 0) {
                all.compare_all();
            }
            if (testing::Test::HasFatalFailure()) {
                FAIL() << "at step " << step;
            }
        }
        refusals += all.refusals;
        deaths += all.deaths;
    }
    EXPECT_GT(refusals, 1000u);  // else the bounds were not tried
    EXPECT_GT(deaths, 100u);
}
