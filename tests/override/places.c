// SPDX-License-Identifier: MIT
// Frees one block twice by one of the functions that free, or an address of no block: places.py
// looks for these calls in the library's messages. `thread`: makes a thread, and frees nothing.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// Not in every C library, or in no header of C: the library that is put before the program has all.
#define OF_OTHERS __attribute__((weak))
OF_OTHERS void* reallocarray(void* block, size_t count, size_t bytes);
OF_OTHERS void  cfree(void* block);
OF_OTHERS void  free_sized(void* block, size_t bytes);
OF_OTHERS void  free_aligned_sized(void* block, size_t align, size_t bytes);
OF_OTHERS void  delete_one(void* block) __asm__("_ZdlPv");
OF_OTHERS void  delete_array(void* block) __asm__("_ZdaPv");
OF_OTHERS void  delete_nothrow(void* block, const void* tag) __asm__("_ZdlPvRKSt9nothrow_t");
OF_OTHERS void  delete_aligned(void* block, size_t align) __asm__("_ZdlPvSt11align_val_t");

enum { BLOCK_BYTES = 100, ALIGN = 16 };

static void* volatile result;

static void by_realloc(void* block)
{
    result = realloc(block, 0);
}

static void by_larger_realloc(void* block)
{
    result = realloc(block, BLOCK_BYTES * BLOCK_BYTES);
}

static void by_reallocarray(void* block)
{
    result = reallocarray(block, 0, BLOCK_BYTES);
}

static void by_cfree(void* block)
{
    cfree(block);
}

static void by_free_sized(void* block)
{
    free_sized(block, BLOCK_BYTES);
}

static void by_free_aligned_sized(void* block)
{
    free_aligned_sized(block, ALIGN, BLOCK_BYTES);
}

static void by_delete(void* block)
{
    delete_one(block);
}

static void by_delete_array(void* block)
{
    delete_array(block);
}

static void by_delete_nothrow(void* block)
{
    delete_nothrow(block, "");
}

static void by_delete_aligned(void* block)
{
    delete_aligned(block, ALIGN);
}

static void* start(void* argument)
{
    return argument;
}

static int make_thread(void)
{
    pthread_t thread;
    return pthread_create(&thread, NULL, start, NULL) == 0 && pthread_join(thread, NULL) == 0 ? 0
                                                                                              : 1;
}

int main(int count, char** arguments)
{
    static const struct {
        const char* name;
        void (*free)(void* block);
    } ways[] = {
        {"free", free},
        {"cfree", by_cfree},
        {"realloc", by_realloc},
        {"larger_realloc", by_larger_realloc},
        {"reallocarray", by_reallocarray},
        {"free_sized", by_free_sized},
        {"free_aligned_sized", by_free_aligned_sized},
        {"delete", by_delete},
        {"delete_array", by_delete_array},
        {"delete_nothrow", by_delete_nothrow},
        {"delete_aligned", by_delete_aligned},
    };
    static char no_block[BLOCK_BYTES];
    if (count != 3) {
        return 2;
    }
    if (strcmp(arguments[1], "thread") == 0) {
        return make_thread();
    }
    void* const block = malloc(BLOCK_BYTES);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        if (strcmp(arguments[1], ways[i].name) != 0) {
            continue;
        }
        if (strcmp(arguments[2], "foreign") == 0) {
            ways[i].free(no_block);
        } else {
            ways[i].free(block);
            ways[i].free(block);
        }
        return 0;
    }
    return 2;
}
