// SPDX-License-Identifier: MIT
// Every request to the system refused in turn, once and for ever. The linker leads the library's
// requests here. Each child of this process counts them, refuses the n-th, and keeps a list of the
// memory that is out. A child each, because a process makes its first pool only once.
#include "events.hpp"
#include "pools.hpp"
#include "refusals.hpp"

#include "eggbox/guard.h"

extern "C" {
#include "pool/registry.h"
}
#include "address_book.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <mutex>
#include <thread>

namespace
{

std::mutex    books;
address_book* regions;  // memory that is out
int           requests;
int           refuse_from = -1;  // counted from 0; -1: none
int           refuse_to   = -1;  // the last

bool is_refused()
{
    const int now = requests++;
    return refuse_from >= 0 && now >= refuse_from && now <= refuse_to;
}

// Memory that is made once and never given back does not count: the slots of the registry, and the
// leaves of the chunk map, whose number depends on the addresses.
std::size_t bytes_out()
{
    const std::lock_guard<std::mutex> lock(books);
    constexpr std::size_t             leaf = sizeof(egb_leaf);
    std::size_t                       sum  = 0;
    for (const auto& region : *regions) {
        const bool is_leaf = region.second.bytes == leaf && !region.second.is_chunk;
        const bool is_kept = is_leaf || region.first == egb_registry_.controls;
        sum += is_kept ? 0 : region.second.bytes;
    }
    return sum;
}

}  // namespace

extern "C" {

void*      __real_egb_os_reserve_(std::size_t bytes, std::size_t align);
egb_status __real_egb_os_commit_(void*, std::size_t, unsigned, egb_os_obtained*);
void       __real_egb_os_release_(void* region, std::size_t bytes);
bool       __real_egb_os_arm_thread_exit_(void* argument);
void*      __wrap_egb_os_reserve_(std::size_t bytes, std::size_t align);
egb_status __wrap_egb_os_commit_(void*, std::size_t, unsigned, egb_os_obtained*);
void       __wrap_egb_os_release_(void* region, std::size_t bytes);
bool       __wrap_egb_os_arm_thread_exit_(void* argument);

void* __wrap_egb_os_reserve_(std::size_t bytes, std::size_t align)
{
    const std::lock_guard<std::mutex> lock(books);
    void* const start = is_refused() ? nullptr : __real_egb_os_reserve_(bytes, align);
    if (start != nullptr) {
        EXPECT_TRUE(regions->emplace(start, region{bytes, align == unit_bytes}).second);
    }
    return start;
}

egb_status __wrap_egb_os_commit_(
    void* start, std::size_t bytes, unsigned page_options, egb_os_obtained* obtained
)
{
    const std::lock_guard<std::mutex> lock(books);
    expect_out(*regions, start, bytes);
    return is_refused() ? EGB_NO_MEMORY
                        : __real_egb_os_commit_(start, bytes, page_options, obtained);
}

void __wrap_egb_os_release_(void* start, std::size_t bytes)
{
    const std::lock_guard<std::mutex> lock(books);
    if (taken_off(regions, start, bytes)) {
        __real_egb_os_release_(start, bytes);
    }
}

bool __wrap_egb_os_arm_thread_exit_(void* argument)
{
    const std::lock_guard<std::mutex> lock(books);
    return !is_refused() && __real_egb_os_arm_thread_exit_(argument);
}
}

namespace
{

auto numbers_of(const egb_pool_stats& stats)
{
    return std::make_tuple(
        stats.pools,
        stats.block_bytes,
        stats.stride_bytes,
        stats.max_blocks,
        stats.budget_bytes,
        stats.capacity,
        stats.in_use,
        stats.in_magazines,
        stats.peak,
        stats.allocations,
        stats.frees,
        stats.failures,
        stats.chunks,
        stats.bytes_held,
        stats.bytes_prefaulted,
        stats.bytes_huge
    );
}

// The numbers of a pool, before and after a call that failed.
struct picture {
    egb_pool_stats stats{};

    explicit picture(egb_pool root)
    {
        (void)egb_pool_get_subtree_stats(root, &stats);
        stats.in_magazines = 0;  // free blocks may go from magazines to chunks
    }

    void expect_same(const picture& other, std::size_t more_failures = 0)
    {
        stats.failures += more_failures;
        EXPECT_EQ(numbers_of(stats), numbers_of(other.stats));
        EXPECT_STREQ(stats.name, other.stats.name);
        stats.failures -= more_failures;
    }
};

// A pool, or none. Then nothing has changed, but that the world may have been made.
egb_pool try_create(const egb_pool_options& options)
{
    picture          before(egb_pool{});
    egb_pool         pool   = {};
    const egb_status status = egb_pool_create(&pool, &options);
    if (status != EGB_OK) {
        EXPECT_EQ(status, EGB_NO_MEMORY);
        EXPECT_TRUE(pool == egb_pool{});
        before.expect_same(picture(egb_pool{}));
    }
    return pool;
}

void use_blocks(egb_pool pool, std::size_t count)
{
    std::vector<void*> blocks;
    for (std::size_t i = 0; i < count; i++) {
        picture     before(pool);
        void* const block = egb_pool_alloc(pool);
        if (block == nullptr) {
            before.expect_same(picture(pool), 1);
            continue;
        }
        fill(block, egb_block_bytes(block), i);
        blocks.push_back(block);
        EXPECT_TRUE(egb_pool_of(block) == pool);
    }
    EXPECT_EQ(stats_of(pool).in_use, blocks.size());
    for (void* const block : blocks) {
        egb_pool_free(pool, block);
    }
    EXPECT_EQ(stats_of(pool).in_use, 0u);
    EXPECT_EQ(stats_of(pool).frees, stats_of(pool).allocations);
}

void use_cache(egb_pool pool)
{
    egb_magazine     cache{};
    picture          before(pool);
    const egb_status status = egb_magazine_open(&cache, pool);
    if (status != EGB_OK) {
        EXPECT_EQ(status, EGB_NO_MEMORY);
        before.expect_same(picture(pool));
        events seen;
        EXPECT_EQ(egb_magazine_alloc(&cache), nullptr);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_NO_POOL);
    }
    std::vector<void*> blocks;
    for (int i = 0; status == EGB_OK && i < 150; i++) {
        void* const block = egb_magazine_alloc(&cache);
        if (block != nullptr) {
            blocks.push_back(block);
        }
    }
    for (void* const block : blocks) {
        egb_magazine_free(&cache, block);
    }
    egb_magazine_close(&cache);
    EXPECT_EQ(stats_of(pool).in_use, 0u);
}

void use_reserve(egb_pool pool)
{
    picture          before(pool);
    const egb_status status = egb_pool_reserve(pool, 600);
    if (status != EGB_OK) {
        EXPECT_EQ(status, EGB_NO_MEMORY);
        before.expect_same(picture(pool));
    } else {
        EXPECT_GE(stats_of(pool).capacity, 600u);
    }
    (void)egb_pool_trim(pool, 0);
    EXPECT_EQ(stats_of(pool).bytes_held, 0u);
    EXPECT_EQ(stats_of(pool).bytes_prefaulted, 0u);
}

// A tree, blocks, a cache, reserve and trim, another thread, more pools than a first table of
// magazines has places for, and the end of it all.
void scenario()
{
    egb_pool_options options = options_for(1000);
    options.flags            = EGB_PREFAULT;
    options.budget_bytes     = 64 * unit_bytes;
    options.reserve_blocks   = 70;
    const egb_pool top       = try_create(options);
    if (top == egb_pool{}) {
        return;
    }
    options              = options_for(1000, top);
    options.level        = EGB_LEVEL_OFF;
    const egb_pool below = try_create(options);
    const egb_pool large = try_create(options_for(100000, top));
    for (const egb_pool pool : {top, below, large}) {
        if (pool != egb_pool{}) {
            use_blocks(pool, pool == large ? 3 : 200);
        }
    }
    use_cache(top);
    use_reserve(top);
    std::thread([top] { use_blocks(top, 200); }).join();
    const egb_pool shared = try_create(options_for(64));
    if (shared != egb_pool{}) {  // all but the end of its chunk waits in the depot for the second
        use_blocks(shared, 900);
        std::thread([shared] { use_blocks(shared, 20); }).join();
        EXPECT_EQ(egb_pool_destroy(shared, EGB_DESTROY_REFUSE), EGB_OK);
    }
    std::vector<egb_pool> more;
    for (int i = 0; i < 40; i++) {
        more.push_back(try_create(options_for(200, top)));
        if (more.back() != egb_pool{}) {
            use_blocks(more.back(), EGB_MAGAZINE_BLOCKS_MAX + 10);  // for a second batch
        }
    }
    EXPECT_EQ(subtree_of(top).in_use, 0u);
    EXPECT_EQ(egb_pool_destroy(top, EGB_DESTROY_REFUSE), EGB_OK);
    EXPECT_EQ(subtree_of(egb_pool{}).pools, 0u);
}

// The scenario with refused requests, then without. The memory that is out afterwards is the same
// as in a process without refusals. Returns how many requests there were in the first run.
refused_run run(int from, int to, std::size_t expected)
{
    regions     = new address_book;
    refuse_from = from;
    refuse_to   = to;
    scenario();
    const int count = requests;
    refuse_from     = -1;
    scenario();
    scenario();
    egb_pool_trim(egb_pool{}, 0);
    (void)egb_batch_slabs_trim_();
    const std::size_t out = bytes_out();
    if (expected != 0) {
        EXPECT_EQ(out, expected) << "not all was given back";
    }
    return {count, out};
}

}  // namespace

TEST(pool_refused, each_request_once_and_from_then_on)
{
    refuse_each(run, 90);
}

// Last, in this process itself. The next pool asks for a region that the region cache does not
// have, and for its memory.
TEST(pool_refused, what_the_region_cache_has_goes_before_memory_is_refused)
{
    regions = new address_book;
    egb_pool_trim(egb_pool{}, 0);
    const egb_pool kept = make(64);
    EXPECT_NE(egb_pool_alloc(kept), nullptr);
    EXPECT_EQ(egb_pool_destroy(kept, EGB_DESTROY_FORCE), EGB_OK);
    const egb_pool pool = make(200000);
    refuse_from = refuse_to = requests + 1;
    void* const block       = egb_pool_alloc(pool);
    refuse_from             = -1;
    EXPECT_NE(block, nullptr);
    EXPECT_EQ(egb_pool_trim(egb_pool{}, 0), 0u);
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_FORCE), EGB_OK);
    egb_pool_trim(egb_pool{}, 0);
}

// The first pool of the process at level "track" needs memory for stacks.
TEST(pool_refused, a_freeze_refuses_memory_for_stacks)
{
    regions                  = regions == nullptr ? new address_book : regions;
    const egb_pool   plain   = try_create(options_for(64));
    egb_pool_options options = options_for(64);
    options.level            = EGB_LEVEL_TRACK;
    egb_seal();
    events    seen;
    const int before  = requests;
    egb_pool  tracked = {};
    EXPECT_EQ(egb_pool_create(&tracked, &options), EGB_NO_MEMORY);
    EXPECT_EQ(requests, before);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_SEALED);
    egb_unseal();
    EXPECT_EQ(egb_pool_create(&tracked, &options), EGB_OK);
    EXPECT_GT(requests, before);  // else there are stacks already, and the test shows nothing
    EXPECT_EQ(egb_pool_destroy(tracked, EGB_DESTROY_REFUSE), EGB_OK);
    EXPECT_EQ(egb_pool_destroy(plain, EGB_DESTROY_REFUSE), EGB_OK);
}
