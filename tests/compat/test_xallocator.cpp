// SPDX-License-Identifier: MIT
// xallocator: what the original promised, row by row, and what used to happen and does not.
#include "xallocator.h"

#include "events.hpp"

#include "Allocator.h"
#include "eggbox/pool.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <memory>
#include <new>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

extern "C" Allocator* xallocator_get_allocator(size_t size);

namespace
{

std::string stats()
{
    testing::internal::CaptureStdout();
    xalloc_stats();
    return testing::internal::GetCapturedStdout();
}

std::string line(std::size_t size, std::size_t count, std::size_t in_use)
{
    return "xallocator Block Size: " + std::to_string(size) +
           " Block Count: " + std::to_string(count) + " Blocks In Use: " + std::to_string(in_use) +
           "\n";
}

std::uintptr_t address(const void* block)
{
    return reinterpret_cast<std::uintptr_t>(block);
}

// Used before main and after it: the first of this file, and the last.
struct holder {
    void* memory                     = xmalloc(500000);
    holder()                         = default;
    holder(const holder&)            = delete;
    holder& operator=(const holder&) = delete;
    ~holder()
    {
        std::memset(memory, 1, 500000);
        xfree(memory);
    }
};
const holder before_main;

struct plain {
    XALLOCATOR

    plain()                        = default;
    plain(const plain&)            = delete;
    plain& operator=(const plain&) = delete;
    virtual ~plain()               = default;

    int number = 3;
};

struct derived : plain {
    char more[300] = {};
};

struct alignas(128) wide {
    XALLOCATOR

    char bytes[100] = {};
};

struct throwing {
    XALLOCATOR

    throwing()
    {
        throw 1;
    }
};

// Each test begins without memory.
struct xallocator : testing::Test {
    xallocator()
    {
        xalloc_destroy();
    }
};

int handled = 0;

}  // namespace

TEST_F(xallocator, X01_init_and_destroy_may_be_called_again_and_again)
{
    for (int i = 0; i < 3; i++) {
        xalloc_init();
        void* const block = xmalloc(100);
        EXPECT_NE(stats().find(line(128, 1, 1)), std::string::npos);
        xfree(block);
        xalloc_destroy();
        EXPECT_EQ(stats().find("Block Size: 128 "), std::string::npos);
    }
    void* const kept = xmalloc(100);
    xalloc_destroy();
    std::memset(kept, 1, 100);
    xfree(kept);
}

TEST_F(xallocator, X02_blocks_of_every_size)
{
    std::vector<std::pair<void*, std::size_t>> blocks;
    for (std::size_t size = 0; size < 3000; size++) {
        blocks.emplace_back(xmalloc(size), size);
        std::memset(blocks.back().first, static_cast<int>(size), size);
    }
    for (const auto& [block, size] : blocks) {
        for (std::size_t i = 0; i < size; i++) {
            ASSERT_EQ(static_cast<unsigned char*>(block)[i], size & 0xFF);
        }
        xfree(block);
    }
}

TEST_F(xallocator, X03_null_and_what_is_no_block_in_use)
{
    events told;
    int    other = 0;
    xfree(nullptr);
    EXPECT_TRUE(told.none());
    xfree(&other);
    EXPECT_EQ(told.take_kind(), EGB_MISUSE_FOREIGN);
    void* const block = xmalloc(40);
    xfree(block);
    xfree(block);
    EXPECT_EQ(told.take_kind(), EGB_MISUSE_DOUBLE_FREE);
    void* const one = xmalloc(40);
    void* const two = xmalloc(40);
    EXPECT_NE(one, two);
    xfree(one);
    xfree(two);
}

TEST_F(xallocator, X04_realloc_keeps_what_fits)
{
    char* text = static_cast<char*>(xrealloc(nullptr, 24));
    std::strcpy(text, "some text");
    for (const std::size_t size : {124u, 5000u, 40000u, 1000000u, 3000000u, 200u, 12u}) {
        text = static_cast<char*>(xrealloc(text, size));
        ASSERT_STREQ(text, "some text");
        text[size - 1] = 0;
    }
    EXPECT_EQ(xrealloc(text, 0), nullptr);
}

TEST_F(xallocator, X05_a_line_for_each_class_in_the_order_of_their_first_use)
{
    void* const a = xmalloc(100);
    void* const b = xmalloc(120);
    void* const c = xmalloc(8);
    xfree(b);
    EXPECT_NE(stats().find(line(128, 2, 1) + line(16, 1, 1)), std::string::npos);
    xfree(a);
    xfree(c);
    for (int i = 0; i < 1000; i++) {
        xfree(xmalloc(9));
    }
    EXPECT_NE(stats().find(line(128, 2, 0) + line(16, 1, 0) + line(32, 1, 0)), std::string::npos);
}

TEST_F(xallocator, X06_every_form_of_new_and_delete)
{
    delete new plain;
    delete[] new plain[5];
    delete new (std::nothrow) plain;
    delete[] new (std::nothrow) plain[5];
    plain* const base = new derived;
    EXPECT_EQ(base->number, 3);
    delete base;
    void* const  raw    = xmalloc(sizeof(plain));
    plain* const placed = new (raw) plain;
    delete placed;
    const std::unique_ptr<wide>   one(new wide);
    const std::unique_ptr<wide[]> many(new wide[3]);
    EXPECT_EQ(address(one.get()) % 128 + address(&many[0]) % 128, 0u);
    EXPECT_THROW(new throwing, int);
    const std::string said = stats();
    EXPECT_NE(said.find(line(sizeof(void*) * 4, 1, 0)), std::string::npos) << said;
}

TEST_F(xallocator, X07_static_objects_have_memory_before_main)
{
    EXPECT_NE(
        stats().find("Block Size: 524288 Block Count: 1 Blocks In Use: 1"), std::string::npos
    );
    const XallocInitDestroy another;
    std::memset(before_main.memory, 2, 500000);
}

TEST_F(xallocator, X08_the_classes_are_the_originals)
{
    const std::size_t blocks[] = {
        8, 16, 32, 64, 128, 256, 396, 512, 768, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072
    };
    std::size_t smaller = 0;
    for (const std::size_t block : blocks) {
        void* const largest = xmalloc(block - 8);
        EXPECT_NE(stats().find(line(block, 1, 1)), std::string::npos) << stats();
        xfree(largest);
        xfree(xmalloc(smaller == 0 ? 0 : smaller - 7));  // one byte more than the class before
        EXPECT_NE(stats().find(line(block, 1, 0)), std::string::npos) << stats();
        smaller = block;
    }
}

TEST_F(xallocator, X09_the_allocator_of_a_class)
{
    Allocator* const of = xallocator_get_allocator(100);
    EXPECT_EQ(of->GetBlockSize(), 128u);
    EXPECT_STREQ(of->GetName(), "xallocator");
    EXPECT_EQ(of, xallocator_get_allocator(60));
    void* const block = xmalloc(100);
    EXPECT_EQ(of->GetBlocksInUse(), 1u);
    EXPECT_EQ(of->GetBlockCount(), 1u);
    xfree(block);
    EXPECT_EQ(of->Allocate(128), block);
    of->Deallocate(block);
    EXPECT_EQ(xallocator_get_allocator(200000), nullptr);
}

TEST_F(xallocator, X10_any_thread_any_block)
{
    std::vector<std::thread> threads;
    std::vector<void*>       handed(4000);
    for (std::size_t t = 0; t < 4; t++) {
        threads.emplace_back([&handed, t] {
            for (std::size_t i = 0; i < 1000; i++) {
                void* const block = xmalloc(i * 50);
                std::memset(block, static_cast<int>(t), i * 50);
                handed[t * 1000 + i] = xrealloc(block, i * 40 + 1);
            }
        });
    }
    for (std::thread& each : threads) {
        each.join();
    }
    std::thread([&handed] {
        for (void* const block : handed) {
            xfree(block);
        }
    }).join();
    const std::string said     = stats();
    std::size_t       occupied = 0;
    for (std::size_t at = 0; (at = said.find("In Use: ", at)) != std::string::npos; at++) {
        occupied += said[at + 8] != '0';
    }
    EXPECT_EQ(occupied, 1u) << said;  // objects made before main
}

// ---- what used to happen ------------------------------------------------------------------------

TEST_F(xallocator, XB_1_no_pointer_was_aligned_to_16)
{
    for (std::size_t size = 0; size < 100000; size += size < 5000 ? 1 : 501) {
        void* const block = xmalloc(size);
        ASSERT_EQ(address(block) % 16, 0u) << size;
        xfree(block);
    }
}

TEST_F(xallocator, XB_2_huge_sizes_were_tiny_blocks)
{
    for (const std::size_t size : {SIZE_MAX, SIZE_MAX - 7, SIZE_MAX - 8, SIZE_MAX / 2 + 2}) {
        EXPECT_EQ(xmalloc(size), nullptr);
    }
    void* const block = xmalloc(10);
    std::memset(block, 5, 10);
    EXPECT_EQ(xrealloc(block, SIZE_MAX), nullptr);
    EXPECT_EQ(static_cast<char*>(block)[9], 5);
    xfree(block);
    EXPECT_THROW(plain::operator new(SIZE_MAX), std::bad_alloc);
}

TEST_F(xallocator, XB_3_after_bad_alloc_the_next_call_hung)
{
    std::set_new_handler([] {
        handled++;
        xfree(xmalloc(10));
        std::set_new_handler(nullptr);
    });
    EXPECT_THROW(plain::operator new(SIZE_MAX / 2), std::bad_alloc);
    EXPECT_EQ(handled, 1);
    xfree(xmalloc(100));
}

TEST_F(xallocator, XB_4_the_16th_size_class_was_an_assertion)
{
    std::vector<void*> blocks;
    for (std::size_t size = 1; size < (std::size_t{1} << 28); size *= 2) {
        blocks.push_back(xmalloc(size));
        ASSERT_NE(blocks.back(), nullptr);
        static_cast<char*>(blocks.back())[size - 1] = 1;
    }
    for (void* const block : blocks) {
        xfree(block);
    }
}

TEST_F(xallocator, XB_5_blocks_of_396_bytes_were_misaligned)
{
    std::set<void*> blocks;
    for (int i = 0; i < 100; i++) {
        void* const block = xmalloc(388);
        std::memset(block, 0xFF, 388);
        EXPECT_EQ(address(block) % 16, 0u);
        EXPECT_TRUE(blocks.insert(block).second);
    }
    for (void* const block : blocks) {
        xfree(block);
    }
}

TEST_F(xallocator, XB_6_realloc_never_stayed_where_it_was)
{
    void* const block = xmalloc(100);
    EXPECT_EQ(xrealloc(block, 110), block);
    EXPECT_EQ(xrealloc(block, 70), block);
    void* const large = xmalloc(100000);
    EXPECT_EQ(xrealloc(large, 120000), large);
    xfree(block);
    xfree(large);
}

TEST_F(xallocator, XB_7_the_time_of_a_call_depended_on_the_number_of_classes)
{
    // No list of classes is searched: the class of a size is the same, whatever came before.
    void* const first = xmalloc(4000);
    xfree(first);
    for (std::size_t size = 1; size < 4000; size += 3) {
        xfree(xmalloc(size));
    }
    EXPECT_EQ(xmalloc(4000), first);
    xfree(first);
}

TEST_F(xallocator, XB_8_memory_was_never_given_back)
{
    std::vector<void*> blocks;
    for (int i = 0; i < 100000; i++) {
        blocks.push_back(xmalloc(100));
    }
    const egb_pool pool = egb_pool_of(blocks[0]);
    for (void* const block : blocks) {
        xfree(block);
    }
    egb_pool_stats before{};
    ASSERT_EQ(egb_pool_get_stats(pool, &before), EGB_OK);
    // Turns end by a clock, so time must pass: more than enough on any machine, however busy.
    egb_pool_stats now = before;
    for (int nap = 0; nap < 1000 && now.bytes_held > before.bytes_held / 10; nap++) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        for (std::size_t i = 0; i < 1000; i++) {
            blocks[i] = xmalloc(1000);
        }
        for (std::size_t i = 0; i < 1000; i++) {
            xfree(blocks[i]);
        }
        ASSERT_EQ(egb_pool_get_stats(pool, &now), EGB_OK);
    }
    EXPECT_LE(now.bytes_held, before.bytes_held / 10);
}

// A purge trimmed the class, and then the count was the peak of blocks in use or in a magazine.
TEST_F(xallocator, a_trim_changes_no_count)
{
    for (int i = 0; i < 2; i++) {
        xfree(xmalloc(100));
    }
    void* const one   = xmalloc(100);
    void* const other = xmalloc(100);
    xfree(one);
    xfree(other);
    const std::string before = stats();
    ASSERT_NE(before.find(line(128, 2, 0)), std::string::npos) << before;
    egb_xtrim_();
    EXPECT_EQ(stats(), before);
    xfree(xmalloc(100));
    EXPECT_EQ(stats(), before);
}

TEST_F(xallocator, X05_stats_go_where_cout_goes)
{
    std::ostringstream    text;
    std::streambuf* const before = std::cout.rdbuf(text.rdbuf());
    xalloc_stats();
    std::cout.rdbuf(before);
    EXPECT_NE(text.str().find("xallocator Block Size: "), std::string::npos);
}

// The additions of the macro are no obstacle to a class with forms of its own.
class with_own_forms
{
    XALLOCATOR

  public:
    static void* operator new[](size_t size, const std::nothrow_t&) noexcept
    {
        return xmalloc(size + 1);
    }
};

TEST_F(xallocator, a_class_keeps_the_forms_that_it_has_itself)
{
    with_own_forms* const several = new (std::nothrow) with_own_forms[3];
    EXPECT_NE(several, nullptr);
    delete[] several;
    with_own_forms* const one = new (std::nothrow) with_own_forms;
    EXPECT_NE(one, nullptr);
    delete one;
    alignas(with_own_forms) unsigned char place[sizeof(with_own_forms)];
    EXPECT_EQ(static_cast<void*>(new (place) with_own_forms), static_cast<void*>(place));
}

// The last of the static objects ended the pools, also those of threads that were still at work.
TEST_F(xallocator, threads_go_on_while_the_program_ends)
{
    std::atomic<bool>        is_over{false};
    std::atomic<int>         refused{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; t++) {
        threads.emplace_back([&] {
            while (!is_over) {
                void* const block = xmalloc(500);
                refused += block == nullptr ? 1 : 0;
                xfree(block);
            }
        });
    }
    for (int i = 0; i < 200; i++) {
        egb_xtrim_();
    }
    is_over = true;
    for (std::thread& one : threads) {
        one.join();
    }
    EXPECT_EQ(refused, 0);
}
