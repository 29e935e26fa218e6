// SPDX-License-Identifier: MIT
// Every request of the heap to the system refused in turn, once and for ever. The linker leads the
// library's requests here. Each child of this process counts them, refuses the n-th, and keeps a
// list of the memory that is out. A child each, because a process makes its heap only once.
#include "events.hpp"
#include "heaps.hpp"
#include "refusals.hpp"

extern "C" {
#include "pool/registry.h"
#include "region/obtain.h"
}
#include "address_book.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <mutex>
#include <thread>
#include <utility>

namespace
{

std::mutex    books;
address_book* regions;  // memory that is out
int           requests;
int           refuse_from  = -1;  // counted from 0; -1: none
int           refuse_to    = -1;  // the last
std::size_t   most_bytes   = SIZE_MAX;
bool          has_redzones = false;  // pages behind large blocks, and some small ones
bool          can_move     = true;

bool is_refused()
{
    const int now = requests++;
    return refuse_from >= 0 && now >= refuse_from && now <= refuse_to;
}

// These regions belong to pools, to large blocks and to their records. The rest is made once, but
// for threads' tables.
std::size_t bytes_out()
{
    std::size_t sum = 0;
    for (const auto& one : *regions) {
        sum += one.second.is_chunk ? one.second.bytes : 0;
    }
    return sum;
}

}  // namespace

extern "C" {

void*      __real_egb_os_reserve_(std::size_t bytes, std::size_t align);
egb_status __real_egb_os_commit_(void*, std::size_t, unsigned, egb_os_obtained*);
void       __real_egb_os_release_(void* start, std::size_t bytes);
egb_status __real_egb_os_resize_(void* start, std::size_t bytes, std::size_t new_bytes);
egb_status __real_egb_os_move_(void* from, std::size_t bytes, void* to, std::size_t to_bytes);
egb_status __real_egb_os_protect_(void* start, std::size_t bytes, bool is_open);
egb_status __real_egb_os_shut_(void* start, std::size_t bytes);
bool       __real_egb_os_arm_thread_exit_(void* argument);
bool       __real_egb_chunk_map_set_(void*, std::size_t, const egb_unit*);
void*      __wrap_egb_os_reserve_(std::size_t bytes, std::size_t align);
egb_status __wrap_egb_os_commit_(void*, std::size_t, unsigned, egb_os_obtained*);
void       __wrap_egb_os_release_(void* start, std::size_t bytes);
egb_status __wrap_egb_os_resize_(void* start, std::size_t bytes, std::size_t new_bytes);
egb_status __wrap_egb_os_move_(void* from, std::size_t bytes, void* to, std::size_t to_bytes);
egb_status __wrap_egb_os_protect_(void* start, std::size_t bytes, bool is_open);
egb_status __wrap_egb_os_shut_(void* start, std::size_t bytes);
bool       __wrap_egb_os_arm_thread_exit_(void* argument);
bool       __wrap_egb_chunk_map_set_(void*, std::size_t, const egb_unit*);

void* __wrap_egb_os_reserve_(std::size_t bytes, std::size_t align)
{
    const std::lock_guard<std::mutex> lock(books);
    const bool                        is_over = bytes > most_bytes - bytes_out();
    void* const start = is_refused() || is_over ? nullptr : __real_egb_os_reserve_(bytes, align);
    if (start != nullptr) {
        EXPECT_TRUE(regions->emplace(start, region{bytes, align >= unit_bytes}).second);
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

egb_status __wrap_egb_os_resize_(void* start, std::size_t bytes, std::size_t new_bytes)
{
    const std::lock_guard<std::mutex> lock(books);
    if (is_refused()) {
        return EGB_NO_MEMORY;
    }
    const egb_status status = __real_egb_os_resize_(start, bytes, new_bytes);
    if (status == EGB_OK) {
        (void)taken_off(regions, start, bytes);
        regions->emplace(start, region{new_bytes, true});
    }
    return status;
}

// Refused, the goal is lost to the caller: here it goes back to the system.
egb_status __wrap_egb_os_move_(void* from, std::size_t bytes, void* to, std::size_t to_bytes)
{
    const std::lock_guard<std::mutex> lock(books);
    expect_out(*regions, to, to_bytes);
    if (is_refused()) {
        __real_egb_os_release_(to, to_bytes);
        (void)taken_off(regions, to, to_bytes);
        return EGB_NO_MEMORY;
    }
    const egb_status status =
        can_move ? __real_egb_os_move_(from, bytes, to, to_bytes) : EGB_UNSUPPORTED;
    if (status == EGB_OK) {
        (void)taken_off(regions, from, bytes);
    }
    if (status == EGB_NO_MEMORY) {  // several ranges do not move as one
        (void)taken_off(regions, to, to_bytes);
    }
    return status;
}

egb_status __wrap_egb_os_protect_(void* start, std::size_t bytes, bool is_open)
{
    const std::lock_guard<std::mutex> lock(books);
    return is_refused() ? EGB_NO_MEMORY : __real_egb_os_protect_(start, bytes, is_open);
}

egb_status __wrap_egb_os_shut_(void* start, std::size_t bytes)
{
    const std::lock_guard<std::mutex> lock(books);
    return is_refused() ? EGB_NO_MEMORY : __real_egb_os_shut_(start, bytes);
}

bool __wrap_egb_os_arm_thread_exit_(void* argument)
{
    const std::lock_guard<std::mutex> lock(books);
    return !is_refused() && __real_egb_os_arm_thread_exit_(argument);
}

bool __wrap_egb_chunk_map_set_(void* start, std::size_t bytes, const egb_unit* unit)
{
    {
        const std::lock_guard<std::mutex> lock(books);
        if (is_refused()) {
            return false;
        }
    }
    return __real_egb_chunk_map_set_(start, bytes, unit);
}
}

namespace
{

constexpr std::size_t MiB = std::size_t{1} << 20;

// The state that callers see, before and after a call that failed. How much is kept may be less
// then.
struct picture {
    std::size_t    in_use   = heap_in_use();
    egb_heap_stats numbers  = heap_numbers();
    std::uint64_t  failures = numbers.large_failures + failures_of_classes();

    static std::uint64_t failures_of_classes()
    {
        egb_pool_stats sum = {};
        (void)egb_pool_get_subtree_stats(egb_heap_pool(), &sum);
        return sum.failures;
    }

    void expect_same(const picture& other) const
    {
        EXPECT_EQ(in_use, other.in_use);
        EXPECT_EQ(numbers.large_in_use, other.numbers.large_in_use);
        EXPECT_EQ(numbers.large_bytes, other.numbers.large_bytes);
        EXPECT_EQ(numbers.large_allocations, other.numbers.large_allocations);
        EXPECT_EQ(numbers.large_frees, other.numbers.large_frees);
    }

    // A heap that could not be made counts large requests only.
    void expect_one_failure_more(const picture& before, std::size_t bytes) const
    {
        const bool is_large   = numbers.large_failures != before.numbers.large_failures;
        const bool is_counted = is_large || egb_heap_pool().generation != 0;
        EXPECT_EQ(failures, before.failures + (is_counted ? 1 : 0)) << bytes;
    }
};

// Only the ends of a block are written and read: the pages between them would take most of the
// time of this test.
constexpr std::size_t end_bytes = 5000;

void fill_ends(void* block, std::size_t bytes, std::uint64_t number)
{
    const std::size_t length = bytes < end_bytes ? bytes : end_bytes;
    fill(block, length, number);
    fill(static_cast<char*>(block) + bytes - length, length, number + 1);
}

bool has_ends(void* block, std::size_t bytes, std::uint64_t number)
{
    const std::size_t length = bytes < end_bytes ? bytes : end_bytes;
    return (bytes < 2 * length || is_filled(block, length, number)) &&
           is_filled(static_cast<char*>(block) + bytes - length, length, number + 1);
}

// A block that is filled; nullptr: refused, and nothing has changed.
template <class Take>
void* try_take(std::size_t bytes, Take take)
{
    const picture before;
    void* const   block = take(bytes);
    const picture after;
    if (block == nullptr) {
        before.expect_same(after);
        after.expect_one_failure_more(before, bytes);
        return nullptr;
    }
    EXPECT_EQ(after.failures, before.failures) << bytes;
    EXPECT_GE(egb_block_bytes(block), bytes);
    fill_ends(block, bytes, bytes);
    return block;
}

// The first `from` bytes of the block are filled, and `to` is more. A refused realloc leaves the
// block as it was. A realloc to a smaller size is never refused.
void* try_change(void* block, std::size_t from, std::size_t to)
{
    const picture     before;
    const std::size_t room    = egb_block_bytes(block);
    void* const       changed = egb_realloc(block, to);
    EXPECT_TRUE(has_ends(changed != nullptr ? changed : block, from, from));
    if (changed == nullptr) {
        EXPECT_GT(to, room);
        const picture after;
        before.expect_same(after);
        after.expect_one_failure_more(before, to);
        EXPECT_EQ(egb_block_bytes(static_cast<char*>(block) + room - 1), room);
        return block;
    }
    const picture after;
    EXPECT_EQ(after.in_use, before.in_use);
    // A smaller block may have been refused; the one that is there is served for it.
    EXPECT_LE(after.failures, before.failures + (to <= room ? 1 : 0)) << from << " to " << to;
    const std::size_t now = egb_block_bytes(changed);
    EXPECT_GE(now, to);
    EXPECT_EQ(egb_block_bytes(static_cast<char*>(changed) + now - 1), now);
    return changed;
}

void use_large_blocks()
{
    const auto malloced = [](std::size_t bytes) {
        return egb_malloc(bytes);
    };
    for (const std::size_t bytes : sizes{40000, 300000, MiB}) {
        void* block = try_take(bytes, malloced);
        if (block != nullptr) {
            block = try_change(block, bytes, 2 * bytes);
            block = try_change(block, bytes, 5 * bytes);
            block = try_change(block, bytes, 2 * bytes);
            fill_ends(block, 1000, 1000);
            block = try_change(block, 1000, 2000);  // smaller by far: a class again
            egb_free_sized_(block, 2000);           // no misuse, wherever it is
        }
        egb_free(try_take(bytes, malloced));
        egb_free(try_take(bytes, [](std::size_t some) { return egb_calloc(some, 1); }));
        egb_free(try_take(bytes, [](std::size_t some) { return egb_aligned_alloc(MiB, some); }));
    }
}

void use_small_blocks()
{
    std::vector<void*> blocks;
    for (const std::size_t bytes : sizes{1, 100, 1000, 5000, 30000}) {
        for (int i = 0; i < (has_redzones ? 4 : 20); i++) {
            void* block = try_take(bytes, [](std::size_t some) { return egb_malloc(some); });
            if (block != nullptr) {
                block = try_change(block, bytes, 3 * bytes);
                blocks.push_back(block);
            }
        }
    }
    for (void* const block : blocks) {
        egb_free(block);
    }
}

void scenario()
{
    const events seen;
    if (has_redzones) {
        (void)egb_heap_guard_pages("large,1/4");  // refused with the heap
    }
    use_large_blocks();
    if (can_move) {
        use_small_blocks();
    }
    if (can_move && !has_redzones) {
        std::thread(use_small_blocks).join();
        use_large_blocks();
    }
    EXPECT_EQ(heap_in_use(), 0u);
    (void)egb_heap_trim(0);
    EXPECT_EQ(heap_numbers().cached_bytes, 0u);
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
    (void)egb_batch_slabs_trim_();
    (void)egb_obtain_trim_();
    const std::lock_guard<std::mutex> lock(books);
    const std::size_t                 out = bytes_out();
    if (expected != 0) {
        // After the refusal of a longer batch, the magazine has a shorter one, of another slab.
        EXPECT_LE(out, expected + 2 * 65536) << "not all was given back";
    }
    return {count, out};
}

}  // namespace

TEST(heap_refused, each_request_once_and_from_then_on)
{
    refuse_each(run, 30);
}

// As on Windows, and on Linux once the kernel has refused to move something.
TEST(heap_refused, each_request_where_no_block_moves)
{
    can_move = false;
    refuse_each(run, 30);
    can_move = true;
}

// A block that cannot have a guard page has none.
TEST(heap_refused, each_request_of_blocks_with_guard_pages)
{
    has_redzones = true;
    refuse_each(run, 30);
    has_redzones = false;
}

// With 16 MiB in all. The next size uses the memory that one size does not need any more.
TEST(heap_refused, what_the_heap_keeps_is_no_reason_to_refuse)
{
    const pid_t child = fork();
    if (child == 0) {
        regions = new address_book;
        egb_free(egb_malloc(1));
        most_bytes            = 16 * MiB;
        std::uint64_t refused = 0;
        for (const std::size_t bytes : sizes{100, 5000, 200000, 30000, 3 * MiB, 50, MiB}) {
            std::vector<void*> blocks;
            for (void* block = egb_malloc(bytes); block != nullptr; block = egb_malloc(bytes)) {
                blocks.push_back(block);
            }
            EXPECT_GT(blocks.size() * bytes, 8 * MiB) << bytes;
            EXPECT_EQ(picture().failures, ++refused) << "each once, however often it was tried";
            for (void* const block : blocks) {
                egb_free(block);
            }
        }
        (void)egb_heap_trim(0);
        const std::size_t out = bytes_out();
        for (int i = 0; i < 5000; i++) {
            EXPECT_EQ(egb_malloc(64 * MiB), nullptr);
        }
        EXPECT_EQ(bytes_out(), out) << "nothing is left of what was refused";
        std::fflush(stdout);
        _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}
