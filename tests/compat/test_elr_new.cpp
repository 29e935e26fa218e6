// SPDX-License-Identifier: MIT
// elr_mpl as it is now: every row of its interface, and of versions in between.
#include "elr_fixture.hpp"

#include <cstring>
#include <random>
#include <thread>

namespace
{

std::size_t size_of_request(elr_mpl_ht pool, std::size_t bytes)
{
    void* const       mem  = elr_mpl_alloc_multi(pool, bytes);
    const std::size_t size = mem == nullptr ? 0 : elr_mpl_size(mem);
    if (size != 0) {
        std::memset(mem, 1, size);
    }
    elr_mpl_free(mem);
    return size;
}

}  // namespace

TEST(elr_new, N01_init_gives_a_pool_of_many_sizes)
{
    const elr_module module;
    EXPECT_EQ(size_of_request(nullptr, 69), 96u);
    EXPECT_EQ(size_of_request(nullptr, 129), 192u);
    EXPECT_EQ(size_of_request(nullptr, 2048), 2048u);
    EXPECT_EQ(size_of_request(nullptr, 2096), 3072u);
}

TEST(elr_new, N02_create_with_callbacks)
{
    forget_calls();
    const elr_module module;
    elr_mpl_t        pool = elr_mpl_create(NULL, 24, note_alloc, note_free);
    void* const      mem  = elr_mpl_alloc(&pool);
    elr_mpl_free(mem);
    EXPECT_EQ(allocated(), std::vector<void*>{mem});
    EXPECT_EQ(freed(), std::vector<void*>{mem});
    elr_mpl_t plain = elr_mpl_create(&pool, 24, NULL, NULL);
    EXPECT_EQ(elr_mpl_avail(&plain), 1);
}

TEST(elr_new, N03_create_sync_is_for_threads)
{
    const elr_module module;
    elr_mpl_t        pool = elr_mpl_create_sync(nullptr, 40, nullptr, nullptr);
    auto             work = [&pool] {
        std::vector<void*> mine;
        std::minstd_rand   random(1);
        for (int i = 0; i < 5000; i++) {
            if (random() % 2 == 0 || mine.empty()) {
                mine.push_back(elr_mpl_alloc(&pool));
                std::memset(mine.back(), 1, 40);
            } else {
                elr_mpl_free(mine.back());
                mine.pop_back();
            }
        }
        for (void* mem : mine) {
            elr_mpl_free(mem);
        }
    };
    std::thread one(work);
    std::thread two(work);
    one.join();
    two.join();
    egb_pool_stats stats;
    void* const    mem = elr_mpl_alloc(&pool);
    ASSERT_EQ(egb_pool_get_stats(egb_pool_of(mem), &stats), EGB_OK);
    EXPECT_EQ(stats.in_use, 1u);
}

TEST(elr_new, N04_create_multi)
{
    const elr_module module;
    std::size_t      sizes[] = {64, 256, 1024};
    elr_mpl_t        pool    = elr_mpl_create_multi(NULL, 3, sizes, NULL, NULL);
    ASSERT_EQ(elr_mpl_avail(&pool), 1);
    EXPECT_EQ(size_of_request(&pool, 64), 64u);
    EXPECT_EQ(size_of_request(&pool, 65), 256u);
    EXPECT_EQ(size_of_request(&pool, 1000), 1024u);
    elr_mpl_t none = elr_mpl_create_multi(nullptr, 0, sizes, nullptr, nullptr);
    EXPECT_TRUE(is_null(none));
    none = elr_mpl_create_multi(nullptr, 2, nullptr, nullptr, nullptr);
    EXPECT_TRUE(is_null(none));
    none = elr_mpl_create_multi(nullptr, -1, sizes, nullptr, nullptr);
    EXPECT_TRUE(is_null(none));
}

TEST(elr_new, N04_the_order_of_the_sizes_does_not_matter)
{
    const elr_module module;
    std::size_t      sizes[] = {100, 50};
    elr_mpl_t        pool    = elr_mpl_create_multi(nullptr, 2, sizes, nullptr, nullptr);
    EXPECT_EQ(size_of_request(&pool, 40), 50u) << "it was 100";
    void* const mem = elr_mpl_alloc(&pool);
    EXPECT_EQ(elr_mpl_size(mem), 100u) << "the first one, as ever";
}

TEST(elr_new, N05_create_multi_sync_is_for_threads)
{
    const elr_module module;
    std::size_t      sizes[] = {32, 64, 128};
    elr_mpl_t        pool    = elr_mpl_create_multi_sync(nullptr, 3, sizes, nullptr, nullptr);
    auto             pairs   = [&pool](unsigned seed) {
        std::minstd_rand random(seed);
        for (int i = 0; i < 5000; i++) {
            const std::size_t bytes = random() % 4000;
            void* const       mem   = elr_mpl_alloc_multi(&pool, bytes);
            ASSERT_GE(elr_mpl_size(mem), bytes);
            std::memset(mem, 1, bytes);
            elr_mpl_free(mem);
        }
    };
    std::thread one(pairs, 1);
    std::thread two(pairs, 2);
    one.join();
    two.join();
}

TEST(elr_new, N06_avail)
{
    const elr_module module;
    std::size_t      sizes[] = {32, 64};
    elr_mpl_t        pool    = elr_mpl_create_multi(nullptr, 2, sizes, nullptr, nullptr);
    elr_mpl_t        copy    = pool;
    EXPECT_EQ(elr_mpl_avail(&pool), 1);
    EXPECT_EQ(elr_mpl_avail(nullptr), 0);
    elr_mpl_destroy(&pool);
    EXPECT_EQ(elr_mpl_avail(&copy), 0);
}

TEST(elr_new, N07_alloc_of_a_multi_pool_is_of_its_first_size)
{
    const elr_module module;
    std::size_t      sizes[] = {48, 96};
    elr_mpl_t        pool    = elr_mpl_create_multi(nullptr, 2, sizes, nullptr, nullptr);
    EXPECT_EQ(elr_mpl_size(elr_mpl_alloc(&pool)), 48u);
}

TEST(elr_new, N08_alloc_multi)
{
    const elr_module module;
    std::size_t      sizes[] = {50, 100};
    elr_mpl_t        pool    = elr_mpl_create_multi(nullptr, 2, sizes, nullptr, nullptr);
    EXPECT_EQ(size_of_request(&pool, 0), 50u);
    EXPECT_EQ(size_of_request(&pool, 200), 1024u);
    EXPECT_EQ(size_of_request(&pool, 1025), 2048u);
    EXPECT_EQ(size_of_request(&pool, 5000), 5120u);
    EXPECT_EQ(size_of_request(&pool, 100000), 100352u);
    elr_mpl_t single = elr_mpl_create(nullptr, 50);
    EXPECT_EQ(size_of_request(&single, 50), 50u);
    EXPECT_EQ(elr_mpl_alloc_multi(&single, 51), nullptr) << "it has one size";
    elr_mpl_t none = ELR_MPL_INITIALIZER;
    EXPECT_EQ(elr_mpl_alloc_multi(&none, 1), nullptr);
}

TEST(elr_new, N08_sizes_that_were_added_have_the_callbacks)
{
    forget_calls();
    const elr_module module;
    std::size_t      sizes[] = {50};
    elr_mpl_t        pool    = elr_mpl_create_multi(nullptr, 1, sizes, note_alloc, note_free);
    void* const      mem     = elr_mpl_alloc_multi(&pool, 9000);
    EXPECT_EQ(allocated(), std::vector<void*>{mem});
    elr_mpl_destroy(&pool);
    EXPECT_EQ(freed(), std::vector<void*>{mem});
}

TEST(elr_new, N09_size_free_destroy_finalize)
{
    ASSERT_NE(elr_mpl_init(), 0);
    std::size_t sizes[] = {32, 64};
    elr_mpl_t   pool    = elr_mpl_create_multi(nullptr, 2, sizes, nullptr, nullptr);
    elr_mpl_t   child   = elr_mpl_create(&pool, 8, nullptr, nullptr);
    void* const mem     = elr_mpl_alloc_multi(&pool, 60);
    EXPECT_EQ(elr_mpl_size(mem), 64u);
    elr_mpl_free(mem);
    EXPECT_EQ(elr_mpl_alloc_multi(&pool, 60), mem);
    elr_mpl_destroy(&pool);
    EXPECT_EQ(elr_mpl_avail(&child), 0);
    EXPECT_EQ(egb_pool_of(mem).generation, 0u) << "all sizes are gone";
    ASSERT_NE(elr_mpl_alloc_multi(nullptr, 10), nullptr);
    elr_mpl_finalize();
    EXPECT_EQ(elr_mpl_alloc_multi(nullptr, 10), nullptr);
    ASSERT_NE(elr_mpl_init(), 0);
    EXPECT_NE(elr_mpl_alloc_multi(nullptr, 10), nullptr);
    elr_mpl_finalize();
}

// ELR_OVERRANGE_UNIT_SIZE is as it was. Memory is kept for the pool until it is trimmed or
// destroyed, not from 512 MiB on.
TEST(elr_new, N10_larger_requests_are_in_whole_KiB_and_memory_can_be_given_back)
{
    const elr_module module;
    std::size_t      sizes[] = {16};
    elr_mpl_t        pool    = elr_mpl_create_multi(nullptr, 1, sizes, nullptr, nullptr);
    for (std::size_t bytes = 17; bytes < 20000; bytes += 3333) {
        EXPECT_EQ(size_of_request(&pool, bytes) % 1024, 0u);
    }
    elr_mpl_t          many = elr_mpl_create(nullptr, 4096);
    std::vector<void*> blocks;
    for (int i = 0; i < 2000; i++) {
        blocks.push_back(elr_mpl_alloc(&many));
    }
    const egb_pool native = egb_pool_of(blocks.front());
    for (void* mem : blocks) {
        elr_mpl_free(mem);
    }
    EXPECT_GT(egb_pool_trim(native, 0), std::size_t{7} << 20);
}

// In C it is a call with a list of ints as a rule. If an argument takes 8 bytes, compilers leave
// the upper half of an int's place as it was. All 8 bytes were read, so there was no pool, or a
// pool of odd sizes.
TEST(elr_new, N11_upper_halves_of_ints_are_not_looked_at)
{
    if (sizeof(std::size_t) == 8) {
        const elr_module         module;
        const unsigned long long rest = 0xBAD0BAD000000000u;
        elr_mpl_t                list =
            elr_mpl_create_multi_list_(NULL, NULL, NULL, 3, rest + 10, rest + 20, rest + 30);
        EXPECT_EQ(size_of_request(&list, 15), 20u);
        EXPECT_EQ(size_of_request(&list, 30), 30u);
    }
}

TEST(elr_new, N11_orders_of_arguments_in_between)
{
    forget_calls();
    const elr_module module;
    std::size_t      sizes[] = {10, 20, 30};
    elr_mpl_t        one     = elr_mpl_create_multi_1(nullptr, note_alloc, nullptr, 3, sizes);
    elr_mpl_t        two     = elr_mpl_create_multi_2(NULL, note_alloc, NULL, 3, 10, 20, 30);
    elr_mpl_t list  = elr_mpl_create_multi(NULL, note_alloc, NULL, 3, sizes[0], sizes[1], sizes[2]);
    elr_mpl_t quiet = elr_mpl_create_multi(NULL, NULL, NULL, 1, sizes[1]);
    for (elr_mpl_t* pool : {&one, &two, &list}) {
        EXPECT_EQ(size_of_request(pool, 15), 20u);
        EXPECT_EQ(size_of_request(pool, 30), 30u);
    }
    EXPECT_EQ(allocated().size(), 6u);
    EXPECT_EQ(size_of_request(&quiet, 15), 20u);
    const elr_mpl_t less = elr_mpl_create_multi_2(NULL, NULL, NULL, 3, 10, 20);
    EXPECT_TRUE(is_null(less)) << "three sizes were promised";
}
