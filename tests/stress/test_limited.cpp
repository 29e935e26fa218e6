// SPDX-License-Identifier: MIT
// A pool of at most N blocks hands out exactly N, wherever its free blocks lie: in magazines of
// threads that do nothing, in caches, in the depot; and whatever other threads do meanwhile.
#include "stress.hpp"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

namespace
{

const std::size_t limits[] = {1, 2, 5, 63, 64, 200};

std::uint64_t rounds()
{
    return stress::setting("EGGBOX_STRESS_ROUNDS", STRESS_IS_SANITIZED ? 30 : 200);
}

void free_all(egb_pool pool, std::vector<void*>* blocks)
{
    for (void* const block : *blocks) {
        egb_pool_free(pool, block);
    }
    blocks->clear();
}

// Takes all there are, and says that they are N different ones.
std::vector<void*> take_all(egb_pool pool, std::size_t limit)
{
    std::vector<void*> blocks;
    std::set<void*>    different;
    for (void* block = egb_pool_alloc(pool); block != nullptr; block = egb_pool_alloc(pool)) {
        blocks.push_back(block);
        different.insert(block);
        MUST(blocks.size() <= limit);
    }
    MUST(different.size() == limit);
    MUST(stress::stats_of(pool).in_use == limit);
    return blocks;
}

using setting = std::tuple<std::size_t, bool>;

class limited : public testing::TestWithParam<setting>
{
  public:
    const std::size_t limit = std::get<0>(GetParam());
    const egb_pool    pool  = stress::make(24, limit, std::get<1>(GetParam()));

    ~limited() override
    {
        EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
    }
};

std::string name_of(const testing::TestParamInfo<setting>& info)
{
    return std::to_string(std::get<0>(info.param)) + (std::get<1>(info.param) ? "_check" : "_off");
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(
    all, limited, testing::Combine(testing::ValuesIn(limits), testing::Bool()), name_of
);

// The blocks are dealt to four threads and a cache, which free them and then do nothing.
TEST_P(limited, blocks_in_idle_magazines_and_caches_are_had)
{
    const stress::only_stale none(false);
    stress::barrier          step(5);
    std::vector<void*>       hands[4];
    std::atomic<bool>        is_over{false};
    std::thread              main([&] {
        egb_magazine cache{};
        MUST(egb_magazine_open(&cache, pool) == EGB_OK);
        stress::random random(limit);
        for (std::uint64_t round = 0; round < rounds(); round++) {
            for (void* const block : take_all(pool, limit)) {
                const std::size_t to = random.below(5);
                if (to == 4) {
                    egb_magazine_free(&cache, block);
                } else {
                    hands[to].push_back(block);
                }
            }
            is_over = round + 1 == rounds();
            step.wait();
            step.wait();
            const egb_pool_stats stats = stress::stats_of(pool);
            MUST(stats.in_use == 0 && stats.allocations == stats.frees);
        }
        std::vector<void*> last = take_all(pool, limit);
        free_all(pool, &last);
        egb_magazine_close(&cache);
    });
    stress::in_threads(4, [&](std::size_t self) {
        for (bool is_last = false; !is_last;) {
            step.wait();
            is_last = is_over;
            free_all(pool, &hands[self]);
            step.wait();
        }
    });
    main.join();
    EXPECT_EQ(stress::stats_of(pool).in_use, 0u);
}

// Each thread wants its share of the blocks at one time, and the shares add up to all of them: so
// none may ever be told that there is none.
TEST_P(limited, threads_that_want_their_share_at_once_all_get_it)
{
    const stress::only_stale none(false);
    const std::size_t        threads = limit < 4 ? limit : 4;
    stress::in_threads(threads, [&](std::size_t self) {
        const std::size_t  share = limit / threads + (self < limit % threads ? 1 : 0);
        stress::random     random(self);
        std::vector<void*> blocks;
        for (std::uint64_t round = 0; round < 10 * rounds(); round++) {
            const std::size_t wanted = 1 + random.below(share);
            while (blocks.size() < wanted) {
                blocks.push_back(egb_pool_alloc(pool));
                MUST(blocks.back() != nullptr);
            }
            free_all(pool, &blocks);
        }
    });
    EXPECT_EQ(stress::stats_of(pool).failures, 0u);
}

// All blocks lie in a magazine of a thread that does nothing. Whoever takes them out first must not
// make the others believe that there are none.
TEST_P(limited, whoever_comes_second_gets_one_too)
{
    const stress::only_stale none(false);
    const std::size_t        threads = limit < 3 ? limit : 3;
    stress::barrier          step(threads + 1);
    const std::uint64_t      turns = rounds() * 5;
    std::thread              idle([&] {
        for (std::uint64_t turn = 0; turn < turns; turn++) {
            std::vector<void*> blocks = take_all(pool, limit);
            free_all(pool, &blocks);
            step.wait();
            step.wait();
        }
    });
    stress::in_threads(threads, [&](std::size_t) {
        for (std::uint64_t turn = 0; turn < turns; turn++) {
            step.wait();
            void* const block = egb_pool_alloc(pool);
            MUST(block != nullptr);
            egb_pool_free(pool, block);
            step.wait();
        }
    });
    idle.join();
    EXPECT_EQ(stress::stats_of(pool).in_use, 0u);
}

// A thread that ends has all the blocks in its magazine: at no moment is there none.
TEST_P(limited, the_end_of_a_thread_hides_no_block)
{
    const stress::only_stale none(false);
    for (std::uint64_t round = 0; round < rounds(); round++) {
        std::atomic<bool> is_ready{false};
        std::thread       ends([&] {
            std::vector<void*> blocks = take_all(pool, limit);
            free_all(pool, &blocks);
            is_ready = true;
        });
        while (!is_ready) {
            std::this_thread::yield();
        }
        void* const block = egb_pool_alloc(pool);
        MUST(block != nullptr);
        egb_pool_free(pool, block);
        ends.join();
    }
}
