// SPDX-License-Identifier: MIT
// How much of a thread's stack each call of malloc and its kin needs at most, the first call of
// each kind included. A thread paints the part of its stack that it does not use, makes the calls,
// and looks how far down the paint is gone. The program is linked with `-z now`: the loader would
// need 3 KiB of the same stack for the program's own first call of a function.
//
// Prints a line for each step: its bytes, and its name.
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    STACK_BYTES = 512 << 10,
    PAINTED     = 128 << 10,
    BLOCKS      = 100000,
    LARGE       = 1000,
    PAINT       = 0xa5,
    OWN_BYTES   = 256  // below the frame of measure(): what its own calls to paint use
};

static void* kept[BLOCKS];
static void* volatile one;
static size_t results[32];
static size_t steps;

static void many(void)
{
    for (size_t i = 0; i < BLOCKS; i++) {
        kept[i] = malloc(16 + i % 4000);
    }
}

static void free_many(void)
{
    for (size_t i = 0; i < BLOCKS; i++) {
        free(kept[i]);
    }
}

static void large(void)
{
    for (size_t i = 0; i < LARGE; i++) {
        kept[i] = malloc(70000 + 400 * i);
    }
}

static void resize_large(void)
{
    for (size_t i = 0; i < LARGE; i++) {
        kept[i] = realloc(kept[i], 70000 + i * 7919 % 900000);
    }
}

static void free_large(void)
{
    for (size_t i = 0; i < LARGE; i++) {
        free(kept[i]);
    }
}

static void nothing(void) {}
static void first_malloc(void)
{
    one = malloc(24);
}
static void first_free(void)
{
    free(one);
}
static void clear(void)
{
    one = calloc(10, 3000);
}
static void grow(void)
{
    one = realloc(one, 100000);
}
static void grow_more(void)
{
    one = realloc(one, 6000000);
}
static void shrink(void)
{
    one = realloc(one, 100);
}
static void align(void)
{
    one = memalign(1 << 20, 5000);
}
static void align_little(void)
{
    one = memalign(64, 100);
}
static void refused(void)
{
    one = malloc(SIZE_MAX / 4);
}
static void usable(void)
{
    one = (void*)malloc_usable_size(NULL);
}

typedef struct step {
    const char* what;
    void (*make)(void);
} step;

static const step all[] = {
    {"nothing", nothing},
    {"first malloc", first_malloc},
    {"first free", first_free},
    {"calloc", clear},
    {"realloc to a large block", grow},
    {"realloc to 6 MB", grow_more},
    {"realloc to a small block", shrink},
    {"free", first_free},
    {"memalign of 1 MiB", align},
    {"free of it", first_free},
    {"memalign of 64", align_little},
    {"free of it", first_free},
    {"malloc of many sizes", many},
    {"free of all", free_many},
    {"malloc of large blocks", large},
    {"realloc of large blocks", resize_large},
    {"free of large blocks", free_large},
    {"malloc that is refused", refused},
    {"malloc_usable_size", usable},
};

// A call to it has a frame below that of measure(), so the words next to that are left out.
__attribute__((noinline)) static void measure(const step* its)
{
    volatile unsigned char* const frame = (volatile unsigned char*)__builtin_frame_address(0);
    volatile unsigned char* const start = frame - PAINTED;
    for (volatile unsigned char* at = start; at < frame - OWN_BYTES; at++) {
        *at = PAINT;
    }
    its->make();
    size_t untouched = 0;
    while (untouched < PAINTED && start[untouched] == PAINT) {
        untouched++;
    }
    results[steps++] = PAINTED - untouched;
}

static void* on_own_stack(void* unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        measure(&all[i]);
    }
    return NULL;
}

int main(void)
{
    pthread_t      thread;
    pthread_attr_t attributes;
    void* const    stack =
        mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED || pthread_attr_init(&attributes) != 0 ||
        pthread_attr_setstack(&attributes, stack, STACK_BYTES) != 0 ||
        pthread_create(&thread, &attributes, on_own_stack, NULL) != 0 ||
        pthread_join(thread, NULL) != 0) {
        return 1;
    }
    for (size_t i = 0; i < steps; i++) {
        printf("%zu %s\n", results[i], all[i].what);
    }
    return 0;
}
