// SPDX-License-Identifier: MIT
// Shared by the tests of the pool: making one in a line, its numbers, and its end.
#ifndef EGGBOX_TESTS_SUPPORT_POOLS_HPP
#define EGGBOX_TESTS_SUPPORT_POOLS_HPP

#include "eggbox/pool.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool is_sanitized = true;
#elif defined(__has_feature)
  #if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool is_sanitized = true;
  #else
inline constexpr bool is_sanitized = false;
  #endif
#else
inline constexpr bool is_sanitized = false;
#endif

// Chunks come from the system in units of this many bytes.
inline constexpr std::size_t unit_bytes = 65536;

inline bool operator==(egb_pool one, egb_pool other)
{
    return one.slot == other.slot && one.generation == other.generation;
}

inline bool operator!=(egb_pool one, egb_pool other)
{
    return !(one == other);
}

inline egb_pool_options options_for(std::size_t block_bytes, egb_pool parent = egb_pool{})
{
    egb_pool_options options{};
    options.block_bytes = block_bytes;
    options.parent      = parent;
    return options;
}

inline egb_pool make(const egb_pool_options& options)
{
    egb_pool pool{};
    EXPECT_EQ(egb_pool_create(&pool, &options), EGB_OK);
    return pool;
}

inline egb_pool make(std::size_t block_bytes, egb_pool parent = egb_pool{})
{
    return make(options_for(block_bytes, parent));
}

// The status of create. A refusal leaves nothing behind: no pool, and `*out` unchanged.
inline egb_status status_of(const egb_pool_options& options)
{
    egb_pool_stats before{};
    EXPECT_EQ(egb_pool_get_subtree_stats(egb_pool{}, &before), EGB_OK);
    const egb_pool   untouched = {0xAAAAAAAAu, 0x55555555u};
    egb_pool         pool      = untouched;
    const egb_status status    = egb_pool_create(&pool, &options);
    if (status == EGB_OK) {
        EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
    } else {
        EXPECT_TRUE(pool == untouched);
    }
    egb_pool_stats after{};
    EXPECT_EQ(egb_pool_get_subtree_stats(egb_pool{}, &after), EGB_OK);
    EXPECT_EQ(after.pools, before.pools);
    EXPECT_EQ(after.bytes_held, before.bytes_held);
    return status;
}

inline egb_pool_stats stats_of(egb_pool pool)
{
    egb_pool_stats stats{};
    EXPECT_EQ(egb_pool_get_stats(pool, &stats), EGB_OK);
    return stats;
}

// Without a fence for other threads, as under Wine, each call goes to the chunks.
inline bool has_magazines()
{
    const egb_pool pool = make(64);
    egb_pool_free(pool, egb_pool_alloc(pool));
    const bool has = stats_of(pool).in_magazines != 0;
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
    return has;
}

class needs_magazines : public testing::Test
{
  protected:
    void SetUp() override
    {
        if (!has_magazines()) {
            GTEST_SKIP() << "there are no magazines here";
        }
    }
};

inline egb_pool_stats subtree_of(egb_pool root)
{
    egb_pool_stats stats{};
    EXPECT_EQ(egb_pool_get_subtree_stats(root, &stats), EGB_OK);
    return stats;
}

// Takes blocks until there are none.
inline std::vector<void*> take_all(egb_pool pool, std::size_t most = SIZE_MAX)
{
    std::vector<void*> blocks;
    while (blocks.size() < most) {
        void* const block = egb_pool_alloc(pool);
        if (block == nullptr) {
            break;
        }
        blocks.push_back(block);
    }
    return blocks;
}

inline void give_all(egb_pool pool, const std::vector<void*>& blocks)
{
    egb_pool_free_many(pool, blocks.data(), blocks.size());
}

// Every byte of a block depends on which block it is.
inline void fill(void* block, std::size_t bytes, std::uint64_t number)
{
    std::memset(block, static_cast<int>(number * 2654435761u >> 7 & 0xFF), bytes);
}

// Each byte is the first one's, so the block is itself, moved by one.
inline bool is_filled(const void* block, std::size_t bytes, std::uint64_t number)
{
    const auto* const at = static_cast<const unsigned char*>(block);
    return bytes == 0 ||
           (at[0] == (number * 2654435761u >> 7 & 0xFF) && std::memcmp(at, at + 1, bytes - 1) == 0);
}

// Destroys the pool at the end of a test, which must have given every block back.
struct guard {
    egb_pool pool;

    explicit guard(egb_pool of) : pool(of) {}
    guard(const guard&)            = delete;
    guard& operator=(const guard&) = delete;

    ~guard()
    {
        EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
    }

    operator egb_pool() const
    {
        return pool;
    }
};

// xorshift64*: G. Marsaglia, "Xorshift RNGs", 2003, and S. Vigna, 2016.
class randoms
{
  public:
    explicit randoms(std::uint64_t seed) : state_(seed * 2 + 1) {}

    std::size_t below(std::size_t bound)
    {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return static_cast<std::size_t>(state_ * 2685821657736338717u >> 32) % bound;
    }

  private:
    std::uint64_t state_;
};

#endif  // EGGBOX_TESTS_SUPPORT_POOLS_HPP
