// SPDX-License-Identifier: MIT
// The C++ face of the shared pool: ownership, moves and releases.
#include "eggbox/shared.hpp"

#include "shared.hpp"

#include <type_traits>
#include <utility>

// Every call of egb_shared_stats() in this file comes here.
extern "C" {
egb_status __real_egb_shared_stats(const egb_shared* shared, egb_shared_numbers* out);
egb_status __wrap_egb_shared_stats(const egb_shared* shared, egb_shared_numbers* out);
}

namespace
{

egb_status answer = EGB_OK;  // of it

}  // namespace

egb_status __wrap_egb_shared_stats(const egb_shared* shared, egb_shared_numbers* out)
{
    return answer == EGB_OK ? __real_egb_shared_stats(shared, out) : answer;
}

namespace
{

struct alignas(128) picture {
    int pixels[40];
};

using pictures = eggbox::shared_pool_of<picture>;

static_assert(!std::is_copy_constructible_v<eggbox::frame>);
static_assert(std::is_nothrow_move_constructible_v<eggbox::frame>);
static_assert(!std::is_copy_constructible_v<eggbox::shared_pool>);
static_assert(std::is_nothrow_move_assignable_v<eggbox::shared_pool>);

pictures make_pictures()
{
    pictures pool = pictures::create(shared_options(4, 3));
    EXPECT_TRUE(pool);
    return pool;
}

TEST(SharedFace, releases_a_frame_at_its_end)
{
    pictures pool = make_pictures();
    {
        eggbox::frame one = pool.alloc();
        ASSERT_TRUE(one);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(pictures::object(one)) % 128, 0U);
        eggbox::frame other = std::move(one);
        EXPECT_FALSE(one);  // NOLINT(bugprone-use-after-move)
        EXPECT_EQ(numbers_of(pool.get()).in_use, 1U);
        other = pool.alloc();
        EXPECT_EQ(numbers_of(pool.get()).in_use, 1U);
        other = eggbox::frame();
        EXPECT_EQ(numbers_of(pool.get()).in_use, 0U);
        other = pool.alloc_wait(0);
        EXPECT_TRUE(other);
    }
    EXPECT_EQ(numbers_of(pool.get()).in_use, 0U);
}

TEST(SharedFace, carries_frames_and_notes_to_another_attachment)
{
    pictures pool   = make_pictures();
    pictures reader = pictures::attach_fd(egb_shared_fd(pool.get()), EGB_SHARED_READ_ONLY);
    ASSERT_TRUE(reader);
    eggbox::frame written                 = pool.alloc();
    pictures::object(written)->pixels[39] = 7;
    ASSERT_EQ(written.publish(uint64_t{99}), EGB_OK);
    EXPECT_EQ(written.sequence(), 1U);
    const eggbox::frame seen = reader.next(0);
    EXPECT_EQ(seen.note<uint64_t>(), 99U);
    EXPECT_EQ(seen.missed(), 0U);
    EXPECT_EQ(pictures::object(seen)->pixels[39], 7);
    EXPECT_EQ(reader.latest().data(), seen.data());
    EXPECT_EQ(reader.open(written.handle()).data(), seen.data());
    EXPECT_FALSE(reader.next(1, 0));
    EXPECT_TRUE(reader.take());
    EXPECT_FALSE(reader.take(0));
}

TEST(SharedFace, tells_why_there_is_no_pool)
{
    EXPECT_EQ(eggbox::shared_pool::create({}).status(), EGB_INVALID);
    EXPECT_EQ(eggbox::shared_pool::attach("no-such-pool").status(), EGB_STALE);
    EXPECT_EQ(pictures::attach("no-such-pool").status(), EGB_STALE);
    const eggbox::shared_pool none;
    EXPECT_FALSE(none);
    pictures                    pool = make_pictures();
    eggbox::shared_pool_of<int> wrong =
        eggbox::shared_pool_of<int>::attach_fd(egb_shared_fd(pool.get()));
    EXPECT_EQ(wrong.status(), EGB_INVALID);
    EXPECT_FALSE(wrong);
    EXPECT_EQ(wrong.get(), nullptr);
    EXPECT_FALSE(wrong.alloc());  // its objects would not fit
}

// The numbers of a pool are refused if the process is by then the child of a fork, for one.
TEST(SharedFace, refuses_a_pool_whose_blocks_it_does_not_know)
{
    pictures pool         = make_pictures();
    answer                = EGB_STALE;
    const pictures second = pictures::attach_fd(egb_shared_fd(pool.get()));
    const pictures none   = pictures::attach("no-such-pool");
    answer                = EGB_OK;
    EXPECT_EQ(second.status(), EGB_INVALID);
    EXPECT_EQ(second.get(), nullptr);
    EXPECT_EQ(none.status(), EGB_STALE);
    EXPECT_TRUE(pictures::attach_fd(egb_shared_fd(pool.get())));
}

}  // namespace
