// SPDX-License-Identifier: MIT
// A malloc on what `eggbox size --emit c` made of a recorded run, to be put before a program of one
// thread that knows nothing of it. A request larger than the largest size comes from mmap, because
// the header has no pool for it. A request that the header refuses is counted and comes from mmap,
// too. The program goes on, and all refusals are seen. At the end it writes how many there were.
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pools.h"

#define EXPORT __attribute__((visibility("default")))

enum { LARGE_HEAD_BYTES = 4096 };  // before a large block: a page, with its size in it

#define ROWS (sizeof POOLS_PREFIX(_sizes) / sizeof POOLS_PREFIX(_sizes)[0])

static size_t given, refused;

static size_t bytes_most(void)
{
    return POOLS_PREFIX(_sizes)[ROWS - 1].block_bytes;
}

static size_t* head_of(void* block)
{
    return (size_t*)((char*)block - LARGE_HEAD_BYTES);
}

static void* large_alloc(size_t bytes)
{
    if (bytes > PTRDIFF_MAX - LARGE_HEAD_BYTES) {
        return NULL;
    }
    size_t* const head = mmap(
        NULL, bytes + LARGE_HEAD_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0
    );
    if (head == MAP_FAILED) {
        return NULL;
    }
    *head = bytes;
    return (char*)head + LARGE_HEAD_BYTES;
}

EXPORT void* malloc(size_t bytes)
{
    if (bytes > bytes_most()) {
        return large_alloc(bytes);
    }
    void* const block = POOLS_PREFIX(_alloc)(bytes);
    given += block != NULL;
    refused += block == NULL;
    return block != NULL ? block : large_alloc(bytes);
}

EXPORT void free(void* block)
{
    if (block == NULL) {
        return;
    }
    if (POOLS_PREFIX(_bytes)(block) != 0) {
        POOLS_PREFIX(_free)(block);
    } else {
        munmap(head_of(block), *head_of(block) + LARGE_HEAD_BYTES);
    }
}

EXPORT void* calloc(size_t count, size_t bytes)
{
    size_t all;
    if (__builtin_mul_overflow(count, bytes, &all)) {
        return NULL;
    }
    void* const block = malloc(all);
    return block == NULL ? NULL : memset(block, 0, all);
}

EXPORT size_t malloc_usable_size(void* block)
{
    const size_t bytes = block == NULL ? 0 : POOLS_PREFIX(_bytes)(block);
    return block == NULL || bytes != 0 ? bytes : *head_of(block);
}

EXPORT void* realloc(void* block, size_t bytes)
{
    const size_t before = malloc_usable_size(block);
    if (block != NULL && bytes == 0) {
        free(block);
        return NULL;
    }
    if (POOLS_PREFIX(_bytes)(block) != 0 && bytes <= bytes_most()) {
        void* const after = POOLS_PREFIX(_realloc)(block, bytes);
        given += after != block && after != NULL;
        if (after != NULL) {
            return after;
        }
    }
    if (block != NULL && bytes <= before && bytes > before / 2) {
        return block;  // as the heap does with its large blocks
    }
    void* const after = malloc(bytes);
    if (after != NULL && block != NULL) {
        memcpy(after, block, before < bytes ? before : bytes);
        free(block);
    }
    return after;
}

// The programs of the test need no more than what any block has.
EXPORT int posix_memalign(void** out, size_t align, size_t bytes)
{
    *out = align > 16 ? NULL : malloc(bytes);
    refused += align > 16;
    return *out == NULL ? ENOMEM : 0;
}

EXPORT void* aligned_alloc(size_t align, size_t bytes)
{
    void* block;
    return posix_memalign(&block, align, bytes) == 0 ? block : NULL;
}

__attribute__((destructor)) static void end(void)
{
    char      text[100];
    const int bytes = snprintf(text, sizeof text, "%zu given, %zu refused\n", given, refused);
    const int file  = open(getenv("POOLS_RESULT"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (file < 0 || write(file, text, (size_t)bytes) != bytes) {
        _exit(99);
    }
    close(file);
}
