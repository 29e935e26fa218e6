// SPDX-License-Identifier: MIT
// Handles: alive, stale, forged or null, each is recognised.
#include "events.hpp"
#include "pools.hpp"

extern "C" {
#include "pool/registry.h"
}

#include <algorithm>

namespace
{

// Counts misuse by kind, because there are too many events to keep.
struct tally {
    std::size_t stale   = 0;
    std::size_t no_pool = 0;
    std::size_t other   = 0;

    tally()
    {
        egb_misuse_set_handler(count, this);
    }

    ~tally()
    {
        egb_misuse_set_handler(nullptr, nullptr);
    }

    tally(const tally&)            = delete;
    tally& operator=(const tally&) = delete;

    static void count(const egb_misuse_event* event, void* user)
    {
        auto& self = *static_cast<tally*>(user);
        switch (event->kind) {
            case EGB_MISUSE_STALE: self.stale++; break;
            case EGB_MISUSE_NO_POOL: self.no_pool++; break;
            default: self.other++; break;
        }
    }
};

// The pools that are alive, the pools that were, and the answer that each handle must give.
class handles
{
  public:
    explicit handles(std::uint64_t seed) : random_(seed) {}

    ~handles()
    {
        while (!alive_.empty()) {
            destroy();
        }
    }

    handles(const handles&)            = delete;
    handles& operator=(const handles&) = delete;

    void step()
    {
        const std::size_t what = random_.below(1000);
        if (what < 4 && alive_.size() < 60) {
            create();
        } else if (what < 8 && !alive_.empty()) {
            destroy();
        } else {
            use(pick(what), what);
        }
    }

    tally       seen;
    std::size_t used = 0;

  private:
    struct one {
        egb_pool    pool;
        void*       block;  // in use
        std::size_t bytes;
    };

    void create()
    {
        const std::size_t bytes = 8 + 8 * random_.below(30);
        const egb_pool    pool  = make(bytes);
        alive_.push_back({pool, egb_pool_alloc(pool), bytes});
        EXPECT_NE(alive_.back().block, nullptr);
    }

    void destroy()
    {
        std::swap(alive_[random_.below(alive_.size())], alive_.back());
        const one gone = alive_.back();
        EXPECT_EQ(egb_pool_destroy(gone.pool, EGB_DESTROY_REFUSE), EGB_BUSY);
        EXPECT_EQ(egb_pool_destroy(gone.pool, EGB_DESTROY_FORCE), EGB_OK);
        alive_.pop_back();
        if (stale_.size() < 1000) {
            stale_.push_back(gone.pool);
        } else {
            stale_[random_.below(stale_.size())] = gone.pool;
        }
    }

    egb_pool pick(std::size_t what)
    {
        if (what < 500 && !alive_.empty()) {
            return alive_[random_.below(alive_.size())].pool;
        }
        if (what < 800 && !stale_.empty()) {
            return stale_[random_.below(stale_.size())];
        }
        if (what < 820) {
            return egb_pool{};
        }
        const auto number = [&] {  // small, huge, or any
            const std::size_t any = random_.below(SIZE_MAX);
            switch (random_.below(3)) {
                case 0: return static_cast<std::uint32_t>(any % 70);
                case 1: return UINT32_MAX - static_cast<std::uint32_t>(any % 3);
                default: return static_cast<std::uint32_t>(any);
            }
        };
        const std::uint32_t slot = number();
        return egb_pool{slot, number()};
    }

    void use(egb_pool pool, std::size_t what)
    {
        used++;
        const auto is_it = [&](const one& other) {
            return other.pool == pool;
        };
        const auto found = std::find_if(alive_.begin(), alive_.end(), is_it);
        if (found == alive_.end()) {
            use_wrong(pool, what);
            return;
        }
        ASSERT_TRUE(egb_pool_alive(pool));
        if (what % 4 == 0) {
            ASSERT_TRUE(egb_pool_of(found->block) == pool);
            ASSERT_EQ(egb_block_bytes(found->block), found->bytes);
        } else {
            void* const block = egb_pool_alloc(pool);
            ASSERT_NE(block, nullptr);
            ASSERT_NE(block, found->block);
            egb_pool_free(pool, found->block);
            found->block = block;
        }
        expect_events(0, 0);
    }

    // A stale handle may be used with a block that was, or a block of the pool in its slot now.
    void use_wrong(egb_pool pool, std::size_t what)
    {
        const bool is_null = pool == egb_pool{};
        ASSERT_FALSE(egb_pool_alive(pool));
        if (what % 4 == 0) {
            ASSERT_EQ(egb_pool_alloc(pool), nullptr);
        } else if (what % 4 == 1 && !alive_.empty()) {
            egb_pool_free(pool, alive_[random_.below(alive_.size())].block);
        } else if (what % 4 == 2) {
            egb_pool_stats stats;
            ASSERT_EQ(egb_pool_get_stats(pool, &stats), is_null ? EGB_INVALID : EGB_STALE);
            ASSERT_EQ(egb_pool_reserve(pool, 1), is_null ? EGB_INVALID : EGB_STALE);
            return;
        } else {
            ASSERT_EQ(egb_pool_destroy(pool, EGB_DESTROY_FORCE), is_null ? EGB_INVALID : EGB_STALE);
            return;
        }
        expect_events(is_null ? 0 : 1, is_null ? 1 : 0);
    }

    void expect_events(std::size_t stale, std::size_t no_pool)
    {
        ASSERT_EQ(seen.stale, stale);
        ASSERT_EQ(seen.no_pool, no_pool);
        ASSERT_EQ(seen.other, 0u);
        seen.stale = seen.no_pool = 0;
    }

    randoms               random_;
    std::vector<one>      alive_;
    std::vector<egb_pool> stale_;
};

egb_control* control_in(std::uint32_t slot)
{
    return &egb_registry_.controls[slot / EGB_SLOT_STEP_];
}

}  // namespace

// The same number of operations with sanitizers, where it takes some seconds.
TEST(pool_handles, none_of_ten_million_is_mistaken)
{
    handles all(20);
    for (int step = 0; step < 10000000; step++) {
        all.step();
        if (testing::Test::HasFailure()) {
            FAIL() << "at step " << step;
        }
    }
    EXPECT_GT(all.used, 9900000u);
}

TEST(pool_handles, a_slot_whose_generations_are_used_up_is_retired)
{
    events         seen;
    const egb_pool first = make(64);
    EXPECT_EQ(egb_pool_destroy(first, EGB_DESTROY_REFUSE), EGB_OK);
    control_in(first.slot)->id.last_generation = UINT32_MAX - 2;
    const egb_pool last_but_one                = make(64);
    ASSERT_EQ(last_but_one.slot, first.slot);
    EXPECT_EQ(last_but_one.generation, UINT32_MAX - 1);
    EXPECT_EQ(egb_pool_destroy(last_but_one, EGB_DESTROY_REFUSE), EGB_OK);
    const egb_pool last = make(64);
    ASSERT_EQ(last.slot, first.slot);
    EXPECT_EQ(last.generation, UINT32_MAX);
    void* const block = egb_pool_alloc(last);
    EXPECT_NE(block, nullptr);
    egb_pool_free(last, block);
    EXPECT_EQ(egb_pool_destroy(last, EGB_DESTROY_REFUSE), EGB_OK);
    for (int i = 0; i < 100; i++) {
        const egb_pool next = make(64);
        EXPECT_NE(next.slot, first.slot);
        EXPECT_EQ(egb_pool_destroy(next, EGB_DESTROY_REFUSE), EGB_OK);
    }
    for (const egb_pool gone : {first, last_but_one, last, egb_pool{first.slot, 0}}) {
        EXPECT_FALSE(egb_pool_alive(gone));
        EXPECT_EQ(egb_pool_alloc(gone), nullptr);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_STALE);
    }
}

// A create that fails uses up no generation, and does not lose the slot of a pool with one left.
TEST(pool_handles, failed_creates_use_up_no_generation)
{
    const egb_pool first = make(64);
    EXPECT_EQ(egb_pool_destroy(first, EGB_DESTROY_REFUSE), EGB_OK);
    control_in(first.slot)->id.last_generation = UINT32_MAX - 1;
    egb_pool_options failing                   = options_for(64);
    failing.budget_bytes                       = 1;
    failing.reserve_blocks                     = 1;
    for (int i = 0; i < 10; i++) {
        egb_pool none{};
        EXPECT_NE(egb_pool_create(&none, &failing), EGB_OK);
    }
    const egb_pool last = make(64);
    EXPECT_EQ(last.slot, first.slot);
    EXPECT_EQ(last.generation, UINT32_MAX);
    EXPECT_EQ(egb_pool_destroy(last, EGB_DESTROY_REFUSE), EGB_OK);
}

// The event had no address, and the report on stderr said 0x0.
TEST(pool_handles, what_was_freed_with_a_stale_or_null_handle_is_told)
{
    events         seen;
    const guard    pool(make(64));
    void* const    block = egb_pool_alloc(pool);
    const egb_pool gone  = make(64);
    ASSERT_EQ(egb_pool_destroy(gone, EGB_DESTROY_REFUSE), EGB_OK);
    egb_pool_free(gone, block);
    egb_misuse_event event = seen.take();
    EXPECT_EQ(event.kind, EGB_MISUSE_STALE);
    EXPECT_EQ(event.address, block);
    egb_pool_free(egb_pool{}, block);
    event = seen.take();
    EXPECT_EQ(event.kind, EGB_MISUSE_NO_POOL);
    EXPECT_EQ(event.address, block);
    egb_pool_free(pool, block);
}
