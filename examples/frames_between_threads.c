// SPDX-License-Identifier: MIT
// Camera frames of 6 MiB, filled by one thread and freed by another. The pool has four: a camera
// that is faster than its reader waits, instead of filling the memory.
#include "eggbox/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>

enum { FRAME_BYTES = 6 << 20, FRAMES = 40, FRAMES_AT_ONCE = 4 };

typedef struct frame {
    int           number;
    unsigned char pixels[FRAME_BYTES - sizeof(int)];
} frame;

static egb_pool        frames;
static frame*          ready[FRAMES];
static pthread_mutex_t lock     = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t  is_ready = PTHREAD_COND_INITIALIZER;

// Called when all four are in use, with no lock of the library held.
static egb_exhausted wait_for_reader(egb_pool pool, void* user)
{
    (void)pool;
    (void)user;
    (void)sched_yield();
    return EGB_EXHAUSTED_RETRY;
}

static void* camera(void* unused)
{
    for (int number = 0; number < FRAMES; number++) {
        frame* const filled = egb_pool_alloc(frames);  // never NULL: all four are reserved
        filled->number      = number;
        filled->pixels[100] = (unsigned char)number;
        pthread_mutex_lock(&lock);
        ready[number] = filled;
        pthread_cond_signal(&is_ready);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static frame* next_frame(int number)
{
    pthread_mutex_lock(&lock);
    while (ready[number] == NULL) {
        pthread_cond_wait(&is_ready, &lock);
    }
    pthread_mutex_unlock(&lock);
    return ready[number];
}

int main(void)
{
    const egb_pool_options options = {
        .block_bytes    = sizeof(frame),
        .max_blocks     = FRAMES_AT_ONCE,
        .reserve_blocks = FRAMES_AT_ONCE,
        .on_exhausted   = wait_for_reader,
    };
    pthread_t thread;
    if (egb_pool_create(&frames, &options) != EGB_OK ||
        pthread_create(&thread, NULL, camera, NULL) != 0) {
        return 1;
    }
    int in_order = 0;
    for (int number = 0; number < FRAMES; number++) {
        frame* const seen = next_frame(number);
        in_order += seen->number == number && seen->pixels[100] == number;
        egb_pool_free(frames, seen);
    }
    (void)pthread_join(thread, NULL);
    egb_pool_stats stats;
    (void)egb_pool_get_stats(frames, &stats);
    printf("frames in order %d, at most 4 at once: %d\n", in_order, stats.peak <= 4);
    printf("end: %s\n", egb_status_text(egb_pool_destroy(frames, EGB_DESTROY_REFUSE)));
    return 0;
}
