// SPDX-License-Identifier: MIT
// A backing that says no, at every place where it can: the pool stays as it was, byte for byte, and
// every range goes back once.
#include "backing.hpp"
#include "events.hpp"

#include <vector>

namespace
{

struct snapshot {
    explicit snapshot(const egb_growing& pool)
    {
        std::memcpy(bytes, &pool, sizeof pool);
    }

    bool equals(const egb_growing& pool) const
    {
        return std::memcmp(bytes, &pool, sizeof pool) == 0;
    }

    unsigned char bytes[sizeof(egb_growing)];
};

// Allocs until one is refused. Returns how many were not.
std::size_t fill(growing_pool& all, std::size_t most)
{
    for (std::size_t count = 0; count < most; count++) {
        const snapshot before(all.pool);
        if (all.alloc() == nullptr) {
            EXPECT_TRUE(before.equals(all.pool));
            EXPECT_TRUE(all.whole());
            return count;
        }
    }
    return most;
}

}  // namespace

TEST(growing_refused, one_refusal_is_answered_by_asking_for_the_least)
{
    for (int n = 1; n <= 12; n++) {
        counting_backing backing;
        backing.refuse = n;
        growing_pool all(backing, small_chunks(32));
        EXPECT_EQ(fill(all, 300), 300u);
        if (n <= backing.requests) {
            EXPECT_EQ(backing.wanted[std::size_t(n)], backing.leasts[std::size_t(n)]);
        }
        EXPECT_TRUE(all.whole());
    }
}

TEST(growing_refused, from_the_nth_request_on_alloc_fails_and_changes_nothing)
{
    for (int n = 1; n <= 12; n++) {
        counting_backing backing;
        backing.refuse_from = n;
        growing_pool      all(backing, small_chunks(32));
        const std::size_t got = fill(all, 10000);
        EXPECT_LT(got, 10000u);
        EXPECT_EQ(backing.requests, n + 1);
        EXPECT_EQ(int(backing.ranges()), n - 1);
        EXPECT_EQ(egb_growing_in_use(&all.pool), got);
        EXPECT_EQ(egb_growing_capacity(&all.pool), got);
        EXPECT_EQ(all.alloc(), nullptr);
        backing.refuse_from = 0;
        EXPECT_NE(all.alloc(), nullptr) << "refused once is not refused for ever";
    }
}

TEST(growing_refused, a_small_remainder_is_used_up_chunk_by_chunk)
{
    counting_backing backing(64);
    backing.most_bytes = 256;
    growing_pool all(backing, small_chunks(32));
    EXPECT_EQ(fill(all, 50), 50u);
    EXPECT_EQ(all.pool.next_bytes, 512u) << "does not grow while the backing is short";
    for (std::size_t i = 0; i < backing.wanted.size(); i += 2) {
        EXPECT_EQ(backing.wanted[i], 512u);
        EXPECT_EQ(backing.wanted[i + 1], backing.leasts[i]);
    }
}

TEST(growing_refused, reserve_is_all_or_nothing)
{
    for (const std::size_t in_use : {0u, 1u, 60u}) {
        for (int n = 1; n <= 12; n++) {
            counting_backing backing;
            growing_pool     all(backing, small_chunks(32));
            ASSERT_EQ(fill(all, in_use), in_use);
            const std::size_t ranges = backing.ranges();
            const snapshot    before(all.pool);
            backing.refuse_from = backing.requests + n;
            EXPECT_EQ(egb_growing_reserve(&all.pool, 5000), EGB_NO_MEMORY);
            EXPECT_TRUE(before.equals(all.pool));
            EXPECT_EQ(backing.ranges(), ranges);
            EXPECT_TRUE(all.whole());
            backing.refuse_from = 0;
            EXPECT_EQ(egb_growing_reserve(&all.pool, 5000), EGB_OK);
            EXPECT_TRUE(all.whole());
        }
    }
}

TEST(growing_refused, a_commit_that_fails_gives_the_range_back)
{
    for (int n = 1; n <= 8; n++) {
        counting_backing backing;
        backing.fail_commit = n;
        growing_pool all(backing, small_chunks(32));
        EXPECT_EQ(fill(all, 300), 300u) << "the least is asked for after it";
        EXPECT_EQ(backing.requests, int(backing.ranges()) + (n <= backing.commits ? 1 : 0));
        EXPECT_TRUE(all.whole());
    }
}

TEST(growing_refused, when_every_commit_fails_nothing_changes)
{
    counting_backing    backing;
    egb_growing_options wanted = small_chunks(32);
    wanted.backing             = backing.get();
    wanted.backing.commit      = [](void*, void*, std::size_t) {
        return EGB_NO_MEMORY;
    };
    egb_growing pool{};
    ASSERT_EQ(egb_growing_init(&pool, &wanted), EGB_OK);
    const snapshot before(pool);
    EXPECT_EQ(egb_growing_alloc(&pool), nullptr);
    EXPECT_EQ(egb_growing_reserve(&pool, 1), EGB_NO_MEMORY);
    EXPECT_TRUE(before.equals(pool));
    EXPECT_EQ(backing.ranges(), 0u);
    EXPECT_EQ(backing.requests, 4);
}

TEST(growing_refused, without_a_commit_none_is_made)
{
    counting_backing    backing;
    egb_growing_options wanted = small_chunks(32);
    wanted.backing             = backing.get();
    wanted.backing.commit      = nullptr;
    egb_growing pool{};
    ASSERT_EQ(egb_growing_init(&pool, &wanted), EGB_OK);
    EXPECT_NE(egb_growing_alloc(&pool), nullptr);
    EXPECT_EQ(backing.commits, 0);
    egb_growing_destroy(&pool);
}

// A backing of a few bytes that lie at the end of the address space. None is ever touched.
TEST(growing_refused, a_range_that_wraps_or_is_too_small_goes_back_untouched)
{
    struct fake {
        std::size_t offset, bytes, out;
    };
    for (std::size_t offset = 0; offset < 70; offset++) {
        for (const std::size_t bytes : {std::size_t(0), std::size_t(8), SIZE_MAX - 5, SIZE_MAX}) {
            fake                from{offset, bytes, 0};
            egb_growing_options wanted = small_chunks(64);
            wanted.block_align         = 64;
            wanted.backing.user        = &from;
            wanted.backing.reserve     = [](void* user, std::size_t, std::size_t* got) {
                auto* const self = static_cast<fake*>(user);
                self->out++;
                *got = self->bytes;
                return reinterpret_cast<void*>(UINTPTR_MAX - self->offset);
            };
            wanted.backing.commit = [](void*, void*, std::size_t) {
                ADD_FAILURE() << "commit of a range of no use";
                return EGB_NO_MEMORY;
            };
            wanted.backing.give_back = [](void* user, void*, std::size_t got) {
                auto* const self = static_cast<fake*>(user);
                self->out--;
                EXPECT_EQ(got, self->bytes);
            };
            egb_growing pool{};
            ASSERT_EQ(egb_growing_init(&pool, &wanted), EGB_OK);
            EXPECT_EQ(egb_growing_alloc(&pool), nullptr);
            EXPECT_EQ(from.out, 0u);
            EXPECT_TRUE(egb_growing_whole(&pool));
        }
    }
}

// A backing that gives less than the least that was asked for, in parts.
TEST(growing_refused, a_range_that_is_shorter_than_its_lead_goes_back)
{
    alignas(64) static char memory[1024];
    static std::size_t      less;
    static int              out;
    egb_growing_options     wanted = small_chunks(64);
    wanted.lead_bytes              = 64;
    wanted.backing.reserve         = [](void*, std::size_t least, std::size_t* bytes) -> void* {
        out++;
        *bytes = least - less;
        return memory;
    };
    wanted.backing.give_back = [](void*, void*, std::size_t) {
        out--;
    };
    for (less = 1; less < 300; less++) {
        egb_growing pool{};
        ASSERT_EQ(egb_growing_init(&pool, &wanted), EGB_OK);
        EXPECT_EQ(egb_growing_alloc(&pool), nullptr);
        EXPECT_EQ(out, 0);
        EXPECT_TRUE(egb_growing_whole(&pool));
    }
}

TEST(growing_refused, wishes_near_the_end_of_the_numbers_do_not_overflow)
{
    for (const std::size_t block_bytes : {std::size_t(4), std::size_t(64), std::size_t(1) << 30}) {
        for (const std::size_t granule : {std::size_t(0), std::size_t(64), SIZE_MAX / 2 + 1}) {
            counting_backing backing(granule);
            backing.refuse_from        = 1;
            egb_growing_options wanted = small_chunks(block_bytes);
            wanted.chunk_bytes = wanted.chunk_bytes_max = SIZE_MAX;
            wanted.with_states                          = true;
            growing_pool all(backing, wanted);
            EXPECT_EQ(all.alloc(), nullptr);
            EXPECT_EQ(egb_growing_reserve(&all.pool, SIZE_MAX / block_bytes), EGB_NO_MEMORY);
            const uint64_t most = EGB_FIXED_BYTES_MAX / block_bytes * (block_bytes + 1) + 4096;
            if (granule < SIZE_MAX / 2) {
                EXPECT_LE(uint64_t(backing.wanted[0]), most) << "no more than a fixed pool holds";
            }
        }
    }
}
