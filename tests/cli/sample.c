// SPDX-License-Identifier: MIT
// A program whose allocations are known: 20 MB stay, 60 MB come and go in the same memory, and
// large blocks stay. A child frees nothing of its parent's, and leaves 40 MB of its own.
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void* volatile all[70000];

__attribute__((noinline)) static void stay(size_t at, size_t bytes)
{
    char* const block = malloc(bytes);
    all[at]           = memset(block, 1, 16);
}

__attribute__((noinline)) static void come_and_go(size_t bytes)
{
    char* volatile block = malloc(bytes);
    *block               = 1;
    free(block);
}

__attribute__((noinline)) static void stay_large(size_t at)
{
    all[at] = malloc(200000);
}

__attribute__((noinline)) static void leave_in_child(size_t at)
{
    all[at] = malloc(1000);
}

int main(void)
{
    for (size_t i = 0; i < 20000; i++) {
        stay(i, 1000);
        for (int k = 0; k < 3; k++) {
            come_and_go(1000);
        }
    }
    for (size_t i = 0; i < 50; i++) {
        stay_large(20000 + i);
    }
    if (fork() == 0) {
        for (size_t i = 0; i < 40000; i++) {
            leave_in_child(21000 + i);
        }
        exit(0);
    }
    wait(NULL);
    return 0;
}
