// SPDX-License-Identifier: MIT
// Large blocks touch no page without need, and ask for none again that they just had.
#include "heaps.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <vector>

namespace
{

constexpr std::size_t MiB = std::size_t{1} << 20;

long page_faults()
{
    rusage used = {};
    getrusage(RUSAGE_SELF, &used);
    return used.ru_minflt;
}

std::size_t page_bytes()
{
    return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

long pages_in(std::size_t bytes)
{
    return static_cast<long>(bytes / page_bytes());
}

// Not instrumented, because a sanitizer's own notes about the memory would fault.
__attribute__((noinline, no_sanitize_address, no_sanitize_thread)) void
touch(void* block, std::size_t bytes)
{
    volatile char* const at = static_cast<char*>(block);
    for (std::size_t i = 0; i < bytes; i += page_bytes()) {
        at[i] = 1;
    }
}

// Page faults of `work`, the second time: the first one may make pools and parts of the map.
template <class Work>
long faults_of(Work work)
{
    work();
    const long before = page_faults();
    work();
    return page_faults() - before;
}

}  // namespace

// It has 16,384 pages. A sanitizer keeps pages of its own about this memory.
TEST(heap_pages, a_large_block_is_not_touched)
{
    EXPECT_LT(faults_of([] { egb_free(egb_malloc(64 * MiB)); }), 1000);
    EXPECT_LT(faults_of([] { egb_free(egb_calloc(64, MiB)); }), 1000);
    EXPECT_LT(faults_of([] { egb_free(egb_aligned_alloc(4 * MiB, 64 * MiB)); }), 1000);
}

TEST(heap_pages, a_long_zeroed_block_is_not_touched_where_a_freed_one_is_kept)
{
    constexpr std::size_t long_bytes = 48 * MiB;
    (void)egb_heap_trim(0);
    (void)egb_heap_purge();  // up to 64 MiB are kept then
    for (int i = 0; i < 3; i++) {
        void* const block = egb_malloc(long_bytes);
        touch(block, long_bytes);
        egb_free(block);
        EXPECT_EQ(heap_numbers().cached, 1u);
        const long  before = page_faults();
        void* const zeroed = egb_calloc(1, long_bytes);
        EXPECT_LT(page_faults() - before, 100);
        EXPECT_EQ(heap_numbers().cached, 0u) << "nor is more held for it";
        const long untouched = page_faults();
        touch(zeroed, long_bytes);
        // Or the system gives large pages.
        EXPECT_GE(page_faults() - untouched, pages_in(long_bytes) / 1024) << "it was in memory";
        egb_free(zeroed);
        (void)egb_heap_trim(0);
    }
}

TEST(heap_pages, a_loop_over_large_buffers_does_not_fault)
{
    for (const std::size_t bytes : sizes{40000, 300000, 4 * MiB}) {
        const auto loop = [bytes] {
            for (int i = 0; i < 100; i++) {
                void* const block = egb_malloc(bytes);
                touch(block, bytes);
                egb_free(block);
            }
        };
        // Each buffer anew would be 1,000 and more. A sanitizer's stack has some of its own.
        EXPECT_LT(faults_of(loop), 300) << bytes;
    }
}

// From 1 MiB on each block came fresh: 2,441 page faults for each of 10,000,000 bytes.
TEST(heap_pages, a_loop_over_zeroed_buffers_does_not_fault)
{
    for (const std::size_t bytes : sizes{300000, 4 * MiB}) {
        const auto loop = [bytes] {
            for (int i = 0; i < 20; i++) {
                void* const block = egb_calloc(bytes, 1);
                touch(block, bytes);
                egb_free(block);
            }
        };
        EXPECT_LT(faults_of(loop), 300) << bytes;
    }
}

#if defined(__linux__) && !defined(__arm__)
TEST(heap_pages, a_large_block_moves_without_being_copied)
{
    const std::size_t from = 32 * MiB;
    const std::size_t to   = 64 * MiB;
    long              most = 0;
    for (int i = 0; i < 3; i++) {
        void* const block = egb_malloc(from);
        touch(block, from);
        void* const beside = egb_malloc(from);  // the first one most likely cannot grow in place
        const long  before = page_faults();
        void* const moved  = egb_realloc(block, to);
        most               = std::max(most, page_faults() - before);
        EXPECT_EQ(*static_cast<char*>(moved), 1);
        egb_free(moved);
        egb_free(beside);
        (void)egb_heap_trim(0);
    }
    EXPECT_LT(most, pages_in(from) / 1024 + 100);
}

// Nothing is freed meanwhile. A block that is copied needs new pages for all of it: with copies,
// 20,770 pages came in place of 15,360. A sanitizer has some more of its own.
TEST(heap_pages, many_blocks_that_grow_together_are_not_copied)
{
    constexpr std::size_t count = 40;
    constexpr std::size_t step  = 128 << 10;
    const auto            grow  = [] {
        std::array<char*, count> blocks = {};
        for (std::size_t bytes = step; bytes <= 12 * step; bytes += step) {
            for (char*& block : blocks) {
                block = static_cast<char*>(egb_realloc(block, bytes));
                touch(block + bytes - step, step);
            }
        }
        for (char* const block : blocks) {
            egb_free(block);
        }
        (void)egb_heap_trim(0);
    };
    EXPECT_LT(faults_of(grow), pages_in(count * 12 * step) * 5 / 4);
}

static long mappings()
{
    std::ifstream maps("/proc/self/maps");
    return static_cast<long>(std::count(std::istreambuf_iterator<char>(maps), {}, '\n'));
}

// Each block that was moved is a mapping of its own, and the system allows no more than 65,530. If
// all of these blocks were moved, that would be 2,600 more.
TEST(heap_pages, blocks_that_grow_in_their_thousands_are_few_mappings)
{
    std::vector<char*> blocks(2600);
    for (char*& block : blocks) {
        block = static_cast<char*>(egb_malloc(70000));
        touch(block, 1);
    }
    const long before = mappings();
    for (char*& block : blocks) {
        block = static_cast<char*>(egb_realloc(block, 140000));
        touch(block, 1);
    }
    if (!is_sanitized) {  // ThreadSanitizer has mappings of its own for each
        EXPECT_LT(mappings() - before, 1300);
    }
    for (char* const block : blocks) {
        egb_free(block);
    }
    (void)egb_heap_trim(0);
}
#endif
