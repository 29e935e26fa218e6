// SPDX-License-Identifier: MIT
// malloc of newlib on a board heap: the C library's own functions allocate there.
#include "board.h"

#include "eggbox/port/cortex_m.h"

#include <stdlib.h>
#include <string.h>

#include "eggbox/board_heap.h"

static egb_board_heap heap;

#define EGB_BOARD_HEAP heap
#include "eggbox/port/board_malloc.h"

static egb_board_class classes[] = {
    {.block_bytes = 16, .count = 8}, {.block_bytes = 64, .count = 4}
};
static uint64_t memory[(16 * 8 + 64 * 4) / 8];
static unsigned misuses;

void egb_misuse(const egb_misuse_event* event)
{
    (void)event;
    misuses++;
}

// Declared here, because C11 without extensions does not have it.
char* strdup(const char* text);

void board_main(void)
{
    CHECK(malloc(8) == NULL && misuses == 1);  // before init
    CHECK(egb_board_init(&heap, memory, sizeof memory, classes, 2, &egb_port_primask, 0) == EGB_OK);
    char* text = strdup("in a block of the heap");
    CHECK(egb_board_usable(&heap, text) == 64 && malloc_usable_size(text) == 64);
    text = realloc(text, 12);
    CHECK(egb_board_usable(&heap, text) == 16 && memcmp(text, "in a block o", 12) == 0);
    free(text);
    const int* const zeros = calloc(4, sizeof(int));
    CHECK(zeros != NULL && zeros[0] == 0 && zeros[3] == 0);
    errno = 0;
    CHECK(malloc(65) == NULL && errno == ENOMEM);
    void* const aligned = memalign(16, 40);
    CHECK((uintptr_t)aligned % 16 == 0 && egb_board_class_in_use(&heap, 1) == (aligned != NULL));
    free(aligned);
    CHECK(egb_board_class_in_use(&heap, 0) == 1 && egb_board_whole(&heap) && misuses == 1);
}
