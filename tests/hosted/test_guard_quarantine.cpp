// SPDX-License-Identifier: MIT
// Levels "guard" and "track": how long a free block waits before it is handed out again, and the
// damage that is found in it.
#include "eggbox/guard.h"
#include "eggbox/heap.h"
#include "environment.hpp"
#include "events.hpp"
#include "guarded.hpp"

#include <atomic>
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

TEST(guard_quarantine, a_block_waits_before_it_is_handed_out_again)
{
    events               unexpected;
    const guarded        all(64);
    unsigned char* const block = all.take();
    all.give(block);
    for (int i = 0; i < 200; i++) {
        unsigned char* const other = all.take();
        EXPECT_NE(other, block);
        all.give(other);
    }
    EXPECT_EQ(all.stats().in_use, 0u);
    EXPECT_EQ(all.stats().peak, 1u);
    EXPECT_EQ(all.stats().in_magazines, 201u);
}

// The pool hands it out without asking its chunk, and its bytes are looked at once.
TEST(guard_quarantine, a_block_that_has_waited_long_enough_is_the_next)
{
    constexpr int        waiting = 256;
    events               seen;
    const guarded        all(64);
    std::set<void*>      different;
    unsigned char* const first = all.take();
    all.give(first);
    for (int i = 0; i < waiting; i++) {
        unsigned char* const other = all.take();
        different.insert(other);
        all.give(other);
    }
    EXPECT_EQ(different.size(), std::size_t{waiting});
    EXPECT_EQ(different.count(first), 0u);
    unsigned char* const again = all.take();
    EXPECT_EQ(again, first);
    EXPECT_EQ(all.stats().in_use, 1u);
    EXPECT_EQ(all.stats().in_magazines, std::size_t{waiting});
    EXPECT_EQ(all.stats().peak, 1u);
    static_cast<unsigned char*>(*different.begin())[3] = 1;
    all.give(again);
    for (int i = 0; i < waiting; i++) {
        all.give(all.take());
    }
    EXPECT_EQ(seen.history().damaged, 3);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_OVERWRITTEN);
}

TEST(guard_quarantine, a_block_of_any_size_waits_for_others)
{
    events unexpected;
    for (const std::size_t bytes : {10000u, 40000u, 300000u}) {
        const guarded        all(bytes);
        unsigned char* const block = all.take();
        all.give(block);
        for (std::size_t freed = 0; freed + bytes < 256 * 1024; freed += bytes) {
            unsigned char* const other = all.take();
            EXPECT_NE(other, block) << bytes;
            all.give(other);
        }
        EXPECT_NE(all.take(), block) << bytes;
    }
}

namespace
{

// The heap, as it is at a level.
class heap_at
{
  public:
    explicit heap_at(const char* level)
    {
        (void)egb_pool_destroy(egb_heap_pool(), EGB_DESTROY_FORCE);
        set_variable("EGGBOX_CHECK", level);
    }

    ~heap_at()
    {
        set_variable("EGGBOX_CHECK", nullptr);
        (void)egb_pool_destroy(egb_heap_pool(), EGB_DESTROY_FORCE);
    }

    heap_at(const heap_at&)            = delete;
    heap_at& operator=(const heap_at&) = delete;
};

void take_and_give(unsigned seed)
{
    std::vector<void*> kept(40);
    for (int i = 0; i < 4000; i++) {
        seed             = seed * 1664525u + 1013904223u;
        void*&     block = kept[(seed >> 8) % kept.size()];
        const auto was   = static_cast<unsigned char*>(block);
        EXPECT_TRUE(was == nullptr || was[0] == 7);
        egb_free(block);
        block = egb_malloc(1 + (seed >> 20) % 60);
        ASSERT_NE(block, nullptr);
        *static_cast<unsigned char*>(block) = 7;
    }
    for (void* const block : kept) {
        egb_free(block);
    }
}

std::size_t blocks_held()
{
    std::size_t blocks = 0;
    EXPECT_EQ(
        egb_holders_each(
            egb_heap_pool(),
            [](const egb_holder* holder, void* user) {
                EXPECT_LE(holder->bytes, holder->blocks * 60);
                *static_cast<std::size_t*>(user) += holder->blocks;
            },
            &blocks
        ),
        EGB_OK
    );
    return blocks;
}

}  // namespace

TEST(guard_quarantine, whoever_looks_while_threads_allocate_sees_whole_blocks)
{
    events        unexpected;
    const heap_at track("track");
    egb_free(egb_malloc(20));
    std::atomic<int>         running{3};
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 3; i++) {
        threads.emplace_back([&running, i] {
            take_and_give(i);
            running--;
        });
    }
    do {
        EXPECT_LE(blocks_held(), 120u);
        EXPECT_EQ(egb_process_check(), 0u);
        std::this_thread::yield();
    } while (running > 0);
    for (std::thread& one : threads) {
        one.join();
    }
    EXPECT_EQ(blocks_held(), 0u);
}

TEST(guard_quarantine, a_write_to_a_free_block_of_the_heap_is_noticed_when_it_comes_again)
{
    for (const char* const level : {"guard", "track"}) {
        events               seen;
        const heap_at        here(level);
        unsigned char* const block = static_cast<unsigned char*>(egb_malloc(40));
        egb_free(block);
        block[17] = 1;
        for (int i = 0; i < 256; i++) {
            egb_free(egb_malloc(40));
        }
        EXPECT_TRUE(seen.none());
        EXPECT_EQ(egb_malloc(40), block);
        EXPECT_EQ(seen.history().damaged, 17);
        EXPECT_EQ(seen.history().bytes, 40u);
        EXPECT_EQ(seen.take_kind(), EGB_MISUSE_OVERWRITTEN);
        egb_free(block);
    }
}
