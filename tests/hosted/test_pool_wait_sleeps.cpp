// SPDX-License-Identifier: MIT
// How threads sleep that wait for a block: the linker leads their sleeps, and the requests to the
// system, here. A sleep without a limit has to be ended by another thread. One with a limit is that
// of a thread that looks by itself, and only the first of a line does so.
#include "eggbox/guard.h"

#include "events.hpp"
#include "pools.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

namespace
{

std::mutex                     notes;
std::set<const std::uint32_t*> sleepers;  // the words of threads that have slept
std::set<const std::uint32_t*> lookers;   // those of threads that slept with a limit
std::atomic<int>               sleeps{0};
std::atomic<int>               told_before{0};  // sleeps that ended before they began
std::atomic<bool>              is_refusing{false};

std::size_t size_of(const std::set<const std::uint32_t*>& words)
{
    const std::lock_guard<std::mutex> lock(notes);
    return words.size();
}

void forget_sleeps()
{
    const std::lock_guard<std::mutex> lock(notes);
    sleepers.clear();
    lookers.clear();
    sleeps      = 0;
    told_before = 0;
}

template <class Condition>
void until(Condition condition)
{
    while (!condition()) {
        std::this_thread::yield();
    }
}

// Threads that wait for a block for ever, in this order. They give it back when all have ended.
class line
{
  public:
    explicit line(egb_pool pool) : pool_(pool) {}

    ~line()
    {
        for (std::thread& thread : threads_) {
            thread.join();
        }
        for (void* const block : blocks_) {
            egb_pool_free(pool_, block);
        }
    }

    line(const line&)            = delete;
    line& operator=(const line&) = delete;

    void add(egb_status expected)
    {
        const std::size_t before = egb_pool_waiting(pool_);
        threads_.emplace_back([this, expected] {
            void* block = nullptr;
            EXPECT_EQ(egb_pool_alloc_for(pool_, &block, EGB_FOREVER), expected);
            const std::lock_guard<std::mutex> lock(notes);
            blocks_.push_back(block);
        });
        until([&] { return egb_pool_waiting(pool_) > before; });
    }

  private:
    egb_pool                 pool_;
    std::vector<std::thread> threads_;
    std::vector<void*>       blocks_;
};

// A thread that has three blocks, the last one out of its magazine by itself: an undo of that asks
// for no lock, and nobody hears of it.
class holder
{
  public:
    explicit holder(egb_pool pool)
        : thread_([this, pool] {
              std::vector<void*> blocks = take_all(pool, 3);
              has_blocks_               = true;
              until([this] { return is_over_.load(); });
              give_all(pool, blocks);
          })
    {
        until([this] { return has_blocks_.load(); });
    }

    ~holder()
    {
        is_over_ = true;
        thread_.join();
    }

  private:
    std::atomic<bool> has_blocks_{false}, is_over_{false};
    std::thread       thread_;
};

}  // namespace

extern "C" {

void  __real_egb_os_wait_(std::uint32_t* word, std::uint32_t value, std::uint32_t milliseconds);
void  __wrap_egb_os_wait_(std::uint32_t* word, std::uint32_t value, std::uint32_t milliseconds);
void* __real_egb_os_reserve_(std::size_t bytes, std::size_t align);
void* __wrap_egb_os_reserve_(std::size_t bytes, std::size_t align);

void __wrap_egb_os_wait_(std::uint32_t* word, std::uint32_t value, std::uint32_t milliseconds)
{
    {
        const std::lock_guard<std::mutex> lock(notes);
        sleepers.insert(word);
        if (milliseconds != 0) {
            lookers.insert(word);
        }
    }
    told_before += __atomic_load_n(word, __ATOMIC_RELAXED) != value ? 1 : 0;
    sleeps++;
    __real_egb_os_wait_(word, value, milliseconds);
}

void* __wrap_egb_os_reserve_(std::size_t bytes, std::size_t align)
{
    return is_refusing ? nullptr : __real_egb_os_reserve_(bytes, align);
}

}  // extern "C"

TEST_F(needs_magazines, only_the_first_of_a_line_looks_by_itself)
{
    enum { threads = 8 };
    egb_pool_options options = options_for(64);
    options.max_blocks       = 12;
    const guard              pool{make(options)};
    holder                   one(pool.pool), two(pool.pool);
    const std::vector<void*> rest = take_all(pool.pool);
    forget_sleeps();
    {
        line waiting(pool.pool);
        for (int i = 0; i < threads; i++) {
            waiting.add(i == 0 ? EGB_OK : EGB_CANCELLED);
        }
        until([] { return size_of(sleepers) == threads; });
        EXPECT_EQ(size_of(lookers), 1u);
        egb_pool_free(pool.pool, rest[0]);
        until([&] { return egb_pool_waiting(pool.pool) == threads - 1; });
        until([] { return size_of(lookers) >= 2; });  // whoever is the first now
        EXPECT_EQ(egb_pool_cancel(pool.pool), std::size_t(threads - 1));
    }
    EXPECT_EQ(size_of(lookers), 2u);
    egb_pool_free_many(pool.pool, &rest[1], rest.size() - 1);
}

// An attempt that the system refuses charges the budget and gives the bytes back. That tells the
// threads that wait for the budget, and the one that made the attempt is none of them any more.
TEST(pool_sleeps, a_thread_that_the_system_refuses_does_not_wake_itself)
{
    egb_pool_options options = options_for(1024);
    options.budget_bytes     = unit_bytes;
    const guard root{make(options)};
    const guard first{make(1024, root.pool)};
    options.budget_bytes = 0;
    options.parent       = root.pool;
    options.flags        = EGB_PREFAULT;  // no chunk of another pool will do
    const guard              second{make(options)};
    const std::vector<void*> held = take_all(first.pool);
    {
        line waiting(second.pool);
        waiting.add(EGB_OK);
        is_refusing = true;
        forget_sleeps();
        give_all(first.pool, held);
        EXPECT_NE(egb_pool_trim(first.pool, 0), 0u);
        until([] { return sleeps >= 8; });
        EXPECT_LE(told_before, 2);
        is_refusing = false;
    }
}

// Nobody tells a thread that the freeze is over.
TEST(pool_sleeps, the_end_of_the_freeze_ends_a_wait)
{
    events                   seen;
    const guard              pool{make(4096)};
    const std::vector<void*> one = take_all(pool.pool, 1);
    egb_seal();
    const std::vector<void*> held = take_all(pool.pool);
    EXPECT_EQ(egb_pool_alloc(pool.pool), nullptr);  // nobody can free one without the lock now
    seen.take_all();
    {
        line waiting(pool.pool);
        forget_sleeps();
        waiting.add(EGB_OK);
        until([] { return sleeps >= 2; });  // the first attempt asks the system
        egb_unseal();
    }
    seen.take_all();
    give_all(pool.pool, one);
    give_all(pool.pool, held);
}
