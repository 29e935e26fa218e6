// SPDX-License-Identifier: MIT
// The interface that the pool uses of the growing pool: chunks, their states, take and put. And
// that whole() notices each thing that can be wrong with a chunk, or the model tests prove little.
#include "backing.hpp"
#include "events.hpp"

#include <cmath>
#include <random>

extern "C" {
#include "../../src/core/growing_private.h"
}

namespace
{

using chunks = std::vector<egb_chunk_*>;

chunks chunks_of(const egb_growing& pool)
{
    chunks all;
    egb_growing_each_chunk_(
        &pool,
        [](egb_chunk_* chunk, void* user) { static_cast<chunks*>(user)->push_back(chunk); },
        &all
    );
    return all;
}

int depth_of(const egb_range* range)
{
    return range == nullptr ? 0 : 1 + std::max(depth_of(range->left), depth_of(range->right));
}

egb_growing_options with_states(std::size_t block_bytes)
{
    egb_growing_options wanted = small_chunks(block_bytes);
    wanted.with_states         = true;
    return wanted;
}

}  // namespace

TEST(growing_chunks, take_and_put_are_alloc_and_free_of_a_known_chunk)
{
    counting_backing backing;
    growing_pool     all(backing, with_states(20));
    for (int i = 0; i < 100; i++) {
        egb_chunk_* from = nullptr;
        egb_damage  none;
        void* const block = egb_growing_take_(&all.pool, &from, &none);
        ASSERT_FALSE(none.was_found);
        const std::size_t index = egb_chunk_index_(from, block);
        ASSERT_EQ(egb_growing_chunk_of_(&all.pool, block), from);
        ASSERT_LT(index, egb_fixed_capacity(&from->fixed));
        ASSERT_EQ(from->shape.states[index], 0);
        from->shape.states[index] = (unsigned char)(1 + i);
        if (i % 3 == 0) {
            from->shape.states[index] = 0;
            EXPECT_TRUE(egb_growing_put_(from, block));
            EXPECT_FALSE(egb_growing_put_(from, block));
        }
        EXPECT_TRUE(all.whole());
    }
    EXPECT_EQ(egb_growing_in_use(&all.pool), 66u);
}

TEST(growing_chunks, longer_ones_come_lazily_when_one_is_a_small_part_of_all)
{
    counting_backing backing(64);
    growing_pool     all(backing, small_chunks(32));  // 512 bytes, then up to 2,048
    egb_growing_lengthen_lazily_(&all.pool, 1024);
    std::size_t held_before = 0;
    while (backing.wanted.empty() || backing.wanted.back() < 2048) {
        held_before = egb_growing_held(&all.pool);
        ASSERT_NE(egb_growing_alloc(&all.pool), nullptr);
    }
    EXPECT_GE(held_before, 2048u * EGB_LAZY_CHUNKS);
    EXPECT_LE(held_before, 2048u * EGB_LAZY_CHUNKS + 1024u);
    EXPECT_TRUE(all.whole());
}

TEST(growing_chunks, blocks_start_behind_what_is_kept_free_later_on)
{
    for (const std::size_t chunk_bytes : {std::size_t{0}, std::size_t{1}}) {  // or one block's
        counting_backing    backing(64);
        egb_growing_options options = small_chunks(512);
        options.chunk_bytes = options.chunk_bytes_max = chunk_bytes;
        growing_pool all(backing, options);
        egb_growing_lead_(&all.pool, 128);
        egb_chunk_* const chunk = egb_growing_grow_(&all.pool);
        ASSERT_NE(chunk, nullptr);
        EXPECT_EQ(chunk->shape.first - reinterpret_cast<std::uintptr_t>(chunk->range.start), 128u);
        EXPECT_NE(egb_growing_alloc(&all.pool), nullptr);
        EXPECT_TRUE(all.whole());
    }
}

TEST(growing_chunks, states_are_zero_at_first_and_one_for_each_block)
{
    for (const bool zeroed : {false, true}) {
        for (std::size_t misalign = 0; misalign < 9; misalign++) {
            counting_backing backing(0, zeroed);
            backing.misalign = misalign;
            growing_pool all(backing, with_states(12));
            ASSERT_EQ(egb_growing_reserve(&all.pool, 100), EGB_OK);
            for (egb_chunk_* const chunk : chunks_of(all.pool)) {
                const std::size_t blocks = egb_fixed_capacity(&chunk->fixed);
                for (std::size_t i = 0; i < blocks; i++) {
                    EXPECT_EQ(chunk->shape.states[i], 0);
                }
                std::memset(chunk->shape.states, 0xFF, blocks);
                const auto* const end = reinterpret_cast<const unsigned char*>(chunk);
                EXPECT_EQ(chunk->shape.states + blocks, end);
                EXPECT_GE(
                    static_cast<void*>(chunk->shape.states),
                    static_cast<void*>(chunk->fixed.first + 3 * blocks)
                );
            }
            EXPECT_TRUE(all.whole());
        }
    }
}

TEST(growing_chunks, without_states_there_are_none)
{
    counting_backing backing;
    growing_pool     all(backing, small_chunks(12));
    ASSERT_EQ(egb_growing_reserve(&all.pool, 1), EGB_OK);
    EXPECT_EQ(chunks_of(all.pool)[0]->shape.states, nullptr);
}

TEST(growing_chunks, what_is_kept_free_stands_before_the_first_block)
{
    for (const std::size_t granule : {0u, 4096u}) {
        for (const std::size_t lead : {4u, 16u, 44u, 64u}) {
            for (const std::size_t misalign : {0u, 5u}) {
                counting_backing backing(granule);
                backing.misalign           = granule == 0 ? misalign : 0;
                egb_growing_options wanted = with_states(64);
                wanted.block_align         = 32;
                wanted.lead_bytes          = lead;
                growing_pool all(backing, wanted);
                ASSERT_EQ(egb_growing_reserve(&all.pool, 100), EGB_OK);
                for (const egb_chunk_* const chunk : chunks_of(all.pool)) {
                    const auto first  = reinterpret_cast<std::uintptr_t>(chunk->fixed.first);
                    const auto region = reinterpret_cast<std::uintptr_t>(chunk->range.start);
                    EXPECT_EQ(first % 32, 0u);
                    EXPECT_GE(first, region + lead);
                    EXPECT_LT(first, region + lead + 32);
                    EXPECT_NE(egb_growing_alloc(&all.pool), nullptr);
                }
                EXPECT_TRUE(all.whole());
            }
        }
    }
}

TEST(growing_chunks, a_chunk_notes_when_a_block_was_taken_and_the_first_that_comes_after_a_look)
{
    counting_backing backing;
    growing_pool     all(backing, with_states(20));
    egb_chunk_*      from = nullptr;
    egb_damage       none;
    all.pool.turn      = 3;
    void* const first  = egb_growing_take_(&all.pool, &from, &none);
    egb_chunk_* other  = nullptr;
    void* const second = egb_growing_take_(&all.pool, &other, &none);
    ASSERT_EQ(from, other);
    all.pool.turn = 4;
    EXPECT_TRUE(egb_growing_put_(from, first));
    EXPECT_EQ(from->turn, 3u);
    from->turn = EGB_TURN_LOOKED_AT_;
    EXPECT_TRUE(egb_growing_put_(from, second));
    EXPECT_EQ(from->turn, 4u);
}

TEST(growing_chunks, what_is_the_backings_at_the_end_is_never_touched)
{
    for (const std::size_t granule : {0u, 64u}) {
        for (const std::size_t extra : {8u, 24u, 4096u}) {
            counting_backing backing(granule);
            backing.extra    = extra;
            backing.misalign = granule == 0 ? 5 : 0;
            growing_pool       all(backing, with_states(64));
            std::vector<void*> blocks;
            for (int i = 0; i < 200; i++) {
                blocks.push_back(all.alloc());
                std::memset(blocks.back(), 0, 64);
            }
            for (void* const block : blocks) {
                all.free(block);
            }
            for (egb_chunk_* const chunk : chunks_of(all.pool)) {
                const auto* const first = static_cast<char*>(egb_chunk_extra_(chunk));
                const auto* const end = static_cast<char*>(chunk->range.start) + chunk->range.bytes;
                ASSERT_LE(first + extra, end);
                EXPECT_EQ(std::string(first, extra), std::string(extra, char(0xA5)));
            }
            EXPECT_TRUE(all.whole());
        }
    }
}

TEST(growing_chunks, every_address_of_a_chunk_leads_to_it)
{
    counting_backing backing(0);
    backing.misalign = 5;
    growing_pool all(backing, with_states(12));
    ASSERT_EQ(egb_growing_reserve(&all.pool, 300), EGB_OK);
    const chunks known = chunks_of(all.pool);
    ASSERT_GT(known.size(), 2u);
    for (egb_chunk_* const chunk : known) {
        auto* const region = static_cast<char*>(chunk->range.start);
        for (std::size_t i = 0; i < chunk->range.bytes; i++) {
            ASSERT_EQ(egb_growing_chunk_of_(&all.pool, region + i), chunk);
        }
        EXPECT_EQ(egb_growing_chunk_of_(&all.pool, region - 1), nullptr);
        EXPECT_EQ(egb_growing_chunk_of_(&all.pool, region + chunk->range.bytes), nullptr);
    }
}

TEST(growing_chunks, the_tree_is_as_deep_as_a_random_one_and_stays_so)
{
    struct arena {
        std::unique_ptr<char[]>  memory{new char[2000 * 320 + 64]};
        std::vector<std::size_t> unused;
        char*                    at(std::size_t i) const
        {
            char* const start = memory.get();
            return start + (64 - reinterpret_cast<uintptr_t>(start) % 64) + i * 320;
        }
    } from;
    for (std::size_t i = 2000; i-- > 0;) {
        from.unused.push_back(i);  // handed out in order of address, the worst for a plain tree
    }
    egb_growing_options wanted{};
    wanted.block_bytes = 64;
    wanted.chunk_bytes = wanted.chunk_bytes_max = 320;
    wanted.backing.granule                      = 64;
    wanted.backing.user                         = &from;
    wanted.backing.reserve                      = [](void* user, std::size_t, std::size_t* bytes) {
        auto* const self = static_cast<arena*>(user);
        *bytes           = 320;
        const auto last  = self->unused.back();
        self->unused.pop_back();
        return static_cast<void*>(self->at(last));
    };
    wanted.backing.give_back = [](void* user, void* region, std::size_t) {
        auto* const self = static_cast<arena*>(user);
        self->unused.push_back(std::size_t(static_cast<char*>(region) - self->at(0)) / 320);
    };
    egb_growing pool{};
    ASSERT_EQ(egb_growing_init(&pool, &wanted), EGB_OK);
    std::mt19937       random(1);
    std::vector<void*> held;
    for (int round = 0; round < 4; round++) {
        while (pool.chunks < 1900) {
            held.push_back(egb_growing_alloc(&pool));
            ASSERT_NE(held.back(), nullptr);
        }
        EXPECT_TRUE(egb_growing_whole(&pool));
        EXPECT_LE(depth_of(pool.tree), 44) << "four times the least";
        for (int i = 0; i < 3000 && !held.empty(); i++) {
            std::swap(held[random() % held.size()], held.back());
            egb_growing_free(&pool, held.back());
            held.pop_back();
        }
        egb_growing_trim(&pool, 0);
        EXPECT_TRUE(egb_growing_whole(&pool));
    }
    egb_growing_destroy(&pool);
    EXPECT_EQ(from.unused.size(), 2000u);
}

namespace
{

// Turns the first edge to the left, or to the right, that there is: the order of addresses stays,
// that of priorities does not.
bool turn_somewhere(egb_range*& at, bool is_right)
{
    if (at == nullptr) {
        return false;
    }
    egb_range*& down = is_right ? at->right : at->left;
    if (down == nullptr) {
        return turn_somewhere(is_right ? at->left : at->right, is_right);
    }
    egb_range* const above = at;
    egb_range* const below = down;
    egb_range*&      other = is_right ? below->left : below->right;
    down                   = other;
    other                  = above;
    at                     = below;
    return true;
}

// A search for the lowest chunk finds one that a search for its address does not.
void put_on_the_wrong_side(egb_growing& pool)
{
    const chunks all  = chunks_of(pool);
    egb_range&   low  = all[0]->range;
    egb_range&   high = all[1]->range;
    low.left          = &high;
    low.right = high.left = high.right = nullptr;
    pool.tree                          = &low;
    EXPECT_EQ(egb_growing_chunk_after_(&pool, 0), all[1]);
    EXPECT_EQ(egb_growing_chunk_of_(&pool, high.start), nullptr);
}

// The only entry of the list has no free block.
void list_a_full_chunk(egb_growing& pool)
{
    while (pool.available->next != nullptr) {
        EXPECT_NE(egb_growing_alloc(&pool), nullptr);
    }
    for (egb_chunk_* const chunk : chunks_of(pool)) {
        if (!egb_chunk_is_available_(chunk)) {
            chunk->next     = nullptr;
            chunk->previous = chunk;
            pool.available  = chunk;
        }
    }
    EXPECT_FALSE(egb_chunk_is_available_(pool.available));
}

// The first entry of the list is a copy, in no region of the pool.
void list_a_stranger(egb_growing& pool)
{
    static egb_chunk_ copy;
    copy           = *pool.available;
    pool.available = &copy;
}

using change           = void (*)(egb_growing&, egb_chunk_&);
const change changes[] = {
    [](egb_growing& pool, egb_chunk_&) { pool.in_use++; },
    [](egb_growing& pool, egb_chunk_&) { pool.capacity--; },
    [](egb_growing& pool, egb_chunk_&) { pool.lost++; },
    [](egb_growing& pool, egb_chunk_&) { pool.held += 64; },
    [](egb_growing& pool, egb_chunk_&) { pool.chunks++; },
    [](egb_growing& pool, egb_chunk_&) { pool.chunks--; },
    [](egb_growing& pool, egb_chunk_&) { pool.peak = pool.in_use - 1; },
    [](egb_growing& pool, egb_chunk_&) { pool.peak = 1001; },
    [](egb_growing& pool, egb_chunk_&) { pool.next_bytes = 1; },
    [](egb_growing& pool, egb_chunk_&) { pool.next_bytes = SIZE_MAX; },
    [](egb_growing& pool, egb_chunk_&) { pool.available = nullptr; },
    [](egb_growing& pool, egb_chunk_&) { pool.available = pool.available->next; },
    [](egb_growing& pool, egb_chunk_&) { pool.available->previous = pool.available; },
    [](egb_growing& pool, egb_chunk_&) { pool.available->next->previous = nullptr; },
    [](egb_growing& pool, egb_chunk_&) { pool.available->next = nullptr; },
    [](egb_growing& pool, egb_chunk_&) { pool.available->next = pool.available; },
    [](egb_growing& pool, egb_chunk_&) { pool.tree = nullptr; },
    [](egb_growing& pool, egb_chunk_&) { pool.tree = pool.tree->right; },
    [](egb_growing& pool, egb_chunk_&) { std::swap(pool.tree->left, pool.tree->right); },
    [](egb_growing& pool, egb_chunk_&) { pool.options.block_bytes = 40; },
    [](egb_growing& pool, egb_chunk_&) { pool.options.with_states = false; },
    [](egb_growing& pool, egb_chunk_&) { pool.options.block_bytes = 60; },  // as many in a chunk
    [](egb_growing& pool, egb_chunk_&) { pool.idle += 64; },
    [](egb_growing& pool, egb_chunk_&) { turn_somewhere(pool.tree, false); },
    [](egb_growing& pool, egb_chunk_&) { turn_somewhere(pool.tree, true); },
    [](egb_growing& pool, egb_chunk_&) { put_on_the_wrong_side(pool); },
    [](egb_growing& pool, egb_chunk_&) { pool.available->previous->next = pool.available; },
    [](egb_growing& pool, egb_chunk_&) { list_a_full_chunk(pool); },
    [](egb_growing& pool, egb_chunk_&) { list_a_stranger(pool); },
    [](egb_growing&, egb_chunk_& chunk) { chunk.fixed.first += chunk.fixed.stride; },
    [](egb_growing&, egb_chunk_& chunk) { chunk.groups = 0; },
    [](egb_growing&, egb_chunk_& chunk) { chunk.lowest = chunk.shape.blocks; },
    [](egb_growing&, egb_chunk_& chunk) { chunk.owner = nullptr; },
    [](egb_growing&, egb_chunk_& chunk) { chunk.shape.first++; },
    [](egb_growing&, egb_chunk_& chunk) { chunk.shape.inverse ^= 2; },
    [](egb_growing&, egb_chunk_& chunk) { chunk.shape.shift++; },
    [](egb_growing&, egb_chunk_& chunk) { chunk.shape.blocks--; },
    [](egb_growing&, egb_chunk_& chunk) { chunk.shape.states++; },
    [](egb_growing&, egb_chunk_& chunk) { chunk.shape.states = nullptr; },
    [](egb_growing&, egb_chunk_& chunk) { chunk.range.bytes = 8; },
    [](egb_growing&, egb_chunk_& chunk) { chunk.range.bytes += 64; },
    [](egb_growing&, egb_chunk_& chunk) { chunk.in_use++; },
    [](egb_growing&, egb_chunk_& chunk) { chunk.lost++; },
    [](egb_growing&, egb_chunk_& chunk) { chunk.fixed.stride++; },
    [](egb_growing&, egb_chunk_& chunk) { chunk.fixed.reach += chunk.fixed.stride; },
    [](egb_growing&, egb_chunk_& chunk) { chunk.fixed.first[0] = 77; },
    [](egb_growing&, egb_chunk_& chunk) {
        const egb_status status = egb_fixed_init(
            &chunk.fixed, chunk.fixed.first, egb_fixed_capacity(&chunk.fixed) * 32, 32
        );
        EXPECT_EQ(status, EGB_OK);
        chunk.in_use = 0;
    },
};

}  // namespace

// A backing that hands out memory twice: the second range lies in fresh blocks of the first.
TEST(growing_chunks, whole_notices_chunks_that_overlap)
{
    alignas(64) static char memory[4096];
    static std::size_t      calls;
    calls                      = 0;
    egb_growing_options wanted = small_chunks(32);
    wanted.backing.granule     = 64;
    wanted.backing.reserve     = [](void*, std::size_t, std::size_t* bytes) -> void* {
        *bytes = calls == 0 ? sizeof memory : 1024;
        return memory + (calls++ == 0 ? 0 : 1024);
    };
    egb_growing pool{};
    ASSERT_EQ(egb_growing_init(&pool, &wanted), EGB_OK);
    ASSERT_NE(egb_growing_alloc(&pool), nullptr);
    EXPECT_TRUE(egb_growing_whole(&pool));
    ASSERT_NE(egb_growing_grow_(&pool), nullptr);
    EXPECT_FALSE(egb_growing_whole(&pool));
}

TEST(growing_chunks, whole_notices_every_wrong_field)
{
    int number = 0;
    for (const change damage : changes) {
        counting_backing backing;
        auto             wanted = with_states(64);
        wanted.max_blocks       = 1000;
        wanted.chunk_bytes_max  = 512;
        growing_pool all(backing, wanted);
        ASSERT_EQ(egb_growing_reserve(&all.pool, 100), EGB_OK);
        std::vector<void*> blocks;
        for (int i = 0; i < 20; i++) {
            blocks.push_back(all.alloc());
        }
        all.free(blocks[0]);
        ASSERT_TRUE(all.whole());
        egb_chunk_* const chunk  = egb_growing_chunk_of_(&all.pool, blocks[0]);
        const egb_growing before = all.pool;
        damage(all.pool, *chunk);
        EXPECT_FALSE(all.whole()) << "change " << number;
        all.pool = before;
        backing.forget();
        all.pool = egb_growing{};  // its links are wrong now, so it is not destroyed
        number++;
    }
}
