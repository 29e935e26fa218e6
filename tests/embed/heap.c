// SPDX-License-Identifier: MIT
// The memory behind newlib's malloc: everything between the static data and the stack.
#include <stddef.h>

extern char board_heap_start[], board_heap_end[];  // from board.ld

void* _sbrk(ptrdiff_t bytes);

void* _sbrk(ptrdiff_t bytes)
{
    static char* end = board_heap_start;
    if (bytes > board_heap_end - end || bytes < board_heap_start - end) {
        return (void*)-1;
    }
    char* const start = end;
    end += bytes;
    return start;
}
