// SPDX-License-Identifier: MIT
// The promises of board_heap.h, one by one, and random operations against a model.
#include "events.hpp"
#include "still_port.hpp"

#include "eggbox/board_heap.h"

#include <cstdlib>
#include <cstring>
#include <random>

namespace
{

enum { class_count = 4 };

const std::size_t sizes[class_count]  = {16, 48, 64, 256};
const std::size_t counts[class_count] = {3, 2, 2, 1};

struct heap_on_board {
    explicit heap_on_board(std::size_t reserve = 0)
    {
        for (std::size_t i = 0; i < class_count; i++) {
            classes[i].block_bytes = sizes[i];
            classes[i].count       = counts[i];
        }
        std::memset(memory, 0xC7, sizeof memory);  // need not be cleared
        EXPECT_EQ(init(sizeof memory, reserve), EGB_OK);
    }

    egb_status init(std::size_t bytes, std::size_t reserve)
    {
        return egb_board_init(&heap, memory, bytes, classes, class_count, &still.port, reserve);
    }

    void* alloc(std::size_t bytes)
    {
        return egb_board_alloc(&heap, bytes);
    }

    void free(void* block)
    {
        egb_board_free(&heap, block);
    }

    std::size_t class_of(const void* block) const
    {
        std::size_t at = 0;
        while (at < class_count && sizes[at] != egb_board_usable(&heap, block)) {
            at++;
        }
        return at;
    }

    still_port      still;
    events          misuse;
    egb_board_class classes[class_count]{};
    egb_board_heap  heap{};
    alignas(64) char memory[16 * 3 + 48 * 2 + 64 * 2 + 256];
};

}  // namespace

TEST(board_heap, takes_the_smallest_class_that_is_large_enough)
{
    heap_on_board board;
    EXPECT_EQ(board.class_of(board.alloc(16)), 0u);
    EXPECT_EQ(board.class_of(board.alloc(17)), 1u);
    EXPECT_EQ(board.class_of(board.alloc(0)), 0u);
    EXPECT_EQ(board.class_of(board.alloc(65)), 3u);
    EXPECT_EQ(board.alloc(257), nullptr);
    EXPECT_EQ(board.alloc(SIZE_MAX), nullptr);
    EXPECT_TRUE(egb_board_whole(&board.heap));
}

TEST(board_heap, a_larger_block_serves_when_the_class_is_empty)
{
    heap_on_board            board;
    std::vector<std::size_t> served;
    for (void* block = board.alloc(10); block != nullptr; block = board.alloc(10)) {
        served.push_back(board.class_of(block));
        EXPECT_EQ(uintptr_t(block) % EGB_BOARD_ALIGN, 0u);
    }
    EXPECT_EQ(served, (std::vector<std::size_t>{0, 0, 0, 1, 1, 2, 2, 3}));
    EXPECT_EQ(egb_board_available(&board.heap), 0u);
}

TEST(board_heap, init_refuses_what_can_never_work)
{
    heap_on_board board;
    auto* const   classes = board.classes;
    EXPECT_EQ(
        egb_board_init(nullptr, board.memory, 999, classes, 1, &board.still.port, 0), EGB_INVALID
    );
    EXPECT_EQ(
        egb_board_init(&board.heap, nullptr, 999, classes, 1, &board.still.port, 0), EGB_INVALID
    );
    EXPECT_EQ(
        egb_board_init(&board.heap, board.memory, 999, nullptr, 1, &board.still.port, 0),
        EGB_INVALID
    );
    EXPECT_EQ(egb_board_init(&board.heap, board.memory, 999, classes, 1, nullptr, 0), EGB_INVALID);
    EXPECT_EQ(
        egb_board_init(&board.heap, board.memory, 999, classes, 0, &board.still.port, 0),
        EGB_INVALID
    );
    EXPECT_EQ(
        egb_board_init(&board.heap, board.memory + 4, 99, classes, 1, &board.still.port, 0),
        EGB_INVALID
    );
    EXPECT_EQ(board.init(sizeof board.memory - 1, 0), EGB_INVALID);
    EXPECT_FALSE(egb_board_whole(&board.heap)) << "not initialised";
    classes[1].block_bytes = 16;
    EXPECT_EQ(board.init(sizeof board.memory, 0), EGB_INVALID) << "not larger than the one before";
    classes[1].block_bytes = 44;
    EXPECT_EQ(board.init(sizeof board.memory, 0), EGB_INVALID) << "no multiple of 8";
    classes[1].block_bytes = 48;
    classes[1].count       = 0;
    EXPECT_EQ(board.init(sizeof board.memory, 0), EGB_INVALID);
    classes[1].count = SIZE_MAX / 16;
    EXPECT_EQ(board.init(SIZE_MAX - uintptr_t(board.memory), 0), EGB_INVALID);
    if (sizeof(std::size_t) > 4) {  // a class over 16 GiB
        classes[1].count = (std::size_t(1) << 31 << 4) / 48;
        EXPECT_EQ(board.init(SIZE_MAX - uintptr_t(board.memory), 0), EGB_LIMIT);
    }
    classes[1].count = 2;
    EXPECT_EQ(board.init(sizeof board.memory, 0), EGB_OK);
}

TEST(board_heap, aligned_blocks_come_from_classes_that_are_aligned)
{
    heap_on_board board;
    void* const   block = egb_board_aligned_alloc(&board.heap, 16, 20);
    EXPECT_EQ(uintptr_t(block) % 16, 0u);
    EXPECT_EQ(board.class_of(block), 1u) << "48 is a multiple of 16";
    const void* const first_64 = board.memory + 16 * 3 + 48 * 2;
    const bool        has_64   = uintptr_t(first_64) % 64 == 0;
    void* const       aligned  = egb_board_aligned_alloc(&board.heap, 64, 20);
    EXPECT_EQ(aligned != nullptr, has_64);
    EXPECT_EQ(uintptr_t(aligned) % 64, 0u);
    EXPECT_EQ(egb_board_aligned_alloc(&board.heap, 0, 8), nullptr);
    EXPECT_EQ(egb_board_aligned_alloc(&board.heap, 24, 8), nullptr);
}

TEST(board_heap, calloc_clears_and_does_not_overflow)
{
    heap_on_board board;
    void* const   dirty = board.alloc(16);
    std::memset(dirty, 0xFF, 16);
    board.free(dirty);
    auto* const block = static_cast<unsigned char*>(egb_board_calloc(&board.heap, 5, 3));
    for (int i = 0; i < 15; i++) {
        EXPECT_EQ(block[i], 0);
    }
    EXPECT_EQ(egb_board_calloc(&board.heap, SIZE_MAX / 2, 3), nullptr);
    EXPECT_NE(egb_board_calloc(&board.heap, SIZE_MAX, 0), nullptr);
    EXPECT_EQ(egb_board_calloc(&board.heap, 1, 300), nullptr);
}

TEST(board_heap, realloc_keeps_the_contents_and_the_class_that_fits)
{
    heap_on_board board;
    auto*         block = static_cast<char*>(egb_board_realloc(&board.heap, nullptr, 16));
    std::memcpy(block, "fifteen letters", 16);
    EXPECT_EQ(egb_board_realloc(&board.heap, block, 9), block) << "no smaller class";
    block = static_cast<char*>(egb_board_realloc(&board.heap, block, 100));
    EXPECT_EQ(board.class_of(block), 3u);
    EXPECT_STREQ(block, "fifteen letters");
    EXPECT_EQ(egb_board_realloc(&board.heap, block, 200), block);
    EXPECT_EQ(egb_board_realloc(&board.heap, block, 300), nullptr) << "and the old one stays";
    EXPECT_STREQ(block, "fifteen letters");
    block = static_cast<char*>(egb_board_realloc(&board.heap, block, 15));
    EXPECT_EQ(board.class_of(block), 0u);
    EXPECT_EQ(std::memcmp(block, "fifteen letters", 15), 0);
    EXPECT_EQ(egb_board_class_in_use(&board.heap, 3), 0u);
    EXPECT_EQ(egb_board_class_peak(&board.heap, 3), 1u);
    EXPECT_EQ(egb_board_class_in_use(&board.heap, class_count), 0u) << "there is no such class";
    EXPECT_EQ(egb_board_class_peak(&board.heap, class_count), 0u);
}

TEST(board_heap, a_wrong_free_is_refused_and_told)
{
    heap_on_board board;
    char          other[8];
    void* const   block = board.alloc(16);
    board.free(other);
    const egb_misuse_event event = board.misuse.take();
    EXPECT_EQ(event.kind, EGB_MISUSE_FOREIGN);
    EXPECT_EQ(event.pool, &board.heap);
    board.free(static_cast<char*>(block) + 8);
    EXPECT_EQ(board.misuse.take_kind(), EGB_MISUSE_INTERIOR);
    board.free(block);
    board.free(block);
    EXPECT_EQ(board.misuse.take_kind(), EGB_MISUSE_DOUBLE_FREE);
    EXPECT_EQ(egb_board_realloc(&board.heap, block, 8), nullptr);
    EXPECT_EQ(board.misuse.take_kind(), EGB_MISUSE_DOUBLE_FREE);
    EXPECT_EQ(egb_board_realloc(&board.heap, other, 8), nullptr);
    EXPECT_EQ(board.misuse.take_kind(), EGB_MISUSE_FOREIGN);
    board.free(nullptr);
    EXPECT_EQ(egb_board_usable(&board.heap, other), 0u);
    EXPECT_EQ(egb_board_usable(&board.heap, static_cast<char*>(block) + 8), 0u);
}

TEST(board_heap, a_heap_that_was_never_made_is_told)
{
    events         misuse;
    egb_board_heap heap{};
    EXPECT_EQ(egb_board_alloc(&heap, 8), nullptr);
    EXPECT_EQ(egb_board_alloc_urgent(nullptr, 8), nullptr);
    EXPECT_EQ(egb_board_aligned_alloc(&heap, 8, 8), nullptr);
    EXPECT_EQ(egb_board_calloc(&heap, 8, 8), nullptr);
    EXPECT_EQ(egb_board_realloc(&heap, &heap, 8), nullptr);
    egb_board_free(&heap, &heap);
    EXPECT_EQ(misuse.count(), 6u);
    EXPECT_EQ(misuse.take_all(), EGB_MISUSE_NO_POOL);
    EXPECT_EQ(egb_board_usable(&heap, &heap), 0u);
    EXPECT_EQ(egb_board_available(&heap), 0u);
    EXPECT_EQ(egb_board_class_in_use(&heap, 0), 0u);
    EXPECT_EQ(egb_board_class_peak(&heap, 0), 0u);
    EXPECT_FALSE(egb_board_whole(&heap));
    EXPECT_FALSE(egb_board_whole(nullptr));
}

TEST(board_heap, the_reserve_of_each_class_is_for_urgent_callers)
{
    heap_on_board board(1);
    int           ordinary = 0;
    while (board.alloc(1) != nullptr) {
        ordinary++;
    }
    EXPECT_EQ(ordinary, 2 + 1 + 1 + 1) << "a class of one block has no reserve";
    int urgent = 0;
    while (egb_board_alloc_urgent(&board.heap, 1) != nullptr) {
        urgent++;
    }
    EXPECT_EQ(urgent, 3);
}

TEST(board_heap, no_call_holds_a_section_longer_than_one_of_a_pool)
{
    heap_on_board board;
    while (board.alloc(1) != nullptr) {
    }
    board.still.sections = 0;
    EXPECT_EQ(board.alloc(1), nullptr);
    EXPECT_EQ(board.still.sections, class_count) << "one for each class, one after the other";
}

TEST(board_heap, the_classes_lie_in_the_memory_in_their_order)
{
    heap_on_board board;
    EXPECT_EQ(egb_board_available(&board.heap), sizeof board.memory);
    std::size_t start = 0;
    for (std::size_t i = 0; i < class_count; i++) {
        const std::size_t end = start + sizes[i] * counts[i];
        for (std::size_t block = 0; block < counts[i]; block++) {
            const auto at = std::size_t(static_cast<char*>(board.alloc(sizes[i])) - board.memory);
            EXPECT_GE(at, start);
            EXPECT_LT(at, end);
        }
        start = end;
        EXPECT_EQ(egb_board_available(&board.heap), sizeof board.memory - start);
    }
}

TEST(board_heap, a_class_is_as_large_as_it_says)
{
    EXPECT_EQ(sizeof(egb_board_class), sizeof(void*) == 4 ? 64u : 104u);
}

TEST(board_heap, a_class_that_is_not_whole_is_seen)
{
    heap_on_board board;
    for (egb_board_class& each : board.classes) {
        each.shared.in_use = 1;
        EXPECT_FALSE(egb_board_whole(&board.heap));
        each.shared.in_use = 0;
        EXPECT_TRUE(egb_board_whole(&board.heap));
    }
}

// ---- model --------------------------------------------------------------------------------------

namespace
{

struct held_block {
    unsigned char* start;
    std::size_t    bytes;
    unsigned char  fill;
};

class heap_model
{
  public:
    void alloc(std::size_t bytes, unsigned char fill)
    {
        auto* const block = static_cast<unsigned char*>(board.alloc(bytes));
        ASSERT_EQ(block != nullptr, expected_class(bytes) < class_count);
        if (block != nullptr) {
            ASSERT_EQ(board.class_of(block), expected_class(bytes));
            keep({block, bytes, fill});
        }
    }

    void free(std::size_t which)
    {
        const held_block block = take(which);
        board.free(block.start);
    }

    void resize(std::size_t which, std::size_t bytes)
    {
        held_block  block = held_[which];
        void* const moved = egb_board_realloc(&board.heap, block.start, bytes);
        const bool  fits  = bytes <= egb_board_usable(&board.heap, block.start);
        if (moved == nullptr) {
            ASSERT_FALSE(fits);
            return;
        }
        used_[board.class_of(block.start)]--;
        held_.erase(held_.begin() + long(which));
        block.start = static_cast<unsigned char*>(moved);
        block.bytes = std::min(block.bytes, bytes);
        expect_filled(block);
        keep({block.start, bytes, block.fill});
    }

    void compare()
    {
        for (std::size_t i = 0; i < class_count; i++) {
            ASSERT_EQ(egb_board_class_in_use(&board.heap, i), used_[i]);
        }
        ASSERT_TRUE(egb_board_whole(&board.heap));
    }

    std::size_t held_count() const
    {
        return held_.size();
    }

  private:
    std::size_t expected_class(std::size_t bytes) const
    {
        std::size_t at = 0;
        while (at < class_count && (sizes[at] < bytes || used_[at] == counts[at])) {
            at++;
        }
        return at;
    }

    void keep(held_block block)
    {
        used_[board.class_of(block.start)]++;
        std::memset(block.start, block.fill, block.bytes);
        held_.push_back(block);
    }

    held_block take(std::size_t which)
    {
        const held_block block = held_[which];
        expect_filled(block);
        held_.erase(held_.begin() + long(which));
        used_[board.class_of(block.start)]--;
        return block;
    }

    static void expect_filled(const held_block& block)
    {
        for (std::size_t i = 0; i < block.bytes; i++) {
            ASSERT_EQ(block.start[i], block.fill);
        }
    }

    heap_on_board           board;
    std::size_t             used_[class_count]{};
    std::vector<held_block> held_;
};

unsigned first_seed()
{
    const char* const set = std::getenv("EGGBOX_SEED");
    return set != nullptr ? unsigned(std::strtoul(set, nullptr, 0)) : 1;
}

}  // namespace

TEST(board_heap_model, random_operations_agree_with_the_model)
{
    for (unsigned seed = first_seed(); seed < first_seed() + 20; seed++) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937 random(seed);
        heap_model   model;
        for (int i = 0; i < 2000 && !HasFatalFailure(); i++) {
            const std::size_t bytes = random() % 3 == 0 ? random() % 300 : random() % 70;
            const std::size_t which = model.held_count() == 0 ? 0 : random() % model.held_count();
            switch (model.held_count() == 0 ? 0 : random() % 5) {
                case 0:
                case 1: model.alloc(bytes, static_cast<unsigned char>(random())); break;
                case 2: model.resize(which, bytes); break;
                default: model.free(which); break;
            }
            model.compare();
        }
        ASSERT_FALSE(HasFailure());
    }
}
