// SPDX-License-Identifier: MIT
// EARLY: 0, never; 1, here; 2, in the library that is this file with LIBRARY set.
//
// A program with threads, forks, small and large blocks, that also makes the calls which the
// libraries of before.c stand before. And one that asks for memory before any constructor has run.
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// ---- before the constructors --------------------------------------------------------------------

int chosen(void);

#if EARLY == 1
static int one(void)
{
    return 1;
}

static int two(void)
{
    return 2;
}

static int is_text(const char* block, char first)
{
    return block != NULL && block[0] == first && strcmp(block + 1, "pu") == 0;
}

// A block of each call, kept or freed, before this file's library, or the program, is relocated.
static int try_all(void)
{
    char* block = malloc(64);
    if (block == NULL) {
        return 0;
    }
    strcpy(block, "cpu");
    block = realloc(block, 5000);
    if (!is_text(block, 'c')) {
        return 0;
    }
    int* const zero = calloc(1000, sizeof(int));
    for (int i = 0; zero != NULL && i < 1000; i++) {
        if (zero[i] != 0) {
            return 0;
        }
    }
    void*     aligned     = NULL;
    const int has_aligned = posix_memalign(&aligned, 4096, 100) == 0 && (size_t)aligned % 4096 == 0;
    char* const large     = malloc(300000);
    free(zero);
    free(block);
    free(aligned);
    free(large);
    free(NULL);
    return has_aligned && zero != NULL && large != NULL;
}

static int (*choose(void))(void)
{
    return try_all() ? one : two;
}

int chosen(void) __attribute__((ifunc("choose")));
#endif

// ---- all else -----------------------------------------------------------------------------------

#if !LIBRARY
enum { ROUNDS = 4000, KEPT = 64, THREADS = 4, FORKS = 6 };

static unsigned next_number(unsigned* state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

// Whether each block was as it was left.
static int use_blocks(unsigned state)
{
    unsigned char* kept[KEPT]  = {NULL};
    size_t         bytes[KEPT] = {0};
    int            is_right    = 1;
    for (int i = 0; i < ROUNDS; i++) {
        const unsigned at = next_number(&state) % KEPT;
        if (kept[at] != NULL) {
            is_right &= kept[at][0] == (unsigned char)at && kept[at][bytes[at] - 1] == 77;
        }
        free(kept[at]);
        const unsigned most = next_number(&state) % 50 == 0 ? 1u << 21 : 10000;
        bytes[at]           = 2 + next_number(&state) % most;
        kept[at]            = malloc(bytes[at]);
        if (kept[at] != NULL && i % 7 == 0) {
            bytes[at] *= 2;
            kept[at] = realloc(kept[at], bytes[at]);
        }
        if (kept[at] == NULL) {
            return 0;
        }
        kept[at][bytes[at] - 1] = 77;
        kept[at][0]             = (unsigned char)at;
    }
    for (int i = 0; i < KEPT; i++) {
        free(kept[i]);
    }
    return is_right;
}

static void* run_thread(void* number)
{
    return use_blocks(*(unsigned*)number) ? number : NULL;
}

static int use_fork(void)
{
    const pid_t child  = fork();
    int         status = 1;
    if (child == 0) {
        _exit(use_blocks(99) ? 0 : 1);
    }
    return waitpid(child, &status, 0) == child && status == 0;
}

static int fork_in_loader(struct dl_phdr_info* module, size_t bytes, void* is_right)
{
    (void)module;
    (void)bytes;
    *(int*)is_right = use_fork();
    return 1;
}

// A lock of the loader is held, as by a thread that unwinds. In the child it stays held for ever:
// its owner is a thread of the parent.
static int use_fork_beside_loader(void)
{
    int is_right = 0;
    (void)dl_iterate_phdr(fork_in_loader, &is_right);
    return is_right;
}

static int use_threads(void)
{
    pthread_t threads[THREADS];
    unsigned  numbers[THREADS];
    int       is_right = 1;
    for (unsigned i = 0; i < THREADS; i++) {
        numbers[i] = i;
        is_right &= pthread_create(&threads[i], NULL, run_thread, &numbers[i]) == 0;
    }
    for (int i = 0; i < FORKS; i++) {
        is_right &= use_fork();
    }
    is_right &= use_fork_beside_loader();
    for (unsigned i = 0; i < THREADS; i++) {
        void* seen = NULL;
        is_right &= pthread_join(threads[i], &seen) == 0 && seen == &numbers[i];
    }
    return is_right;
}

// Blocks of the C library's own malloc, found past all that stands before it, come back to ours.
static int use_blocks_of_c_library(void)
{
    void* (*its_malloc)(size_t);
    void* const library  = dlopen("libc.so.6", RTLD_LAZY);
    *(void**)&its_malloc = library == NULL ? NULL : dlsym(library, "malloc");
    if (its_malloc == NULL) {
        return 0;
    }
    char* volatile first  = its_malloc(100);
    char* volatile second = its_malloc(3000);
    strcpy(first, "kept");
    first = realloc(first, 20000);
    free(second);
    const int is_kept = first != NULL && strcmp(first, "kept") == 0;
    free(first);
    return is_kept;
}

// Each call that a library of before.c stands before.
static int use_calls(void)
{
    struct timespec now;
    struct timeval  day;
    char            bytes[16];
    const int       file     = open("/dev/zero", O_RDONLY);
    int             is_right = read(file, bytes, sizeof bytes) == (ssize_t)sizeof bytes;
    close(file);
    is_right &= clock_gettime(CLOCK_MONOTONIC, &now) == 0 && gettimeofday(&day, NULL) == 0;
    is_right &= time(NULL) > 0 && sysconf(_SC_PAGESIZE) > 0 && getpid() > 0;
    is_right &= use_blocks_of_c_library();
    is_right &= getenv("NO_SUCH_VARIABLE") == NULL && dlsym(RTLD_DEFAULT, "no_such_name") == NULL;
    return is_right;
}

int main(void)
{
  #if EARLY
    printf("chosen %d\n", chosen());
  #endif
    printf("calls %d\n", use_calls());
    printf("blocks %d\n", use_blocks(1));
    fflush(stdout);
    printf("threads %d\n", use_threads());
    return 0;
}
#endif
