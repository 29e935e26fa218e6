// SPDX-License-Identifier: MIT
// Prints what the functions of glibc tell of the heap, all three at the same moment: mallinfo2() in
// a line, malloc_info(), and malloc_stats() on the standard error output. A stream with a buffer of
// its own needs no memory, so the numbers stay the same.
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 1000, BLOCK_BYTES = 100, LARGE_BYTES = 1000000 };

static char  buffer[BUFSIZ];
static void* blocks[BLOCKS];

static void print_in_words(void)
{
    const struct mallinfo2 now = mallinfo2();
    printf("%zu %zu %zu %zu %zu\n", now.arena, now.uordblks, now.fordblks, now.hblks, now.hblkhd);
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
    const int known = malloc_info(0, stdout);
    malloc_stats();
    print_in_words();
    free(large);
    return known == 0 && malloc_info(1, stdout) == EINVAL ? 0 : 2;
}
