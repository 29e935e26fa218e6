// SPDX-License-Identifier: MIT
// eggbox::pool, waits: how long, what the wait gave, and the objects that it makes. The line itself
// is in hosted/test_pool_wait.cpp. No test asks the clock.
#include "eggbox/eggbox.hpp"
#include "events.hpp"

#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

namespace
{

using namespace std::chrono_literals;
using eggbox::milliseconds_of_;
using eggbox::pool;
using eggbox::pool_handle;
using eggbox::pool_options;
using eggbox::pool_ptr;
using eggbox::wait_forever;
using eggbox::wait_result;

struct job {
    job(int number_, std::unique_ptr<int> load_) : number(number_), load(std::move(load_))
    {
        if (number < 0) {
            throw std::runtime_error("no job has this number");
        }
        alive++;
    }

    ~job()
    {
        alive--;
    }

    job(const job&)            = delete;
    job& operator=(const job&) = delete;

    int                            number;
    std::unique_ptr<int>           load;
    static inline std::atomic<int> alive{0};
};

pool_options limited(std::size_t blocks)
{
    pool_options options{};
    options.max_blocks = blocks;
    return options;
}

template <class Pool>
void until_waiting(const Pool& jobs, std::size_t count)
{
    while (jobs.waiting() != count) {
        std::this_thread::yield();
    }
}

// A thread that waits for a block and makes a job with it.
class producer
{
  public:
    explicit producer(pool_handle<job> jobs)
        : thread_([this, jobs] { made = jobs.make_for(wait_forever, 7, std::make_unique<int>(8)); })
    {
        until_waiting(jobs, 1);
    }

    ~producer()
    {
        end();
    }

    producer(const producer&)            = delete;
    producer& operator=(const producer&) = delete;

    void end()
    {
        if (thread_.joinable()) {
            thread_.join();
        }
    }

    wait_result<job*> made{nullptr, EGB_BUSY};

  private:
    std::thread thread_;
};

class pool_wait_face : public testing::Test
{
  protected:
    ~pool_wait_face() override
    {
        EXPECT_EQ(job::alive, 0);
    }

    events    misuse;
    pool<job> jobs{limited(1)};
};

}  // namespace

TEST_F(pool_wait_face, a_duration_becomes_milliseconds_and_never_fewer_than_it_says)
{
    using std::chrono::duration;
    constexpr std::uint32_t most = EGB_FOREVER - 1;

    static_assert(milliseconds_of_(0ns) == 0 && milliseconds_of_(-1h) == 0, "");
    static_assert(milliseconds_of_(1ns) == 1 && milliseconds_of_(1ms) == 1, "");
    static_assert(milliseconds_of_(1000001ns) == 2 && milliseconds_of_(3s) == 3000, "");
    static_assert(milliseconds_of_(duration<double>(0.0015)) == 2, "");
    static_assert(milliseconds_of_(duration<int, std::ratio<1, 3>>(1)) == 334, "");
    static_assert(milliseconds_of_(std::chrono::milliseconds(most)) == most, "");
    static_assert(milliseconds_of_(std::chrono::nanoseconds(most * 1000000LL + 1)) > most, "");
    static_assert(milliseconds_of_(std::chrono::milliseconds(EGB_FOREVER)) == EGB_FOREVER, "");
    static_assert(milliseconds_of_((std::chrono::hours::max)()) == EGB_FOREVER, "");
    static_assert(milliseconds_of_((std::chrono::hours::min)()) == 0, "");
    static_assert(milliseconds_of_(wait_forever) == EGB_FOREVER, "");
    EXPECT_EQ(milliseconds_of_(duration<double>(std::numeric_limits<double>::quiet_NaN())), 0u);
    EXPECT_EQ(
        milliseconds_of_(duration<double>(std::numeric_limits<double>::infinity())), EGB_FOREVER
    );
}

TEST_F(pool_wait_face, a_free_block_is_had_at_once_with_the_object_in_it)
{
    auto [first, status] = jobs.make_for(0s, 1, std::make_unique<int>(2));
    EXPECT_EQ(status, EGB_OK);
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(first->number + *first->load, 3);
    EXPECT_EQ(jobs.in_use(), 1u);
    jobs.destroy(first);
    {
        const wait_result<pool_ptr<job>> owned = jobs.make_unique_for(wait_forever, 1, nullptr);
        EXPECT_TRUE(owned);
        EXPECT_EQ(owned.pointer->number, 1);
        EXPECT_EQ(job::alive, 1);
    }
    const wait_result<void*> block = jobs.alloc_for(1min);
    EXPECT_TRUE(block);
    EXPECT_TRUE(egb_pool_is_live(jobs.handle().get(), block.pointer));
    jobs.free(block.pointer);
}

TEST_F(pool_wait_face, without_a_block_nothing_is_made_and_the_result_says_why)
{
    void* const held = jobs.alloc();
    const auto  at   = [this](auto limit) {
        return jobs.make_for(limit, 1, nullptr);
    };
    const auto empty  = at(0ms);
    const auto timed  = at(1us);
    const auto owned  = jobs.make_unique_for(-1s, 1, nullptr);
    const auto nobody = jobs.alloc_for(1ms);
    EXPECT_EQ(empty.status, EGB_EMPTY);
    EXPECT_EQ(timed.status, EGB_TIMED_OUT) << "less than a millisecond is a wait, too";
    EXPECT_EQ(owned.status, EGB_EMPTY);
    EXPECT_EQ(nobody.status, EGB_TIMED_OUT);
    EXPECT_TRUE(!empty && !timed && !owned && !nobody);
    EXPECT_TRUE(empty.pointer == nullptr && timed.pointer == nullptr);
    EXPECT_TRUE(owned.pointer == nullptr && nobody.pointer == nullptr);
    EXPECT_EQ(jobs.cancel(), 0u) << "nobody waits any more";
    jobs.free(held);
}

TEST_F(pool_wait_face, a_freed_block_goes_to_the_thread_that_waits)
{
    jobs.free(jobs.alloc());
    job* const old = jobs.make(1, nullptr);
    producer   one(jobs.handle());
    jobs.destroy(old);
    EXPECT_EQ(jobs.waiting(), 0u);
    EXPECT_EQ(jobs.make(2, nullptr), nullptr) << "and nobody else can have it";
    one.end();
    EXPECT_TRUE(one.made);
    EXPECT_EQ(one.made.pointer, old);
    EXPECT_EQ(one.made.pointer->number + *one.made.pointer->load, 15);
    jobs.destroy(one.made.pointer);
}

TEST_F(pool_wait_face, cancel_ends_the_waits_of_now)
{
    void* const held = jobs.alloc();
    producer    one(jobs.handle());
    EXPECT_EQ(jobs.handle().cancel(), 1u);
    one.end();
    EXPECT_EQ(one.made.status, EGB_CANCELLED);
    EXPECT_EQ(one.made.pointer, nullptr);
    EXPECT_EQ(jobs.waiting(), 0u);
    jobs.free(held);
    EXPECT_EQ(jobs.make_unique_for(0ms, 1, nullptr).status, EGB_OK) << "it holds for no later wait";
}

TEST_F(pool_wait_face, the_end_of_the_pool_ends_the_waits)
{
    pool_handle<job> handle;
    {
        pool<job> short_lived(limited(1));
        handle = short_lived.handle();
        EXPECT_NE(short_lived.alloc(), nullptr);
        producer one(handle);
        short_lived = pool<job>(limited(1));
        one.end();
        EXPECT_EQ(one.made.status, EGB_STALE);
    }
    EXPECT_EQ(handle.make_for(wait_forever, 1, nullptr).status, EGB_STALE);
    EXPECT_EQ(misuse.take_kind(), EGB_MISUSE_STALE);
    EXPECT_EQ(pool_handle<job>().alloc_for(wait_forever).status, EGB_INVALID);
    EXPECT_EQ(misuse.take_kind(), EGB_MISUSE_NO_POOL);
    EXPECT_EQ(handle.cancel() + handle.waiting(), 0u);
}

TEST_F(pool_wait_face, the_block_of_a_constructor_that_throws_goes_to_the_next_thread)
{
    struct thrower {
        thrower(pool_handle<thrower> all, std::thread& next, wait_result<void*>& given)
        {
            next = std::thread([all, &given] { given = all.alloc_for(wait_forever); });
            until_waiting(all, 1);
            throw std::runtime_error("no");
        }

        char text[24] = {};
    };

    pool<thrower>      throwers(limited(1));
    std::thread        next;
    wait_result<void*> given{nullptr, EGB_BUSY};
    EXPECT_THROW(
        (void)throwers.make_for(wait_forever, throwers.handle(), next, given), std::exception
    );
    next.join();
    EXPECT_TRUE(given);
    EXPECT_EQ(throwers.in_use(), 1u);
    throwers.free(given.pointer);
}
