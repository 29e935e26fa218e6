// SPDX-License-Identifier: MIT
// Levels "guard" and "track": writes outside of blocks, and writes to free blocks.
#include "eggbox/guard.h"
#include "eggbox/heap.h"
#include "environment.hpp"
#include "events.hpp"
#include "guarded.hpp"
#include "levels.hpp"

extern "C" {
#include "pool/registry.h"
}

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#if defined(__linux__)
  #include <sys/syscall.h>
  #include <unistd.h>
#endif

namespace
{

const char* const LEVELS[] = {"guard", "track"};

}  // namespace

TEST(guard, a_correct_program_notices_nothing)
{
    events unexpected;
    for (const char* level : LEVELS) {
        for (const std::size_t bytes : {1u, 3u, 4u, 7u, 16u, 63u, 64u, 100u, 4095u, 70000u}) {
            const guarded               all(bytes, level);
            std::vector<unsigned char*> blocks;
            for (int round = 0; round < 3; round++) {
                for (int i = 0; i < 300; i++) {
                    blocks.push_back(all.take());
                    ASSERT_NE(blocks.back(), nullptr);
                    std::memset(blocks.back(), i, bytes);
                }
                EXPECT_EQ(egb_pool_check(all.pool), 0u);
                EXPECT_EQ(all.stats().in_use, 300u);
                for (int i = 0; i < 300; i++) {
                    const auto at = static_cast<std::size_t>(i);
                    EXPECT_EQ(blocks[at][0], static_cast<unsigned char>(i));
                    EXPECT_EQ(blocks[at][bytes - 1], static_cast<unsigned char>(i));
                    EXPECT_EQ(egb_block_check(blocks[at]), EGB_OK);
                    all.give(blocks[at]);
                }
                blocks.clear();
                EXPECT_EQ(egb_pool_check(all.pool), 0u);
                EXPECT_EQ(all.stats().in_use, 0u);
                EXPECT_EQ(all.stats().peak, 300u);
            }
            EXPECT_EQ(egb_process_check(), 0u);
        }
    }
}

// exit() in a signal handler: the interrupted call may have any lock, and never goes on.
TEST(guard, the_check_at_the_end_waits_for_no_lock)
{
    events seen;
    for (const char* level : LEVELS) {
        const guarded        all(40, level);
        unsigned char* const block = all.take();
        block[40] ^= 1;
        egb_control* const locked = egb_pool_lock_(all.pool);
        EXPECT_EQ(egb_process_check_at_end_(), 0u);
        egb_pool_unlock_(locked);
        EXPECT_TRUE(seen.none());
        EXPECT_EQ(egb_process_check_at_end_(), 1u);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_OVERRUN);
        block[40] ^= 1;
        all.give(block);
    }
}

TEST(guard, every_byte_behind_a_block_is_guarded)
{
    events seen;
    for (const char* level : LEVELS) {
        for (const std::size_t bytes : {1u, 5u, 40u, 64u, 1000u}) {
            const guarded all(bytes, level);
            for (std::size_t behind = 0; behind < 16; behind++) {
                unsigned char* const block = all.take();
                block[bytes + behind] ^= 1;
                EXPECT_EQ(egb_block_check(block), EGB_CORRUPT);
                EXPECT_EQ(seen.take_kind(), EGB_MISUSE_OVERRUN);
                EXPECT_EQ(egb_pool_check(all.pool), 1u);
                EXPECT_EQ(seen.take_kind(), EGB_MISUSE_OVERRUN);
                all.give(block);
                EXPECT_EQ(seen.history().bytes, bytes);
                EXPECT_EQ(seen.history().damaged, static_cast<std::ptrdiff_t>(bytes + behind));
                const egb_misuse_event event = seen.take();
                EXPECT_EQ(event.kind, EGB_MISUSE_OVERRUN);
                EXPECT_EQ(event.address, block);
                EXPECT_EQ(seen.pool_name(), "guarded");
                EXPECT_EQ(all.stats().in_use, 0u);
            }
        }
    }
}

TEST(guard, a_zero_behind_a_string_is_noticed)
{
    events seen;
    for (int i = 0; i < 100; i++) {
        const guarded        all(static_cast<std::size_t>(20 + i));
        unsigned char* const block = all.take();
        block[20 + i]              = 0;
        all.give(block);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_OVERRUN);
    }
}

// Front, record and up to 128 bytes of what the alignment leaves; the block before is not reached.
// With 32 bits the record has four bytes behind its pointers that are nothing.
TEST(guard, every_byte_before_a_block_is_guarded)
{
    constexpr std::ptrdiff_t front    = std::ptrdiff_t{EGB_POOL_FRONT_BYTES_};
    constexpr std::ptrdiff_t record   = std::ptrdiff_t{EGB_POOL_RECORD_BYTES_};
    constexpr std::ptrdiff_t pointers = 3 * sizeof(void*);
    events                   seen;
    for (const char* level : LEVELS) {
        const bool           has_record = level == std::string("track");
        const std::ptrdiff_t head       = has_record ? front + record : front;
        for (const std::ptrdiff_t align : {8, 32, 64, 4096}) {
            const std::ptrdiff_t lead = (head + align - 1) / align * align;
            const guarded        all(48, level, 0, static_cast<std::size_t>(align));
            for (std::ptrdiff_t before = 1; before <= std::min(lead, head + 128); before++) {
                if (sizeof(void*) == 4 && before > front && before <= head - pointers) {
                    continue;
                }
                unsigned char* const block = all.take();
                block[-before] ^= 1;
                EXPECT_EQ(egb_block_check(block), EGB_CORRUPT);
                EXPECT_EQ(seen.take_kind(), EGB_MISUSE_UNDERRUN);
                all.give(block);
                EXPECT_EQ(seen.take_kind(), EGB_MISUSE_UNDERRUN) << before << " of " << align;
            }
        }
    }
}

TEST(guard, a_write_to_a_free_block_is_noticed_when_it_is_looked_at_or_handed_out)
{
    events seen;
    for (const char* level : LEVELS) {
        for (const std::size_t place : {8u, 20u, 47u}) {
            const guarded        all(48, level, 1);  // handed out at once
            unsigned char* const block = all.take();
            all.give(block);
            block[place] = 1;
            EXPECT_EQ(egb_pool_check(all.pool), 1u);
            EXPECT_EQ(seen.history().damaged, static_cast<std::ptrdiff_t>(place));
            EXPECT_EQ(seen.take_kind(), EGB_MISUSE_OVERWRITTEN);
            unsigned char* const again = all.take();
            EXPECT_EQ(again, block);
            EXPECT_GE(seen.count(), 1u);
            EXPECT_EQ(seen.take_all(), EGB_MISUSE_OVERWRITTEN);
        }
    }
}

TEST(guard, a_write_to_the_first_bytes_is_noticed_on_the_way_out_of_quarantine)
{
    events               seen;
    const guarded        all(48);
    unsigned char* const block = all.take();
    all.give(block);
    block[0] = 1;
    for (int i = 0; i < 300 && seen.none(); i++) {
        all.give(all.take());
    }
    EXPECT_EQ(seen.history().damaged, 0);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_OVERWRITTEN);
}

// Beyond quarantine, too: the first 8 bytes of small blocks have marks then, large ones the fill.
TEST(guard, a_write_to_a_block_that_has_been_free_for_long_is_noticed)
{
    for (const std::size_t bytes : {48u, 2000u, 3500u}) {
        for (const std::size_t place : {0u, 4u, 8u, 47u}) {
            events                      seen;
            const guarded               all(bytes);
            std::vector<unsigned char*> blocks(600);
            for (unsigned char*& block : blocks) {
                block = all.take();
            }
            for (unsigned char* const block : blocks) {
                all.give(block);
            }
            EXPECT_TRUE(seen.none());
            blocks[0][place] = 1;
            for (int i = 0; i < 3000 && seen.none(); i++) {  // fresh blocks may come first
                (void)all.take();
            }
            EXPECT_EQ(seen.take_all(), EGB_MISUSE_OVERWRITTEN) << bytes << " bytes, at " << place;
        }
    }
}

TEST(guard, quarantine_takes_no_block_from_a_limited_pool)
{
    events unexpected;
    for (const char* level : LEVELS) {
        const guarded all(64, level, 5);
        for (int round = 0; round < 10; round++) {
            std::vector<void*> blocks;
            for (int i = 0; i < 5; i++) {
                blocks.push_back(all.take());
                EXPECT_NE(blocks.back(), nullptr);
            }
            if (std::string(level) == "guard") {
                EXPECT_EQ(all.take(), nullptr);
            }
            for (void* const block : blocks) {
                all.give(block);
            }
        }
    }
}

TEST(guard, frees_that_are_wrong_are_refused_as_at_check)
{
    events seen;
    for (const char* level : LEVELS) {
        const guarded        all(64, level);
        const guarded        other(64, level);
        unsigned char* const block = all.take();
        all.give(block + 16);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_INTERIOR);
        all.give(block - 16);
        EXPECT_NE(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
        other.give(block);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_WRONG_POOL);
        all.give(&seen);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
        all.give(block + all.stats().stride_bytes);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_NEVER_ALLOCATED);
        egb_free(block);
        egb_free(block);
        EXPECT_EQ(seen.history().bytes, 64u);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
        EXPECT_EQ(all.stats().in_use, 0u);
    }
}

TEST(guard, blocks_are_aligned_as_asked_for)
{
    events unexpected;
    for (const char* level : LEVELS) {
        for (std::size_t align = 1; align <= 4096; align *= 2) {
            egb_pool_options options = {};
            options.block_bytes      = 24;
            options.block_align      = align;
            options.level            = level_named(level);
            egb_pool pool            = {};
            ASSERT_EQ(egb_pool_create(&pool, &options), EGB_OK);
            for (int i = 0; i < 40; i++) {
                void* const block = egb_pool_alloc(pool);
                EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % align, 0u);
                std::memset(block, 0xFF, 24);
            }
            EXPECT_EQ(egb_pool_check(pool), 0u);
            EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_FORCE), EGB_OK);
        }
    }
}

TEST(guard, a_pool_on_static_memory_has_guards_if_it_asks_for_them)
{
    alignas(16) static unsigned char memory[4096];
    egb_pool_options                 options = {};
    options.block_bytes                      = 32;
    options.memory                           = memory;
    options.memory_bytes                     = sizeof memory;
    options.level                            = EGB_LEVEL_GUARD;
    egb_pool pool                            = {};
    events   seen;
    ASSERT_EQ(egb_pool_create(&pool, &options), EGB_OK);
    auto* const block = static_cast<unsigned char*>(egb_pool_alloc(pool));
    block[32]         = 0;
    egb_free(block);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_OVERRUN);
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
}

TEST(guard, an_owned_cache_of_such_a_pool_goes_to_the_pool)
{
    events        seen;
    const guarded all(64);
    egb_magazine  cache = {};
    ASSERT_EQ(egb_magazine_open(&cache, all.pool), EGB_OK);
    auto* const block = static_cast<unsigned char*>(egb_magazine_alloc(&cache));
    block[64]         = 0;
    egb_magazine_free(&cache, block);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_OVERRUN);
    egb_magazine_close(&cache);
}

TEST(guard, below_that_level_nothing_is_looked_at)
{
    events        unexpected;
    const guarded all(64, "check");
    void* const   block = all.take();
    EXPECT_EQ(egb_block_check(block), EGB_OK);
    EXPECT_EQ(egb_pool_check(all.pool), 0u);
    EXPECT_EQ(egb_block_check(nullptr), EGB_INVALID);
    EXPECT_EQ(egb_block_check(&all), EGB_INVALID);
    EXPECT_EQ(egb_block_check(static_cast<char*>(block) + 1), EGB_INVALID);
    all.give(block);
    EXPECT_EQ(egb_block_check(block), EGB_INVALID);
    EXPECT_EQ(egb_pool_check({0, 0}), 0u);
    EXPECT_EQ(egb_pool_check({1, 77}), 0u);
}

// ---- track --------------------------------------------------------------------------------------

TEST(track, an_event_says_where_the_block_is_from)
{
    events               seen;
    const guarded        all(64, "track");
    const unsigned       line  = __LINE__ + 1;
    unsigned char* const block = static_cast<unsigned char*>(EGB_POOL_ALLOC(all.pool));
    block[64]                  = 0;
    all.give(block);
    EXPECT_STREQ(seen.history().alloc_file, __FILE__);
    EXPECT_EQ(seen.history().alloc_line, line);
    EXPECT_NE(seen.history().alloc_site, nullptr);
    EXPECT_EQ(seen.history().free_site, nullptr);
    EXPECT_EQ(seen.history().serial, 1u);
#if defined(__linux__)
    EXPECT_EQ(long(seen.history().alloc_thread), syscall(SYS_gettid));
#endif
    EXPECT_EQ(seen.history().level, EGB_LEVEL_TRACK);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_OVERRUN);
    all.give(block);
    EXPECT_NE(seen.history().free_site, nullptr);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
}

namespace
{

std::vector<egb_holder> holders_of(egb_pool root)
{
    std::vector<egb_holder> all;
    EXPECT_EQ(
        egb_holders_each(
            root,
            [](const egb_holder* holder, void* user) {
                static_cast<std::vector<egb_holder>*>(user)->push_back(*holder);
            },
            &all
        ),
        EGB_OK
    );
    return all;
}

}  // namespace

TEST(track, holders_come_by_bytes_and_are_exact)
{
    events             unexpected;
    const guarded      small(10, "track");
    const guarded      large(1000, "track");
    const guarded      plain(1000, "check");
    std::vector<void*> few;
    // An unrolled loop would be several calls, with a stack each.
    const volatile int seven = 7, three = 3;
    for (int i = 0; i < seven; i++) {
        few.push_back(EGB_POOL_ALLOC(small.pool));
    }
    for (int i = 0; i < three; i++) {
        few.push_back(EGB_POOL_ALLOC(large.pool));
    }
    few.push_back(EGB_POOL_ALLOC(small.pool));
    void* const                   last = plain.take();
    const std::vector<egb_holder> all  = holders_of({0, 0});
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[0].bytes, 3000u);
    EXPECT_EQ(all[0].blocks, 3u);
    EXPECT_EQ(all[1].bytes, 70u);
    EXPECT_EQ(all[1].blocks, 7u);
    EXPECT_EQ(all[2].bytes, 10u);
    EXPECT_STREQ(all[0].file, __FILE__);
    EXPECT_LT(all[1].line, all[0].line);
    EXPECT_NE(all[0].site, nullptr);
    EXPECT_LT(all[0].oldest_ms, 100000u);
#if defined(__linux__)
    EXPECT_EQ(long(all[0].thread), syscall(SYS_gettid));
#endif
    EXPECT_EQ(holders_of(small.pool).size(), 2u);
    for (void* const block : few) {
        egb_free(block);
    }
    egb_free(last);
    EXPECT_EQ(holders_of({0, 0}).size(), 0u);
    testing::internal::CaptureStderr();
    EXPECT_EQ(egb_holders_print({0, 0}, 10), 0u);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(egb_holders_each({0, 0}, nullptr, nullptr), EGB_INVALID);
    EXPECT_EQ(egb_holders_each({1, 77}, [](const egb_holder*, void*) {}, nullptr), EGB_STALE);
}

// Those beyond the limit were once compared with all others, each: a minute for 100,000 more.
TEST(track, too_many_places_are_one_holder_and_nothing_is_lost)
{
    events         unexpected;
    const guarded  all(16, "track");
    const unsigned more = 10000;
    for (unsigned line = 1; line <= EGB_HOLDERS_MAX + more; line++) {
        ASSERT_NE(egb_pool_alloc_at(all.pool, "many.c", line), nullptr);
    }
    const std::vector<egb_holder> holders = holders_of(all.pool);
    std::size_t                   blocks  = 0;
    for (const egb_holder& one : holders) {
        blocks += one.blocks;
    }
    EXPECT_EQ(holders.size(), EGB_HOLDERS_MAX);
    EXPECT_EQ(blocks, EGB_HOLDERS_MAX + more);
    EXPECT_EQ(holders[0].blocks, more + 1);
    EXPECT_EQ(holders[0].file, nullptr);
    testing::internal::CaptureStderr();  // the pool is destroyed with its blocks
    EXPECT_EQ(egb_holders_print(all.pool, 2), EGB_HOLDERS_MAX + more);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("160016 bytes in 10001 blocks of pool (other sites)"), std::string::npos)
        << said;
    EXPECT_NE(said.find("from many.c:"), std::string::npos) << said;
    EXPECT_NE(said.find("684288 bytes in 42768 blocks in all"), std::string::npos) << said;
}

TEST(track, who_destroys_a_pool_with_blocks_in_use_is_told)
{
    testing::internal::CaptureStderr();
    {
        const guarded all(100, "track");
        EXPECT_NE(EGB_POOL_ALLOC(all.pool), nullptr);
    }
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("100 bytes in 1 block of pool guarded, oldest "), std::string::npos)
        << said;
    EXPECT_NE(said.find(std::string("from ") + __FILE__ + ":"), std::string::npos) << said;
}

TEST(track, a_pool_that_has_none_to_give_says_who_has_them)
{
    const guarded     all(100, "track", 2);
    void* const       one       = EGB_POOL_ALLOC(all.pool);
    void* const       other     = EGB_POOL_ALLOC(all.pool);
    const std::string said_once = "eggbox: a pool at level \"track\" is exhausted\n";
    testing::internal::CaptureStderr();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 100; i++) {
        EXPECT_EQ(all.take(), nullptr);
    }
    const auto        passed = std::chrono::steady_clock::now() - start;
    const std::string said   = testing::internal::GetCapturedStderr();
    EXPECT_EQ(said.find(said_once), 0u) << said;
    std::int64_t times = 0;
    for (std::size_t at = 0; (at = said.find(said_once, at)) != std::string::npos; at++) {
        times++;
    }
    // Once a second, by a clock that may be some milliseconds coarse.
    EXPECT_LE(times, 1 + (passed + std::chrono::milliseconds(100)) / std::chrono::seconds(1))
        << said;
    all.give(one);
    all.give(other);
}

// ---- by default it is the end -------------------------------------------------------------------

#if !defined(_WIN32)
TEST(guard_death, by_default_what_is_known_is_printed_and_the_program_ends)
{
    const auto overrun = [](const char* level) {
        const guarded        all(64, level);
        unsigned char* const block = static_cast<unsigned char*>(EGB_POOL_ALLOC(all.pool));
        block[64]                  = 0;
        all.give(block);
    };
    EXPECT_DEATH(
        overrun("guard"),
        "eggbox: write past the end of a block: address 0x.*, block 0 of pool guarded, called "
        "from .*\n.*64 bytes were requested; byte 64 .counted from 0. was overwritten\n"
        ".*next: run it again with EGGBOX_CHECK=track"
    );
    EXPECT_DEATH(
        overrun("track"),
        "allocated at .*test_guard.cpp:[0-9]+( < .*)?\n.*next: addr2line -Cfie PATH"
    );
}

TEST(guard_death, a_program_that_has_a_handler_goes_on)
{
    events        seen;
    const guarded all(64);
    all.give(&seen);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_FOREIGN);
}
#endif

TEST(track, a_place_that_was_written_over_is_not_followed)
{
    events               seen;
    const guarded        pool(64, "track");
    unsigned char* const block = static_cast<unsigned char*>(EGB_POOL_ALLOC(pool.pool));
    std::memset(block - 64, 'A', 48);  // the bytes before the front
    pool.give(block);
    EXPECT_EQ(seen.history().alloc_file, nullptr);
    EXPECT_EQ(seen.history().alloc_site, nullptr);
    EXPECT_EQ(seen.history().free_site, nullptr);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_UNDERRUN);
    pool.give(block);
    EXPECT_EQ(seen.history().alloc_file, nullptr);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
}

TEST(guard, a_delete_of_a_damaged_block_is_of_no_wrong_size)
{
    events seen;
    (void)egb_pool_destroy(egb_heap_pool(), EGB_DESTROY_FORCE);
    set_variable("EGGBOX_CHECK", "guard");
    unsigned char* block = static_cast<unsigned char*>(egb_malloc(40));
    set_variable("EGGBOX_CHECK", nullptr);
    block[-1] = static_cast<unsigned char>(block[-1] ^ 1u);
    egb_free_sized_(block, 40);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_UNDERRUN);
    block = static_cast<unsigned char*>(egb_malloc(41));
    egb_free_sized_(block, 40);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_WRONG_SIZE);
    (void)egb_pool_destroy(egb_heap_pool(), EGB_DESTROY_FORCE);
}

TEST(track, how_many_blocks_are_in_use_is_said_without_printing)
{
    const guarded pool(64, "track");
    void* const   block = pool.take();
    EXPECT_EQ(egb_holders_print(pool.pool, 0), 1u);
    pool.give(block);
    EXPECT_EQ(egb_holders_print(pool.pool, 0), 0u);
}

TEST(guard, what_destroy_finds_in_quarantine_is_reported)
{
    events           seen;
    egb_pool         pool    = {};
    egb_pool_options options = {};
    options.name             = "last";
    options.block_bytes      = 64;
    options.level            = EGB_LEVEL_GUARD;
    ASSERT_EQ(egb_pool_create(&pool, &options), EGB_OK);
    unsigned char* const block = static_cast<unsigned char*>(egb_pool_alloc(pool));
    egb_pool_free(pool, block);
    block[20] = 1;
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_OVERWRITTEN);
    EXPECT_EQ(seen.history().damaged, 20);
}
