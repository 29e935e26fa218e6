// SPDX-License-Identifier: MIT
// Blocks with a guard page: which requests get one, and that they are blocks as any other's. The
// faults at the page are tested in test_heap_guard_faults.cpp.
#include "eggbox/guard.h"
#include "environment.hpp"
#include "events.hpp"
#include "heaps.hpp"

#include <string>
#include <thread>
#include <utility>

namespace
{

constexpr std::size_t MiB         = std::size_t{1} << 20;
constexpr std::size_t samples_max = 1024;
constexpr std::size_t retired_max = 64;

// Every kind of size: in the table of the hot path, beyond the table, the largest of a class,
// large. Emulators of 32-bit machines scatter regions over all addresses, so that soon no 20 MiB
// are side by side.
constexpr std::size_t longest        = sizeof(void*) > 4 ? 3000000 : 300000;
constexpr std::size_t of_each_kind[] = {1, 15, 16, 40, 1000, 5000, 131072, 140000, 196608, longest};

bool is_guarded(const void* block, std::size_t bytes)
{
    return egb_block_bytes(block) == bytes && is_large(block);
}

void* filled(std::size_t bytes)
{
    void* const block = egb_malloc(bytes);
    EXPECT_NE(block, nullptr);
    fill(block, bytes, bytes);
    return block;
}

std::uint64_t guarded_by(std::size_t requests)
{
    const std::uint64_t before = heap_numbers().guarded_allocations;
    std::vector<void*>  blocks;
    for (std::size_t i = 0; i < requests; i++) {
        blocks.push_back(egb_malloc(16 + i % 600));
        if (blocks.size() == 5000) {
            for (void* const block : blocks) {
                egb_free(block);
            }
            blocks.clear();
            (void)egb_heap_trim(0);  // takes the blocks out of magazines
        }
    }
    for (void* const block : blocks) {
        egb_free(block);
    }
    return heap_numbers().guarded_allocations - before;
}

}  // namespace

// ---- which --------------------------------------------------------------------------------------

TEST(heap_guarded, none_unless_it_is_said)
{
    const all_given_back check;
    EXPECT_EQ(guarded_by(20000), 0u);
    egb_free(egb_malloc(MiB));
    EXPECT_EQ(heap_numbers().guarded_allocations, 0u);
}

TEST(heap_guarded, large_ones_alone)
{
    const all_given_back check;
    const guard_pages    pages("large");
    const auto           before = heap_numbers();
    void* const          large  = filled(200000);
    void* const          small  = filled(100);
    EXPECT_TRUE(is_guarded(large, 200000));
    EXPECT_FALSE(is_large(small));
    const auto during = heap_numbers();
    EXPECT_EQ(during.guarded_allocations, before.guarded_allocations + 1);
    EXPECT_EQ(during.guarded_in_use, before.guarded_in_use + 1);
    EXPECT_EQ(during.guarded_samples, 0u);
    EXPECT_EQ(during.large_in_use, before.large_in_use + 1);
    egb_free(large);
    egb_free(small);
    EXPECT_EQ(heap_numbers().guarded_in_use, before.guarded_in_use);
    EXPECT_EQ(heap_numbers().quarantined, 1u);
}

TEST(heap_guarded, samples_are_as_many_as_was_asked_for)
{
    const all_given_back check;
    for (const std::size_t every : sizes{50, 200, 1000}) {
        const guard_pages   pages(("1/" + std::to_string(every)).c_str());
        const std::size_t   requests = 400000;
        const std::uint64_t got      = guarded_by(requests);
        EXPECT_GT(got * every, requests / 2) << every;
        EXPECT_LT(got * every, requests * 2) << every;
    }
}

TEST(heap_guarded, where_requests_are_measured_each_counts)
{
    const all_given_back check;
    const guard_pages    pages("1/100");
    egb_heap_measure(true);
    const std::uint64_t before = heap_numbers().guarded_allocations;
    for (int i = 0; i < 100000; i++) {
        egb_free(egb_malloc(64));
    }
    const std::uint64_t got = heap_numbers().guarded_allocations - before;
    egb_heap_measure(false);
    EXPECT_GT(got, 700u);
    EXPECT_LT(got, 1400u);
}

TEST(heap_guarded, who_lives_out_of_its_magazine_is_not_sampled)
{
    if (!has_magazines()) {
        GTEST_SKIP() << "there are no magazines here";
    }
    const all_given_back check;
    egb_free(egb_malloc(64));
    const guard_pages   pages("1/1000");
    const std::uint64_t before = heap_numbers().guarded_allocations;
    for (int i = 0; i < 1000000; i++) {
        egb_free(egb_malloc(64));
    }
    EXPECT_LE(heap_numbers().guarded_allocations - before, 1u);
}

TEST(heap_guarded, no_more_at_one_time_than_may_be)
{
    const all_given_back check;
    const guard_pages    pages("1/1");
    std::vector<void*>   blocks;
    for (std::size_t i = 0; i < samples_max + 2000; i++) {
        blocks.push_back(filled(16 + i % 100));
    }
    EXPECT_EQ(heap_numbers().guarded_samples, samples_max);
    for (std::size_t i = 0; i < blocks.size(); i++) {
        EXPECT_TRUE(is_filled(blocks[i], 16 + i % 100, 16 + i % 100));
        egb_free(blocks[i]);
    }
    EXPECT_EQ(heap_numbers().guarded_samples, 0u);
    EXPECT_EQ(heap_numbers().quarantined, retired_max);
    std::size_t again = 0;
    for (void*& block : blocks) {
        block = egb_malloc(32);
        again += is_large(block) ? 1U : 0U;
    }
    for (void* const block : blocks) {
        egb_free(block);
    }
    EXPECT_GT(again, samples_max / 2) << "they come again when there are fewer";
    (void)egb_heap_trim(0);
    EXPECT_EQ(heap_numbers().quarantined, 0u);
    EXPECT_EQ(heap_numbers().cached_bytes, 0u);
}

TEST(heap_guarded, a_long_run_keeps_a_bounded_part_of_the_address_space)
{
    const all_given_back check;
    const guard_pages    pages("large,1/1");
    for (int i = 0; i < 300; i++) {
        egb_free(egb_malloc(24));
        egb_free(egb_malloc(static_cast<std::size_t>(i) * 100000));
        EXPECT_LE(heap_numbers().quarantined, retired_max);
    }
    if (sizeof(void*) > 4) {  // with fewer addresses a long one has the quarantine for itself
        EXPECT_EQ(heap_numbers().quarantined, retired_max);
    }
}

// ---- the setting --------------------------------------------------------------------------------

TEST(heap_guarded, what_is_none_of_the_words_is_invalid_and_changes_nothing)
{
    const guard_pages pages("large");
    for (const char* const wrong :
         {"larg",
          "large1",
          "1/",
          "1/0",
          "1/x",
          "2/100",
          "1/100x",
          "1/1000000000",
          "a:large",
          "large,1",
          "1/99999999999999999999"}) {
        EXPECT_EQ(egb_heap_guard_pages(wrong), EGB_INVALID) << wrong;
    }
    void* const block = filled(150000);
    EXPECT_TRUE(is_guarded(block, 150000));
    egb_free(block);
    EXPECT_EQ(egb_heap_guard_pages("1/999999999,large"), EGB_OK);
    EXPECT_EQ(egb_heap_guard_pages(""), EGB_OK);
    void* const plain = filled(150000);
    EXPECT_FALSE(is_guarded(plain, 150000));
    egb_free(plain);
}

TEST(heap_guarded, the_environment_says_the_same)
{
    egb_free(egb_malloc(1));
    (void)egb_heap_trim(0);
    set_variable("EGGBOX_GUARD_PAGES", "large,1/1");
    void* const blocks[] = {filled(150000), filled(50)};
    set_variable("EGGBOX_GUARD_PAGES", nullptr);
    void* const plain = filled(150000);
    EXPECT_TRUE(is_guarded(blocks[0], 150000));
    EXPECT_TRUE(is_guarded(blocks[1], 50));
    EXPECT_FALSE(is_guarded(plain, 150000));
    for (void* const block : {blocks[0], blocks[1], plain}) {
        egb_free(block);
    }
    testing::internal::CaptureStderr();
    set_variable("EGGBOX_GUARD_PAGES", "lrage,large");
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(said.find("eggbox: EGGBOX_GUARD_PAGES has an entry"), 0u) << said;
    void* const large = filled(150000);
    EXPECT_TRUE(is_guarded(large, 150000)) << "the other entry counts";
    egb_free(large);
    set_variable("EGGBOX_GUARD_PAGES", nullptr);
}

#if !defined(_WIN32)  // there "passthrough" is not supported
TEST(heap_guarded, there_are_none_at_level_passthrough)
{
    egb_free(egb_malloc(1));
    set_variable("EGGBOX_CHECK", "passthrough");
    EXPECT_EQ(egb_heap_guard_pages("large"), EGB_UNSUPPORTED);
    set_variable("EGGBOX_CHECK", nullptr);
    EXPECT_EQ(egb_heap_guard_pages("large"), EGB_OK);
    EXPECT_EQ(egb_heap_guard_pages(nullptr), EGB_OK);
}
#endif

TEST(heap_guarded, other_levels_have_them_too)
{
    for (const char* const level : {"off", "guard", "track"}) {
        (void)egb_pool_destroy(egb_heap_pool(), EGB_DESTROY_FORCE);
        set_variable("EGGBOX_CHECK", level);
        const guard_pages pages("large,1/1");
        for (const std::size_t bytes : of_each_kind) {
            void* const block = filled(bytes);
            EXPECT_TRUE(is_guarded(block, bytes)) << bytes << " at " << level;
            egb_free(block);
        }
    }
    (void)egb_pool_destroy(egb_heap_pool(), EGB_DESTROY_FORCE);
    set_variable("EGGBOX_CHECK", nullptr);
    egb_free(egb_malloc(1));
}

// The level of the pool "heap" is that of large blocks.
TEST(heap_guarded, at_levels_guard_and_track_large_blocks_have_them_unasked)
{
    const std::pair<const char*, bool> levels[] = {
        {"guard", true},
        {"track", true},
        {"heap:guard", true},
        {"heap:check,guard", false},
        {"heap ?*:guard", false},
        {"check", false},
        {"off", false},
    };
    for (const auto& [level, has] : levels) {
        (void)egb_pool_destroy(egb_heap_pool(), EGB_DESTROY_FORCE);
        set_variable("EGGBOX_CHECK", level);
        void* const large = filled(200000);
        void* const small = filled(100);
        EXPECT_EQ(is_guarded(large, 200000), has) << level;
        EXPECT_FALSE(is_large(small)) << level;
        {
            const guard_pages samples("1/1");
            void* const       other = filled(200000);
            EXPECT_EQ(is_guarded(other, 200000), has)
                << level << ": another setting takes nothing away";
            egb_free(other);
        }
        egb_free(large);
        egb_free(small);
    }
    (void)egb_pool_destroy(egb_heap_pool(), EGB_DESTROY_FORCE);
    set_variable("EGGBOX_CHECK", nullptr);
    egb_free(egb_malloc(1));
}

// ---- they are blocks as any ---------------------------------------------------------------------

TEST(heap_guarded, a_block_has_what_was_asked_for_and_ends_at_its_page)
{
    const events         unexpected;
    const all_given_back check;
    const guard_pages    pages("large,1/1");
    for (const std::size_t bytes : of_each_kind) {
        auto* const       block = static_cast<char*>(filled(bytes));
        const std::size_t end   = reinterpret_cast<std::uintptr_t>(block) + (bytes + 15) / 16 * 16;
        EXPECT_TRUE(is_aligned(block, 16));
        EXPECT_EQ(end % 4096, 0u) << bytes;
        EXPECT_TRUE(egb_pool_of(block) == egb_pool{});
        EXPECT_EQ(egb_block_check(block), EGB_OK);
        for (const std::size_t offset : sizes{0, bytes / 2, bytes - 1}) {
            EXPECT_EQ(egb_block_bytes(block + offset), bytes);
        }
        EXPECT_EQ(egb_block_bytes(block + bytes), 0u);
        EXPECT_EQ(egb_block_bytes(block - 1), 0u);
        egb_free(block);
        EXPECT_EQ(egb_block_bytes(block), 0u);
    }
    void* const none  = egb_malloc(0);
    void* const other = egb_malloc(0);
    EXPECT_NE(none, other);
    EXPECT_NE(none, nullptr);
    egb_free(none);
    egb_free(other);
}

TEST(heap_guarded, aligned_and_zeroed)
{
    const events         unexpected;
    const all_given_back check;
    const guard_pages    pages("large,1/1");
    for (std::size_t align = 1; align <= MiB; align *= 2) {
        for (const std::size_t bytes : of_each_kind) {
            void* const block = egb_aligned_alloc(align, bytes);
            ASSERT_NE(block, nullptr);
            EXPECT_TRUE(is_aligned(block, align));
            EXPECT_TRUE(is_guarded(block, bytes)) << bytes << " at " << align;
            fill(block, bytes, align);
            egb_free_aligned_sized_(block, align, bytes);
        }
    }
    for (const std::size_t bytes : of_each_kind) {
        egb_free(filled(bytes));
        void* const block = egb_calloc(1, bytes);
        EXPECT_TRUE(is_zero(block, bytes));
        EXPECT_TRUE(is_guarded(block, bytes));
        egb_free_sized_(block, bytes);
    }
}

TEST(heap_guarded, realloc_keeps_what_fits_in_both)
{
    const events         unexpected;
    const all_given_back check;
    const guard_pages    pages("large,1/1");
    for (const std::size_t from : of_each_kind) {
        for (const std::size_t to : of_each_kind) {
            void* const block   = filled(from);
            void* const changed = egb_realloc(block, to);
            EXPECT_TRUE(is_guarded(changed, to)) << from << " to " << to;
            EXPECT_TRUE(is_filled(changed, from < to ? from : to, from));
            EXPECT_EQ(changed == block, (from + 15) / 16 == (to + 15) / 16) << from << " to " << to;
            fill(changed, to, to);
            egb_free(changed);
        }
    }
}

TEST(heap_guarded, to_and_from_blocks_without_a_page)
{
    const events         unexpected;
    const all_given_back check;
    for (const std::size_t from : of_each_kind) {
        void* const plain = filled(from);
        ASSERT_EQ(egb_heap_guard_pages("large,1/1"), EGB_OK);
        void* const guarded = egb_realloc(plain, 3 * from + 100);
        EXPECT_TRUE(is_filled(guarded, from, from));
        ASSERT_EQ(egb_heap_guard_pages(nullptr), EGB_OK);
        void* const again = egb_realloc(guarded, 7 * from + 1000);
        EXPECT_TRUE(is_filled(again, from, from));
        egb_free(again);
    }
}

TEST(heap_guarded, the_wrong_size_of_a_delete_is_known_exactly)
{
    events               seen;
    const all_given_back check;
    const guard_pages    pages("large,1/1");
    for (const std::size_t bytes : of_each_kind) {
        egb_free_sized_(filled(bytes), bytes + 1);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_WRONG_SIZE) << bytes;
        EXPECT_EQ(seen.history().bytes, bytes);
    }
    EXPECT_TRUE(seen.none());
}

// ---- damage that the page does not stop  --------------------------------------------------------

TEST(heap_guarded, a_write_between_the_block_and_the_page_is_found_by_the_free)
{
    events               seen;
    const all_given_back check;
    const guard_pages    pages("large,1/1");
    for (const std::size_t bytes : sizes{1, 15, 40, 1000, 40001}) {
        for (const std::size_t behind : sizes{0, (16 - bytes % 16) % 16 - 1}) {
            auto* const block     = static_cast<char*>(filled(bytes));
            block[bytes + behind] = 0;
            egb_free(block);
            const egb_misuse_event event = seen.take();
            EXPECT_EQ(event.kind, EGB_MISUSE_OVERRUN) << bytes;
            EXPECT_EQ(event.address, block);
            EXPECT_EQ(seen.history().bytes, bytes);
            EXPECT_EQ(seen.history().damaged, static_cast<std::ptrdiff_t>(bytes + behind));
            EXPECT_NE(seen.history().alloc_site, nullptr);
        }
    }
}

TEST(heap_guarded, a_write_before_the_block_is_found_by_the_free)
{
    events               seen;
    const all_given_back check;
    const guard_pages    pages("large,1/1");
    for (const std::ptrdiff_t before : {1, 8, 128}) {
        auto* const block = static_cast<char*>(filled(40));
        *(block - before) = 0;
        egb_free(block);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_UNDERRUN) << before;
        EXPECT_EQ(seen.history().damaged, -before);
    }
}

TEST(heap_guarded, a_look_finds_what_a_free_would)
{
    events               seen;
    const all_given_back check;
    const guard_pages    pages("large,1/1");
    auto* const          small = static_cast<char*>(filled(40));
    auto* const          large = static_cast<char*>(filled(40001));
    EXPECT_EQ(egb_process_check(), 0u);
    EXPECT_EQ(egb_block_check(small), EGB_OK);
    EXPECT_EQ(egb_block_check(small + 1), EGB_INVALID);
    EXPECT_EQ(seen.count(), 0u);

    const char kept = small[41];
    small[41]       = 0;
    EXPECT_EQ(egb_block_check(small), EGB_CORRUPT);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_OVERRUN);
    EXPECT_EQ(egb_block_check(large), EGB_OK);
    EXPECT_EQ(egb_process_check(), 1u);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_OVERRUN);

    const char before = *(large - 1);
    *(large - 1)      = 0;
    EXPECT_EQ(egb_process_check(), 2u);
    EXPECT_EQ(seen.take_kind() == EGB_MISUSE_OVERRUN, seen.history().damaged > 0);

    small[41]    = kept;
    *(large - 1) = before;
    EXPECT_EQ(egb_process_check(), 0u);
    egb_free(small);
    EXPECT_EQ(egb_block_check(small), EGB_INVALID);
    egb_free(large);
}

TEST(heap_guarded, realloc_of_a_damaged_block_says_so)
{
    events               seen;
    const all_given_back check;
    const guard_pages    pages("1/1");
    auto*                block = static_cast<char*>(filled(40));
    block[41]                  = 0;
    char* const moved          = static_cast<char*>(egb_realloc(block, 44));
    EXPECT_NE(moved, block);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_OVERRUN);
    EXPECT_TRUE(is_filled(moved, 40, 40));
    egb_free(moved);
}

TEST(heap_guarded, wrong_frees_are_what_they_are_elsewhere)
{
    events               seen;
    const all_given_back check;
    const guard_pages    pages("large,1/1");
    for (const std::size_t bytes : of_each_kind) {
        auto* const block = static_cast<char*>(filled(bytes));
        egb_free(block + 1);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_INTERIOR);
        EXPECT_EQ(seen.history().bytes, bytes);
        EXPECT_EQ(egb_realloc(block - 1, 10), nullptr);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_INTERIOR);
        egb_free(block);
        EXPECT_TRUE(seen.none());
        egb_free(block);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
        EXPECT_NE(seen.history().free_site, nullptr);
        EXPECT_EQ(egb_realloc(block, 10), nullptr);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
        egb_free(block + 1);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_INTERIOR);
        (void)egb_heap_trim(0);
        egb_free(block);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
    }
}

// ---- sealed, threads ----------------------------------------------------------------------------

TEST(heap_guarded, sealed_what_a_block_had_serves_the_next)
{
    const events unexpected;
    void*        block = nullptr;
    {
        const guard_pages pages("large,1/1");
        block = filled(10 * MiB);
        (void)egb_heap_trim(0);
        egb_seal();
        egb_free(block);
        block = egb_malloc(10 * MiB);
        EXPECT_NE(block, nullptr);
        fill(block, 10 * MiB, 1);
    }
    egb_unseal();
    egb_free(block);
}

TEST(heap_guarded, any_thread_frees_what_another_took)
{
    const events         unexpected;
    const all_given_back check;
    {
        const guard_pages        pages("large,1/3");
        constexpr std::size_t    threads = 4;
        std::vector<std::thread> all;
        for (std::size_t self = 0; self < threads; self++) {
            all.emplace_back([self] {
                std::vector<std::pair<void*, std::size_t>> blocks;
                for (std::size_t i = 0; i < 3000; i++) {
                    const std::size_t bytes = i % 50 == 0 ? 140000 + i : 8 + (i * 7 + self) % 2000;
                    void* const       block = filled(bytes);
                    blocks.emplace_back(egb_realloc(block, bytes + 3), bytes);
                    if (blocks.size() == 100) {
                        std::thread([&blocks] {
                            for (const auto& one : blocks) {
                                EXPECT_TRUE(is_filled(one.first, one.second, one.second));
                                egb_free(one.first);
                            }
                        }).join();
                        blocks.clear();
                    }
                }
            });
        }
        for (std::thread& one : all) {
            one.join();
        }
    }
    EXPECT_EQ(heap_numbers().guarded_in_use, 0u);
}

TEST(heap_guarded, what_is_more_than_quarantine_may_have_does_not_wait_there)
{
    const events          unexpected;
    const guard_pages     pages("large");
    constexpr std::size_t most  = sizeof(void*) > 4 ? 1024 * MiB : 16 * MiB;
    void* const           block = egb_malloc(most + 1);
    if (block == nullptr) {
        GTEST_SKIP() << "there are no such addresses";
    }
    egb_free(block);
    EXPECT_EQ(heap_numbers().quarantined, 0u);
}
