// SPDX-License-Identifier: MIT
// The first calls of a process and of a thread: how many pages they bring into memory, and how
// often they ask the system for memory or give some back. Neither depends on what else the machine
// does, but both depend a little on where the system puts a mapping: a chunk takes three calls in
// place of one where the addresses before the last range are taken, or are those of a range that
// went back. The linker leads mmap() and munmap() of the library to this file.
#include <eggbox/heap.h>
#include <eggbox/pool.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { BLOCKS = 500, BLOCK_BYTES = 32 };

static egb_pool first_pool;
static egb_pool second_pool;
static void*    blocks[BLOCKS];
static bool     has_failed;
static long     calls;

void* __real_mmap(void* at, size_t bytes, int access, int flags, int file, off_t from);
void* __wrap_mmap(void* at, size_t bytes, int access, int flags, int file, off_t from);
int   __real_munmap(void* at, size_t bytes);
int   __wrap_munmap(void* at, size_t bytes);

void* __wrap_mmap(void* at, size_t bytes, int access, int flags, int file, off_t from)
{
    calls++;
    return __real_mmap(at, bytes, access, flags, file, from);
}

int __wrap_munmap(void* at, size_t bytes)
{
    calls++;
    return __real_munmap(at, bytes);
}

static void require(bool holds, const char* what)
{
    if (!holds) {
        printf("FAILED: %s\n", what);
        has_failed = true;
    }
}

// ---- the steps ----------------------------------------------------------------------------------

static void make(egb_pool* pool)
{
    const egb_pool_options options = {.block_bytes = BLOCK_BYTES};
    require(egb_pool_create(pool, &options) == EGB_OK, "make a pool");
}

static void nothing(void) {}

static void make_first_pool(void)
{
    make(&first_pool);
}

static void make_second_pool(void)
{
    make(&second_pool);
}

static void take_first(void)
{
    blocks[0] = egb_pool_alloc(first_pool);
}

static void take_more(void)
{
    for (size_t i = 1; i < BLOCKS; i++) {
        blocks[i] = egb_pool_alloc(first_pool);
    }
}

static void give_all(void)
{
    for (size_t i = 0; i < BLOCKS; i++) {
        egb_pool_free(first_pool, blocks[i]);
    }
}

static void take_first_of_second_pool(void)
{
    blocks[0] = egb_pool_alloc(second_pool);
}

static void take_from_heap(void)
{
    blocks[1] = egb_malloc(BLOCK_BYTES);
}

static void take_large_from_heap(void)
{
    blocks[2] = egb_malloc(100000);
}

// As many calls as it takes until one looks at the clock. The first epoch begins with it.
static void use_heap_for_long(void)
{
    for (int i = 0; i < 100; i++) {
        egb_free(blocks[2]);
        take_large_from_heap();
    }
}

// ---- the count ----------------------------------------------------------------------------------

typedef struct step {
    const char* name;
    void (*run)(void);
    long faults_max;
    long calls_max;
} step;

static long page_faults(void)
{
    struct rusage used = {0};
    (void)getrusage(RUSAGE_THREAD, &used);
    return used.ru_minflt;
}

static void run(const step* one)
{
    (void)page_faults();  // the stack of this call is in memory
    const long calls_before = calls;
    const long before       = page_faults();
    one->run();
    const long faults = page_faults() - before;
    const long asked  = calls - calls_before;
    printf(
        "%-34s %2ld of %2ld page faults, %2ld of %2ld calls\n",
        one->name,
        faults,
        one->faults_max,
        asked,
        one->calls_max
    );
    require(faults <= one->faults_max, "page faults");
    require(asked <= one->calls_max, "calls for memory");
}

static void* run_in_thread(void* one)
{
    run(one);
    return NULL;
}

// Pages of files come in groups, by how the files lie in the memory of the system. Therefore all
// are there before, but for those that the program can write to.
static void touch_files(void)
{
    char        line[512];
    FILE* const maps = fopen("/proc/self/maps", "re");
    require(maps != NULL, "/proc/self/maps");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        unsigned long start   = 0;
        unsigned long end     = 0;
        char          mode[5] = "";
        if (sscanf(line, "%lx-%lx %4s", &start, &end, mode) == 3 && strncmp(mode, "r-", 2) == 0 &&
            strchr(line, '/') != NULL) {
            for (unsigned long at = start; at < end; at += 4096) {
                (void)*(const volatile char*)at;
            }
        }
    }
    if (maps != NULL) {
        (void)fclose(maps);
    }
}

int main(void)
{
    static const step steps[] = {
        {"nothing", nothing, 0, 0},
        {"make the first pool", make_first_pool, 2, 1},
        {"take its first block", take_first, 8, 5},
        {"take 499 more", take_more, 4, 0},
        {"give 500", give_all, 2, 0},
        {"make a second pool", make_second_pool, 1, 0},
        {"take its first block", take_first_of_second_pool, 2, 4},
        {"take a block from the heap", take_from_heap, 7, 4},
        {"take a large block from the heap", take_large_from_heap, 2, 4},
        {"take 100 more, one at a time", use_heap_for_long, 6, 0},
    };
    static step thread_step = {"take the first block of a thread", take_first, 9, 3};
    pthread_t   thread;
    touch_files();
    memset(blocks, 1, sizeof blocks);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        run(&steps[i]);
    }
    require(pthread_create(&thread, NULL, run_in_thread, &thread_step) == 0, "a thread");
    require(pthread_join(thread, NULL) == 0, "its end");
    return has_failed ? 1 : 0;
}
