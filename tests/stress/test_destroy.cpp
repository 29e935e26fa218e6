// SPDX-License-Identifier: MIT
// Pools that are destroyed, and trimmed, while other threads are inside their calls. Nothing
// crashes, the others see blocks or a stale handle, and all memory is let go in the end.
#include "stress.hpp"

#include <gtest/gtest.h>

#include <array>

namespace
{

enum { WORKERS = 3 };

std::uint64_t rounds()
{
    return stress::setting("EGGBOX_STRESS_ROUNDS", 1000);
}

std::uint64_t many_rounds()
{
    return STRESS_IS_SANITIZED ? rounds() : 10 * rounds();
}

// A pool of several chunks, so that memory that is not let go is seen.
egb_pool make_pool(std::uint64_t round)
{
    return stress::make(round % 7 == 0 ? 70000 : 48, 0, round % 2 == 0);
}

void use(egb_pool pool, stress::random* random)
{
    std::array<void*, 40> blocks;
    std::size_t           count = 0;
    for (int i = 0; i < 30; i++) {
        if (count == 0 || (random->below(2) == 0 && count < blocks.size())) {
            void* const block = egb_pool_alloc(pool);
            if (block == nullptr) {
                continue;
            }
            blocks[count++] = block;
        } else {
            egb_pool_free(pool, blocks[--count]);
        }
    }
    while (count > 0) {
        egb_pool_free(pool, blocks[--count]);
    }
}

// The call by which a thread lets go of its destroyed pools.
void let_go(egb_pool other)
{
    egb_pool_trim(other, 0);
    void* const block = egb_pool_alloc(other);
    MUST(block != nullptr);
    egb_pool_free(other, block);
}

// The most that tables, batches and the map may have grown; in chunks of the test it is a few.
const std::size_t tolerated = std::size_t{4} << 20;

// Without what the library keeps of destroyed pools: that is at times more, at times less.
stress::memory memory_without_cache()
{
    egb_pool_trim(egb_pool{}, 0);
    return stress::memory_now();
}

void expect_steady(stress::memory before, stress::memory after)
{
    // The sanitizers' own memory is in the numbers too, and grows.
    if (STRESS_IS_SANITIZED == 0) {
        EXPECT_LE(after.mapped, before.mapped + tolerated);
    }
}

// Pools are destroyed, `many` one after the other, while three threads use them. Ends when all
// threads have, so that nothing holds on to a destroyed pool's memory.
void destroy_in_turn(egb_pool other, std::uint64_t many)
{
    std::atomic<uint64_t> current{0};
    std::atomic<bool>     is_over{false};
    const auto            pack = [](egb_pool pool) {
        return std::uint64_t{pool.generation} << 32 | pool.slot;
    };
    const auto unpack = [](std::uint64_t both) {
        return egb_pool{static_cast<uint32_t>(both), static_cast<uint32_t>(both >> 32)};
    };
    current = pack(make_pool(0));
    stress::in_threads(WORKERS + 1, [&](std::size_t self) {
        stress::random random(self);
        if (self < WORKERS) {
            while (!is_over) {
                use(unpack(current), &random);
                if (random.below(8) == 0) {
                    let_go(other);
                }
            }
            return;
        }
        for (std::uint64_t round = 1; round <= many; round++) {
            const egb_pool old = unpack(current);
            for (std::size_t spin = random.below(20); spin > 0; spin--) {
                use(old, &random);
                egb_pool_trim(old, 0);
            }
            current = pack(make_pool(round));
            MUST(egb_pool_destroy(old, EGB_DESTROY_FORCE) == EGB_OK);
            MUST(!egb_pool_alive(old));
        }
        is_over = true;
    });
    EXPECT_EQ(egb_pool_destroy(unpack(current), EGB_DESTROY_FORCE), EGB_OK);
}

}  // namespace

TEST(destroy, under_threads_that_allocate_and_free)
{
    stress::keep_one_heap();
    const stress::only_stale handler;
    const egb_pool           other = stress::make(64);
    destroy_in_turn(other, rounds() / 10);
    const stress::memory before = memory_without_cache();
    destroy_in_turn(other, rounds());
    expect_steady(before, memory_without_cache());
    EXPECT_EQ(egb_pool_destroy(other, EGB_DESTROY_REFUSE), EGB_OK);
}

// Blocks come back in the order of a queue, so that their chunk is looked at, without a lock. Each
// pool has memory of its own, as other threads may still be inside when it is destroyed.
TEST(destroy, of_a_pool_on_static_memory_under_frees)
{
    const stress::only_stale   handler;
    constexpr std::size_t      bytes = 8192;
    const auto                 many  = static_cast<std::size_t>(rounds());
    std::vector<unsigned char> memory(many * bytes);
    std::atomic<uint64_t>      current{0};
    std::atomic<bool>          is_over{false};
    stress::in_threads(WORKERS, [&](std::size_t self) {
        while (self > 0 && !is_over) {
            const std::uint64_t both = current;
            const egb_pool pool{static_cast<uint32_t>(both), static_cast<uint32_t>(both >> 32)};
            for (int i = 0; i < 50 && both != 0; i++) {
                void* const one   = egb_pool_alloc(pool);
                void* const other = egb_pool_alloc(pool);
                if (one != nullptr && other != nullptr) {
                    egb_pool_free(pool, one);
                    egb_pool_free(pool, other);
                }
            }
        }
        for (std::size_t round = 0; self == 0 && round < many; round++) {
            egb_pool_options options{};
            options.block_bytes  = 64;
            options.memory       = memory.data() + round * bytes;
            options.memory_bytes = bytes;
            egb_pool pool{};
            MUST(egb_pool_create(&pool, &options) == EGB_OK);
            current = std::uint64_t{pool.generation} << 32 | pool.slot;
            std::this_thread::sleep_for(std::chrono::microseconds(20));
            MUST(egb_pool_destroy(pool, EGB_DESTROY_FORCE) == EGB_OK);
        }
        is_over = true;
    });
}

// Threads with magazines of a destroyed pool of 64 MiB: its pages go at once, its addresses when
// the threads have made another call or have ended.
TEST(destroy, the_memory_goes_when_threads_call_again_or_end)
{
    stress::keep_one_heap();
    const std::size_t        bytes = std::size_t{64} << 20;
    const std::size_t        most  = bytes / 8 * 7;  // threads map some memory of their own
    const stress::only_stale handler;
    const egb_pool           other = stress::make(64);
    for (int round = 0; round < 4; round++) {
        const bool       others_call = round % 2 == 0;
        egb_pool_options options{};
        options.block_bytes                  = 1024;
        options.reserve_blocks               = bytes / 1024;
        options.flags                        = EGB_PREFAULT;
        stress::memory const          before = stress::memory_now();
        const egb_pool                pool   = stress::make(options);
        stress::barrier               step(3);
        std::array<stress::memory, 4> at;
        stress::in_threads(3, [&](std::size_t self) {
            stress::random random(self);
            use(pool, &random);
            step.wait();
            if (self == 0) {
                at[0] = stress::memory_now();
                MUST(egb_pool_destroy(pool, EGB_DESTROY_FORCE) == EGB_OK);
                at[1] = stress::memory_now();
            }
            step.wait();
            if (others_call) {
                let_go(other);
                step.wait();
                if (self == 0) {
                    at[2] = stress::memory_now();
                }
                step.wait();
            }
        });
        at[3] = stress::memory_now();
        EXPECT_GE(at[0].mapped, before.mapped + most);
        EXPECT_GE(at[0].resident, at[1].resident + bytes * 3 / 4) << "the pages go at once";
        EXPECT_GE(at[1].mapped, before.mapped + most) << "the addresses do not";
        if (others_call) {
            EXPECT_LE(at[2].mapped, at[1].mapped - most) << "after another call";
        }
        EXPECT_LE(at[3].mapped, at[0].mapped - most) << "after the threads' ends";
    }
    EXPECT_EQ(egb_pool_destroy(other, EGB_DESTROY_REFUSE), EGB_OK);
}

namespace
{

std::size_t place_of(egb_pool pool)
{
    return pool.slot / EGB_SLOT_STEP_ % EGB_THREAD_MAGAZINES_;
}

// One pool more than a thread has places: the first and the last one have the same.
std::vector<egb_pool> pools_of_all_places()
{
    std::vector<egb_pool>    pools;
    std::vector<std::size_t> owners(EGB_THREAD_MAGAZINES_, SIZE_MAX);
    for (std::size_t i = 0; i <= EGB_THREAD_MAGAZINES_; i++) {
        pools.push_back(stress::make(48));
    }
    for (std::size_t i = 0; i < pools.size(); i++) {
        std::size_t& owner = owners[place_of(pools[i])];
        if (owner != SIZE_MAX) {
            std::swap(pools.front(), pools[owner]);
            std::swap(pools.back(), pools[i]);
            break;
        }
        owner = i;
    }
    return pools;
}

}  // namespace

// Two pools whose magazines have the same place in a thread's table. One is destroyed while a
// thread that has a magazine of it takes its first block of the other.
TEST(destroy, under_a_thread_that_puts_another_pool_in_its_place)
{
    stress::keep_one_heap();
    const stress::only_stale    none(false);
    const std::vector<egb_pool> pools = pools_of_all_places();
    stress::barrier             step(2);
    const std::uint64_t         turns = many_rounds();
    stress::memory              seen[2];
    egb_pool                    first  = pools.front();
    const egb_pool              second = pools.back();
    EXPECT_EQ(place_of(first), place_of(second));
    stress::in_threads(2, [&](std::size_t self) {
        for (std::uint64_t turn = 0; turn < turns; turn++) {
            if (self == 0) {
                std::thread([&] {
                    void* const block = egb_pool_alloc(first);
                    egb_pool_free(first, block);
                    step.wait();
                    void* const one = egb_pool_alloc(second);
                    void* const two = egb_pool_alloc(second);
                    egb_pool_free(second, one);
                    egb_pool_free(second, two);
                    for (volatile int wait = 0; wait < 300; wait = wait + 1) {
                    }
                    MUST(egb_pool_alloc(second) == two);  // a block is free when its state says so
                    MUST(egb_pool_alloc(second) == one);
                    egb_pool_free(second, one);
                    egb_pool_free(second, two);
                }).join();
                step.wait();
                first = stress::make(48);
                MUST(place_of(first) == place_of(second));  // else the slot was not given back
            } else {
                step.wait();
                for (volatile std::uint64_t wait = turn % 64; wait > 0; wait = wait - 1) {
                }
                MUST(egb_pool_destroy(first, EGB_DESTROY_REFUSE) == EGB_OK);
                step.wait();
            }
            if (self == 0 && (turn == turns / 10 || turn + 1 == turns)) {
                seen[turn + 1 == turns ? 1 : 0] = stress::memory_now();
            }
        }
    });
    expect_steady(seen[0], seen[1]);
    EXPECT_EQ(egb_pool_destroy(first, EGB_DESTROY_REFUSE), EGB_OK);
    for (std::size_t i = 1; i < pools.size(); i++) {
        EXPECT_EQ(egb_pool_destroy(pools[i], EGB_DESTROY_REFUSE), EGB_OK);
    }
}

// The block's pool need not be named: egb_free() finds it, or that it is no more.
TEST(destroy, under_a_free_that_looks_for_the_pool)
{
    // Which of the two is first decides whether the address is in a pool's memory.
    egb_misuse_set_handler([](const egb_misuse_event*, void*) {}, nullptr);
    stress::barrier step(2);
    egb_pool        pool{};
    void*           blocks[16] = {};
    stress::in_threads(2, [&](std::size_t self) {
        for (std::uint64_t round = 0; round < many_rounds(); round++) {
            if (self == 0) {
                pool = stress::make(round % 2 == 0 ? 70000 : 64);
                for (void*& block : blocks) {
                    block = egb_pool_alloc(pool);
                }
            }
            step.wait();
            if (self == 0) {
                MUST(egb_pool_destroy(pool, EGB_DESTROY_FORCE) == EGB_OK);
            } else {
                for (void* const block : blocks) {
                    egb_free(block);
                }
            }
            step.wait();
        }
    });
    egb_misuse_set_handler(nullptr, nullptr);
}

// Trim takes blocks out of magazines that are in use, and chunks out from under the threads' feet.
TEST(trim, under_threads_that_allocate_and_free)
{
    const stress::only_stale none(false);
    const egb_pool           pool = stress::make(1000);
    std::atomic<bool>        is_over{false};
    std::atomic<std::size_t> given{0};
    stress::in_threads(WORKERS + 1, [&](std::size_t self) {
        stress::random random(self);
        if (self < WORKERS) {
            while (!is_over) {
                std::vector<unsigned char*> blocks;
                for (std::size_t i = random.below(300); i > 0; i--) {
                    blocks.push_back(static_cast<unsigned char*>(egb_pool_alloc(pool)));
                    MUST(blocks.back() != nullptr);
                    blocks.back()[0] = blocks.back()[999] = static_cast<unsigned char>(self + 1);
                }
                for (unsigned char* const block : blocks) {
                    MUST(block[0] == self + 1 && block[999] == self + 1);
                    egb_pool_free(pool, block);
                }
            }
            return;
        }
        for (std::uint64_t round = 0; round < rounds() || given == 0; round++) {
            given += egb_pool_trim(pool, random.below(2) * 100000);
            std::this_thread::yield();
        }
        is_over = true;
    });
    EXPECT_GT(given, 0u);
    EXPECT_EQ(stress::stats_of(pool).in_use, 0u);
    egb_pool_trim(pool, 0);
    EXPECT_EQ(stress::stats_of(pool).bytes_held, 0u);
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
}
