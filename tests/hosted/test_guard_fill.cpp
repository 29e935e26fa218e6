// SPDX-License-Identifier: MIT
// Levels "guard" and "track": the pattern in free blocks.
#include "eggbox/guard.h"
#include "events.hpp"
#include "guarded.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

TEST(guard_fill, a_write_anywhere_in_a_free_block_is_noticed)
{
    events seen;
    for (const std::size_t bytes : {9u, 4097u, 65536u, 1000001u, 1048576u}) {
        for (const std::size_t place : {bytes / 2, bytes - 9, bytes - 8, bytes - 1}) {
            const guarded        all(bytes, "guard", 1);  // handed out at once
            unsigned char* const block = all.take();
            all.give(block);
            block[place < 8 ? 8 : place] ^= 1;
            (void)all.take();
            EXPECT_EQ(seen.history().damaged, static_cast<std::ptrdiff_t>(place < 8 ? 8 : place));
            EXPECT_EQ(seen.take_all(), EGB_MISUSE_OVERWRITTEN) << bytes << " at " << place;
        }
    }
}

// As an address it is none, no byte of it is a letter or 0, and another block's is another one.
TEST(guard_fill, a_free_block_holds_a_pattern_of_its_own)
{
    events               unexpected;
    const guarded        all(64);
    unsigned char* const blocks[] = {all.take(), all.take()};
    std::uint64_t        words[2] = {};
    for (int i = 0; i < 2; i++) {
        all.give(blocks[i]);
        std::memcpy(&words[i], blocks[i] + 8, 8);
        EXPECT_EQ(words[i] >> 62, 2u);
        for (std::size_t at = 8; at < 64; at++) {
            EXPECT_GE(blocks[i][at], 0x80);
            EXPECT_EQ(blocks[i][at], blocks[i][at % 8]);
        }
    }
    EXPECT_NE(words[0], words[1]);
}

// In quarantine the block has the fill there, and marks when it is back in its chunk.
TEST(guard_fill, a_write_to_the_first_bytes_is_noticed_when_the_block_is_looked_at)
{
    events seen;
    for (const char* level : {"guard", "track"}) {
        for (const std::size_t bytes : {1u, 8u, 48u, 2000u}) {
            for (const bool is_home : {false, true}) {
                for (std::size_t place = 0; place < std::min<std::size_t>(bytes, 8); place++) {
                    const guarded        all(bytes, level);
                    unsigned char* const block = all.take();
                    all.give(block);
                    if (is_home) {
                        EXPECT_EQ(egb_pool_trim(all.pool, SIZE_MAX), 0u);
                    }
                    block[place] ^= 1;
                    EXPECT_EQ(egb_pool_check(all.pool), 1u) << bytes << " at " << place;
                    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_OVERWRITTEN);
                    block[place] ^= 1;
                    EXPECT_EQ(egb_process_check(), 0u);
                }
            }
        }
    }
}

TEST(guard_fill, a_block_that_was_written_off_is_told_of_once)
{
    for (const char* level : {"guard", "track"}) {
        events               seen;
        const guarded        all(48, level, 1);  // the next block would be this one
        unsigned char* const block = all.take();
        all.give(block);
        EXPECT_EQ(egb_pool_trim(all.pool, SIZE_MAX), 0u);  // it is back in its chunk
        block[3] ^= 1;
        EXPECT_NE(all.take(), block);
        EXPECT_EQ(seen.take_all(), EGB_MISUSE_OVERWRITTEN);
        EXPECT_EQ(egb_pool_check(all.pool), 0u);
        EXPECT_TRUE(seen.none());
    }
}

TEST(guard_fill, a_write_to_a_free_block_is_noticed_when_its_chunk_goes)
{
    for (const char* level : {"guard", "track"}) {
        for (const std::size_t place : {0u, 3u, 8u, 47u}) {
            events               seen;
            const guarded        all(48, level);
            unsigned char* const block = all.take();
            all.give(block);
            EXPECT_EQ(egb_pool_trim(all.pool, SIZE_MAX), 0u);  // it is back in its chunk
            block[place] ^= 1;
            EXPECT_NE(egb_pool_trim(all.pool, 0), 0u);
            EXPECT_EQ(egb_pool_check(all.pool), 0u);
            EXPECT_EQ(seen.take_kind(), EGB_MISUSE_OVERWRITTEN) << place;
        }
    }
}

#if !defined(_WIN32)
// No other pool gets its addresses, nor the next chunk of this one.
TEST(guard_fill_death, nobody_writes_to_a_block_whose_chunk_has_gone)
{
    const guarded        all(64);
    unsigned char* const block = all.take();
    all.give(block);
    EXPECT_NE(egb_pool_trim(all.pool, 0), 0u);
    EXPECT_DEATH(*static_cast<volatile unsigned char*>(block) = 1, "");
}
#endif
