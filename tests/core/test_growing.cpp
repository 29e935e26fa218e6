// SPDX-License-Identifier: MIT
// The growing pool does what its header promises, call by call.
#include "backing.hpp"
#include "events.hpp"

#include <algorithm>
#include <set>
#include <thread>

namespace
{

void* never(void*, std::size_t, std::size_t*)
{
    ADD_FAILURE() << "init must not ask the backing";
    return nullptr;
}

egb_growing_options possible()
{
    egb_growing_options wanted{};
    wanted.block_bytes     = 64;
    wanted.backing.reserve = never;
    return wanted;
}

// Also that a refused init leaves the pool as it was.
egb_status init(const egb_growing_options& wanted)
{
    egb_growing pool;
    std::memset(&pool, 0x5A, sizeof pool);
    egb_growing before;
    std::memcpy(&before, &pool, sizeof pool);
    const egb_status status = egb_growing_init(&pool, &wanted);
    if (status != EGB_OK) {
        EXPECT_EQ(std::memcmp(&before, &pool, sizeof pool), 0);
    } else {
        EXPECT_TRUE(egb_growing_whole(&pool));
        EXPECT_EQ(egb_growing_capacity(&pool), 0u);
    }
    return status;
}

template <class Change>
egb_status init_with(Change change)
{
    egb_growing_options wanted = possible();
    change(wanted);
    return init(wanted);
}

using options = egb_growing_options&;

std::vector<void*> take(growing_pool& from, std::size_t count)
{
    std::vector<void*> taken;
    for (std::size_t i = 0; i < count; i++) {
        taken.push_back(from.alloc());
        EXPECT_NE(taken.back(), nullptr);
    }
    return taken;
}

void give(growing_pool& to, const std::vector<void*>& blocks)
{
    for (void* const block : blocks) {
        to.free(block);
    }
}

void collect(void* block, void* user)
{
    static_cast<std::vector<void*>*>(user)->push_back(block);
}

std::vector<void*> visited(const egb_growing& pool)
{
    std::vector<void*> seen;
    egb_growing_each(&pool, collect, &seen);
    return seen;
}

std::vector<void*> sorted(std::vector<void*> blocks)
{
    std::sort(blocks.begin(), blocks.end(), std::less<void*>());
    return blocks;
}

}  // namespace

TEST(growing_init, takes_what_is_possible)
{
    EXPECT_EQ(init(possible()), EGB_OK);
    EXPECT_EQ(init_with([](options o) { o.block_bytes = 4; }), EGB_OK);
    EXPECT_EQ(init_with([](options o) { o.block_align = 64; }), EGB_OK);
    EXPECT_EQ(init_with([](options o) { o.block_align = 1; }), EGB_OK);
    EXPECT_EQ(init_with([](options o) { o.backing.granule = 4; }), EGB_OK);
    EXPECT_EQ(init_with([](options o) { o.backing.granule = SIZE_MAX / 2 + 1; }), EGB_OK);
    EXPECT_EQ(init_with([](options o) { o.chunk_bytes = SIZE_MAX; }), EGB_OK);
    EXPECT_EQ(init_with([](options o) { o.chunk_bytes_max = SIZE_MAX; }), EGB_OK);
    EXPECT_EQ(init_with([](options o) { o.chunk_bytes = o.chunk_bytes_max = 1; }), EGB_OK);
    EXPECT_EQ(init_with([](options o) { o.max_blocks = SIZE_MAX; }), EGB_OK);
}

TEST(growing_init, refuses_what_can_never_work)
{
    egb_growing               pool{};
    const egb_growing_options wanted = possible();
    EXPECT_EQ(egb_growing_init(nullptr, &wanted), EGB_INVALID);
    EXPECT_EQ(egb_growing_init(&pool, nullptr), EGB_INVALID);
    EXPECT_EQ(init_with([](options o) { o.block_bytes = 0; }), EGB_INVALID);
    for (const std::size_t odd : {1u, 2u, 3u, 5u, 6u, 7u, 66u}) {
        EXPECT_EQ(init_with([=](options o) { o.block_bytes = odd; }), EGB_INVALID) << odd;
    }
    for (const std::size_t odd : {3u, 12u, 24u, 128u}) {
        EXPECT_EQ(init_with([=](options o) { o.block_align = odd; }), EGB_INVALID) << odd;
    }
    EXPECT_EQ(init_with([](options o) { o.lead_bytes = o.block_bytes + 1; }), EGB_INVALID);
    EXPECT_EQ(
        init_with([](options o) { o.block_bytes = 1 << 20, o.lead_bytes = (64 << 10) + 1; }),
        EGB_INVALID
    );
    for (const std::size_t odd : {4u, 12u, (64u << 10) + 8u}) {
        EXPECT_EQ(init_with([=](options o) { o.backing.extra_bytes = odd; }), EGB_INVALID) << odd;
    }
    EXPECT_EQ(init_with([](options o) { o.backing.reserve = nullptr; }), EGB_INVALID);
    for (const std::size_t odd : {1u, 2u, 3u, 48u}) {
        EXPECT_EQ(init_with([=](options o) { o.backing.granule = odd; }), EGB_INVALID) << odd;
    }
    EXPECT_EQ(
        init_with([](options o) { o.block_align = 64, o.backing.granule = 32; }), EGB_INVALID
    );
    const egb_backing none = egb_static_backing(nullptr);
    EXPECT_EQ(init_with([=](options o) { o.backing = none; }), EGB_INVALID);
}

TEST(growing_init, refuses_blocks_that_no_chunk_can_hold)
{
    for (std::size_t less = 0; less < 4096; less += 4) {
        const std::size_t huge = SIZE_MAX / 4 * 4 - less;
        for (const std::size_t granule : {0u, 4u, 4096u}) {
            const auto status = init_with([=](options o) {
                o.block_bytes = huge, o.backing.granule = granule, o.with_states = less % 8 == 0;
            });
            EXPECT_TRUE(status == EGB_LIMIT || (sizeof(void*) == 4 && less > 64)) << less;
        }
    }
#if SIZE_MAX > UINT32_MAX
    const auto of = [](uint64_t bytes) {
        return init_with([=](options o) { o.block_bytes = std::size_t(bytes); });
    };
    EXPECT_EQ(of(EGB_FIXED_BYTES_MAX), EGB_LIMIT);
    EXPECT_EQ(of(EGB_FIXED_BYTES_MAX - 4), EGB_LIMIT);
    EXPECT_EQ(of(EGB_FIXED_BYTES_MAX - 8), EGB_OK);
#endif
}

TEST(growing_alloc, hands_out_every_block_once_and_takes_recycled_ones_first)
{
    counting_backing backing;
    growing_pool     all(backing, small_chunks(24));
    auto             blocks = take(all, 300);
    while (blocks.size() < egb_growing_capacity(&all.pool)) {
        blocks.push_back(all.alloc());
    }
    EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), blocks.size());
    EXPECT_GT(backing.ranges(), 3u);
    for (void* const block : blocks) {
        EXPECT_TRUE(backing.contains(block, 24));
        std::memset(block, 0xFF, 24);
    }
    EXPECT_EQ(egb_growing_in_use(&all.pool), blocks.size());
    EXPECT_TRUE(all.whole());
    all.free(blocks[7]);
    all.free(blocks[290]);
    EXPECT_EQ(all.alloc(), blocks[290]) << "of the chunk that was freed to last";
    EXPECT_EQ(all.alloc(), blocks[7]);
    give(all, blocks);
    const auto requests = backing.requests;
    take(all, blocks.size());
    EXPECT_EQ(backing.requests, requests);
    EXPECT_TRUE(all.whole());
}

TEST(growing_alloc, chunks_double_up_to_the_bound)
{
    counting_backing backing(64);
    growing_pool     all(backing, small_chunks(32));
    take(all, 500);
    const std::vector<std::size_t> first = {512, 1024, 2048, 2048};
    ASSERT_GT(backing.wanted.size(), first.size());
    EXPECT_TRUE(std::equal(first.begin(), first.end(), backing.wanted.begin()));
    EXPECT_EQ(backing.leasts[0], backing.leasts[3]);
    EXPECT_LE(backing.leasts[0], 32u + 224u) << "one block and the header";
}

TEST(growing_alloc, the_sizes_that_are_not_asked_for)
{
    const auto sizes = [](std::size_t block_bytes, std::size_t first, std::size_t largest) {
        counting_backing    backing(4096);
        egb_growing_options wanted{};
        wanted.block_bytes     = block_bytes;
        wanted.chunk_bytes     = first;
        wanted.chunk_bytes_max = largest;
        growing_pool all(backing, wanted);
        while (backing.requests < 9) {
            if (all.alloc() == nullptr) {
                ADD_FAILURE();
                break;
            }
        }
        return backing.wanted;
    };
    const auto usual = sizes(65528, 0, 0);  // larger than 64 KiB with its header
    EXPECT_EQ(usual[0], std::size_t(17) << 12);
    EXPECT_EQ(usual[1], std::size_t(34) << 12);
    EXPECT_EQ(usual[8], std::size_t(4) << 20);
    EXPECT_EQ(sizes(16384, 0, 0)[0], std::size_t(64) << 10);
    EXPECT_EQ(sizes(32768, std::size_t(8) << 20, 0)[0], std::size_t(8) << 20);
    EXPECT_EQ(sizes(4096, std::size_t(8) << 20, 10000)[0], 12288u) << "rounded up to the granule";
    EXPECT_EQ(sizes(40960, 1, 1)[8], 45056u) << "one block always fits";
}

TEST(growing_alloc, keeps_the_alignment)
{
    for (std::size_t align = 1; align <= 4096; align *= 2) {
        for (const std::size_t granule : {std::size_t(0), std::size_t(4), align, 2 * align}) {
            if (granule != 0 && (granule < align || granule < 4)) {
                continue;
            }
            counting_backing backing(granule);
            backing.misalign   = granule == 0 ? 13 : 0;
            auto wanted        = small_chunks(align < 4 ? 12 : 3 * align);
            wanted.block_align = align;
            growing_pool all(backing, wanted);
            for (void* const block : take(all, 40)) {
                EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % (align < 4 ? 4 : align), 0u);
                EXPECT_TRUE(backing.contains(block, wanted.block_bytes));
                std::memset(block, 1, wanted.block_bytes);
            }
            EXPECT_TRUE(all.whole());
        }
    }
}

TEST(growing_alloc, no_more_than_max_blocks_in_use)
{
    for (std::size_t most = 1; most < 200; most++) {
        counting_backing backing;
        auto             wanted = small_chunks(16);
        wanted.max_blocks       = most;
        growing_pool all(backing, wanted);
        auto         blocks = take(all, most);
        EXPECT_EQ(all.alloc(), nullptr);
        EXPECT_EQ(egb_growing_in_use(&all.pool), most);
        EXPECT_LE(egb_growing_capacity(&all.pool), most + 64 / 16) << "no chunk for nobody";
        all.free(blocks[0]);
        EXPECT_EQ(all.alloc(), blocks[0]);
        EXPECT_EQ(all.alloc(), nullptr);
        EXPECT_TRUE(all.whole());
    }
}

TEST(growing_alloc, a_backing_may_give_less_or_more_than_the_wish)
{
    counting_backing backing(64);
    backing.cut_to = 256;
    growing_pool all(backing, small_chunks(16));
    take(all, 20);
    EXPECT_EQ(egb_growing_held(&all.pool), backing.bytes());
    EXPECT_EQ(backing.wanted.back(), 512u) << "no larger wish while the last was not fulfilled";
    EXPECT_TRUE(all.whole());
}

TEST(growing_alloc, pools_of_different_threads_are_independent)
{
    const auto work = [] {
        counting_backing backing;
        growing_pool     all(backing, small_chunks(32));
        for (int round = 0; round < 50; round++) {
            give(all, take(all, 100));
            egb_growing_trim(&all.pool, 0);
        }
        EXPECT_TRUE(all.whole());
    };
    std::thread one(work);
    std::thread two(work);
    one.join();
    two.join();
}

TEST(growing_reserve, then_that_many_allocs_ask_for_nothing)
{
    for (const std::size_t count : {0u, 1u, 2u, 13u, 14u, 500u}) {
        counting_backing backing;
        growing_pool     all(backing, small_chunks(32));
        take(all, 3);
        EXPECT_EQ(egb_growing_reserve(&all.pool, count), EGB_OK);
        EXPECT_TRUE(all.whole());
        const auto requests = backing.requests;
        EXPECT_EQ(egb_growing_reserve(&all.pool, count), EGB_OK);
        take(all, count);
        EXPECT_EQ(backing.requests, requests);
        EXPECT_EQ(egb_growing_in_use(&all.pool), count + 3);
    }
}

TEST(growing_reserve, refuses_what_cannot_be)
{
    egb_growing none{};
    EXPECT_EQ(egb_growing_reserve(&none, 0), EGB_INVALID);
    EXPECT_EQ(egb_growing_reserve(nullptr, 1), EGB_INVALID);
    counting_backing backing;
    auto             wanted = small_chunks(32);
    wanted.max_blocks       = 10;
    growing_pool all(backing, wanted);
    take(all, 4);
    EXPECT_EQ(egb_growing_reserve(&all.pool, 7), EGB_LIMIT);
    EXPECT_EQ(egb_growing_reserve(&all.pool, SIZE_MAX), EGB_LIMIT);
    EXPECT_EQ(egb_growing_reserve(&all.pool, 6), EGB_OK);
    growing_pool unlimited(backing, small_chunks(32));
    EXPECT_EQ(egb_growing_reserve(&unlimited.pool, SIZE_MAX), EGB_LIMIT);
    EXPECT_EQ(egb_growing_reserve(&unlimited.pool, SIZE_MAX / 32 + 1), EGB_LIMIT);
    EXPECT_EQ(unlimited.pool.chunks, 0u);
}

TEST(growing_trim, gives_wholly_free_chunks_back_and_nothing_else)
{
    counting_backing   backing;
    growing_pool       all(backing, small_chunks(32));
    const auto         blocks = take(all, 400);
    std::vector<void*> kept;
    for (std::size_t i = 0; i < blocks.size(); i++) {
        std::memset(blocks[i], int(i % 251), 32);
        if (i == 70 || i == 71 || i == 399) {
            kept.push_back(blocks[i]);
        } else {
            all.free(blocks[i]);
        }
    }
    EXPECT_GT(egb_growing_trim(&all.pool, 0), 0u);
    EXPECT_TRUE(all.whole());
    EXPECT_EQ(all.pool.chunks, 2u);
    EXPECT_EQ(egb_growing_held(&all.pool), backing.bytes());
    EXPECT_EQ(egb_growing_in_use(&all.pool), 3u);
    for (std::size_t i = 0; i < 32; i++) {
        EXPECT_EQ(static_cast<unsigned char*>(blocks[70])[i], 70);
        EXPECT_EQ(static_cast<unsigned char*>(blocks[399])[i], 399 % 251);
    }
    EXPECT_EQ(egb_growing_trim(&all.pool, 0), 0u);
    give(all, kept);
    EXPECT_GT(egb_growing_trim(&all.pool, 0), 0u);
    EXPECT_EQ(egb_growing_held(&all.pool), 0u);
    EXPECT_EQ(backing.ranges(), 0u);
    take(all, 10);
    EXPECT_EQ(egb_growing_peak(&all.pool), 400u);
}

TEST(growing_trim, keeps_at_least_so_many_bytes_and_the_chunks_used_last)
{
    for (std::size_t keep = 0; keep < 9000; keep += 100) {
        counting_backing backing;
        growing_pool     all(backing, small_chunks(32));
        const auto       blocks = take(all, 200);
        const auto       held   = egb_growing_held(&all.pool);
        give(all, blocks);
        const auto gone = egb_growing_trim(&all.pool, keep);
        EXPECT_EQ(held - gone, egb_growing_held(&all.pool));
        EXPECT_EQ(backing.bytes(), held - gone);
        if (held >= keep) {
            EXPECT_GE(egb_growing_held(&all.pool), keep);
        } else {
            EXPECT_EQ(gone, 0u);
        }
        if (keep == 100) {
            EXPECT_EQ(all.alloc(), blocks.back());
        }
        EXPECT_TRUE(all.whole());
    }
}

TEST(growing_trim, a_backing_that_takes_nothing_back_is_not_asked_to)
{
    counting_backing    backing;
    egb_growing         pool{};
    egb_growing_options wanted = small_chunks(32);
    wanted.backing             = backing.get();
    wanted.backing.give_back   = nullptr;
    ASSERT_EQ(egb_growing_init(&pool, &wanted), EGB_OK);
    egb_growing_free(&pool, egb_growing_alloc(&pool));
    EXPECT_EQ(egb_growing_trim(&pool, 0), 0u);
    backing.refuse_from = backing.requests + 3;
    EXPECT_EQ(egb_growing_reserve(&pool, 10000), EGB_NO_MEMORY);
    EXPECT_EQ(pool.chunks, 3u) << "kept, because they could not be given back";
    EXPECT_TRUE(egb_growing_whole(&pool));
    egb_growing_destroy(&pool);
    EXPECT_EQ(backing.ranges(), 3u);
    backing.forget();
}

TEST(growing_destroy, gives_all_back_and_leaves_zeros)
{
    counting_backing backing;
    growing_pool     all(backing, small_chunks(16));
    take(all, 1000);
    egb_growing_destroy(&all.pool);
    EXPECT_EQ(backing.ranges(), 0u);
    const egb_growing zeros{};
    EXPECT_EQ(std::memcmp(&all.pool, &zeros, sizeof zeros), 0);
    egb_growing_destroy(&all.pool);
    egb_growing_destroy(nullptr);
}

TEST(growing_each, visits_every_block_in_use_in_order_of_address)
{
    for (const std::size_t block_bytes : {4u, 8u, 40u}) {
        counting_backing    backing;
        egb_growing_options wanted = small_chunks(block_bytes);
        wanted.chunk_bytes         = 3000 * block_bytes;  // more than the window in which it looks
        wanted.chunk_bytes_max     = wanted.chunk_bytes;
        growing_pool       all(backing, wanted);
        const auto         blocks = take(all, 7000);
        std::vector<void*> kept;
        for (std::size_t i = 0; i < blocks.size(); i++) {
            std::memset(blocks[i], i % 2 == 0 ? 0 : 0xFF, block_bytes);
            if (i % 3 == 0) {
                all.free(blocks[i]);
            } else {
                kept.push_back(blocks[i]);
            }
        }
        EXPECT_EQ(visited(all.pool), sorted(kept));
        // Now one that looks free, so that marks do not tell.
        uint32_t looks_free[2] = {EGB_FIXED_MARK_, EGB_FIXED_MARK_};
        std::memcpy(kept[5], looks_free, block_bytes < 8 ? 4 : 8);
        EXPECT_EQ(visited(all.pool), sorted(kept));
        EXPECT_TRUE(all.whole());
    }
    egb_growing none{};
    EXPECT_TRUE(visited(none).empty());
    egb_growing_each(nullptr, collect, nullptr);
}

TEST(growing_each, four_byte_blocks_have_no_mark_whatever_they_hold)
{
    counting_backing backing;
    growing_pool     all(backing, small_chunks(4));
    auto             blocks = take(all, 20);
    const uint32_t   mark   = EGB_FIXED_MARK_;
    std::memcpy(blocks[9], &mark, 4);
    all.free(blocks[3]);
    blocks.erase(blocks.begin() + 3);
    EXPECT_EQ(visited(all.pool), sorted(blocks));
}

TEST(growing_each, may_write_to_the_blocks_that_it_visits)
{
    for (const bool with_states : {false, true}) {
        counting_backing    backing;
        egb_growing_options wanted = small_chunks(8);
        wanted.with_states         = with_states;
        growing_pool all(backing, wanted);
        auto         blocks = take(all, 500);
        for (const std::size_t i : {499u, 301u, 300u, 7u, 0u}) {
            all.free(blocks[i]);
            blocks.erase(blocks.begin() + std::ptrdiff_t(i));
        }
        std::vector<void*> seen;
        egb_growing_each(
            &all.pool,
            [](void* block, void* user) {
                const uint32_t looks_free[] = {EGB_FIXED_MARK_, EGB_FIXED_MARK_};
                std::memcpy(block, looks_free, sizeof looks_free);
                collect(block, user);
            },
            &seen
        );
        EXPECT_EQ(seen, sorted(blocks));
        EXPECT_TRUE(all.whole());
    }
}

TEST(growing_owns, says_yes_to_starts_of_blocks_and_no_to_all_else)
{
    counting_backing backing(0);
    backing.misalign   = 3;
    auto wanted        = small_chunks(24);
    wanted.with_states = true;
    growing_pool all(backing, wanted);
    const auto   blocks = take(all, 100);
    all.free(blocks[50]);
    for (void* const block : blocks) {
        const auto start = static_cast<char*>(block);
        EXPECT_TRUE(egb_growing_owns(&all.pool, block));
        for (int i = 1; i < 24; i++) {
            EXPECT_FALSE(egb_growing_owns(&all.pool, start + i));
        }
    }
    EXPECT_FALSE(egb_growing_owns(&all.pool, nullptr));
    EXPECT_FALSE(egb_growing_owns(&all.pool, &all));
    EXPECT_FALSE(egb_growing_owns(&all.pool, reinterpret_cast<void*>(uintptr_t{64})));
    EXPECT_FALSE(egb_growing_owns(&all.pool, reinterpret_cast<void*>(UINTPTR_MAX)));
    EXPECT_FALSE(egb_growing_owns(nullptr, blocks[0]));
    egb_growing none{};
    EXPECT_FALSE(egb_growing_owns(&none, blocks[0]));
}

TEST(growing_counts, are_zero_without_a_pool)
{
    egb_growing none{};
    for (const egb_growing* const pool :
         {static_cast<const egb_growing*>(nullptr), static_cast<const egb_growing*>(&none)}) {
        EXPECT_EQ(egb_growing_capacity(pool), 0u);
        EXPECT_EQ(egb_growing_in_use(pool), 0u);
        EXPECT_EQ(egb_growing_peak(pool), 0u);
        EXPECT_EQ(egb_growing_held(pool), 0u);
        EXPECT_FALSE(egb_growing_whole(pool));
    }
    EXPECT_EQ(egb_growing_trim(&none, 0), 0u);
    EXPECT_EQ(egb_growing_trim(nullptr, 0), 0u);
}
