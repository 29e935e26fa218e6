// SPDX-License-Identifier: MIT
// Static pools whose blocks are in sections of their own: board.ld places them, and the start of
// the program does not clear them.
#include "board.h"

#include "eggbox/fixed_placed.h"

typedef struct frame {
    uint32_t words[8];
} frame;

enum { count = 4 };

EGB_FIXED_DEFINE_MARKED_IN(".bss.dma", marked_frames, frame, count);
EGB_FIXED_DEFINE_IN(".bss.dma", frames, frame, count);
EGB_FIXED_DEFINE_MARKED_IN(".noinit", kept, frame, count);
EGB_FIXED_DEFINE_MARKED(others, frame, count);

extern char board_dma_start[], board_dma_end[], board_bss_start[], board_bss_end[];  // board.ld

void egb_misuse(const egb_misuse_event* event)
{
    (void)event;
    CHECK(false);
}

static bool is_in(const char* start, const char* end, const void* block)
{
    return (const char*)block >= start && (const char*)block + sizeof(frame) <= end;
}

// Every block can be had and given back, whatever was in the memory before.
static void use_all(egb_fixed* pool, egb_word* blocks)
{
    void* held[count];
    for (unsigned i = 0; i < count * sizeof(frame) / sizeof(egb_word); i++) {
        blocks[i] = EGB_FIXED_MARK_;
    }
    for (unsigned i = 0; i < count; i++) {
        held[i] = egb_fixed_alloc(pool);
        CHECK(held[i] != NULL);
    }
    CHECK(egb_fixed_alloc(pool) == NULL && egb_fixed_in_use(pool) == count);
    for (unsigned i = 0; i < count; i++) {
        egb_fixed_free(pool, held[i]);
    }
    CHECK(egb_fixed_in_use(pool) == 0 && egb_fixed_whole(pool));
}

void board_main(void)
{
    CHECK(board_dma_end - board_dma_start == 2 * count * (int)sizeof(frame));
    CHECK(is_in(board_dma_start, board_dma_end, marked_frames_alloc()));
    CHECK(is_in(board_dma_start, board_dma_end, egb_fixed_alloc(&frames)));
    CHECK(is_in(board_bss_start, board_bss_end, others_alloc()));
    CHECK(!is_in(board_bss_start, board_bss_end, kept_alloc()));
    egb_fixed_clear(&marked_frames);
    egb_fixed_clear(&frames);
    egb_fixed_clear(&kept);
    use_all(&marked_frames, marked_frames_blocks_);
    use_all(&frames, frames_blocks_);
    use_all(&kept, kept_blocks_);
}
