// SPDX-License-Identifier: MIT
// Pools on static memory: every small size, everywhere in memory, and the things they never do.
#include "events.hpp"
#include "levels.hpp"
#include "pools.hpp"

#include <atomic>
#include <memory>
#include <new>
#include <set>
#include <thread>

namespace
{

egb_pool_options static_options(std::size_t block_bytes, void* memory, std::size_t bytes)
{
    egb_pool_options options = options_for(block_bytes);
    options.memory           = memory;
    options.memory_bytes     = bytes;
    return options;
}

// Takes all blocks: apart, inside, aligned, writable, and as many as the capacity says. The memory
// ends where it ends, so that a sanitizer sees each byte too far.
std::size_t use_all(egb_pool pool, char* memory, std::size_t bytes, std::size_t block_bytes)
{
    const std::vector<void*> blocks = take_all(pool);
    std::set<char*>          starts;
    for (std::size_t i = 0; i < blocks.size(); i++) {
        char* const block = static_cast<char*>(blocks[i]);
        EXPECT_GE(block, memory);
        EXPECT_LE(block + block_bytes, memory + bytes);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 4, 0u);
        fill(block, block_bytes, i);
        starts.insert(block);
        EXPECT_TRUE(egb_pool_of(block) == pool);
    }
    EXPECT_EQ(starts.size(), blocks.size());
    EXPECT_EQ(stats_of(pool).capacity, blocks.size());
    for (std::size_t i = 0; i < blocks.size(); i++) {
        EXPECT_TRUE(is_filled(blocks[i], block_bytes, i));
    }
    give_all(pool, blocks);
    EXPECT_EQ(stats_of(pool).in_use, 0u);
    return blocks.size();
}

// Aligned to 16 bytes on every machine, so that `shift` is all the misalignment there is.
class aligned_memory
{
  public:
    explicit aligned_memory(std::size_t bytes)
        : start_(static_cast<char*>(::operator new(bytes, std::align_val_t{16})))
    {
    }

    ~aligned_memory()
    {
        ::operator delete(start_, std::align_val_t{16});
    }

    aligned_memory(const aligned_memory&)            = delete;
    aligned_memory& operator=(const aligned_memory&) = delete;

    char* get() const
    {
        return start_;
    }

  private:
    char* start_;
};

}  // namespace

TEST(pool_static, every_small_size_at_every_misalignment)
{
    events unexpected;
    for (const char* level : {"check", "off"}) {
        for (const std::size_t block_bytes : {1u, 8u, 24u, 64u}) {
            const std::size_t largest = 3 * block_bytes + 400;
            for (std::size_t shift = 0; shift < 16; shift++) {
                std::size_t before = 0;
                for (std::size_t bytes = 1; bytes < largest; bytes += shift < 8 ? 1 : 7) {
                    const aligned_memory memory(shift + bytes);
                    std::memset(memory.get(), 0xA5, shift + bytes);
                    egb_pool_options options =
                        static_options(block_bytes, memory.get() + shift, bytes);
                    options.level = level_named(level);
                    egb_pool         pool{};
                    const egb_status status = egb_pool_create(&pool, &options);
                    std::size_t      count  = 0;
                    if (status == EGB_OK) {
                        count = use_all(pool, memory.get() + shift, bytes, block_bytes);
                        EXPECT_GT(count, 0u);
                        EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
                    } else {
                        ASSERT_EQ(status, EGB_INVALID);
                        ASSERT_EQ(before, 0u) << "more memory and fewer blocks";
                    }
                    ASSERT_GE(count + 8, before);
                    before = count;
                }
                EXPECT_GE(before, 3u) << "three blocks do not need " << largest << " bytes";
            }
        }
    }
}

TEST(pool_static, it_never_grows_and_reserves_only_what_is_there)
{
    alignas(64) static char memory[8192];
    const egb_pool_options  options = static_options(64, memory, sizeof memory);
    const guard             pool(make(options));
    const std::size_t       capacity = stats_of(pool).capacity;
    EXPECT_EQ(stats_of(pool).bytes_held, sizeof memory);
    EXPECT_EQ(stats_of(pool).chunks, 1u);
    EXPECT_EQ(egb_pool_reserve(pool, capacity), EGB_OK);
    EXPECT_EQ(egb_pool_reserve(pool, capacity + 1), EGB_LIMIT);
    EXPECT_EQ(egb_pool_reserve(pool, SIZE_MAX), EGB_LIMIT);
    const std::vector<void*> blocks = take_all(pool);
    EXPECT_EQ(blocks.size(), capacity);
    EXPECT_EQ(stats_of(pool).failures, 1u);
    EXPECT_EQ(egb_pool_reserve(pool, 0), EGB_OK);
    EXPECT_EQ(egb_pool_reserve(pool, 1), EGB_LIMIT);
    give_all(pool, blocks);
    EXPECT_EQ(egb_pool_reserve(pool, capacity), EGB_OK);

    egb_pool_options more = options;
    static char      other[8192];
    more.memory         = other;
    more.reserve_blocks = capacity + 100;
    EXPECT_EQ(status_of(more), EGB_LIMIT);
    more.max_blocks = 5;
    EXPECT_EQ(status_of(more), EGB_LIMIT);
    more.reserve_blocks = 5;
    EXPECT_EQ(status_of(more), EGB_OK);
}

// It is the pool's until the pool is destroyed, so there is nothing to give to the system.
TEST(pool_static, trim_gives_nothing_back)
{
    alignas(64) static char memory[8192];
    const guard             pool(make(static_options(64, memory, sizeof memory)));
    void* const             block = egb_pool_alloc(pool);
    egb_pool_free(pool, block);
    EXPECT_EQ(egb_pool_trim(pool, 0), 0u);
    EXPECT_EQ(stats_of(pool).bytes_held, sizeof memory);
    EXPECT_TRUE(egb_pool_of(block) == pool.pool);
    events seen;
    egb_pool_free(pool, block);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_DOUBLE_FREE);
}

TEST(pool_static, it_charges_no_budget)
{
    alignas(64) static char memory[8192];
    egb_pool_options        above = options_for(64);
    above.budget_bytes            = unit_bytes;
    const egb_pool   top          = make(above);
    egb_pool_options options      = static_options(64, memory, sizeof memory);
    options.parent                = top;
    options.budget_bytes          = 1;
    const egb_pool below          = make(options);
    EXPECT_EQ(subtree_of(top).bytes_held, sizeof memory);
    void* const block = egb_pool_alloc(top);  // the whole budget is still there
    EXPECT_NE(block, nullptr);
    EXPECT_EQ(subtree_of(top).bytes_held, sizeof memory + unit_bytes);
    EXPECT_EQ(egb_pool_destroy(below, EGB_DESTROY_REFUSE), EGB_OK);
    EXPECT_EQ(egb_pool_alive(top), true);
    egb_pool_free(top, block);
    EXPECT_EQ(egb_pool_destroy(top, EGB_DESTROY_REFUSE), EGB_OK);
}

TEST(pool_static, several_pools_are_told_apart_and_forgotten_in_any_order)
{
    alignas(64) static char memory[4][4096];
    egb_pool                pools[4];
    char*                   blocks[4];
    for (std::size_t i = 0; i < 4; i++) {
        pools[i]  = make(static_options(32 * (i + 1), memory[i], sizeof memory[i]));
        blocks[i] = static_cast<char*>(egb_pool_alloc(pools[i]));
    }
    for (const std::size_t gone : {2u, 0u, 3u, 1u}) {
        for (std::size_t i = 0; i < 4; i++) {
            const bool is_there = egb_pool_alive(pools[i]);
            EXPECT_TRUE(egb_pool_of(blocks[i] + 7) == (is_there ? pools[i] : egb_pool{}));
            EXPECT_EQ(egb_block_bytes(blocks[i] + 31), is_there ? 32 * (i + 1) : 0);
        }
        EXPECT_EQ(egb_pool_destroy(pools[gone], EGB_DESTROY_REFUSE), EGB_BUSY);
        EXPECT_EQ(egb_pool_destroy(pools[gone], EGB_DESTROY_FORCE), EGB_OK);
        std::memset(memory[gone], 0xFF, sizeof memory[gone]);  // it is the caller's again
    }
}

// The magazines of a thread have room for so many bytes in all. One whose pool another thread has
// destroyed counts no more.
TEST(pool_static, pools_that_others_destroy_use_up_no_room_of_a_thread)
{
    enum { POOLS = 10, BLOCK_BYTES = 4096 };
    alignas(64) static char memory[8 * BLOCK_BYTES];
    std::atomic<int>        turn{0};  // even: this thread's
    egb_pool                pool{};
    std::size_t             room[POOLS];
    std::thread             user([&] {
        for (int i = 0; i < POOLS; i++) {
            while (turn != 2 * i + 1) {
                std::this_thread::yield();
            }
            egb_pool_free(pool, egb_pool_alloc(pool));
            room[i] = egb_thread_self_()->room_bytes;
            turn++;
        }
    });
    for (int i = 0; i < POOLS; i++) {
        pool = make(static_options(BLOCK_BYTES, memory, sizeof memory));
        turn++;
        while (turn != 2 * i + 2) {
            std::this_thread::yield();
        }
        EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
    }
    user.join();
    for (const std::size_t each : room) {
        EXPECT_EQ(each, room[0]);
    }
}
