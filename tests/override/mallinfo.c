// SPDX-License-Identifier: MIT
// Prints what the functions of glibc tell of the heap, all at the same moment: mallinfo2() in a
// line, mallinfo() in another, malloc_info(), and malloc_stats() on the standard error output; then
// mallinfo2() again, and once more when all is free and trimmed. A stream with a buffer of its own
// needs no memory, so the numbers stay the same.
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // mallinfo()

enum { BLOCKS = 1000, BLOCK_BYTES = 100, LARGE_BYTES = 1000000 };

static char  buffer[BUFSIZ];
static void* blocks[BLOCKS];

// The field usmblks is always 0 in glibc.
static void print_in_words(void)
{
    const struct mallinfo2 now = mallinfo2();
    printf("%zu %zu %zu %zu %zu ", now.arena, now.uordblks, now.fordblks, now.hblks, now.hblkhd);
    printf("%zu %zu %zu %zu\n", now.ordblks, now.smblks, now.fsmblks, now.keepcost);
}

static void print_in_ints(void)
{
    const struct mallinfo now = mallinfo();
    printf("%d %d %d %d %d ", now.arena, now.uordblks, now.fordblks, now.hblks, now.hblkhd);
    printf("%d %d %d %d\n", now.ordblks, now.smblks, now.fsmblks, now.keepcost);
}

int main(void)
{
    if (setvbuf(stdout, buffer, _IOFBF, sizeof buffer) != 0) {
        return 1;
    }
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(BLOCK_BYTES);
    }
    for (int i = 0; i < BLOCKS; i += 3) {
        free(blocks[i]);
    }
    void* const large  = malloc(LARGE_BYTES);
    void* const larger = malloc(LARGE_BYTES);
    free(larger);
    print_in_words();
    print_in_ints();
    const int known = malloc_info(0, stdout);
    malloc_stats();
    print_in_words();
    free(large);
    for (int i = 0; i < BLOCKS; i++) {
        free(i % 3 == 0 ? NULL : blocks[i]);
    }
    (void)malloc_trim(0);
    print_in_words();
    return known == 0 && malloc_info(1, stdout) == EINVAL ? 0 : 2;
}
