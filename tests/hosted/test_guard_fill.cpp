// SPDX-License-Identifier: MIT
// Levels "guard" and "track": the pattern in free blocks.
#include "events.hpp"
#include "guarded.hpp"

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
