// SPDX-License-Identifier: MIT
// A program with four threads that knows nothing of eggbox. Says whether its malloc is on pools.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { rounds = 20000, threads = 3 };

static void* work(void* unused)
{
    for (int i = 0; i < rounds; i++) {
        const size_t less  = (size_t)(1 + i % 3000);
        const size_t other = (size_t)(1 + i * 7 % 5000);
        char*        block = malloc(less);
        if (block == NULL) {
            abort();
        }
        memset(block, i & 0x7F, less);
        block = realloc(block, other);
        if (block == NULL || block[0] != (i & 0x7F)) {
            abort();
        }
        free(block);
    }
    return unused;
}

int main(void)
{
    pthread_t others[threads];
    for (int i = 0; i < threads; i++) {
        if (pthread_create(&others[i], NULL, work, NULL) != 0) {
            return 1;
        }
    }
    work(NULL);
    for (int i = 0; i < threads; i++) {
        pthread_join(others[i], NULL);
    }
    void* const aligned = aligned_alloc(64, 640);
    char* const zeros   = calloc(1000, 1);
    const int   wrong   = (uintptr_t)aligned % 64 != 0 || zeros == NULL || zeros[999] != 0;
    free(aligned);
    free(zeros);
    puts(wrong ? "wrong" : "right");
    return wrong;
}
