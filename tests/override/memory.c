// SPDX-License-Identifier: MIT
// Shapes of memory use in which a malloc keeps, or asks for, more than it needs. Prints figures as
// NAME VALUE lines: MiB resident, and counts. memory.py has the bounds.
//
// usage: memory SHAPE [NUMBER...]
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

static long numbers[4];

static long status_kib(const char* key)
{
    char        line[256];
    long        kib  = 0;
    FILE* const file = fopen("/proc/self/status", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0) {
            kib = atol(line + strlen(key));
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return kib;
}

static void tell(const char* name)
{
    printf("%s %ld\n", name, status_kib("VmRSS:") / 1024);
}

static uint32_t draw(void)
{
    static uint64_t state = 88172645463325252U;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 11);
}

static void must(const void* block)
{
    if (block == NULL) {
        puts("refused");
        exit(1);
    }
}

// ---- large blocks -------------------------------------------------------------------------------

static void grow_and_free_buffers(void)
{
    enum { BUFFERS = 200, STEPS = 60, STEP_BYTES = 10000 };
    static char* buffers[BUFFERS];
    for (size_t step = 1; step <= STEPS; step++) {
        for (int i = 0; i < BUFFERS; i++) {
            buffers[i] = realloc(buffers[i], step * STEP_BYTES);
            must(buffers[i]);
            buffers[i][step * STEP_BYTES - 1] = 1;
        }
    }
    for (int i = 0; i < BUFFERS; i++) {
        free(buffers[i]);
    }
}

static long mappings_of(uintptr_t start, uintptr_t end)
{
    char        line[512];
    long        count = 0;
    FILE* const file  = fopen("/proc/self/maps", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char*           rest;
        const uintptr_t from = strtoul(line, &rest, 16);
        const uintptr_t to   = strtoul(rest + 1, NULL, 16);
        count += from < end && to > start;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return count;
}

// One buffer grows by small steps behind blocks of a phase before: each page is written.
static void grown(void)
{
    const size_t most  = (size_t)numbers[0] * MIB;
    char*        block = NULL;
    grow_and_free_buffers();
    for (size_t bytes = 4096; bytes <= most; bytes += 65536) {
        block = realloc(block, bytes);
        must(block);
        const size_t fresh = bytes > 65536 ? bytes - 65536 : 0;
        memset(block + fresh, 1, bytes - fresh);
    }
    const uintptr_t start = (uintptr_t)block;
    printf("mappings %ld\n", mappings_of(start, start + most - 65536));
    printf("peak %ld\n", status_kib("VmHWM:") / 1024);
    free(block);
}

// 10 GiB, if there are so many addresses.
static const size_t LONG_BYTES = (size_t)10 << (sizeof(size_t) < 8 ? 20 : 30);

static void untouched(void)
{
    void* blocks[20];
    for (int i = 0; i < 20; i++) {
        blocks[i] = malloc(LONG_BYTES);
        must(blocks[i]);
        ((char*)blocks[i])[LONG_BYTES / 2] = 1;
    }
    tell("resident");
    for (int i = 0; i < 20; i++) {
        free(blocks[i]);
        must(blocks[i] = calloc(1, LONG_BYTES));
    }
    tell("zeroed");
}

// Buffers that grow by a quarter from 64 KiB to 1 MB, then go.
static void buffers(void)
{
    char*  blocks[16]  = {0};
    size_t lengths[16] = {0};
    for (int i = 0; i < 20000; i++) {
        const size_t which = draw() % 16;
        if (lengths[which] > 1000000) {
            free(blocks[which]);
            blocks[which]  = NULL;
            lengths[which] = 0;
        }
        const size_t bytes = lengths[which] != 0 ? lengths[which] + lengths[which] / 4 : 65536;
        blocks[which]      = realloc(blocks[which], bytes);
        must(blocks[which]);
        for (size_t at = lengths[which]; at < bytes; at += 4096) {
            blocks[which][at] = 1;
        }
        lengths[which] = bytes;
    }
    struct rusage used;
    (void)getrusage(RUSAGE_SELF, &used);
    printf("faults %ld\n", used.ru_minflt);
}

// ---- memory that comes back ---------------------------------------------------------------------

static void light_load(void)
{
    void* blocks[400];
    for (int i = 0; i < 400; i++) {
        const size_t bytes = draw() % (draw() % 8 != 0 ? 500 : 20000);
        must(blocks[i] = malloc(bytes));
        memset(blocks[i], 1, bytes);
    }
    for (int i = 0; i < 400; i++) {
        free(blocks[i]);
    }
}

static void use_and_free(size_t bytes, size_t sum)
{
    const size_t count  = sum / bytes;
    char** const blocks = malloc(count * sizeof *blocks);
    must(blocks);
    for (size_t i = 0; i < count; i++) {
        must(blocks[i] = malloc(bytes));
        memset(blocks[i], 1, bytes);
    }
    for (size_t i = 0; i < count; i++) {
        free(blocks[i]);
    }
    free(blocks);
}

// A burst, and a little load afterwards.
static void burst(void)
{
    use_and_free((size_t)numbers[0], (size_t)300 * MIB);
    light_load();
    tell("after");
}

static void* burst_in_thread(void* nothing)
{
    (void)nothing;
    use_and_free(1000, (size_t)100 * MIB);
    use_and_free(100000, (size_t)100 * MIB);
    return NULL;
}

// Waits until no more MiB are resident than the first number says: a minute at most.
static void wait_for(const char* name)
{
    for (int i = 0; i < 600 && status_kib("VmRSS:") > numbers[0] * 1024; i++) {
        (void)usleep(100000);
    }
    tell(name);
}

// The same in a program with threads, which then does nothing. Once that has lasted for some
// seconds, it frees large blocks.
static void threads_burst(void)
{
    enum { LATE = 100 };
    pthread_t threads[2];
    char*     late[LATE];
    for (int i = 0; i < LATE; i++) {
        must(late[i] = malloc(MIB));
    }
    for (int i = 0; i < 2; i++) {
        (void)pthread_create(&threads[i], NULL, burst_in_thread, NULL);
    }
    for (int i = 0; i < 2; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    wait_for("after");
    (void)sleep(4);
    for (int i = 0; i < LATE; i++) {
        memset(late[i], 1, MIB);
    }
    for (int i = 0; i < LATE; i++) {
        free(late[i]);
    }
    wait_for("late");
}

// 100 MiB in use all the time: the oldest blocks make room for the next, whose size changes.
static void sizes(void)
{
    enum { SUM = 100 * MIB, LEAST = 64, PHASES = 12, BLOCKS = SUM / LEAST + 1 };
    static const size_t bytes_of[] = {LEAST, 1000, 200, 5000, 30000, 120, 2000, 400};
    static char*        ring[BLOCKS];
    size_t              oldest = 0, newest = 0, used = 0;
    for (size_t phase = 0; phase < PHASES; phase++) {
        const size_t bytes = bytes_of[phase % (sizeof bytes_of / sizeof bytes_of[0])];
        for (size_t i = 0; i < SUM / bytes; i++) {
            for (; used + bytes > SUM; oldest++) {
                used -= strlen(ring[oldest % BLOCKS]) + 1;
                free(ring[oldest % BLOCKS]);
            }
            char* const block = malloc(bytes);
            must(block);
            memset(block, 'x', bytes - 1);
            block[bytes - 1]        = 0;
            ring[newest++ % BLOCKS] = block;
            used += bytes;
        }
    }
    printf("peak %ld\n", status_kib("VmHWM:") / 1024);
}

// A block that leaves room for little else, behind two phases of others.
static void most(void)
{
    use_and_free(1000, (size_t)60 * MIB);
    use_and_free(100000, (size_t)60 * MIB);
    must(malloc((size_t)numbers[0] * MIB));
}

// ---- threads ------------------------------------------------------------------------------------

static pthread_barrier_t have, may_go;

static void* use_all_sizes(void* nothing)
{
    static const size_t bytes_of[] = {100, 1000000, 3000, 200000, 30000, 64, 40 * MIB, 1000};
    (void)nothing;
    for (size_t phase = 0; phase < 16; phase++) {
        use_and_free(bytes_of[phase % 8], (size_t)100 * MIB / (size_t)numbers[0]);
        pthread_barrier_wait(&have);
    }
    return NULL;
}

// 100 MiB in use, of another block size in each phase, by so many threads.
static void phases(void)
{
    pthread_t others[16];
    (void)pthread_barrier_init(&have, NULL, (unsigned)numbers[0]);
    for (long i = 1; i < numbers[0]; i++) {
        must(pthread_create(&others[i], NULL, use_all_sizes, NULL) == 0 ? others : NULL);
    }
    (void)use_all_sizes(NULL);
    for (long i = 1; i < numbers[0]; i++) {
        (void)pthread_join(others[i], NULL);
    }
    printf("peak %ld\n", status_kib("VmHWM:") / 1024);
}

// A block of each of 16 sizes.
static void* hold_few(void* nothing)
{
    void* blocks[16];
    (void)nothing;
    for (size_t i = 0; i < 16; i++) {
        must(blocks[i] = malloc(16 + i * 24));
        memset(blocks[i], 1, 16 + i * 24);
    }
    pthread_barrier_wait(&have);
    pthread_barrier_wait(&may_go);
    for (size_t i = 0; i < 16; i++) {
        free(blocks[i]);
    }
    return NULL;
}

// The bytes that all threads have in use, and the most of them.
static atomic_long in_use, most_in_use;

static void use(long bytes)
{
    const long now  = atomic_fetch_add(&in_use, bytes) + bytes;
    long       most = atomic_load(&most_in_use);
    while (most < now && !atomic_compare_exchange_weak(&most_in_use, &most, now)) {
    }
}

static void* hold_and_free(void* nothing)
{
    const size_t count  = (size_t)numbers[2] * 1024 / 500;
    char** const blocks = malloc(count * sizeof *blocks);
    (void)nothing;
    must(blocks);
    for (size_t i = 0; i < count; i++) {
        const size_t bytes = 16 + i * 37 % 968;
        must(blocks[i] = malloc(bytes));
        memset(blocks[i], 1, bytes);
        use((long)bytes);
    }
    for (size_t i = 0; i < count; i++) {
        free(blocks[i]);
        use(-(long)(16 + i * 37 % 968));
    }
    free(blocks);
    pthread_barrier_wait(&have);
    pthread_barrier_wait(&may_go);
    return NULL;
}

// Makes so many threads, and tells about the memory while all of them wait to end.
static void wave(long count, void* (*run)(void*), void (*tell_of)(const char*), const char* name)
{
    static pthread_t threads[4096];
    pthread_attr_t   attributes;
    (void)pthread_attr_init(&attributes);
    (void)pthread_attr_setstacksize(&attributes, 65536);
    (void)pthread_barrier_init(&have, NULL, (unsigned)count + 1);
    (void)pthread_barrier_init(&may_go, NULL, (unsigned)count + 1);
    for (long i = 0; i < count; i++) {
        if (pthread_create(&threads[i], &attributes, run, NULL) != 0) {
            must(NULL);
        }
    }
    pthread_barrier_wait(&have);
    tell_of(name);
    pthread_barrier_wait(&may_go);
    for (long i = 0; i < count; i++) {
        (void)pthread_join(threads[i], NULL);
    }
}

// Some threads hold a little each, then all end; and the same again.
static void waves(void)
{
    wave(numbers[0], hold_few, tell, "held");
    tell("ended");
    for (int i = 0; i < 4; i++) {
        wave(numbers[0], hold_few, tell, "again");
    }
    tell("waves");
}

// Threads that freed all they had, idle and ended. How many of them have their blocks at one time
// is the system's choice, so the most that was resident is told above the most that was in use.
static void idle_threads(void)
{
    wave(numbers[1], hold_and_free, wait_for, "idle");
    tell("ended");
    printf("above %ld\n", status_kib("VmHWM:") / 1024 - atomic_load(&most_in_use) / MIB);
}

typedef struct shape {
    const char* name;
    void (*run)(void);
} shape;

static const shape shapes[] = {
    {"grown", grown},
    {"untouched", untouched},
    {"buffers", buffers},
    {"burst", burst},
    {"threads_burst", threads_burst},
    {"sizes", sizes},
    {"most", most},
    {"phases", phases},
    {"waves", waves},
    {"idle_threads", idle_threads},
};

// A tool that runs programs without arguments names the shape in the environment.
int main(int count, char** arguments)
{
    const char* const wanted = count > 1 ? arguments[1] : getenv("SHAPE");
    setvbuf(stdout, NULL, _IONBF, 0);
    for (int i = 2; i < count && i < 6; i++) {
        numbers[i - 2] = atol(arguments[i]);
    }
    for (size_t i = 0; wanted != NULL && i < sizeof shapes / sizeof shapes[0]; i++) {
        if (strcmp(shapes[i].name, wanted) == 0) {
            shapes[i].run();
            return 0;
        }
    }
    return 2;
}
