// SPDX-License-Identifier: MIT
// Limits for real: little address space, very many pools, all the pools there can be.
#include "events.hpp"
#include "pools.hpp"

#include "eggbox/heap.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#if defined(__linux__)

namespace
{

// Runs `body` in a child of this process. Returns its result, or 1 if an expectation failed there.
int in_child(const std::function<int()>& body)
{
    const pid_t child = fork();
    if (child == 0) {
        const int result = body();
        _exit(testing::Test::HasFailure() ? 1 : result);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::size_t address_space_used()
{
    std::size_t pages = 0;
    if (std::FILE* const file = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(file, "%zu", &pages) != 1) {
            pages = 0;
        }
        (void)std::fclose(file);
    }
    return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

  #if SIZE_MAX > UINT32_MAX
bool always_overcommits()
{
    int how = 0;
    if (std::FILE* const file = std::fopen("/proc/sys/vm/overcommit_memory", "r")) {
        if (std::fscanf(file, "%d", &how) != 1) {
            how = 0;
        }
        (void)std::fclose(file);
    }
    return how == 1;
}
  #endif

// Leaves so many bytes of address space to this process.
bool leave(std::size_t bytes)
{
    const rlimit limit = {address_space_used() + bytes, RLIM_INFINITY};
    return setrlimit(RLIMIT_AS, &limit) == 0;
}

// Creates, uses and destroys. Every call works or says why not.
int use_within(std::size_t bytes)
{
    if (!leave(bytes)) {
        return 2;
    }
    for (int round = 0; round < 3; round++) {
        const egb_pool_options options = options_for(1000);
        egb_pool               pool{};
        const egb_status       status = egb_pool_create(&pool, &options);
        if (status != EGB_OK) {
            return status == EGB_NO_MEMORY ? 0 : 3;
        }
        std::vector<void*> blocks;  // may not grow: there may be no memory for that
        static void*       space[2000];
        std::size_t        count = 0;
        while (count < 2000) {
            void* const block = egb_pool_alloc(pool);
            if (block == nullptr) {
                break;
            }
            fill(block, 1000, count);
            space[count++] = block;
        }
        if (count < 2000 && egb_pool_reserve(pool, 2000) != EGB_NO_MEMORY) {
            return 4;
        }
        for (std::size_t i = 0; i < count; i++) {
            if (!is_filled(space[i], 1000, i)) {
                return 5;
            }
            egb_pool_free(pool, space[i]);
        }
        egb_pool_stats stats{};
        if (egb_pool_get_stats(pool, &stats) != EGB_OK || stats.in_use != 0 ||
            stats.allocations != count || stats.failures != (count < 2000)) {
            return 6;
        }
        if (egb_pool_destroy(pool, EGB_DESTROY_REFUSE) != EGB_OK) {
            return 7;
        }
    }
    return 0;
}

// Pools that are destroyed leave the region cache full, of sizes that are not asked for again.
void fill_cache()
{
    for (int i = 0; i < 8; i++) {
        const egb_pool pool = make(14 * unit_bytes + 4096);
        EXPECT_NE(egb_pool_alloc(pool), nullptr);
        EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_FORCE), EGB_OK);
        const egb_pool other = make((14 + static_cast<std::size_t>(i)) * unit_bytes + 4096);
        EXPECT_NE(egb_pool_alloc(other), nullptr);
        EXPECT_EQ(egb_pool_destroy(other, EGB_DESTROY_FORCE), EGB_OK);
    }
}

// Needs more memory than is left without the region cache, and no more than is left with it.
int use_what_the_cache_has(bool is_large)
{
    const std::size_t wanted = std::size_t{4} << 20;
    egb_free(egb_malloc(64));
    const egb_pool pool = make(1000);
    fill_cache();
    if (!leave(unit_bytes)) {
        return 2;
    }
    if (is_large) {
        return egb_malloc(wanted) != nullptr ? 0 : 3;
    }
    return egb_pool_reserve(pool, wanted / 1000) == EGB_OK ? 0 : 4;
}

}  // namespace

TEST(pool_limits, what_the_cache_has_keeps_nobody_from_getting_memory)
{
    if (is_sanitized) {
        GTEST_SKIP() << "a sanitizer needs address space of its own";
    }
    EXPECT_EQ(in_child([] { return use_what_the_cache_has(false); }), 0);
    EXPECT_EQ(in_child([] { return use_what_the_cache_has(true); }), 0);
}

TEST(pool_limits, little_address_space)
{
    if (is_sanitized) {
        GTEST_SKIP() << "a sanitizer needs address space of its own";
    }
    for (std::size_t bytes = 0; bytes < 64u << 20; bytes = bytes == 0 ? 8192 : bytes * 3 / 2) {
        EXPECT_EQ(in_child([bytes] { return use_within(bytes); }), 0) << bytes;
    }
    // And with a world that was made before.
    EXPECT_EQ(
        in_child([] {
            const egb_pool pool = make(1000);
            void* const    held = egb_pool_alloc(pool);
            return held == nullptr ? 8 : use_within(200 << 10);
        }),
        0
    );
}
  #if SIZE_MAX > UINT32_MAX
// Pages were mapped so that the kernel never refused: such a request got its addresses, and the
// first use of them ended the process.
TEST(heap_limits, what_the_machine_can_never_have_is_refused)
{
    if (is_sanitized || always_overcommits()) {
        GTEST_SKIP() << "this system promises all that is asked for";
    }
    EXPECT_EQ(egb_malloc(std::size_t{1} << 46), nullptr);
    EXPECT_EQ(egb_calloc(1 << 16, std::size_t{1} << 30), nullptr);
    void* const block = egb_malloc(100);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(egb_realloc(block, std::size_t{1} << 46), nullptr);
    egb_free(block);
}
  #endif

// A block cannot be moved if another mapping lies in its middle. The addresses that it was to go to
// were lost, each time.
TEST(heap_limits, a_large_block_that_cannot_be_moved_loses_no_addresses)
{
    if (sizeof(void*) < 8 || is_sanitized) {
        GTEST_SKIP() << "too few addresses, or too many others who take some";
    }
    constexpr std::size_t mib = std::size_t{1} << 20;
    const auto            run = [] {
        std::size_t first = 0;
        for (int round = 0; round < 6; round++) {
            char* const block = static_cast<char*>(egb_malloc(40 * mib));
            void* const above = egb_malloc(mib);
            if (block == nullptr || above == nullptr || madvise(block + mib, mib, MADV_DONTDUMP)) {
                return 2;
            }
            block[0]          = 'x';
            char* const grown = static_cast<char*>(egb_realloc(block, 120 * mib));
            EXPECT_NE(grown, nullptr);
            EXPECT_EQ(grown[0], 'x');
            egb_free(grown);
            egb_free(above);
            (void)egb_heap_trim(0);
            first = round == 0 ? address_space_used() : first;
        }
        EXPECT_LE(address_space_used(), first + 10 * mib);
        return 0;
    };
    EXPECT_EQ(in_child(run), 0);
}

#endif

TEST(pool_limits, ten_thousand_pools_at_once)
{
    std::vector<egb_pool> pools;
    std::vector<void*>    blocks;
    for (std::size_t i = 0; i < 10000; i++) {
        pools.push_back(make(16 + i % 100 * 8, i % 10 == 0 ? egb_pool{} : pools[i / 10 * 10]));
        blocks.push_back(egb_pool_alloc(pools.back()));
        ASSERT_NE(blocks.back(), nullptr);
        fill(blocks.back(), 16 + i % 100 * 8, i);
    }
    EXPECT_EQ(subtree_of(egb_pool{}).pools, 10000u);
    EXPECT_EQ(subtree_of(egb_pool{}).in_use, 10000u);
    EXPECT_EQ(subtree_of(egb_pool{}).bytes_held, 10000 * unit_bytes);
    randoms random(1);
    for (int i = 0; i < 30000; i++) {
        const std::size_t at    = random.below(10000);
        const std::size_t bytes = 16 + at % 100 * 8;
        ASSERT_TRUE(is_filled(blocks[at], bytes, at));
        ASSERT_TRUE(egb_pool_of(blocks[at]) == pools[at]);
        egb_pool_free(pools[at], blocks[at]);
        blocks[at] = egb_pool_alloc(pools[at]);
        ASSERT_NE(blocks[at], nullptr);
        fill(blocks[at], bytes, at);
    }
    for (std::size_t i = 0; i < 10000; i++) {
        egb_pool_free(pools[i], blocks[i]);
        ASSERT_EQ(stats_of(pools[i]).in_use, 0u);
    }
    for (std::size_t i = 0; i < 10000; i += 10) {
        ASSERT_EQ(egb_pool_destroy(pools[i], EGB_DESTROY_REFUSE), EGB_OK);
    }
    EXPECT_EQ(subtree_of(egb_pool{}).pools, 0u);
    EXPECT_EQ(subtree_of(egb_pool{}).bytes_held, 0u);
}

TEST(pool_limits, all_the_pools_there_can_be)
{
    const egb_pool_options options = options_for(64);
    std::vector<egb_pool>  pools;
    egb_pool               pool{};
    egb_status             status = EGB_OK;
    while (pools.size() <= EGB_POOLS_MAX) {
        status = egb_pool_create(&pool, &options);
        if (status != EGB_OK) {
            break;
        }
        pools.push_back(pool);
    }
    EXPECT_EQ(status, EGB_LIMIT);
    EXPECT_EQ(pools.size(), EGB_POOLS_MAX);
    EXPECT_EQ(subtree_of(egb_pool{}).pools, pools.size());
    egb_pool none{};
    EXPECT_EQ(egb_pool_create(&none, &options), EGB_LIMIT);
    EXPECT_TRUE(none == egb_pool{});
    for (const std::size_t i : {std::size_t{0}, std::size_t{777}, pools.size() - 1}) {
        void* const block = egb_pool_alloc(pools[i]);
        EXPECT_NE(block, nullptr);
        egb_pool_free(pools[i], block);
        // One goes, one comes, in its slot.
        EXPECT_EQ(egb_pool_destroy(pools[i], EGB_DESTROY_REFUSE), EGB_OK);
        const egb_pool next = make(64);
        EXPECT_EQ(next.slot, pools[i].slot);
        pools[i] = next;
        EXPECT_EQ(egb_pool_create(&none, &options), EGB_LIMIT);
    }
    for (const egb_pool one : pools) {
        ASSERT_EQ(egb_pool_destroy(one, EGB_DESTROY_REFUSE), EGB_OK);
    }
    const guard after(make(64));
    give_all(after, take_all(after, 1000));
}
