// SPDX-License-Identifier: MIT
// Level "sample": which blocks are sampled, and that the estimates made of them are right. The
// random numbers follow from a fixed seed, so each run sees the same.
#include "environment.hpp"
#include "events.hpp"
#include "levels.hpp"
#include "own_magazines.hpp"

#include "eggbox/guard.h"
#include "eggbox/heap.h"
#include "eggbox/pool.h"
#include "eggbox/stats.h"

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

extern "C" {
#include "cache/marks.h"
#include "cache/threads.h"
#include "pool/holders.h"
#include "settings/sampling.h"
}

namespace
{

// The environment is read when the first pool is made: here.
const bool is_set = [] {
    set_variable_unread("EGGBOX_CHECK", "sample");
    egb_free(egb_malloc(1));
    return true;
}();

struct estimate {
    double      blocks  = 0;
    double      bytes   = 0;
    std::size_t samples = 0;
    std::size_t places  = 0;
};

void add(const egb_holder* holder, void* user)
{
    auto* const sum = static_cast<estimate*>(user);
    sum->blocks += static_cast<double>(holder->blocks);
    sum->bytes += static_cast<double>(holder->bytes);
    sum->samples += holder->samples;
    sum->places++;
}

estimate in_use(egb_pool root)
{
    estimate out;
    EXPECT_EQ(egb_holders_each(root, add, &out), EGB_OK);
    return out;
}

estimate allocated()
{
    estimate      out;
    std::uint64_t lost = 1;
    const auto    to   = [](const egb_holder* holder, egb_reach reach, void* user) {
        EXPECT_EQ(reach, EGB_REACH_UNKNOWN);
        add(holder, user);
    };
    EXPECT_EQ(egb_sampled_each_(to, &out, &lost), EGB_OK);
    EXPECT_EQ(lost, 0u);
    return out;
}

double probability(double bytes, double period)
{
    return 1 - std::exp(-bytes / period);
}

// Five times the standard deviation of the sum of `count` independent estimates, as a share of it.
double tolerance(double p, double count)
{
    return 5 * std::sqrt((1 - p) / (p * count));
}

class sampled
{
  public:
    explicit sampled(std::size_t block_bytes, std::size_t max_blocks = 0)
    {
        egb_pool_options options = {};
        options.name             = "sampled";
        options.block_bytes      = block_bytes;
        options.max_blocks       = max_blocks;
        options.level            = EGB_LEVEL_SAMPLE;
        EXPECT_EQ(egb_pool_create(&pool, &options), EGB_OK);
    }

    ~sampled()
    {
        EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_FORCE), EGB_OK);
    }

    sampled(const sampled&)            = delete;
    sampled& operator=(const sampled&) = delete;

    egb_pool pool = {};
};

// Seeds, and sets the period.
struct sample : testing::Test {
    sample()
    {
        set("4096");
    }

    ~sample() override
    {
        set(nullptr);
    }

    static void set(const char* period)
    {
        egb_sampling_read_(period);
        egb_sampling_seed_(1);
    }
};

void use_up(egb_pool pool, std::vector<void*>& kept, std::size_t count)
{
    while (kept.size() < count) {
        kept.push_back(egb_pool_alloc(pool));
        ASSERT_NE(kept.back(), nullptr);
    }
}

void free_all(std::vector<void*>& kept)
{
    for (void* const block : kept) {
        egb_free(block);
    }
    kept.clear();
}

}  // namespace

// ---- the sampler --------------------------------------------------------------------------------

TEST_F(sample, a_block_is_sampled_with_the_probability_of_its_size)
{
    egb_sampler sampler = {};
    for (const std::size_t bytes : {1u, 16u, 100u, 1000u, 4096u, 20000u, 200000u}) {
        const double p     = probability(static_cast<double>(bytes), 4096);
        const int    count = bytes < 100 ? 2000000 : 100000;
        int          seen  = 0;
        for (int i = 0; i < count; i++) {
            seen += egb_sampler_pass_(&sampler, bytes, 1) == 0 ? 1 : 0;
        }
        EXPECT_NEAR(seen / (p * count), 1, tolerance(p, count)) << bytes;
        EXPECT_NEAR(egb_sampling_scale_(bytes, 0) * p, 1, 1e-6) << bytes;
    }
}

TEST_F(sample, blocks_passed_at_once_are_the_same_as_one_by_one)
{
    egb_sampler one = {};
    (void)egb_sampler_pass_(&one, 64, 1);
    egb_sampler many = one;
    for (std::size_t bytes = 8; bytes < 2000; bytes += 8) {
        const std::size_t passed = egb_sampler_pass_(&many, bytes, 100);
        for (std::size_t i = 0; i < passed; i++) {
            ASSERT_EQ(egb_sampler_pass_(&one, bytes, 1), 1u);
        }
        if (passed < 100) {
            ASSERT_EQ(egb_sampler_pass_(&one, bytes, 1), 0u);
        }
        ASSERT_EQ(one.left, many.left);
    }
}

TEST_F(sample, a_setting_is_a_number_of_bytes_or_refused)
{
    const struct {
        const char*   text;
        std::uint64_t period;
    } right[] = {
        {"512k", 512 << 10},
        {"1M", 1 << 20},
        {"1g", 1 << 30},
        {"1", 1},
        {"4096", 4096},
        {"1073741824", 1 << 30},
        {"", 512 << 10},
        {nullptr, 512 << 10},
    };
    for (const auto& each : right) {
        testing::internal::CaptureStderr();
        set(each.text);
        EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << each.text;
        EXPECT_EQ(egb_sampling_period_(), each.period) << each.text;
    }
    for (const char* const text :
         {"0",
          "k",
          "-1",
          "1x",
          "1kb",
          "512k ",
          " 1",
          "2g",
          "1025m",
          "1073741825",
          "99999999999999999999",
          "1.5m",
          "0x10"}) {
        testing::internal::CaptureStderr();
        set(text);
        EXPECT_NE(
            testing::internal::GetCapturedStderr().find("EGGBOX_SAMPLE is not"), std::string::npos
        ) << text;
        EXPECT_EQ(egb_sampling_period_(), 512u << 10) << text;
    }
}

// ---- marks --------------------------------------------------------------------------------------

TEST_F(sample, marks_are_found_from_each_place)
{
    egb_depot   depot   = {};
    egb_batch   batch   = {};
    egb_sampler sampler = {};
    depot.sampler       = &sampler;
    depot.block_bytes   = 64;
    std::size_t all     = 0;
    for (int round = 0; round < 200; round++) {
        batch.room = round % 2 == 0 ? EGB_MAGAZINE_BLOCKS_MAX : 31;
        set(round % 3 == 0 ? "64" : "1k");
        egb_marks_draw_(&depot, &batch);
        const auto is_marked = [&](std::size_t place) {
            return (batch.marks[place / 32] >> place % 32 & 1) != 0;
        };
        std::size_t below = 0;
        for (std::size_t place = 0; place <= batch.room; place++) {
            ASSERT_EQ(egb_marks_below_(&batch, place), below);
            std::size_t from = place;
            while (from < batch.room && !is_marked(from)) {
                from++;
            }
            ASSERT_EQ(egb_marks_from_(&batch, place), from);
            below = place < batch.room && is_marked(place) ? place + 1 : below;
            all += place < batch.room && is_marked(place) ? 1u : 0u;
        }
    }
    EXPECT_GT(all, 1000u);
}

TEST_F(sample, a_mark_that_fires_often_goes_or_stands_for_more)
{
    double    sum    = 0;
    const int rounds = 4000;
    for (int i = 0; i < rounds; i++) {
        egb_depot   depot   = {};
        egb_batch   batch   = {};
        egb_sampler sampler = {};
        sampler.random      = static_cast<std::uint64_t>(i) * 7919 + 1;
        depot.sampler       = &sampler;
        depot.block_bytes   = 4096;  // as long as the period
        batch.room          = 1;
        batch.marks[0]      = 1;
        for (int fired = 0; fired < 64 + 128 && batch.marks[0] != 0; fired++) {
            EXPECT_EQ(batch.thinned, fired < 64 ? 0 : 1);
            (void)egb_marks_fire_(&depot, &batch);
        }
        sum += batch.marks[0] != 0 ? egb_sampling_scale_(4096, 2) : 0;
    }
    const double before = probability(4096, 4096);
    const double after  = probability(4096, 4 * 4096);
    EXPECT_NEAR(sum / rounds * before, 1, tolerance(after / before, rounds));
}

// The numbers stay right, whatever the clock says.
TEST_F(sample, samples_that_come_fast_become_rare)
{
    egb_sampling_read_("4k");
    egb_sampler sampler = {};
    (void)egb_sampler_pass_(&sampler, 1, 1);
    EXPECT_EQ(sampler.halvings, 0u);
    for (int i = 0; i < 64 * 50; i++) {
        egb_sampling_note_();
    }
    (void)egb_sampler_pass_(&sampler, 1, 1);
    EXPECT_GT(sampler.halvings, 0u);
    EXPECT_LE(sampler.halvings, 12u);
    const double p    = probability(1000, static_cast<double>(4096u << sampler.halvings));
    int          seen = 0;
    for (int i = 0; i < 400000; i++) {
        seen += egb_sampler_pass_(&sampler, 1000, 1) == 0 ? 1 : 0;
    }
    EXPECT_NEAR(egb_sampling_scale_(1000, sampler.halvings) * p, 1, 1e-6);
    EXPECT_NEAR(seen / (p * 400000), 1, tolerance(p, 400000));
}

// ---- estimates ----------------------------------------------------------------------------------

// Each kept block follows blocks that come and go in the same place of the magazine.
TEST_F(sample, what_is_in_use_is_right_though_other_blocks_went_through_the_magazine)
{
    set("256");
    const double p    = probability(64, 256 * 4);  // marks are thinned twice at most
    double       seen = 0, true_blocks = 0;
    for (int round = 0; round < 40; round++) {
        const sampled      all(64);
        std::vector<void*> kept;
        unsigned           random = static_cast<unsigned>(round);
        while (kept.size() < 1000) {
            for (int i = 0; i < 3; i++) {
                egb_pool_free(all.pool, egb_pool_alloc(all.pool));
            }
            use_up(all.pool, kept, kept.size() + 1);
            random = random * 1103515245 + 12345;
            if ((random >> 16 & 1) != 0) {
                std::swap(kept[(random >> 17) % kept.size()], kept.back());
                egb_free(kept.back());
                kept.pop_back();
            }
        }
        seen += in_use(all.pool).blocks;
        true_blocks += static_cast<double>(kept.size());
        free_all(kept);
        EXPECT_EQ(in_use(all.pool).samples, 0u);
    }
    EXPECT_NEAR(seen / true_blocks, 1, tolerance(p, true_blocks));
}

// No call but the first and the last leaves the magazine, in most rounds. A mark that stays for 192
// samples was thinned twice: it is one of four nearly.
TEST_F(sample, the_last_block_of_a_long_loop_is_as_likely_as_any)
{
    set("256");
    const double                          p      = probability(64, 256 * 4);
    const int                             rounds = 1500;
    std::vector<std::unique_ptr<sampled>> pools;
    for (int round = 0; round < rounds; round++) {
        const egb_pool pool = pools.emplace_back(std::make_unique<sampled>(64))->pool;
        for (int i = 0; i < 64 + 128; i++) {
            egb_pool_free(pool, egb_pool_alloc(pool));
        }
        ASSERT_NE(egb_pool_alloc(pool), nullptr);
    }
    EXPECT_NEAR(in_use({0, 0}).blocks / rounds, 1, tolerance(p, rounds));
}

TEST_F(sample, what_was_allocated_is_right)
{
    set("1k");
    const double   p      = probability(48, 1024);
    const estimate before = allocated();
    const sampled  all(48);
    double         count = 0;
    for (int round = 0; round < 100; round++) {
        std::vector<void*> kept;
        use_up(all.pool, kept, 500);
        count += 500;
        free_all(kept);
    }
    const estimate after = allocated();
    EXPECT_NEAR((after.blocks - before.blocks) / count, 1, tolerance(p, count));
    EXPECT_NEAR((after.bytes - before.bytes) / (48 * count), 1, tolerance(p, count));
    EXPECT_GT(after.samples, before.samples);
}

TEST_F(sample, blocks_that_another_thread_frees_are_no_longer_in_use)
{
    set("64");
    events             unexpected;
    const sampled      all(64);
    std::vector<void*> kept;
    use_up(all.pool, kept, 3000);
    const double p = probability(64, 128);  // marks are thinned once
    EXPECT_NEAR(in_use(all.pool).blocks / 3000, 1, tolerance(p, 3000));
    std::thread([&] {
        free_all(kept);
        use_up(all.pool, kept, 1000);
    }).join();
    EXPECT_NEAR(in_use(all.pool).blocks / 1000, 1, tolerance(p, 1000));
    free_all(kept);
    EXPECT_EQ(in_use(all.pool).samples, 0u);
}

TEST_F(sample, an_owned_magazine_is_sampled)
{
    set("64");
    const sampled all(64);
    egb_magazine  cache = {};
    ASSERT_EQ(egb_magazine_open(&cache, all.pool), EGB_OK);
    std::vector<void*> kept;
    for (int i = 0; i < 3000; i++) {
        egb_magazine_free(&cache, egb_magazine_alloc(&cache));
        kept.push_back(egb_magazine_alloc(&cache));
    }
    EXPECT_NEAR(in_use(all.pool).blocks / 3000, 1, tolerance(probability(64, 128), 3000));
    for (void* const block : kept) {
        egb_magazine_free(&cache, block);
    }
    egb_magazine_close(&cache);
    EXPECT_EQ(in_use(all.pool).samples, 0u);
}

TEST_F(sample, a_limited_pool_gives_all_its_blocks)
{
    set("64");
    const sampled      all(64, 300);
    std::vector<void*> kept;
    std::thread([&] {
        use_up(all.pool, kept, 200);
        free_all(kept);
    }).join();
    for (int round = 0; round < 50; round++) {
        use_up(all.pool, kept, 300);
        EXPECT_EQ(egb_pool_alloc(all.pool), nullptr);
        free_all(kept);
    }
    egb_pool_stats stats;
    EXPECT_EQ(egb_pool_get_stats(all.pool, &stats), EGB_OK);
    EXPECT_EQ(stats.in_use, 0u);
    EXPECT_EQ(stats.allocations, stats.frees);
}

// Magazines have marks, are closed when the pool runs out, and are opened again: neither undoes the
// other. An alloc fails exactly if all blocks are in use. Blocks change between the magazines.
TEST_F(sample, magazines_that_a_refusal_closed_have_marks_and_no_room)
{
    set("256");
    let_go_of_magazines();
    constexpr std::size_t limit   = 300;
    const double          p       = probability(64, 256 * 4);
    const std::uint64_t   claimed = egb_threads_.claimed;
    double                seen = 0, true_blocks = 0;
    for (unsigned round = 0; round < 40; round++) {
        const sampled      all(64, limit);
        egb_magazine       caches[4] = {};
        std::vector<void*> kept;
        std::minstd_rand   random(round + 1);
        for (int step = 0; step < 4000; step++) {
            egb_magazine* const cache   = &caches[random() % 4];
            const bool          is_full = kept.size() == limit;
            cache->pool                 = all.pool;
            if (kept.empty() || random() % 16 < (step % 1000 < 600 ? 13u : 5u)) {
                void* const block = egb_magazine_alloc(cache);
                ASSERT_EQ(block == nullptr, is_full) << kept.size();
                kept.insert(kept.end(), is_full ? 0 : 1, block);
            } else {
                std::swap(kept[random() % kept.size()], kept.back());
                egb_magazine_free(cache, kept.back());
                kept.pop_back();
            }
        }
        use_up(all.pool, kept, limit);
        seen += in_use(all.pool).blocks;
        true_blocks += limit;
        free_all(kept);
        EXPECT_EQ(in_use(all.pool).samples, 0u);
        for (egb_magazine& cache : caches) {
            egb_magazine_close(&cache);
        }
        egb_pool_stats stats;
        EXPECT_EQ(egb_pool_get_stats(all.pool, &stats), EGB_OK);
        EXPECT_EQ(stats.in_use, 0u);
        EXPECT_EQ(stats.allocations, stats.frees);
    }
    EXPECT_NEAR(seen / true_blocks, 1, tolerance(p, true_blocks));
    egb_thread_drop_revoked_();
    EXPECT_EQ(egb_threads_.claimed, claimed);
}

// As after a look, or a purge, while its thread was about to take a block.
TEST_F(sample, a_magazine_without_room_has_none_when_its_thread_goes_on)
{
    set("64");
    const sampled all(64);
    egb_magazine  cache = {};
    ASSERT_EQ(egb_magazine_open(&cache, all.pool), EGB_OK);
    void* kept[] = {egb_magazine_alloc(&cache), egb_magazine_alloc(&cache)};
    egb_magazine_free(&cache, kept[0]);
    egb_magazine_free(&cache, kept[1]);
    egb_magazine_close_room_(&cache.magazine);
    egb_magazine_set_bottom_(cache.magazine.depot, &cache.magazine, INTPTR_MAX);
    kept[0] = egb_magazine_alloc(&cache);
    EXPECT_FALSE(egb_magazine_is_closed_(&cache.magazine));
    EXPECT_EQ(cache.magazine.full, EGB_NO_ROOM);
    egb_magazine_free(&cache, kept[0]);
    EXPECT_NE(cache.magazine.full, EGB_NO_ROOM);
    egb_magazine_close(&cache);
}

// ---- sampled blocks are blocks ------------------------------------------------------------------

TEST_F(sample, a_sampled_block_is_like_any_other)
{
    set("1");
    events        seen;
    const sampled all(64);
    void* const   block = EGB_POOL_ALLOC(all.pool);
    EXPECT_EQ(in_use(all.pool).samples, 1u);
    EXPECT_EQ(in_use(all.pool).bytes, 64);
    EXPECT_TRUE(egb_pool_is_live(all.pool, block));
    EXPECT_EQ(egb_block_bytes(block), 64u);
    EXPECT_EQ(egb_block_check(block), EGB_OK);
    std::size_t live = 0;
    egb_pool_each_block(
        all.pool, [](void*, void* user) { ++*static_cast<std::size_t*>(user); }, &live
    );
    EXPECT_EQ(live, 1u);
    egb_free(static_cast<char*>(block) + 8);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_INTERIOR);
    egb_pool_free(all.pool, block);
    EXPECT_TRUE(seen.none());
    EXPECT_EQ(in_use(all.pool).samples, 0u);
    egb_pool_free(all.pool, block);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
    egb_free(block);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
}

TEST_F(sample, the_list_says_that_it_is_sampled)
{
    set("1k");
    const sampled all(5000);
    void* const   block = egb_pool_alloc(all.pool);
    testing::internal::CaptureStderr();
    (void)egb_holders_print(all.pool, 10);
    const std::string said = testing::internal::GetCapturedStderr();
    egb_free(block);
    EXPECT_NE(
        said.find("by allocation site (sampled, 1 in 1024 bytes, scaled):"), std::string::npos
    ) << said;
    EXPECT_NE(said.find(" 1 sample, from "), std::string::npos) << said;
}

// ---- large blocks -------------------------------------------------------------------------------

namespace
{

// The next point may still be as far away as the period was long.
void set_period_of_large(const char* period)
{
    sample::set(period);
    egb_free(egb_malloc(64 << 20));
}

}  // namespace

TEST(sample_large, is_right_for_large_blocks_too)
{
    sample::set("1m");
    const double p     = probability(100000, 1 << 20);
    const double count = 10 * 500;
    double       seen  = 0;
    for (int round = 0; round < 10; round++) {
        std::vector<void*> kept;
        for (int i = 0; i < 500; i++) {
            kept.push_back(egb_malloc(100000));
        }
        seen += in_use({0, 0}).blocks;
        free_all(kept);
        EXPECT_EQ(in_use({0, 0}).samples, 0u);
    }
    EXPECT_NEAR(seen / count, 1, tolerance(p, count));
    set_period_of_large("4k");
    void* block = nullptr;
    for (std::size_t bytes = 70000; bytes < 3000000; bytes += 70000) {
        block = egb_realloc(block, bytes);
        EXPECT_EQ(in_use({0, 0}).samples, 1u);
        EXPECT_EQ(in_use({0, 0}).bytes, static_cast<double>(bytes));
    }
    egb_free(block);
    EXPECT_EQ(in_use({0, 0}).samples, 0u);
    sample::set(nullptr);
}

TEST(sample_large, guard_pages_may_be_sampled_too)
{
    set_period_of_large("16");
    if (egb_heap_guard_pages("1/10") == EGB_UNSUPPORTED) {
        GTEST_SKIP() << "this system has no guard pages";
    }
    std::vector<void*> kept;
    for (int i = 0; i < 500; i++) {
        kept.push_back(egb_malloc(64));
    }
    egb_heap_stats stats;
    EXPECT_EQ(egb_heap_get_stats(&stats), EGB_OK);
    EXPECT_GT(stats.large_in_use, 10u);
    EXPECT_NEAR(in_use({0, 0}).blocks / 500, 1, tolerance(probability(64, 32), 500));
    EXPECT_EQ(in_use({0, 0}).places, 2u);  // the class, and those at guard pages
    free_all(kept);
    EXPECT_EQ(in_use({0, 0}).samples, 0u);
    EXPECT_EQ(egb_heap_guard_pages(""), EGB_OK);
    sample::set(nullptr);
}
