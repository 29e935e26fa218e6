// SPDX-License-Identifier: MIT
// eggbox::memory_resource and heap_resource(), under containers of std::pmr.
#include "events.hpp"

#include "eggbox/memory_resource.hpp"

#include <cstdint>
#include <list>
#include <map>
#include <memory_resource>
#include <string>
#include <thread>
#include <vector>

namespace
{

using eggbox::memory_resource;

// Counts the blocks that are out.
class counting final : public std::pmr::memory_resource
{
  public:
    std::size_t blocks = 0;
    std::size_t bytes  = 0;
    std::size_t asked  = 0;

  private:
    void* do_allocate(std::size_t size, std::size_t align) override
    {
        blocks++;
        asked++;
        bytes += size;
        return std::pmr::new_delete_resource()->allocate(size, align);
    }

    void do_deallocate(void* block, std::size_t size, std::size_t align) override
    {
        blocks--;
        bytes -= size;
        std::pmr::new_delete_resource()->deallocate(block, size, align);
    }

    [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override
    {
        return this == &other;
    }
};

TEST(MemoryResource, ServesContainersAndEveryElementOfThem)
{
    const events    quiet;
    memory_resource pools;
    {
        std::pmr::map<int, std::pmr::vector<std::pmr::string>> words(&pools);
        for (int i = 0; i < 1000; i++) {
            words[i % 10].emplace_back("a text that is too long for the string itself");
        }
        EXPECT_TRUE(pools.pools().owns(&words.at(3)));
        EXPECT_TRUE(pools.pools().owns(words.at(3).at(4).data()));
        EXPECT_EQ(pools.pools().stats().in_use, 10u + 10u + 1000u);
    }
    EXPECT_EQ(pools.pools().stats().in_use, 0u);
}

TEST(MemoryResource, EndsContainersThatWereForgotten)
{
    memory_resource pools;
    for (int round = 0; round < 3; round++) {
        using words       = std::pmr::list<std::pmr::string>;
        void*       place = pools.allocate(sizeof(words), alignof(words));
        auto* const is    = ::new (place) words(&pools);
        is->emplace_back("a text that is too long for the string itself");
        is->emplace_back(std::size_t{1} << 20, 'x');
        EXPECT_EQ(pools.pools().stats().in_use, 5u);
        pools.release();
        EXPECT_EQ(pools.pools().stats().in_use, 0u);
    }
}

TEST(MemoryResource, AsksUpstreamForLargeBlocksOnlyAndGivesThemBack)
{
    counting upstream;
    {
        memory_resource        pools(&upstream);
        std::pmr::vector<char> small(eggbox::heap::block_bytes_max, 'x', &pools);
        EXPECT_EQ(upstream.asked, 0u);
        std::pmr::vector<double> large(100000, 4.0, &pools);
        std::pmr::vector<char>   odd(eggbox::heap::block_bytes_max + 1, 'x', &pools);
        EXPECT_EQ(upstream.blocks, 2u);
        large.resize(200000, 5.0);
        EXPECT_EQ(large[99999] + large[199999], 9.0);
        EXPECT_EQ(upstream.blocks, 2u);
        EXPECT_FALSE(pools.pools().owns(large.data()));
        void* const forgotten = pools.allocate(1 << 20, 64);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(forgotten) % 64, 0u);
        EXPECT_EQ(upstream.blocks, 3u);
        EXPECT_EQ(pools.upstream_resource(), &upstream);
    }
    EXPECT_EQ(upstream.blocks, 0u);
    EXPECT_EQ(upstream.bytes, 0u);
}

TEST(MemoryResource, GivesUpstreamItsBlocksInAnyOrderAndAtRelease)
{
    counting           upstream;
    memory_resource    pools(&upstream);
    const std::size_t  bytes = eggbox::heap::block_bytes_max + 3;
    std::vector<void*> blocks;
    for (int i = 0; i < 5; i++) {
        blocks.push_back(pools.allocate(bytes + static_cast<std::size_t>(i)));
    }
    for (const std::size_t i : {2u, 0u, 4u}) {
        pools.deallocate(blocks[i], bytes + i);
    }
    EXPECT_EQ(upstream.blocks, 2u);
    pools.release();
    EXPECT_EQ(upstream.blocks, 0u);
    EXPECT_EQ(upstream.bytes, 0u);
    pools.deallocate(pools.allocate(bytes), bytes);
    EXPECT_EQ(upstream.blocks, 0u);
}

TEST(MemoryResource, ThrowsWhenTheBudgetIsUsedUp)
{
    egb_pool_options options{};
    options.budget_bytes = 1 << 20;
    memory_resource        pools(options);
    std::pmr::list<int>    numbers(&pools);
    std::pmr::vector<char> bytes(&pools);
    EXPECT_THROW(bytes.resize(2 << 20), std::bad_alloc);
    EXPECT_THROW(for (;;) { numbers.push_back(1); }, std::bad_alloc);
    EXPECT_EQ(pools.pools().stats().in_use, numbers.size());
    memory_resource upstream(std::pmr::null_memory_resource());
    EXPECT_THROW((void)upstream.allocate(1 << 20), std::bad_alloc);
    const volatile std::size_t all = SIZE_MAX;  // compilers warn of the number itself
    EXPECT_THROW((void)upstream.allocate(all), std::bad_alloc);
}

TEST(MemoryResource, IsEqualToItselfOnly)
{
    const memory_resource one, other;
    EXPECT_TRUE(one == one);
    EXPECT_FALSE(one == other);
    EXPECT_FALSE(one == *eggbox::heap_resource());
    EXPECT_TRUE(*eggbox::heap_resource() == *eggbox::heap_resource());
    EXPECT_FALSE(*eggbox::heap_resource() == *std::pmr::new_delete_resource());
}

TEST(MemoryResource, IsForAllThreads)
{
    const events             quiet;
    memory_resource          pools(std::pmr::new_delete_resource());
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) {
        threads.emplace_back([&pools] {
            for (int round = 0; round < 50; round++) {
                std::pmr::list<int>    numbers(500, 4, &pools);
                std::pmr::vector<char> large(300000, 'x', &pools);
                EXPECT_EQ(numbers.back() + large.back(), 4 + 'x');
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(pools.pools().stats().in_use, 0u);
}

TEST(HeapResource, ServesContainersFromTheHeapOfTheProcess)
{
    const events               quiet;
    std::pmr::memory_resource* previous = std::pmr::set_default_resource(eggbox::heap_resource());
    {
        std::vector<void*>     blocks;
        const std::pmr::string text("a text that is too long for the string itself");
        EXPECT_TRUE(egb_pool_is_ancestor(egb_heap_pool(), egb_pool_of(text.data())));
        for (int i = 0; i < 5; i++) {
            blocks.push_back(eggbox::heap_resource()->allocate(100, 1024));
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(blocks.back()) % 1024, 0u);
        }
        for (void* block : blocks) {
            eggbox::heap_resource()->deallocate(block, 100, 1024);
        }
        EXPECT_THROW((void)eggbox::heap_resource()->allocate(PTRDIFF_MAX), std::bad_alloc);
    }
    std::pmr::set_default_resource(previous);
}

}  // namespace
