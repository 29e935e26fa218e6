// SPDX-License-Identifier: MIT
// The pages of pools: prefaulted, large, zero, and not touched without need.
#include "events.hpp"
#include "pools.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <set>
#include <thread>

namespace
{

std::size_t page_bytes()
{
    return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

long page_faults()
{
    rusage used = {};
    getrusage(RUSAGE_SELF, &used);
    return used.ru_minflt;
}

// The pages that the blocks of a pass begin in. All blocks are taken in the order of a list, and
// given back in it: the first chunk of all becomes free first, and the last one, with a half
// that nobody had yet, remains the first to serve.
std::set<std::uintptr_t> pages_of_pass(egb_pool pool, std::vector<void*>& blocks)
{
    std::set<std::uintptr_t> pages;
    for (void*& block : blocks) {
        block = egb_pool_alloc(pool);
        pages.insert(reinterpret_cast<std::uintptr_t>(block) / page_bytes());
    }
    for (void* const block : blocks) {
        egb_pool_free(pool, block);
    }
    return pages;
}

// Blocks of a page each in the first chunk, which is one unit. The first of them is taken, the
// others are still fresh: so far nothing has touched their pages.
struct first_chunk {
    guard       pool;
    char*       block;
    std::size_t pages;

    explicit first_chunk(unsigned flags)
        : pool(make(page_blocks(flags))), block(static_cast<char*>(egb_pool_alloc(pool))),
          pages(stats_of(pool).capacity)
    {
    }

    first_chunk(const first_chunk&)            = delete;
    first_chunk& operator=(const first_chunk&) = delete;

    ~first_chunk()
    {
        egb_pool_free(pool, block);
    }

    static egb_pool_options page_blocks(unsigned flags)
    {
        egb_pool_trim(egb_pool{}, 0);  // the first chunk is new
        egb_pool_options options = options_for(page_bytes());
        options.block_align      = page_bytes();
        options.reserve_blocks   = 2;
        options.flags            = flags;
        return options;
    }
};

// With pages of 64 KiB a unit has one, and the first chunk is no longer one unit.
bool has_unit_some_pages()
{
    return unit_bytes >= 8 * page_bytes();
}

// Not instrumented, because a sanitizer's own notes about the memory would fault.
__attribute__((noinline, no_sanitize_address, no_sanitize_thread)) long
faults_of_touching(volatile char* start, std::size_t pages, std::size_t page)
{
    const long before = page_faults();
    for (std::size_t i = 0; i < pages; i++) {
        start[i * page] = 0;
    }
    return page_faults() - before;
}

// The least of a few tries, because whatever else happens in the process faults too.
long least_faults(unsigned flags)
{
    long least = LONG_MAX;
    for (int i = 0; i < 5; i++) {
        const first_chunk one(flags);
        least = std::min(least, faults_of_touching(one.block, one.pages, page_bytes()));
    }
    return least;
}

}  // namespace

TEST(pool_pages, prefaulted_pages_do_not_fault_any_more)
{
    if (!has_unit_some_pages()) {
        GTEST_SKIP() << "a page is too large";
    }
    EXPECT_GT(least_faults(0), 0);
    EXPECT_EQ(least_faults(EGB_PREFAULT), 0);
    EXPECT_EQ(least_faults(EGB_PREFAULT | EGB_HUGE_PAGES), 0);
}

TEST(pool_pages, what_prefault_obtained_is_all_that_is_held)
{
    egb_pool_options options = options_for(1000);
    options.flags            = EGB_PREFAULT;
    const guard pool(make(options));
    EXPECT_EQ(stats_of(pool).bytes_prefaulted, 0u);
    std::vector<void*> blocks = take_all(pool, 3000);
    EXPECT_GT(stats_of(pool).chunks, 3u);
    EXPECT_EQ(stats_of(pool).bytes_prefaulted, stats_of(pool).bytes_held);
    EXPECT_EQ(subtree_of(pool).bytes_prefaulted, stats_of(pool).bytes_held);
    give_all(pool, blocks);
    while (egb_pool_trim(pool, stats_of(pool).bytes_held - 1) != 0) {
        EXPECT_EQ(stats_of(pool).bytes_prefaulted, stats_of(pool).bytes_held);
    }
    (void)egb_pool_trim(pool, 0);
    EXPECT_EQ(stats_of(pool).bytes_prefaulted, 0u);
    EXPECT_EQ(egb_pool_reserve(pool, 5000), EGB_OK);
    EXPECT_EQ(stats_of(pool).bytes_prefaulted, stats_of(pool).bytes_held);

    const guard              without(make(1000));
    const std::vector<void*> touched = take_all(without, 3000);
    EXPECT_EQ(stats_of(without).bytes_prefaulted, 0u);
    give_all(without, touched);
}

TEST(pool_pages, static_memory_is_nobodys_to_prefault)
{
    static char      memory[4 * unit_bytes];
    egb_pool_options options = options_for(1000);
    options.flags            = EGB_PREFAULT | EGB_HUGE_PAGES;
    options.memory           = memory;
    options.memory_bytes     = sizeof memory;
    const guard pool(make(options));
    EXPECT_EQ(stats_of(pool).bytes_prefaulted, 0u);
    EXPECT_EQ(stats_of(pool).bytes_huge, 0u);
}

#if defined(__linux__)

namespace
{

std::size_t resident_pages(char* start, std::size_t pages)
{
    std::vector<unsigned char> flags(pages);
    EXPECT_EQ(mincore(start, pages * page_bytes(), flags.data()), 0);
    return static_cast<std::size_t>(
        std::count_if(flags.begin(), flags.end(), [](unsigned char flag) { return flag & 1; })
    );
}

}  // namespace

TEST(pool_pages, create_and_reserve_touch_no_block)
{
    if (!has_unit_some_pages()) {
        GTEST_SKIP() << "a page is too large";
    }
    const first_chunk one(0);
    ASSERT_GT(one.pages, 5u);
    EXPECT_LE(resident_pages(one.block, one.pages), 1u);
    EXPECT_EQ(egb_pool_reserve(one.pool, one.pages - 1), EGB_OK);
    EXPECT_LE(resident_pages(one.block, one.pages), 1u);
    const first_chunk other(EGB_PREFAULT);
    EXPECT_EQ(resident_pages(other.block, other.pages), other.pages);
}

TEST(pool_pages, alloc_of_a_block_that_nobody_had_touches_no_page)
{
    if (!has_unit_some_pages()) {
        GTEST_SKIP() << "a page is too large";
    }
    const first_chunk  one(0);
    std::vector<void*> blocks = take_all(one.pool, one.pages - 1);
    EXPECT_EQ(stats_of(one.pool).chunks, 1u);
    EXPECT_LE(resident_pages(one.block, one.pages), 1u);
    give_all(one.pool, blocks);
}

// Free blocks are not written to on the way. Its chunk is kept for pools to come, with the pages
// that were never touched.
TEST(pool_pages, destroy_touches_no_block)
{
    if (!has_magazines()) {
        GTEST_SKIP() << "there are no magazines here: each free block has a mark";
    }
    for (const std::size_t count : {1u, 30u, 100u}) {  // in the magazine, in the depot
        const egb_pool           pool   = make(first_chunk::page_blocks(0));
        const std::vector<void*> blocks = take_all(pool, count);
        const auto               lowest = std::min_element(blocks.begin(), blocks.end());
        give_all(pool, blocks);
        ASSERT_EQ(egb_pool_destroy(pool, EGB_DESTROY_FORCE), EGB_OK);
        EXPECT_EQ(resident_pages(static_cast<char*>(*lowest), std::min(count, std::size_t{8})), 0u);
    }
}

// Nor does the way home and out again: what no caller has written to is never there.
TEST(pool_pages, blocks_of_a_page_are_not_touched_however_often_they_come_back)
{
    if (!has_magazines()) {
        GTEST_SKIP() << "there are no magazines here: a tool is told of each block";
    }
    const guard        pool(make(first_chunk::page_blocks(0)));
    std::vector<void*> blocks;
    for (int round = 0; round < 3; round++) {
        blocks = take_all(pool, 2000);
        std::thread([&] { give_all(pool, blocks); }).join();
        give_all(pool, take_all(pool, 500));
        EXPECT_EQ(egb_pool_trim(pool, SIZE_MAX), 0u);  // all of them go home
        EXPECT_EQ(stats_of(pool).in_magazines, 0u);
    }
    std::size_t resident = 0;
    for (void* const block : blocks) {
        resident += resident_pages(static_cast<char*>(block), 1);
    }
    EXPECT_EQ(resident, 0u);
}

// The system may give large pages or not. The number obtained is never more than the bytes held,
// and it goes with its own chunks.
TEST(pool_pages, large_pages_are_reported_as_far_as_they_are_there)
{
    egb_pool_options options = options_for(4096);
    options.flags            = EGB_PREFAULT | EGB_HUGE_PAGES;
    const guard pool(make(options));
    ASSERT_EQ(egb_pool_reserve(pool, 4000), EGB_OK);
    const egb_pool_stats before = stats_of(pool);
    EXPECT_LE(before.bytes_huge, before.bytes_held);
    EXPECT_EQ(before.bytes_prefaulted, before.bytes_held);
    // One block in the first, small chunk keeps that; one in each large chunk keeps those.
    const std::vector<void*> blocks = take_all(pool, 4000);
    std::vector<void*>       kept;
    for (std::size_t i = 0; i < blocks.size(); i++) {
        i < 200 ? egb_pool_free(pool, blocks[i]) : kept.push_back(blocks[i]);
    }
    EXPECT_GT(egb_pool_trim(pool, 0), 0u);  // small chunks, which have no large page
    EXPECT_EQ(stats_of(pool).bytes_huge, before.bytes_huge);
    EXPECT_EQ(stats_of(pool).bytes_prefaulted, stats_of(pool).bytes_held);
    give_all(pool, kept);
    (void)egb_pool_trim(pool, 0);
    EXPECT_EQ(stats_of(pool).bytes_huge, 0u);
    EXPECT_EQ(stats_of(pool).bytes_prefaulted, 0u);
    std::printf("large pages: %zu of %zu bytes\n", before.bytes_huge, before.bytes_held);
}

#endif

// Page faults would tell it too, but a sanitizer has page faults of its own.
TEST(pool_pages, a_second_pass_has_the_pages_of_the_first)
{
    const guard                    pool(make(496));
    std::vector<void*>             blocks(10000);
    const std::set<std::uintptr_t> first = pages_of_pass(pool, blocks);
    EXPECT_GE(first.size(), blocks.size() * 496 / page_bytes());
    for (int pass = 2; pass <= 4; pass++) {
        std::size_t fresh = 0;
        for (const std::uintptr_t page : pages_of_pass(pool, blocks)) {
            fresh += 1 - first.count(page);
        }
        EXPECT_LE(fresh, 10u) << "pass " << pass;
    }
}
