// SPDX-License-Identifier: MIT
// Pages that hold free blocks only go back to the system, also where a block of their chunk is in
// use. The linker leads the library's look at the clock here, its steps, and its requests.
#include "events.hpp"
#include "heaps.hpp"

extern "C" {
#include "pool/backing.h"
#include "pool/registry.h"
}

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>

namespace
{

std::uint64_t now = 1000000;

constexpr std::size_t MiB = std::size_t{1} << 20;

// The memory that the library looks through while it has a class locked.
struct walk_numbers {
    std::size_t steps;
    std::size_t bytes;       // in all steps
    std::size_t bytes_most;  // the most in one step
};

std::mutex   walks;
walk_numbers walked;

// The answer of the system when it is asked to take pages back.
enum class answer { yes, no, half };

std::atomic<answer> answer_of_system{answer::yes};

}  // namespace

extern "C" {
std::uint64_t __wrap_egb_os_milliseconds_(void);
void          __real_egb_pool_give_pages_(egb_pool pool, egb_page_walk* walk);
void          __wrap_egb_pool_give_pages_(egb_pool pool, egb_page_walk* walk);
bool          __real_egb_os_forget_(void* region, size_t bytes);
bool          __wrap_egb_os_forget_(void* region, size_t bytes);

void __wrap_egb_pool_give_pages_(egb_pool pool, egb_page_walk* walk)
{
    const std::size_t before = walk->looked;
    __real_egb_pool_give_pages_(pool, walk);
    const std::size_t                 bytes = walk->looked - before;
    const std::lock_guard<std::mutex> lock(walks);
    walked.steps++;
    walked.bytes += bytes;
    walked.bytes_most = std::max(walked.bytes_most, bytes);
}

bool __wrap_egb_os_forget_(void* region, size_t bytes)
{
    if (answer_of_system == answer::half) {
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        (void)__real_egb_os_forget_(region, bytes / page / 2 * page);
    }
    return answer_of_system == answer::yes && __real_egb_os_forget_(region, bytes);
}

std::uint64_t __wrap_egb_os_milliseconds_(void)
{
    return now;
}
}

namespace
{

std::size_t page_bytes()
{
    return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// Bytes of the pages of these addresses that are in memory.
std::size_t resident(const std::vector<void*>& blocks, std::size_t bytes)
{
    const std::uintptr_t page = page_bytes();
    std::size_t          sum  = 0;
    std::uintptr_t       last = 0;
    for (void* const block : blocks) {
        const auto           start = reinterpret_cast<std::uintptr_t>(block);
        const std::uintptr_t end   = start + bytes;
        for (std::uintptr_t at = std::max(start & ~(page - 1), last); at < end; at += page) {
            unsigned char is_there = 0;
            (void)mincore(reinterpret_cast<void*>(at), page, &is_there);
            sum += (is_there & 1) != 0 ? page : 0;
            last = at + page;
        }
    }
    return sum;
}

// Blocks with something in them, in order of address.
std::vector<void*> take(std::size_t bytes, std::size_t count)
{
    std::vector<void*> blocks(count);
    for (void*& block : blocks) {
        block = egb_malloc(bytes);
        std::memset(block, 0x5a, bytes);
    }
    std::sort(blocks.begin(), blocks.end());
    return blocks;
}

void give(const std::vector<void*>& blocks)
{
    for (void* const block : blocks) {
        egb_free(block);
    }
}

std::size_t page_faults()
{
    rusage used = {};
    getrusage(RUSAGE_SELF, &used);
    return static_cast<std::size_t>(used.ru_minflt);
}

// One block in four pages stays when blocks are thinned out: of so many.
std::size_t one_stays_of(std::size_t bytes)
{
    return std::max<std::size_t>(2, 4 * page_bytes() / bytes);
}

bool stays(std::size_t index, std::size_t bytes)
{
    const std::size_t every = one_stays_of(bytes);
    return index % every == every / 2;
}

const egb_chunk_* chunk_of(egb_pool pool, const void* address)
{
    return egb_growing_chunk_of_(&egb_control_of_(pool)->depot.growing, address);
}

// A block that goes, two pages from one that stays and keeps the chunk of both.
void* one_that_goes(const std::vector<void*>& blocks, std::size_t bytes)
{
    const std::size_t apart = one_stays_of(bytes) / 2;
    for (std::size_t i = apart; i + apart < blocks.size(); i += 2 * apart) {
        const egb_pool pool = egb_pool_of(blocks[i]);
        if (chunk_of(pool, blocks[i]) == chunk_of(pool, blocks[i + apart])) {
            return blocks[i + apart];
        }
    }
    return nullptr;
}

// Returns those that stay.
std::vector<void*> thin_out(const std::vector<void*>& blocks, std::size_t bytes)
{
    std::vector<void*> stay;
    for (std::size_t i = 0; i < blocks.size(); i++) {
        if (stays(i, bytes)) {
            stay.push_back(blocks[i]);
        } else {
            egb_free(blocks[i]);
        }
    }
    return stay;
}

void end_epoch()
{
    now += 250;
    (void)egb_heap_purge();
}

// Every other block of a class goes, and no page fits between those that stay.
std::vector<void*> take_without_free_pages(std::size_t sum)
{
    const std::size_t        bytes  = page_bytes() / 4 * 3;
    const std::vector<void*> blocks = take(bytes, sum / bytes);
    std::vector<void*>       stay;
    for (std::size_t i = 0; i < blocks.size(); i++) {
        if (i % 2 == 0) {
            stay.push_back(blocks[i]);
        } else {
            egb_free(blocks[i]);
        }
    }
    return stay;
}

class heap_free_pages : public emptied_heap
{
  protected:
    void SetUp() override
    {
        empty(end_epoch);
    }
};

constexpr std::initializer_list<std::size_t> block_sizes = {
    16, 48, 112, 512, 896, 1024, 4608, 9216
};

}  // namespace

TEST_F(heap_free_pages, a_trim_gives_them_back)
{
    for (const std::size_t bytes : block_sizes) {
        const std::vector<void*> blocks = take(bytes, 8 * MiB / bytes);
        const std::size_t        before = resident(blocks, bytes);
        ASSERT_GE(before, 7 * MiB) << bytes;
        const std::vector<void*> stay = thin_out(blocks, bytes);
        EXPECT_GE(egb_heap_trim(0), MiB) << bytes;
        // Each block that stays keeps its pages.
        const std::size_t most = stay.size() * (bytes / page_bytes() + 2) * page_bytes();
        EXPECT_LE(resident(blocks, bytes), most + MiB / 4) << bytes;
        for (void* const block : stay) {
            EXPECT_EQ(static_cast<unsigned char*>(block)[bytes - 1], 0x5a);
        }
        give(stay);
        EXPECT_NE(egb_heap_trim(0), 0u);
    }
}

TEST_F(heap_free_pages, a_page_that_comes_back_is_one_page_fault)
{
    for (const std::size_t bytes : {16u, 112u, 512u, 896u}) {
        const std::vector<void*> blocks = take(bytes, 8 * MiB / bytes);
        const std::vector<void*> stay   = thin_out(blocks, bytes);
        const std::size_t        before = resident(blocks, bytes);
        ASSERT_NE(egb_heap_trim(0), 0u) << bytes;
        const std::size_t pages = (before - resident(blocks, bytes)) / page_bytes();
        ASSERT_GE(pages, MiB / page_bytes()) << bytes;
        std::vector<void*> again(blocks.size() - stay.size());
        const std::size_t  faults = page_faults();
        for (void*& block : again) {
            block                               = egb_malloc(bytes);
            *static_cast<volatile char*>(block) = 1;
        }
        EXPECT_LE(page_faults() - faults, pages + again.size() * sizeof(void*) / page_bytes() + 64)
            << bytes << ": " << pages << " pages";
        give(again);
        give(stay);
    }
}

TEST_F(heap_free_pages, a_trim_keeps_as_much_as_it_is_told)
{
    const std::vector<void*> blocks = take(512, 16384);
    const std::vector<void*> stay   = thin_out(blocks, 512);
    (void)egb_heap_trim(SIZE_MAX);
    const std::size_t before = resident(blocks, 512);
    EXPECT_GE(before, 7 * MiB);
    EXPECT_EQ(egb_heap_trim(SIZE_MAX), 0u);
    EXPECT_EQ(resident(blocks, 512), before);
    const std::size_t held = subtree_of(egb_heap_pool()).bytes_held;
    (void)egb_heap_trim(held - 2 * MiB);
    EXPECT_LE(resident(blocks, 512), before - MiB);
    EXPECT_GE(resident(blocks, 512), before - 4 * MiB);
    give(stay);
}

TEST_F(heap_free_pages, they_go_after_a_quiet_time_and_not_before)
{
    const std::vector<void*> blocks = take(512, 16384);
    end_epoch();
    const std::vector<void*> stay   = thin_out(blocks, 512);
    const std::size_t        before = resident(stay, 512);
    end_epoch();
    const std::size_t soon = resident(blocks, 512);
    EXPECT_GE(soon, 4 * MiB) << "it was used in this epoch";
    for (int i = 0; i < 20; i++) {
        end_epoch();
    }
    EXPECT_LE(resident(blocks, 512), 3 * MiB);
    EXPECT_EQ(resident(stay, 512), before);
    give(stay);
}

TEST_F(heap_free_pages, growth_of_others_takes_them)
{
    const std::vector<void*> blocks = take(512, 65536);
    const std::vector<void*> stay   = thin_out(blocks, 512);
    const std::vector<void*> other  = take(3072, 96 * MiB / 3072);
    EXPECT_LE(resident(blocks, 512), 24 * MiB) << "of 32";
    give(other);
    give(stay);
}

// While blocks of all chunks were freed no page went.
TEST_F(heap_free_pages, growth_takes_those_of_a_class_that_shrinks_all_the_time)
{
    std::mt19937             random(5);
    const std::vector<void*> blocks = take(8192, 64 * MiB / 8192);
    std::vector<void*>       order  = blocks;
    std::vector<void*>       other;
    std::shuffle(order.begin(), order.end(), random);
    while (order.size() > blocks.size() / 4) {
        egb_free(order.back());
        order.pop_back();
        const std::vector<void*> more = take(3072, 3);
        other.insert(other.end(), more.begin(), more.end());
    }
    EXPECT_LE(resident(blocks, 8192), 48 * MiB) << "16 are in use";
    give(other);
    give(order);
}

// The pages of a program that uses them again and again stay, however the use goes up and down.
TEST_F(heap_free_pages, those_in_use_now_and_then_stay)
{
    std::mt19937       random(7);
    std::vector<void*> blocks = take(8192, 1000);
    const auto         all    = blocks;
    for (int epoch = 0; epoch < 20; epoch++) {
        for (int i = 0; i < 2000; i++) {
            void*& one = blocks[random() % blocks.size()];
            egb_free(one);
            one = egb_malloc(8192);
            std::memset(one, 1, 8192);
        }
        const std::size_t before = resident(all, 8192);
        end_epoch();
        EXPECT_GE(resident(all, 8192) + MiB / 2, before);
    }
    give(blocks);
}

TEST_F(heap_free_pages, a_block_of_them_is_freed_twice)
{
    for (const std::size_t bytes : block_sizes) {
        events                   seen;
        const std::vector<void*> blocks = take(bytes, MiB / bytes);
        const std::vector<void*> stay   = thin_out(blocks, bytes);
        (void)egb_heap_trim(0);
        std::size_t twice = 0;
        for (std::size_t i = 0; i < blocks.size(); i++) {
            if (!stays(i, bytes)) {
                egb_free(blocks[i]);
                const egb_misuse_kind kind = seen.take_kind();
                twice += kind == EGB_MISUSE_DOUBLE_FREE ? 1 : 0;
                EXPECT_TRUE(kind == EGB_MISUSE_DOUBLE_FREE || kind == EGB_MISUSE_FOREIGN);
            }
        }
        EXPECT_GE(twice, blocks.size() / 4) << bytes << ": the chunks of others went as a whole";
        give(stay);
        EXPECT_TRUE(seen.none());
    }
}

// A write that came before the page would have gone keeps it; one that came later is seen as well.
TEST_F(heap_free_pages, a_write_to_a_free_block_is_noticed)
{
    for (const bool is_early : {true, false}) {
        for (const std::size_t bytes : {std::size_t{16}, std::size_t{48}, std::size_t{512}}) {
            events                   seen;
            const std::vector<void*> blocks = take(bytes, MiB / 2 / bytes);
            const std::vector<void*> stay   = thin_out(blocks, bytes);
            (void)egb_heap_trim(is_early ? SIZE_MAX : 0);
            for (const egb_heap_class& one : heap_numbers().classes) {
                (void)egb_pool_trim(one.pool, SIZE_MAX);  // no block is in a magazine
            }
            void* const written = one_that_goes(blocks, bytes);
            ASSERT_NE(written, nullptr);
            std::memset(written, 0x77, 8);
            (void)egb_heap_trim(0);
            std::vector<void*> again;
            for (std::size_t i = 0; i < 2 * blocks.size(); i++) {
                again.push_back(egb_malloc(bytes));
                EXPECT_NE(again.back(), written);
            }
            EXPECT_EQ(seen.take_all(), EGB_MISUSE_OVERWRITTEN) << bytes << " early " << is_early;
            give(again);
            give(stay);
        }
    }
}

// Other threads wait while a step looks at chunks, also where it finds nothing to give.
TEST_F(heap_free_pages, a_walk_in_vain_is_cut_into_steps)
{
    const std::size_t        sum  = 160 * MiB;
    const std::vector<void*> stay = take_without_free_pages(sum);
    walked                        = {};
    for (int epoch = 0; epoch < 60; epoch++) {
        const walk_numbers before = walked;
        end_epoch();
        EXPECT_LE(walked.steps - before.steps, 32u);
        EXPECT_LE(walked.bytes - before.bytes, 136 * MiB);
    }
    EXPECT_GE(walked.bytes, sum * 7 / 8) << "a walk goes on in the next epoch";
    EXPECT_LE(walked.bytes_most, 8 * MiB);
    give(stay);
}

TEST_F(heap_free_pages, an_alloc_looks_at_few_chunks)
{
    const std::vector<void*> stay  = take_without_free_pages(96 * MiB);
    const std::size_t        bytes = 16384;
    std::vector<void*>       other(64 * MiB / bytes);
    std::size_t              most = 0;
    walked                        = {};
    for (void*& block : other) {
        const std::size_t before = walked.steps;
        block                    = egb_malloc(bytes);
        most                     = std::max(most, walked.steps - before);
    }
    EXPECT_GE(most, 1u);
    EXPECT_LE(most, 4u);
    EXPECT_LE(walked.bytes_most, 8 * MiB);
    give(other);
    give(stay);
}

// The pages of most of their blocks went before: that does not keep the rest.
TEST_F(heap_free_pages, chunks_go_that_are_wholly_free_later)
{
    const auto held = [] {
        return subtree_of(egb_heap_pool()).bytes_held;
    };
    const std::vector<void*> blocks = take(512, 65536);
    std::vector<void*>       stay;
    for (std::size_t i = 0; i < blocks.size(); i++) {
        if (i % 256 == 0) {
            stay.push_back(blocks[i]);
        } else {
            egb_free(blocks[i]);
        }
    }
    for (int i = 0; i < 20; i++) {
        end_epoch();
    }
    EXPECT_LE(resident(blocks, 512), 4 * MiB);
    EXPECT_GE(held(), 16 * MiB);
    give(stay);
    for (int i = 0; i < 20; i++) {
        end_epoch();
    }
    EXPECT_LE(held(), 2 * MiB);
}

// Locked memory is refused, and the pages in front of it may be gone.
TEST_F(heap_free_pages, what_the_system_refuses_does_not_count)
{
    for (const answer refusal : {answer::no, answer::half}) {
        for (const std::size_t bytes : {std::size_t{48}, std::size_t{512}, std::size_t{4608}}) {
            events                   seen;
            const std::vector<void*> blocks = take(bytes, MiB / bytes);
            const std::vector<void*> stay   = thin_out(blocks, bytes);
            for (const egb_heap_class& one : heap_numbers().classes) {
                (void)egb_pool_trim(one.pool, 0);  // wholly free chunks
            }
            answer_of_system = refusal;
            (void)egb_heap_trim(SIZE_MAX);
            walked                   = {};
            const std::size_t before = resident(stay, bytes);
            EXPECT_EQ(egb_heap_trim(0), 0u) << bytes;
            EXPECT_NE(walked.bytes, 0u) << bytes;
            EXPECT_EQ(resident(stay, bytes), before);
            answer_of_system               = answer::yes;
            const std::vector<void*> again = take(bytes, MiB / bytes);
            EXPECT_TRUE(seen.none()) << bytes;
            give(again);
            give(stay);
            (void)egb_heap_trim(0);
        }
    }
}

// Random blocks of some sizes, with their contents, while pages go at any time.
TEST_F(heap_free_pages, contents_stay_whatever_goes)
{
    struct block {
        unsigned char* at;
        std::size_t    bytes;
        unsigned char  fill;
    };
    std::mt19937       random(11);
    std::vector<block> live;
    const auto         is_whole = [](const block& one) {
        return std::all_of(one.at, one.at + one.bytes, [&](unsigned char c) {
            return c == one.fill;
        });
    };
    for (int i = 0; i < 60000; i++) {
        if (random() % 8 < (i / 6000 % 2 == 0 ? 6u : 2u)) {
            const std::size_t bytes = *(block_sizes.begin() + random() % block_sizes.size());
            const auto        fill  = static_cast<unsigned char>(random());
            live.push_back({static_cast<unsigned char*>(egb_malloc(bytes)), bytes, fill});
            std::memset(live.back().at, fill, bytes);
        } else if (!live.empty()) {
            std::swap(live[random() % live.size()], live.back());
            ASSERT_TRUE(is_whole(live.back()));
            egb_free(live.back().at);
            live.pop_back();
        }
        if (i % 500 == 0) {
            (void)egb_heap_trim(0);
        } else if (i % 100 == 0) {
            end_epoch();
        }
    }
    for (const block& one : live) {
        ASSERT_TRUE(is_whole(one));
        egb_free(one.at);
    }
}

// No write is lost, and none is a race, while other threads give pages back.
TEST_F(heap_free_pages, threads_use_blocks_while_pages_go)
{
    std::atomic<int> running{2};
    const auto       work = [&running](unsigned seed) {
        std::mt19937                random(seed);
        std::vector<unsigned char*> blocks(400);
        for (int i = 0; i < 60000; i++) {
            unsigned char*& one = blocks[random() % blocks.size()];
            if (one != nullptr && (one[0] != seed || one[511] != seed)) {
                ADD_FAILURE() << "overwritten";
            }
            egb_free(one);
            one = nullptr;
            if (random() % 4 == 0) {
                one = static_cast<unsigned char*>(egb_malloc(512));
                std::memset(one, static_cast<int>(seed), 512);
            }
        }
        for (unsigned char* const one : blocks) {
            egb_free(one);
        }
        running--;
    };
    std::thread first(work, 1);
    std::thread second(work, 2);
    while (running != 0) {
        (void)egb_heap_trim(0);
    }
    first.join();
    second.join();
}
