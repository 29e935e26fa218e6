// SPDX-License-Identifier: MIT
// Unused memory over a limit goes at once, where nobody calls egb_heap_purge(). The linker leads
// the look at the clock to this file, and the requests to the system.
#include "heaps.hpp"

#include <cstdint>

namespace
{

std::uint64_t now      = 1000000;
int           requests = 0;
int           releases = 0;
std::size_t   reserved = 0;  // bytes

constexpr std::size_t MiB = std::size_t{1} << 20;

}  // namespace

extern "C" {
std::uint64_t __wrap_egb_os_milliseconds_(void);
void*         __wrap_egb_os_reserve_(std::size_t bytes, std::size_t align);
void*         __real_egb_os_reserve_(std::size_t bytes, std::size_t align);
void          __wrap_egb_os_release_(void* region, std::size_t bytes);
void          __real_egb_os_release_(void* region, std::size_t bytes);

std::uint64_t __wrap_egb_os_milliseconds_(void)
{
    return now;
}

void* __wrap_egb_os_reserve_(std::size_t bytes, std::size_t align)
{
    requests++;
    reserved += bytes;
    return __real_egb_os_reserve_(bytes, align);
}

void __wrap_egb_os_release_(void* region, std::size_t bytes)
{
    releases++;
    __real_egb_os_release_(region, bytes);
}
}

namespace
{

std::vector<void*> take(std::size_t bytes, std::size_t sum)
{
    std::vector<void*> blocks(sum / bytes);
    for (void*& block : blocks) {
        block = egb_malloc(bytes);
    }
    return blocks;
}

void give(const std::vector<void*>& blocks)
{
    for (void* const block : blocks) {
        egb_free(block);
    }
}

std::size_t held()
{
    return subtree_of(egb_heap_pool()).bytes_held + heap_numbers().cached_bytes;
}

// Requests to the system in one phase: so much memory, all given back.
int requests_of_phase(std::size_t bytes, std::size_t sum)
{
    const int before = requests;
    give(take(bytes, sum));
    return requests - before;
}

void pass_epochs(int count)
{
    for (int i = 0; i < count; i++) {
        now += 250;
        for (int call = 0; call < 70; call++) {
            egb_free(egb_malloc(PTRDIFF_MAX - MiB));
        }
    }
}

}  // namespace

TEST(heap_keep, blocks_of_any_size_go_at_once)
{
    const all_given_back check;
    for (const std::size_t bytes : sizes{16, 100, 1000, 3000, 20000, 100000, 1000000}) {
        give(take(bytes, 64 * MiB));
        EXPECT_LE(held(), 20 * MiB) << bytes;
        (void)egb_heap_trim(0);
        pass_epochs(40);
    }
}

// Each release is a system call, with locks held.
TEST(heap_keep, neighbours_go_together)
{
    for (const std::size_t bytes : sizes{1000, 4096, 20000}) {
        (void)egb_heap_trim(0);
        pass_epochs(40);
        const std::vector<void*> blocks = take(bytes, 40 * MiB);
        const int                before = releases;
        give(blocks);
        EXPECT_LE(held(), 20 * MiB) << bytes;
        EXPECT_LE(releases - before, 30) << bytes;
    }
}

// A phase that gets memory again teaches the heap how much should have stayed.
TEST(heap_keep, a_program_with_phases_soon_keeps_the_memory_of_a_phase)
{
    for (const std::size_t bytes : sizes{100, 3000, 20000, 1000000}) {
        (void)egb_heap_trim(0);
        pass_epochs(100);
        const int first = requests_of_phase(bytes, 48 * MiB);
        for (int i = 0; i < 3; i++) {
            (void)requests_of_phase(bytes, 48 * MiB);
        }
        EXPECT_GT(first, 5) << bytes;
        EXPECT_LE(requests_of_phase(bytes, 48 * MiB), 1) << bytes;
    }
}

// However small a part of the heap they are.
TEST(heap_keep, a_class_that_grows_takes_chunks_that_another_has_wholly_free)
{
    const std::vector<void*> in_use = take(30000, 200 * MiB);
    for (int i = 0; i < 4; i++) {
        (void)requests_of_phase(100, 24 * MiB);
    }
    const std::size_t        before = reserved;
    const std::vector<void*> others = take(1000, 20 * MiB);
    EXPECT_LE(reserved - before, 8 * MiB);
    give(others);
    give(in_use);
    (void)egb_heap_trim(0);
    pass_epochs(100);
}

TEST(heap_keep, the_limit_falls_when_nothing_is_needed)
{
    for (int i = 0; i < 10; i++) {
        (void)requests_of_phase(1000, 48 * MiB);
    }
    EXPECT_GT(held(), 30 * MiB);
    pass_epochs(80);
    EXPECT_LE(held(), 20 * MiB);
    give(take(1000, 48 * MiB));
    EXPECT_LE(held(), 20 * MiB) << "the least limit again";
}

TEST(heap_keep, a_thread_that_calls_the_purge_takes_over)
{
    (void)egb_heap_trim(0);
    (void)egb_heap_purge();
    give(take(1000, 48 * MiB));
    EXPECT_GT(held(), 40 * MiB);
    std::size_t given = 0;
    for (int i = 0; i < 4; i++) {
        now += 250;
        given += egb_heap_purge();
        EXPECT_EQ(egb_heap_purge(), 0u) << "too soon";
    }
    EXPECT_GT(given, 40 * MiB);
    EXPECT_LE(held(), 2 * MiB);
}

// The limit is higher where somebody looks at the clock, and is learned as without.
TEST(heap_keep, more_than_a_limit_goes_at_once_although_a_thread_purges)
{
    const std::size_t learned = (sizeof(void*) < 8 ? 40 : 120) * MiB;
    for (const std::size_t bytes : sizes{1000, 20000, 1000000}) {
        (void)egb_heap_trim(0);
        pass_epochs(100);
        (void)egb_heap_purge();
        give(take(bytes, 200 * MiB));
        EXPECT_LE(held(), 120 * MiB) << bytes;
        for (int i = 0; i < 4; i++) {
            give(take(bytes, 200 * MiB));
        }
        EXPECT_GT(held(), learned) << bytes;
    }
}
