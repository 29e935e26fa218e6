// SPDX-License-Identifier: MIT
// Calls inside a visit: a visitor may make every call, even one that changes the visited pools.
#include "eggbox/guard.h"
#include "eggbox/heap.h"
#include "eggbox/report.h"
#include "events.hpp"
#include "levels.hpp"
#include "pools.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <set>
#include <string>
#include <thread>

#if !defined(_WIN32)
  #include <sys/wait.h>
  #include <unistd.h>
#endif

namespace
{

using pool_visitor  = std::function<void(egb_pool)>;
using block_visitor = std::function<void(void*)>;

void each(egb_pool root, const pool_visitor& visit)
{
    egb_pool_each(
        root,
        [](egb_pool pool, void* user) { (*static_cast<const pool_visitor*>(user))(pool); },
        const_cast<pool_visitor*>(&visit)
    );
}

void each_block(egb_pool pool, const block_visitor& visit)
{
    egb_pool_each_block(
        pool,
        [](void* block, void* user) { (*static_cast<const block_visitor*>(user))(block); },
        const_cast<block_visitor*>(&visit)
    );
}

// All calls that take a lock.
void ask_everything(egb_pool pool)
{
    egb_pool_stats stats{};
    EXPECT_EQ(egb_pool_get_stats(pool, &stats), EGB_OK);
    EXPECT_EQ(egb_pool_get_subtree_stats(egb_pool{}, &stats), EGB_OK);
    EXPECT_TRUE(egb_pool_alive(pool));
    EXPECT_FALSE(egb_pool_is_ancestor(pool, egb_pool_parent(pool)));
    EXPECT_EQ(egb_pool_reserve(pool, 1), EGB_OK);
    (void)egb_pool_touched(pool);
    (void)egb_pool_trim(egb_pool{}, 0);
    void* const block = egb_pool_alloc(pool);
    EXPECT_EQ(egb_pool_of(block), pool);
    EXPECT_NE(egb_block_bytes(block), 0u);
    EXPECT_TRUE(egb_pool_is_live(pool, block));
    EXPECT_EQ(egb_pool_check(pool), 0u);
    EXPECT_EQ(egb_process_check(), 0u);
    std::thread([block] { egb_free(block); }).join();  // begins and ends a thread
    egb_magazine cache{};
    if (egb_magazine_open(&cache, pool) == EGB_OK) {
        egb_magazine_free(&cache, egb_magazine_alloc(&cache));
        egb_magazine_close(&cache);
    }
    const egb_pool below = make(40, pool);
    void* const    inner = egb_pool_alloc(below);
    std::size_t    seen  = 0;
    each(pool, [&seen](egb_pool) { seen++; });
    EXPECT_GE(seen, 2u);
    each_block(below, [inner](void* other) { EXPECT_EQ(other, inner); });
    EXPECT_EQ(egb_pool_destroy(below, EGB_DESTROY_REFUSE), EGB_BUSY);
    EXPECT_EQ(egb_pool_destroy(below, EGB_DESTROY_FORCE), EGB_OK);
    egb_free(egb_malloc(100));
    egb_free(egb_malloc(1000000));
    (void)egb_heap_purge();
    (void)egb_heap_trim(0);
    egb_heap_stats heap{};
    EXPECT_EQ(egb_heap_get_stats(&heap), EGB_OK);
    egb_holders_each(pool, [](const egb_holder*, void*) {}, nullptr);
}

#if !defined(_WIN32)
void fork_and_use(egb_pool pool)
{
    const pid_t child = fork();
    if (child == 0) {
        egb_pool_free(pool, egb_pool_alloc(pool));
        egb_pool_stats stats{};
        _exit(egb_pool_get_subtree_stats(egb_pool{}, &stats) == EGB_OK ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}
#endif

// A pool at each level that there is here.
std::vector<egb_pool> pools_of_all_levels(std::size_t block_bytes, egb_pool parent = {})
{
    std::vector<egb_pool> pools;
    for (const char* const level : {"off", "check", "guard", "track", "passthrough"}) {
        egb_pool_options options = options_for(block_bytes, parent);
        options.level            = level_named(level);
        options.name             = level;
        egb_pool pool{};
        if (egb_pool_create(&pool, &options) == EGB_OK) {
            pools.push_back(pool);
        }
    }
    return pools;
}

}  // namespace

TEST(pool_each, a_visitor_of_pools_may_make_every_call)
{
    const events                unexpected;
    const guard                 top(make(16));
    const std::vector<egb_pool> pools = pools_of_all_levels(64, top);
    std::vector<egb_pool>       seen;
    each(top, [&](egb_pool pool) {
        seen.push_back(pool);
        ask_everything(pool);
    });
    std::vector<egb_pool> expected = {top};
    expected.insert(expected.end(), pools.begin(), pools.end());
    EXPECT_EQ(seen, expected) << "in the order of their making";
}

TEST(pool_each, a_visitor_of_blocks_may_make_every_call)
{
    const events unexpected;
    for (const egb_pool pool : pools_of_all_levels(64)) {
        const std::vector<void*> blocks = take_all(pool, 5);
        std::set<void*>          seen;
        each_block(pool, [&](void* block) {
            EXPECT_TRUE(seen.insert(block).second);
            ask_everything(pool);
        });
        EXPECT_EQ(seen, std::set<void*>(blocks.begin(), blocks.end())) << stats_of(pool).name;
        EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_FORCE), EGB_OK);
    }
}

TEST(pool_each, the_classes_of_the_heap_are_pools)
{
    const events unexpected;
    void* const  block = egb_malloc(100);
    std::size_t  found = 0;
    each(egb_heap_pool(), [&](egb_pool pool) {
        const egb_pool_stats stats = stats_of(pool);
        each_block(pool, [&](void* other) { found += other == block; });
        egb_free(egb_malloc(stats.block_bytes));
        (void)egb_heap_purge();
    });
    EXPECT_EQ(found, 1u);
    egb_free(block);
}

TEST(pool_each, the_numbers_come_along)
{
    const guard    top(make(16));
    const egb_pool pool = make(24, top);
    take_all(pool, 7);
    struct counts {
        std::size_t pools, blocks;
    } counted{};
    egb_pool_each_stats(
        top,
        [](egb_pool one, const egb_pool_stats* stats, void* user) {
            counts* const all = static_cast<counts*>(user);
            EXPECT_EQ(stats->in_use, stats_of(one).in_use);
            EXPECT_EQ(stats->pools, 1u);
            all->pools++;
            all->blocks += stats->in_use;
        },
        &counted
    );
    EXPECT_EQ(counted.pools, 2u);
    EXPECT_EQ(counted.blocks, 7u);
    egb_pool_each_stats(top, nullptr, nullptr);
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_FORCE), EGB_OK);
}

// More pools than a walk gathers at once, in a tree in which slots are used again.
TEST(pool_each, what_is_destroyed_is_not_seen_and_what_is_made_is_not_either)
{
    randoms random(3);
    for (int round = 0; round < 20; round++) {
        const egb_pool        top = make(16);
        std::vector<egb_pool> all = {top};
        for (int i = 0; i < 500; i++) {
            const egb_pool parent = all[random.below(all.size())];
            if (egb_pool_alive(parent)) {
                all.push_back(make(16, parent));
            }
            const egb_pool other = all[1 + random.below(all.size() - 1)];
            if (random.below(4) == 0 && other != top) {
                (void)egb_pool_destroy(other, EGB_DESTROY_FORCE);
            }
        }
        std::vector<egb_pool> seen;
        each(top, [&](egb_pool pool) {
            EXPECT_TRUE(egb_pool_alive(pool));
            const egb_pool parent = egb_pool_parent(pool);
            EXPECT_TRUE(pool == top || std::count(seen.begin(), seen.end(), parent) == 1);
            seen.push_back(pool);
            const egb_pool other = all[random.below(all.size())];
            if (random.below(3) == 0 && other != top) {
                (void)egb_pool_destroy(random.below(2) == 0 ? pool : other, EGB_DESTROY_FORCE);
            }
            make(16, egb_pool_alive(pool) ? pool : egb_pool_alive(top) ? top : make(16));
        });
        for (const egb_pool pool : all) {
            const auto times = std::count(seen.begin(), seen.end(), pool);
            EXPECT_LE(times, 1);
            EXPECT_TRUE(times == 1 || !egb_pool_alive(pool));
        }
        for (const egb_pool pool : seen) {
            EXPECT_EQ(std::count(all.begin(), all.end(), pool), 1) << "was there at the beginning";
        }
        (void)egb_pool_destroy(top, EGB_DESTROY_FORCE);
    }
    each(egb_pool{}, [](egb_pool pool) { (void)egb_pool_destroy(pool, EGB_DESTROY_FORCE); });
    each(egb_pool{}, [](egb_pool) { ADD_FAILURE() << "all were destroyed"; });
}

// More blocks than a walk gathers at once.
TEST(pool_each, blocks_that_are_freed_are_not_seen)
{
    const events unexpected;
    for (const egb_pool pool : pools_of_all_levels(24)) {
        const bool         is_off = std::string(stats_of(pool).name) == "off";
        std::vector<void*> blocks = take_all(pool, 10000);
        std::set<void*>    live(blocks.begin(), blocks.end());
        std::set<void*>    seen;
        randoms            random(1);
        each_block(pool, [&](void* block) {
            EXPECT_TRUE(seen.insert(block).second);
            EXPECT_TRUE(is_off || live.count(block) == 1);
            void* const other = is_off ? block : blocks[random.below(blocks.size())];
            if (live.erase(other) == 1) {
                egb_pool_free(pool, other);
            }
        });
        for (void* const block : live) {
            EXPECT_EQ(seen.count(block), 1u);
        }
        EXPECT_EQ(stats_of(pool).in_use, live.size());
        each_block(pool, [pool](void* block) { egb_pool_free(pool, block); });
        EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK) << "none is left";
    }
}

TEST(pool_each, the_walk_ends_with_the_pool)
{
    const events unexpected;
    for (const egb_pool pool : pools_of_all_levels(24)) {
        take_all(pool, 5000);
        std::size_t seen = 0;
        each_block(pool, [&](void*) {
            seen++;
            EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_FORCE), EGB_OK);
        });
        EXPECT_EQ(seen, 1u);
    }
}

TEST(pool_each, trim_in_between)
{
    const events unexpected;
    for (const egb_pool pool : pools_of_all_levels(1000)) {
        const std::vector<void*> blocks = take_all(pool, 5000);
        std::size_t              seen   = 0;
        each_block(pool, [&](void* block) {
            egb_pool_free(pool, block);
            if (++seen % 500 == 0) {
                (void)egb_pool_trim(pool, 0);
            }
        });
        EXPECT_EQ(seen, blocks.size());
        EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
    }
}

// One more for each that it sees: it sees each old one as long as there is room for all, and there
// is an end in any case.
TEST(pool_each, a_visitor_that_allocates_comes_to_an_end)
{
    const events unexpected;
    for (const egb_pool pool : pools_of_all_levels(64)) {
        EXPECT_EQ(egb_pool_reserve(pool, 10000), EGB_OK);
        const std::vector<void*> old      = take_all(pool, 300);
        const std::size_t        capacity = stats_of(pool).capacity;
        std::set<void*>          seen;
        each_block(pool, [&](void* block) {
            seen.insert(block);
            EXPECT_NE(egb_pool_alloc(pool), nullptr);
        });
        EXPECT_LE(seen.size(), capacity);
        if (capacity >= 10000) {
            for (void* const block : old) {
                EXPECT_EQ(seen.count(block), 1u);
            }
        }
        EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_FORCE), EGB_OK);
    }
}

// The visitor frees all blocks but the last one, and trims. The chunk of the walk goes, wherever
// the system has put the chunks: the largest holds little more than half of the blocks, so the last
// one does not begin in the first quarter.
TEST(pool_each, a_visitor_may_give_the_chunk_of_the_walk_back)
{
    const egb_pool           pool   = make(64);
    std::vector<void*>       blocks = take_all(pool, 120000);
    std::vector<std::size_t> seen(blocks.size());
    const std::size_t        last    = blocks.size() - 1;
    const std::size_t        quarter = blocks.size() / 4;
    std::sort(blocks.begin(), blocks.end());
    each_block(pool, [&](void* block) {
        const auto        found = std::lower_bound(blocks.begin(), blocks.end(), block);
        const std::size_t index = static_cast<std::size_t>(found - blocks.begin());
        seen[index]++;
        if (index == quarter) {
            for (std::size_t i = 0; i < last; i++) {
                egb_pool_free(pool, blocks[i]);
            }
            EXPECT_NE(egb_pool_trim(pool, 0), 0u);
        }
    });
    for (std::size_t i = 0; i < blocks.size(); i++) {
        ASSERT_EQ(seen[i], i <= quarter || i == last ? 1u : 0u) << i;
    }
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_FORCE), EGB_OK);
}

TEST(pool_each, works_while_the_system_is_asked_for_nothing)
{
    std::vector<egb_pool> pools;
    for (int i = 0; i < 1000; i++) {
        pools.push_back(make(16));
    }
    std::size_t seen = 0;
    egb_seal();
    each(egb_pool{}, [&seen](egb_pool) { seen++; });
    egb_unseal();
    EXPECT_GE(seen, pools.size());
    for (const egb_pool pool : pools) {
        EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
    }
}

#if !defined(_WIN32)

TEST(pool_each, a_visitor_may_write_a_report_and_fork)
{
    char folder[] = "/tmp/eggbox-each-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    const guard pool(make(48));
    void* const block = egb_pool_alloc(pool);
    each(pool, [&](egb_pool one) {
        EXPECT_EQ(egb_report_write(folder), EGB_OK);
        fork_and_use(one);
    });
    each_block(pool, [&](void*) {
        EXPECT_EQ(egb_report_write(folder), EGB_OK);
        fork_and_use(pool);
    });
    egb_pool_free(pool, block);
    EXPECT_EQ(std::system(("rm -r " + std::string(folder)).c_str()), 0);
}

#endif
