// SPDX-License-Identifier: MIT
// The model of a pool, for the fuzz target of pools.
#ifndef EGGBOX_TESTS_FUZZ_POOLS_MODEL_HPP
#define EGGBOX_TESTS_FUZZ_POOLS_MODEL_HPP

#include "fuzzing.hpp"

#include "eggbox/guard.h"

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

namespace fuzz
{

constexpr std::size_t memory_bytes_max = 16384;
constexpr std::size_t live_max         = 200;

struct live_block {
    unsigned char* block;
    unsigned char  fill;
};

enum class freeing { by_pool, by_address, by_cache, by_pool_again };

struct modelled {
    egb_pool                      pool{};
    egb_pool_options              options{};
    egb_level                     level  = EGB_LEVEL_CHECK;
    modelled*                     parent = nullptr;
    std::vector<live_block>       live;
    std::vector<unsigned char*>   freed;  // and not handed out again, nor maybe given back
    std::unique_ptr<egb_magazine> cache;

    bool has_redzones() const
    {
        return level >= EGB_LEVEL_GUARD;
    }

    // `shift` bytes off any alignment.
    void* get_memory(std::size_t shift)
    {
        memory_.reset(new unsigned char[memory_bytes_max + 64]);
        return memory_.get() + shift;
    }

    void end()
    {
        require(!egb_pool_alive(pool), "a destroyed pool is gone");
        if (cache != nullptr) {
            egb_magazine_close(cache.get());
        }
    }

    // ---- right ----------------------------------------------------------------------------------

    void take(bool by_cache)
    {
        if (live.size() >= live_max) {
            return;
        }
        void* const block = by_cache && cache != nullptr ? egb_magazine_alloc(cache.get())
                            : level == EGB_LEVEL_TRACK   ? EGB_POOL_ALLOC(pool)
                                                         : egb_pool_alloc(pool);
        if (block == nullptr) {
            expect_exhausted();
        } else {
            add(block);
        }
    }

    void take_many(std::size_t count)
    {
        count = std::min(count, live_max - std::min(live_max, live.size()));
        std::vector<void*> blocks(count);
        const std::size_t  got = egb_pool_alloc_many(pool, blocks.data(), count);
        for (std::size_t i = 0; i < got; i++) {
            add(blocks[i]);
        }
        if (got < count) {
            expect_exhausted();
        }
    }

    void give(std::size_t which, freeing how)
    {
        if (live.empty()) {
            return;
        }
        unsigned char* const block = remove(which % live.size());
        if (how == freeing::by_address && options.memory == nullptr) {
            egb_free(block);
        } else if (how == freeing::by_cache && cache != nullptr) {
            egb_magazine_free(cache.get(), block);
        } else {
            egb_pool_free(pool, block);
        }
    }

    void give_many(std::size_t count)
    {
        std::vector<void*> blocks;
        while (blocks.size() < count && !live.empty()) {
            blocks.push_back(remove(live.size() - 1));
        }
        egb_pool_free_many(pool, blocks.data(), blocks.size());
    }

    void toggle_cache()
    {
        if (cache != nullptr) {
            egb_magazine_close(cache.get());
            cache.reset();
            return;
        }
        auto opened = std::make_unique<egb_magazine>();
        if (egb_magazine_open(opened.get(), pool) == EGB_OK) {
            cache = std::move(opened);
        }
    }

    // The addresses of a chunk that went may belong to anything by now.
    void trim(std::size_t keep_bytes)
    {
        const std::size_t given = egb_pool_trim(pool, keep_bytes);
        require(given == 0 || options.memory == nullptr, "static memory stays");
        if (given != 0) {
            freed.clear();
        }
    }

    void reserve(std::size_t blocks)
    {
        const egb_status status = egb_pool_reserve(pool, blocks);
        const bool too_many = options.max_blocks != 0 && live.size() + blocks > options.max_blocks;
        require(status == EGB_OK || status == EGB_LIMIT, "reserve says why");
        require(!too_many || status == EGB_LIMIT, "a limit is kept");
    }

    void look_at_blocks()
    {
        std::set<void*> seen;
        egb_pool_each_block(
            pool,
            [](void* block, void* user) { static_cast<std::set<void*>*>(user)->insert(block); },
            &seen
        );
        require(seen.size() == live.size(), "each block in use is seen");
        for (const live_block& one : live) {
            require(seen.count(one.block) == 1, "and no other");
        }
    }

    void ask(std::size_t which)
    {
        if (!live.empty()) {
            const live_block& one = live[which % live.size()];
            require(egb_pool_is_live(pool, one.block), "a block in use is");
            require(egb_block_bytes(one.block) == options.block_bytes, "its size is known");
            require(egb_block_check(one.block) == EGB_OK, "nothing is wrong with it");
        }
        if (!freed.empty() && level != EGB_LEVEL_OFF) {
            require(!egb_pool_is_live(pool, freed[which % freed.size()]), "a free one is not");
        }
    }

    void compare() const
    {
        egb_pool_stats stats{};
        require(egb_pool_get_stats(pool, &stats) == EGB_OK, "there are numbers");
        require(stats.in_use == live.size(), "the count is right");
        require(stats.in_use + stats.in_magazines <= stats.capacity, "blocks are somewhere");
        require(stats.peak >= stats.in_use, "the peak is the most");
        require(options.max_blocks == 0 || stats.peak <= options.max_blocks, "and in the limit");
        require(
            options.budget_bytes == 0 || options.memory != nullptr ||
                stats.bytes_held <= options.budget_bytes,
            "the budget holds"
        );
    }

    // ---- misuse ---------------------------------------------------------------------------------

    void give_again(std::size_t which)
    {
        if (level != EGB_LEVEL_OFF && !freed.empty()) {
            egb_pool_free(pool, freed[which % freed.size()]);
            the_misuses().expect(EGB_MISUSE_DOUBLE_FREE);
        }
    }

    // Anything near a block in use that is no block in use.
    void give_astray(std::size_t which, std::size_t offset)
    {
        if (level == EGB_LEVEL_OFF || live.empty()) {
            return;
        }
        const auto near    = reinterpret_cast<std::uintptr_t>(live[which % live.size()].block);
        const auto address = reinterpret_cast<unsigned char*>(near + offset - 4096);
        for (const live_block& one : live) {
            if (one.block == address) {
                return;
            }
        }
        egb_pool_free(pool, address);
        the_misuses().expect_one();
    }

    // The block is freed, or, if it `is_mended`, only looked at.
    void write_behind(std::size_t which, std::size_t place, bool is_mended)
    {
        if (!has_redzones() || live.empty()) {
            return;
        }
        which                      = which % live.size();
        unsigned char* const block = live[which].block;
        unsigned char* const byte  = block + options.block_bytes + place % 16;
        *byte ^= 1;
        if (is_mended) {
            require(egb_block_check(block) == EGB_CORRUPT, "it is seen");
        } else {
            (void)remove(which);
            egb_pool_free(pool, block);
        }
        const auto damaged = the_misuses().history().damaged;
        the_misuses().expect(EGB_MISUSE_OVERRUN);
        require(damaged == byte - block, "where it is");
        if (is_mended) {
            *byte ^= 1;
        }
    }

    void write_before(std::size_t which, std::size_t place)
    {
        if (!has_redzones() || live.empty()) {
            return;
        }
        unsigned char* const block = remove(which % live.size());
        block[-1 - static_cast<std::ptrdiff_t>(place)] ^= 0x10;
        egb_pool_free(pool, block);
        the_misuses().expect(EGB_MISUSE_UNDERRUN);
    }

    // Behind the free list's link, and put right again.
    void write_free(std::size_t which, std::size_t place)
    {
        if (!has_redzones() || freed.empty() || options.block_bytes <= 8) {
            return;
        }
        const std::size_t filled = std::min<std::size_t>(options.block_bytes, 4096);
        unsigned char*    byte   = freed[which % freed.size()] + 8 + place % (filled - 8);
        *byte ^= 1;
        require(egb_pool_check(pool) == 1, "a write to a free block is seen");
        the_misuses().expect(EGB_MISUSE_OVERWRITTEN);
        *byte ^= 1;
        require(egb_pool_check(pool) == 0, "and nothing else");
    }

  private:
    void add(void* block)
    {
        auto* const at = static_cast<unsigned char*>(block);
        for (const live_block& one : live) {
            require(
                one.block + options.block_bytes <= at || at + options.block_bytes <= one.block,
                "no block is handed out twice"
            );
        }
        freed.erase(std::remove(freed.begin(), freed.end(), at), freed.end());
        live.push_back({at, ++number_});
        std::memset(at, number_, options.block_bytes);
        require(options.max_blocks == 0 || live.size() <= options.max_blocks, "the limit is kept");
    }

    unsigned char* remove(std::size_t which)
    {
        const live_block one = live[which];
        live[which]          = live.back();
        live.pop_back();
        for (std::size_t i = 0; i < options.block_bytes; i++) {
            require(one.block[i] == one.fill, "what is in a block stays");
        }
        freed.push_back(one.block);
        return one.block;
    }

    void expect_exhausted() const
    {
        if (options.max_blocks != 0 && live.size() == options.max_blocks) {
            return;
        }
        egb_pool_stats stats{};
        require(egb_pool_get_stats(pool, &stats) == EGB_OK, "there are numbers");
        require(
            stats.in_use == stats.capacity && stats.in_magazines == 0, "NULL when all are in use"
        );
        bool has_budget = options.memory != nullptr;
        for (const modelled* one = this; one != nullptr; one = one->parent) {
            has_budget = has_budget || one->options.budget_bytes != 0;
        }
        require(has_budget, "and there can be no more");
    }

    std::unique_ptr<unsigned char[]> memory_;
    unsigned char                    number_ = 0;
};

}  // namespace fuzz

#endif  // EGGBOX_TESTS_FUZZ_POOLS_MODEL_HPP
