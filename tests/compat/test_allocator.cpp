// SPDX-License-Identifier: MIT
// Allocator: what the original promised, row by row, and what used to happen and does not.
#include "events.hpp"

#include "Allocator.h"
#include "eggbox/pool.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <set>
#include <thread>
#include <vector>

namespace
{

int handled = 0;

void count_it()
{
    handled++;
}

// Sets the new-handler while it lives.
struct handler {
    explicit handler(std::new_handler with) : before(std::set_new_handler(with))
    {
        handled = 0;
    }
    handler(const handler&)            = delete;
    handler& operator=(const handler&) = delete;
    ~handler()
    {
        std::set_new_handler(before);
    }
    std::new_handler before;
};

std::vector<void*> take(Allocator& from, std::size_t count, std::size_t size)
{
    std::vector<void*> blocks;
    for (std::size_t i = 0; i < count; i++) {
        blocks.push_back(from.Allocate(size));
    }
    return blocks;
}

void give(Allocator& to, const std::vector<void*>& blocks)
{
    for (void* const block : blocks) {
        to.Deallocate(block);
    }
}

std::size_t different(const std::vector<void*>& blocks)
{
    return std::set<void*>(blocks.begin(), blocks.end()).size() -
           std::set<void*>(blocks.begin(), blocks.end()).count(nullptr);
}

class shape
{
    DECLARE_ALLOCATOR

  public:
    shape()                        = default;
    shape(const shape&)            = delete;
    shape& operator=(const shape&) = delete;
    virtual ~shape()               = default;

    static Allocator& from()
    {
        return _allocator;
    }

    int number = 1;
};
IMPLEMENT_ALLOCATOR(shape, 0, 0)

class polygon : public shape
{
  public:
    int corners[50] = {};
};

class one_of_two
{
    DECLARE_ALLOCATOR

  public:
    double value = 2.5;
};
char room_for_two[sizeof(one_of_two) * 2];
IMPLEMENT_ALLOCATOR(one_of_two, 2, room_for_two)

class alignas(64) wide
{
    DECLARE_ALLOCATOR

  public:
    char bytes[100] = {};
};
IMPLEMENT_ALLOCATOR(wide, 5, 0)

}  // namespace

TEST(allocator, A01_heap_blocks_are_as_many_as_asked_for)
{
    Allocator          blocks(100);
    std::vector<void*> all = take(blocks, 10000, 100);
    EXPECT_EQ(different(all), 10000u);
    give(blocks, all);
    Allocator none(0);
    EXPECT_EQ(none.GetBlockSize(), sizeof(long*));
    none.Deallocate(none.Allocate(0));
}

TEST(allocator, A01_a_heap_pool_has_its_objects_and_no_more)
{
    Allocator          pool(100, 20);
    std::vector<void*> all = take(pool, 21, 100);
    EXPECT_EQ(all[20], nullptr);
    EXPECT_EQ(different(all), 20u);
    give(pool, all);
}

TEST(allocator, A01_a_static_pool_is_in_the_callers_memory)
{
    static char        memory[100 * 20];
    Allocator          pool(100, 20, memory, "static");
    std::vector<void*> all = take(pool, 21, 100);
    for (std::size_t i = 0; i < 20; i++) {
        EXPECT_EQ(all[i], memory + 100 * i);
    }
    EXPECT_EQ(all[20], nullptr);
    EXPECT_STREQ(pool.GetName(), "static");
    give(pool, all);
}

TEST(allocator, A02_blocks_in_use_survive_heap_blocks_and_memory_its_pool)
{
    void* block;
    {
        Allocator blocks(64);
        block = blocks.Allocate(64);
    }
    std::memset(block, 7, 64);
    egb_free(block);
    static char memory[64];
    {
        Allocator pool(16, 4, memory);
        (void)pool.Allocate(16);
    }
    std::memset(memory, 7, sizeof memory);
    Allocator pool(16, 4, memory);
    EXPECT_EQ(pool.Allocate(16), memory);
}

TEST(allocator, A03_an_exhausted_pool_calls_the_new_handler)
{
    const handler set(count_it);
    Allocator     pool(32, 2);
    (void)take(pool, 2, 32);
    EXPECT_EQ(pool.Allocate(32), nullptr);
    EXPECT_EQ(handled, 1);
    EXPECT_EQ(std::get_new_handler(), &count_it);
}

TEST(allocator, A03_a_handler_that_frees_a_block_is_of_use)
{
    static Allocator pool(32, 1);
    static void*     kept = pool.Allocate(32);
    const handler    set([] { pool.Deallocate(kept); });
    EXPECT_EQ(pool.Allocate(32), kept);
}

TEST(allocator, A04_the_block_freed_last_comes_first)
{
    Allocator          blocks(48, 4);
    std::vector<void*> all = take(blocks, 3, 48);
    blocks.Deallocate(nullptr);
    blocks.Deallocate(all[0]);
    blocks.Deallocate(all[2]);
    EXPECT_EQ(blocks.Allocate(48), all[2]);
    EXPECT_EQ(blocks.Allocate(48), all[0]);
    give(blocks, all);
}

TEST(allocator, A04_heap_blocks_that_were_freed_come_before_fresh_ones)
{
    Allocator          blocks(48);
    std::vector<void*> all = take(blocks, 3, 48);
    blocks.Deallocate(nullptr);
    blocks.Deallocate(all[0]);
    blocks.Deallocate(all[2]);
    const std::set<void*> again{blocks.Allocate(48), blocks.Allocate(48)};
    EXPECT_EQ(again, (std::set<void*>{all[0], all[2]}));
    give(blocks, all);
}

TEST(allocator, A04_what_is_no_block_in_use_is_refused)
{
    events    told;
    Allocator blocks(48);
    Allocator pool(48, 4);
    int       other = 0;
    for (Allocator* const each : {&blocks, &pool}) {
        void* const block = each->Allocate(48);
        each->Deallocate(&other);
        EXPECT_EQ(told.take_kind(), EGB_MISUSE_FOREIGN);
        each->Deallocate(static_cast<char*>(block) + 8);
        EXPECT_EQ(told.take_kind(), EGB_MISUSE_INTERIOR);
        each->Deallocate(block);
        each->Deallocate(block);
        EXPECT_EQ(told.take_kind(), EGB_MISUSE_DOUBLE_FREE);
        EXPECT_NE(each->Allocate(48), each->Allocate(48));
        EXPECT_EQ(each->GetBlocksInUse(), 2u);
    }
}

TEST(allocator, A04_a_block_that_looks_as_a_free_one_is_taken_back_and_counted)
{
    const events none_expected;
    Allocator    pool(48, 2);
    for (int i = 0; i < 3; i++) {
        void* const     block = pool.Allocate(48);
        const egb_word* words = static_cast<egb_word*>(block);
        const egb_word  mark  = EGB_FIXED_MARK_;
        std::memcpy(static_cast<char*>(block) + sizeof *words, &mark, sizeof mark);
        EXPECT_EQ(pool.GetBlocksInUse(), 1u);
        pool.Deallocate(block);
        EXPECT_EQ(pool.GetBlocksInUse(), 0u);
    }
    EXPECT_EQ(pool.GetBlockCount(), 1u);
}

TEST(allocator, A05_the_numbers_in_every_mode)
{
    static char memory[64 * 10];
    Allocator   blocks(64);
    Allocator   heap_pool(64, 10, 0, "heap pool");
    Allocator   static_pool(64, 10, memory);
    for (Allocator* const each : {&blocks, &heap_pool, &static_pool}) {
        std::vector<void*> all = take(*each, 7, 64);
        give(*each, all);
        all = take(*each, 3, 64);
        EXPECT_EQ(each->GetBlockSize(), 64u);
        EXPECT_EQ(each->GetBlockCount(), 7u);
        EXPECT_EQ(each->GetBlocksInUse(), 3u);
        EXPECT_EQ(each->GetAllocations(), 10u);
        EXPECT_EQ(each->GetDeallocations(), 7u);
        give(*each, all);
    }
    EXPECT_STREQ(heap_pool.GetName(), "heap pool");
    EXPECT_EQ(blocks.GetName(), nullptr);
    EXPECT_EQ(Allocator(3).GetBlockSize(), sizeof(long*));
}

TEST(allocator, A06_a_template_has_its_memory_in_it)
{
    static AllocatorPool<double[3], 7> pool;
    std::vector<void*>                 all = take(pool, 8, sizeof(double[3]));
    for (std::size_t i = 0; i < 7; i++) {
        const auto offset =
            reinterpret_cast<std::uintptr_t>(all[i]) - reinterpret_cast<std::uintptr_t>(&pool);
        EXPECT_LT(offset, sizeof pool);
    }
    EXPECT_EQ(all[7], nullptr);
    give(pool, all);
    EXPECT_EQ(pool.GetBlockCount(), 7u);
}

// Five blocks of 4,096 bytes.
static void use_long_blocks(Allocator& pool)
{
    events             told;
    std::vector<void*> all   = take(pool, 6, 4096);
    char* const        first = static_cast<char*>(all[0]);
    for (std::size_t i = 0; i < 5; i++) {
        EXPECT_EQ(all[i], first + 4096 * i) << "in the order of addresses";
    }
    EXPECT_EQ(all[5], nullptr);
    std::memset(first, 0xA5, std::size_t(4096) * 5);
    for (const std::size_t i : {1u, 3u}) {
        pool.Deallocate(all[i]);
        pool.Deallocate(all[i]);
        EXPECT_EQ(told.take_kind(), EGB_MISUSE_DOUBLE_FREE);
    }
    pool.Deallocate(first + 8);
    EXPECT_EQ(told.take_kind(), EGB_MISUSE_INTERIOR);
    pool.Deallocate(&told);
    EXPECT_EQ(told.take_kind(), EGB_MISUSE_FOREIGN);
    EXPECT_EQ(std::count(first, first + 4096 * 5, char(0xA5)), 4096 * 5) << "none was touched";
    EXPECT_EQ(pool.GetBlocksInUse(), 3u);
    EXPECT_EQ(pool.Allocate(4096), all[3]) << "the one that was freed last";
    EXPECT_EQ(pool.Allocate(4096), all[1]);
    EXPECT_EQ(pool.GetBlockCount(), 5u);
    EXPECT_EQ(pool.GetAllocations(), 7u);
    EXPECT_EQ(pool.GetDeallocations(), 2u);
    give(pool, all);
    EXPECT_EQ(pool.GetBlocksInUse(), 0u);
}

TEST(allocator, A06_a_template_of_long_blocks_has_their_list_outside_of_them)
{
    static AllocatorPool<char[4096], 5> pool;
    static AllocatorPool<char[4096], 5> copy(pool);
    use_long_blocks(pool);
    use_long_blocks(copy);
    EXPECT_LE(sizeof pool, sizeof(Allocator) + 4096 + 5 * 4096) << "it is where a gap was anyway";
}

TEST(allocator, A01_a_heap_pool_of_long_blocks_has_their_list_outside_of_them)
{
    Allocator   pool(4096, 5);
    char* const first = static_cast<char*>(pool.Allocate(4096));
    EXPECT_GE(egb_block_bytes(first - 4096), std::size_t(4096) * 6) << "list, and blocks";
    Allocator copy(pool);
    use_long_blocks(copy);
}

TEST(allocator, A07_new_and_delete_of_a_class_are_its_allocators)
{
    shape* const one = new shape;
    EXPECT_EQ(shape::from().GetBlocksInUse(), 1u);
    EXPECT_EQ(shape::from().GetBlockSize(), sizeof(shape));
    delete one;
    shape* const other = new (std::nothrow) shape;
    EXPECT_EQ(other, one);
    other->~shape();
    shape* const placed = new (static_cast<void*>(other)) shape;
    EXPECT_EQ(shape::from().GetAllocations(), 2u);
    delete placed;
    const std::unique_ptr<shape[]> many(new shape[3]);  // from the global operator new[]
    EXPECT_EQ(shape::from().GetAllocations(), 2u);
}

TEST(allocator, A08_a_class_may_have_a_pool_and_its_name_is_the_allocators)
{
    EXPECT_STREQ(shape::from().GetName(), "shape");
    const std::unique_ptr<one_of_two> one(new one_of_two);
    EXPECT_EQ(static_cast<void*>(one.get()), room_for_two);
    const std::unique_ptr<one_of_two> other(new one_of_two);
    EXPECT_THROW(new one_of_two, std::bad_alloc);
    EXPECT_EQ(new (std::nothrow) one_of_two, nullptr);
}

#if defined(__linux__) && defined(__LP64__)
static_assert(sizeof(Allocator) == 160, "docs/guide/migrate.md says so");
#endif

TEST(allocator, A09_the_data_types)
{
    static_assert(sizeof(INT8) == 1 && sizeof(UINT8) == 1 && sizeof(BYTE) == 1);
    static_assert(sizeof(INT16) == 2 && sizeof(UINT16) == 2 && sizeof(WORD) == 2);
    static_assert(sizeof(INT32) == 4 && sizeof(UINT32) == 4 && sizeof(UINT) == 4);
    static_assert(std::is_same_v<CHAR, char> && sizeof(SHORT) == 2 && sizeof(INT) == 4);
    static_assert(sizeof(FLOAT) == 4 && sizeof(DOUBLE) == 8);
    static_assert(std::is_integral_v<LONG> && std::is_integral_v<DWORD>);
    const BOOL yes = TRUE;
    EXPECT_NE(yes, FALSE);
    ASSERT_TRUE(yes);
}

TEST(allocator, A10_a_pool_is_carved_as_it_is_used)
{
    Allocator          pool(4096, 100000);  // 400 MB; one page is touched
    char* const        first = static_cast<char*>(pool.Allocate(4096));
    std::vector<void*> more  = take(pool, 3, 4096);
    for (std::size_t i = 0; i < 3; i++) {
        EXPECT_EQ(more[i], first + 4096 * (i + 1));
    }
    pool.Deallocate(first);
    EXPECT_EQ(pool.Allocate(4096), first);
    EXPECT_EQ(pool.GetBlockCount(), 4u);
}

// ---- what used to happen ------------------------------------------------------------------------

TEST(allocator, AB_1_blocks_smaller_than_a_pointer_ran_over_the_end_of_their_memory)
{
    static struct {
        AllocatorPool<int, 5> pool;
        unsigned char         behind[64];
    } both{};
    std::vector<void*> all = take(both.pool, 5, sizeof(int));
    EXPECT_EQ(different(all), 5u);
    for (void* const block : all) {
        std::memset(block, 0xFF, both.pool.GetBlockSize());
    }
    for (const unsigned char one : both.behind) {
        EXPECT_EQ(one, 0);
    }
    static unsigned char memory[20 + 64];
    Allocator            pool(1, 20, reinterpret_cast<CHAR*>(memory));
    all = take(pool, 21, 1);
    EXPECT_EQ(different(all), 20u);
    EXPECT_EQ(all[20], nullptr);
    for (std::size_t i = 0; i < 20; i++) {
        std::memset(all[i], 0xFF, pool.GetBlockSize());
    }
    for (std::size_t i = 20; i < sizeof memory; i++) {
        EXPECT_EQ(memory[i], 0);
    }
    give(pool, all);
    EXPECT_EQ(pool.GetBlocksInUse(), 0u);
}

TEST(allocator, AB_2_blocks_of_13_bytes_were_misaligned)
{
    alignas(16) static char       memory[13 * 40 + 1];
    Allocator                     blocks(13);
    Allocator                     heap_pool(13, 40);
    Allocator                     static_pool(13, 40, memory + 1);
    AllocatorPool<char[13], 40>   inside;
    const std::vector<Allocator*> all = {&blocks, &heap_pool, &static_pool, &inside};
    for (Allocator* const each : all) {
        std::vector<void*> got   = take(*each, 40, 13);
        const std::size_t  align = each == &static_pool ? 4 : 16;
        EXPECT_EQ(different(got), 40u);
        for (void* const block : got) {
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % align, 0u);
        }
        give(*each, got);
    }
    const std::unique_ptr<wide> one(new wide);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(one.get()) % 64, 0u);
}

TEST(allocator, AB_3_an_object_of_a_derived_class_was_an_assertion)
{
    shape* const base = new polygon;
    base->number      = 5;
    EXPECT_GE(egb_block_bytes(base), sizeof(polygon));
    EXPECT_EQ(shape::from().GetBlocksInUse(), 1u);
    shape* const plain = new shape;
    delete base;
    delete plain;
    EXPECT_EQ(shape::from().GetBlocksInUse(), 0u);
}

TEST(allocator, an_object_of_a_derived_class_is_aligned_for_its_type)
{
    struct alignas(128) aligned_polygon : shape {
        char corners[1080];
    };
    static_assert(sizeof(aligned_polygon) > 1024, "the heap aligns those to half as much");
    for (int i = 0; i < 20; i++) {
        const std::unique_ptr<shape> one(new aligned_polygon);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(one.get()) % 128, 0u);
    }
    EXPECT_EQ(shape::from().GetBlocksInUse(), 0u);
}

TEST(allocator, AB_4_new_returned_null_when_the_handler_returned)
{
    const handler                     set(count_it);
    const std::unique_ptr<one_of_two> one(new one_of_two);
    const std::unique_ptr<one_of_two> other(new one_of_two);
    EXPECT_THROW(new one_of_two, std::bad_alloc);
    EXPECT_EQ(handled, 1);
}

TEST(allocator, AB_5_two_threads_got_the_same_block)
{
    Allocator                     blocks(16);
    Allocator                     pool(16, 100);
    const std::vector<Allocator*> all = {&blocks, &pool};
    const auto                    use = [&all](int mine) {
        for (int i = 0; i < 20000; i++) {
            for (Allocator* const each : all) {
                int* const a = static_cast<int*>(each->Allocate(16));
                int* const b = static_cast<int*>(each->Allocate(16));
                *a           = mine;
                *b           = mine;
                EXPECT_EQ(*a + *b, 2 * mine);
                each->Deallocate(a);
                each->Deallocate(b);
            }
        }
    };
    std::thread one(use, 1);
    std::thread two(use, 2);
    one.join();
    two.join();
    EXPECT_EQ(blocks.GetBlocksInUse(), 0u);
    EXPECT_EQ(pool.GetAllocations(), 80000u);
}

TEST(allocator, AB_6_a_copy_freed_the_blocks_a_second_time)
{
    std::vector<Allocator> all;
    all.push_back(Allocator(32));
    all.push_back(Allocator(32, 10));
    Allocator copy(all[1]);
    for (Allocator* const each : {&all[0], &all[1], &copy}) {
        each->Deallocate(each->Allocate(32));
        EXPECT_EQ(each->GetAllocations(), 1u);
    }
}

TEST(allocator, AB_7_failed_allocations_counted_as_in_use)
{
    const handler set(count_it);
    Allocator     pool(32, 2);
    (void)take(pool, 5, 32);
    EXPECT_EQ(pool.GetBlocksInUse(), 2u);
    EXPECT_EQ(pool.GetAllocations(), 2u);
    EXPECT_EQ(handled, 3);
}

TEST(allocator, a_pool_of_more_than_the_machine_has_is_refused)
{
    EXPECT_THROW(Allocator(SIZE_MAX / 8, 1000), std::bad_alloc);
    for (std::size_t less = 0; less < 40; less++) {
        EXPECT_THROW(Allocator(SIZE_MAX - less, 3), std::bad_alloc) << "a stride of 0";
    }
    static char few[64];
    Allocator   none(SIZE_MAX, 1, few);
    EXPECT_EQ(none.Allocate(1), nullptr);
    Allocator blocks(SIZE_MAX / 2);
    EXPECT_THROW(blocks.Allocate(SIZE_MAX / 2), std::bad_alloc);
}

// The original's macro had new and delete only: what a class needs beside them it has itself.
class with_own_placement
{
    DECLARE_ALLOCATOR

  public:
    static void* operator new(size_t, void* place) noexcept
    {
        return place;
    }

    static void* operator new(size_t size, const std::nothrow_t&) noexcept
    {
        return operator new(size);
    }
};
IMPLEMENT_ALLOCATOR(with_own_placement, 0, NULL)

TEST(allocator, a_class_keeps_the_forms_that_it_has_itself)
{
    alignas(16) unsigned char place[16];
    EXPECT_EQ(static_cast<void*>(new (place) with_own_placement), static_cast<void*>(place));
    delete new (std::nothrow) with_own_placement;
    delete new with_own_placement;
}

// The handler of misuse uses the pool that reports, in the thread that reports.
static void use_the_pool(const egb_misuse_event*, void* user)
{
    Allocator&  pool  = *static_cast<Allocator*>(user);
    void* const block = pool.Allocate(48);
    EXPECT_NE(block, nullptr);
    EXPECT_NE(pool.GetBlocksInUse(), 0u);
    pool.Deallocate(block);
}

TEST(allocator, a_handler_of_misuse_may_use_the_allocator)
{
    Allocator blocks(48);
    Allocator pool(48, 8);
    for (Allocator* const each : {&blocks, &pool}) {
        egb_misuse_set_handler(use_the_pool, each);
        const auto misuse = [&] {
            void* const block = each->Allocate(48);
            each->Deallocate(static_cast<char*>(block) + 8);
            each->Deallocate(block);
            each->Deallocate(block);
            std::memset(block, 0x55, 2 * EGB_WORD_BYTES);  // the link of a free block
            EXPECT_NE(each->Allocate(48), nullptr);
        };
        misuse();
        std::thread(misuse).join();  // among threads
        egb_misuse_set_handler(nullptr, nullptr);
    }
}
