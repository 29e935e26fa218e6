// SPDX-License-Identifier: MIT
// Unused memory over a limit goes at once, where nobody calls egb_heap_purge(). The linker leads
// the look at the clock to this file, and the requests to the system.
#include "heaps.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

namespace
{

std::uint64_t            now = 1000000;
std::atomic<int>         requests{0};
std::atomic<int>         releases{0};
std::atomic<std::size_t> reserved{0};  // bytes
std::size_t              process_limit = SIZE_MAX;

constexpr std::size_t MiB = std::size_t{1} << 20;

}  // namespace

extern "C" {
std::size_t egb_keep_after_crowd_(void);
void*       egb_batch_new_(std::size_t lane, std::size_t blocks, std::size_t length);
void        egb_batch_drop_(void* batch);

std::uint64_t __wrap_egb_os_milliseconds_(void);
void*         __wrap_egb_os_reserve_(std::size_t bytes, std::size_t align);
void*         __real_egb_os_reserve_(std::size_t bytes, std::size_t align);
void          __wrap_egb_os_release_(void* region, std::size_t bytes);
void          __real_egb_os_release_(void* region, std::size_t bytes);
std::size_t   __wrap_egb_os_group_limit_(void);
std::size_t   __wrap_egb_os_process_limit_(void);

// As without limits, whatever the machine's are, or as with one.
std::size_t __wrap_egb_os_group_limit_(void)
{
    return SIZE_MAX;
}

std::size_t __wrap_egb_os_process_limit_(void)
{
    return process_limit;
}

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

// Threads that have used the heap, and wait for their end with so many bytes each.
class crowd
{
  public:
    explicit crowd(std::size_t count, std::size_t bytes = 0) : bytes_(bytes)
    {
        while (threads_.size() < count) {
            threads_.emplace_back([this] { use_and_wait(); });
        }
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return waiting_ == threads_.size(); });
    }

    crowd(const crowd&)            = delete;
    crowd& operator=(const crowd&) = delete;

    // All end.
    ~crowd()
    {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            may_end_ = true;
        }
        changed_.notify_all();
        for (std::thread& thread : threads_) {
            thread.join();
        }
    }

  private:
    void use_and_wait()
    {
        egb_free(egb_malloc(100));
        const std::vector<void*> blocks = take(1000, bytes_);
        {
            std::unique_lock<std::mutex> lock(mutex_);
            waiting_++;
            changed_.notify_all();
            changed_.wait(lock, [this] { return may_end_; });
        }
        give(blocks);
    }

    std::size_t              bytes_;
    std::mutex               mutex_;
    std::condition_variable  changed_;
    std::size_t              waiting_ = 0;
    bool                     may_end_ = false;
    std::vector<std::thread> threads_;
};

// The bytes held after one thread took memory and freed it beside `threads` others, which have
// ended. As a rule, the tests go on in phases in which somebody calls the purge.
std::size_t held_after(std::size_t threads, std::size_t bytes, std::size_t sum)
{
    {
        const crowd others(threads);
        give(take(bytes, sum));
    }
    return held();
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

// One thread of a crowd takes memory when the others have ended, and ends.
void end_as_the_last_of_a_crowd()
{
    std::promise<void> started;
    std::promise<void> alone;
    std::thread        last([&started, &alone] {
        egb_free(egb_malloc(100));
        started.set_value();
        alone.get_future().wait();
        give(take(1000, 60 * MiB));
    });
    started.get_future().wait();
    {
        const crowd others(12);
    }
    alone.set_value();
    last.join();
}

// The heap keeps nothing, has learned nothing, and nobody purges. It has got enough to learn.
void begin_anew()
{
    give(take(1000, 8 * MiB));
    (void)egb_heap_trim(0);
    egb_heap_purge_ends_();
    pass_epochs(100);
}

class heap_keep : public testing::Test
{
  protected:
    void SetUp() override
    {
        begin_anew();
    }
};

// Threads without magazines are not counted.
class heap_crowd : public needs_magazines
{
  protected:
    void SetUp() override
    {
        needs_magazines::SetUp();
        begin_anew();
    }
};

}  // namespace

// In a process of its own and as the first test, since a thread counts once it has used the heap.
// For the same reason another thread asks for magazines.
TEST(heap_crowd_alone, little_stays_of_the_very_last_thread)
{
    bool can_count = false;
    std::thread([&can_count] { can_count = has_magazines(); }).join();
    if (!can_count) {
        GTEST_SKIP() << "there are no magazines here";
    }
    const auto run = [] {
        (void)egb_heap_purge();
        end_as_the_last_of_a_crowd();
        std::_Exit(held() <= 10 * MiB ? 0 : 1);
    };
    EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

TEST_F(heap_keep, blocks_of_any_size_go_at_once)
{
    const all_given_back check;
    for (const std::size_t bytes : sizes{16, 100, 1000, 3000, 20000, 100000, 1000000}) {
        give(take(bytes, 64 * MiB));
        EXPECT_LE(held(), 28 * MiB) << bytes;
        begin_anew();
    }
}

// More large blocks than the library leaves gaps among, each written to. Every second is freed.
std::vector<void*> take_with_gaps(std::size_t bytes)
{
    std::vector<void*> blocks = take(bytes, 12000 * bytes);
    for (std::size_t i = 0; i < blocks.size(); i++) {
        *static_cast<char*>(blocks[i]) = 1;
        if (i % 2 == 1) {
            egb_free(blocks[i]);
            blocks[i] = nullptr;
        }
    }
    return blocks;
}

// Each gap was one more mapping, and Linux allows 65,530: then it refused all requests.
TEST_F(heap_keep, freed_regions_between_many_blocks_are_not_unmapped)
{
    const all_given_back check;
    const int            released = releases;
    std::vector<void*>   blocks   = take_with_gaps(70000);
    EXPECT_LE(releases - released, 100);
    EXPECT_LE(held(), 28 * MiB) << "addresses without memory do not count";

    const std::size_t before = reserved;
    for (std::size_t i = 1; i < blocks.size(); i += 2) {
        const bool is_zeroed = i % 16 == 1;
        blocks[i]            = is_zeroed ? egb_calloc(70000, 1) : egb_malloc(70000);
        ASSERT_TRUE(!is_zeroed || is_zero(blocks[i], 70000));
    }
    EXPECT_LE(reserved - before, 4 * MiB) << "their addresses serve";
    give(blocks);
    (void)egb_heap_trim(0);
}

// Each round took fresh addresses for all its blocks, without end. Blocks of this size are never
// cached for zeroes. A region at the edge of the others is unmapped, and so is not there: 2 to 4 of
// 10 blocks, depending on the addresses that the system gives.
TEST_F(heap_keep, long_blocks_that_must_be_zero_take_addresses_without_memory)
{
    constexpr std::size_t long_bytes = 33 * MiB;
    const all_given_back  check;
    std::vector<void*>    blocks, between;
    for (int i = 0; i < 10; i++) {
        const std::vector<void*> some = take(70000, std::size_t{1200} * 70000);
        blocks.insert(blocks.end(), some.begin(), some.end());
        between.push_back(egb_calloc(long_bytes, 1));
    }
    std::size_t before = 0;
    for (int round = 0; round < 5; round++) {
        for (void* const each : between) {
            std::memset(each, 1, MiB);
            egb_free(each);
        }
        for (void*& each : between) {
            each = egb_calloc(long_bytes, 1);
            ASSERT_TRUE(is_zero(each, MiB));
        }
        before = round == 0 ? reserved.load() : before;
    }
    EXPECT_LE(reserved - before, 24 * long_bytes) << "of 40 blocks";
    give(between);
    give(blocks);
    (void)egb_heap_trim(0);
}

// Only where addresses are limited: else the system may refuse because of the mappings.
TEST_F(heap_keep, addresses_without_memory_go_before_a_request_is_refused)
{
    constexpr std::size_t    too_much = SIZE_MAX / 4;
    const all_given_back     check;
    const std::vector<void*> blocks = take_with_gaps(70000);
    (void)egb_heap_trim(0);
    const int before = releases;
    EXPECT_EQ(egb_malloc(too_much), nullptr);
    process_limit = too_much / 2;
    EXPECT_EQ(egb_malloc(too_much), nullptr);
    EXPECT_LE(releases - before, 10);
    process_limit = SIZE_MAX - 1;
    EXPECT_EQ(egb_malloc(too_much), nullptr);
    EXPECT_GE(releases - before, 5000);
    process_limit = SIZE_MAX;
    give(blocks);
    (void)egb_heap_trim(0);
}

// Each release is a system call, with locks held.
TEST_F(heap_keep, neighbours_go_together)
{
    for (const std::size_t bytes : sizes{1000, 4096, 20000}) {
        begin_anew();
        const std::vector<void*> blocks = take(bytes, 40 * MiB);
        const int                before = releases;
        give(blocks);
        EXPECT_LE(held(), 28 * MiB) << bytes;
        EXPECT_LE(releases - before, 40) << bytes;
    }
}

// The regions that went were too short for chunks: that they were followed by requests for chunks
// does not say that they should have stayed.
TEST_F(heap_keep, blocks_that_shrink_teach_nothing)
{
    const all_given_back check;
    std::vector<void*>   blocks = take(70000, std::size_t{2000} * 70000);
    for (std::size_t i = 0; i < blocks.size(); i += 2) {
        blocks[i] = egb_realloc(blocks[i], 30000);
    }
    give(blocks);
    EXPECT_LE(held(), 28 * MiB);
}

// A phase that gets memory again teaches the heap how much should have stayed.
TEST_F(heap_keep, a_program_with_phases_soon_keeps_the_memory_of_a_phase)
{
    for (const std::size_t bytes : sizes{100, 3000, 20000, 1000000}) {
        begin_anew();
        const int first = requests_of_phase(bytes, 48 * MiB);
        for (int i = 0; i < 3; i++) {
            (void)requests_of_phase(bytes, 48 * MiB);
        }
        EXPECT_GT(first, 5) << bytes;
        EXPECT_LE(requests_of_phase(bytes, 48 * MiB), 1) << bytes;
    }
}

// However small a part of the heap they are.
TEST_F(heap_keep, a_class_that_grows_takes_chunks_that_another_has_wholly_free)
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
}

TEST_F(heap_keep, the_limit_falls_when_nothing_is_needed)
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

TEST_F(heap_keep, a_thread_that_calls_the_purge_takes_over)
{
    (void)egb_heap_purge();
    give(take(1000, 48 * MiB));
    EXPECT_GT(held(), 32 * MiB);
    std::size_t given = 0;
    for (int i = 0; i < 4; i++) {
        now += 250;
        given += egb_heap_purge();
        EXPECT_EQ(egb_heap_purge(), 0u) << "too soon";
    }
    EXPECT_GT(given, 32 * MiB);
    EXPECT_LE(held(), 2 * MiB);
}

// As a game calls it once, between two levels.
TEST_F(heap_keep, a_purge_that_is_called_no_more_takes_over_for_a_while)
{
    (void)egb_heap_purge();
    pass_epochs(100);
    give(take(1000, 48 * MiB));
    EXPECT_GT(held(), 32 * MiB);
    pass_epochs(100);
    give(take(1000, 48 * MiB));
    EXPECT_LE(held(), 20 * MiB);
}

// The limit is higher where somebody looks at the clock, and is learned as without.
TEST_F(heap_keep, more_than_a_limit_goes_at_once_although_a_thread_purges)
{
    const std::size_t learned = (sizeof(void*) < 8 ? 40 : 120) * MiB;
    for (const std::size_t bytes : sizes{1000, 20000, 1000000}) {
        begin_anew();
        (void)egb_heap_purge();
        give(take(bytes, 200 * MiB));
        EXPECT_LE(held(), 120 * MiB) << bytes;
        for (int i = 0; i < 4; i++) {
            give(take(bytes, 200 * MiB));
        }
        EXPECT_GT(held(), learned) << bytes;
    }
}

// The end of many threads is the end of a phase, whatever memory they made the heap keep.
TEST_F(heap_crowd, little_stays_of_a_crowd_of_threads)
{
    const all_given_back check;
    for (const std::size_t bytes : sizes{1000, 20000, 1000000}) {
        begin_anew();
        (void)egb_heap_purge();
        EXPECT_GT(held_after(6, bytes, 60 * MiB), 20 * MiB) << bytes;
        EXPECT_LE(held_after(40, bytes, 60 * MiB), 10 * MiB) << bytes;
    }
}

// Those that end last, too.
TEST_F(heap_crowd, little_stays_of_threads_that_have_memory_to_the_end)
{
    const all_given_back check;
    for (const std::size_t threads : sizes{9, 12, 20, 30, 35}) {
        begin_anew();
        (void)egb_heap_purge();
        {
            const crowd others(threads, 4 * MiB);
        }
        EXPECT_LE(held(), 24 * MiB) << threads;
    }
}

// Threads that end late take batches to free their blocks, in place of batches that went.
TEST_F(heap_crowd, batches_teach_nothing)
{
    (void)egb_heap_purge();
    EXPECT_LE(held_after(40, 1000, 60 * MiB), 10 * MiB);
    const std::size_t  before = reserved;
    std::vector<void*> batches(4000);
    for (void*& batch : batches) {
        batch = egb_batch_new_(0, 64, 2);
    }
    EXPECT_GE(reserved - before, MiB);
    EXPECT_EQ(egb_keep_after_crowd_(), 8 * MiB);
    for (void* const batch : batches) {
        egb_batch_drop_(batch);
    }
}

// Free blocks between blocks in use cannot go. No other memory goes in their place.
TEST_F(heap_crowd, so_much_stays_of_a_crowd_as_may_stay_between_blocks_in_use)
{
    const all_given_back check;
    (void)egb_heap_purge();
    std::vector<void*> blocks = take(500, 60 * MiB);
    std::vector<void*> in_use;
    for (std::size_t i = 0; i < blocks.size(); i += 4) {
        in_use.push_back(std::exchange(blocks[i], nullptr));
    }
    give(blocks);
    (void)egb_heap_trim(0);
    const std::size_t before = held();
    EXPECT_GE(held_after(40, 1000000, 40 * MiB), before + 6 * MiB);
    EXPECT_LE(held(), before + 10 * MiB);
    give(in_use);
}

TEST_F(heap_crowd, a_crowd_that_comes_again_late_leaves_as_little)
{
    for (int i = 0; i < 4; i++) {
        (void)egb_heap_trim(0);
        now += 10000;
        EXPECT_LE(held_after(40, 1000, 60 * MiB), 10 * MiB) << i;
    }
}

TEST_F(heap_crowd, the_memory_of_a_crowd_that_comes_again_soon_stays)
{
    (void)egb_heap_purge();
    EXPECT_LE(held_after(40, 1000, 60 * MiB), 10 * MiB);
    for (int i = 0; i < 4; i++) {
        (void)held_after(40, 1000, 60 * MiB);
    }
    const int before = requests;
    EXPECT_GT(held_after(40, 1000, 60 * MiB), 40 * MiB);
    EXPECT_LE(requests - before, 60) << "one for each thread, and some for batches";
    pass_epochs(200);
    EXPECT_LE(held_after(40, 1000, 60 * MiB), 10 * MiB) << "the least limit again";
}

// While the crowd lasts. When it has ended a few tables stay.
TEST_F(heap_crowd, tables_of_ended_threads_are_for_the_next_ones)
{
    {
        const crowd others(20);
        {
            const crowd first(20);
        }
        const int before = requests;
        {
            const crowd second(20);
        }
        EXPECT_LE(requests - before, 2);
    }
    const int before = requests;
    {
        const crowd third(40);
    }
    EXPECT_GE(requests - before, 20);
}
