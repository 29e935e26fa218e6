// SPDX-License-Identifier: MIT
// Programs that are wrong on purpose, by the name of their fault. Each prints the same on stdout
// and stderr whatever watches it. The marks tell check.py which fault to find in which line.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void* volatile kept[100];

// A leak is a block that no pointer leads to. The frames of exit() may have words in them that were
// left on the stack before.
static void forget(void)
{
    volatile char room[16384];
    memset((char*)room, 0, sizeof room);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        kept[i] = NULL;
    }
}

static void* make_block(size_t bytes)
{
    void* const block = malloc(bytes);  // mark: made
    memset(block, 1, bytes);
    return block;
}

static void make_leaks(void)
{
    for (int i = 0; i < 100; i++) {
        kept[i] = malloc(24);  // mark: leaked
        memset(kept[i], 0, 24);
    }
    kept[0] = strdup("a copy");  // mark: copied
    kept[1] = make_block(1000);  // mark: asked by make_leaks
}

static void overrun(void)
{
    char* const block = make_block(40);  // mark: asked by overrun
    block[44]         = 'x';
    free(block);  // mark: overrun found
    puts("not reached at level track");
}

static void overrun_unseen(void)
{
    char* const block = make_block(40);  // mark: asked by overrun_unseen
    block[40]         = 'x';
    kept[0]           = block;
}

static void underrun(void)
{
    char* const block = make_block(40);  // mark: asked by underrun
    block[-3]         = 'x';
    free(block);  // mark: underrun found
}

static void twice(void)
{
    char* const block = make_block(40);  // mark: asked by twice
    free(block);                         // mark: freed
    free(block);                         // mark: freed again
    puts("went on");
}

static void late_write(void)
{
    char* const block = make_block(40);  // mark: asked by late_write
    free(block);                         // mark: freed early
    block[20] = 'x';
}

static void large(void)
{
    kept[0] = make_block(200000);  // mark: asked by large
}

static void grown(void)
{
    kept[0] = realloc(make_block(200000), 300000);  // mark: grown
}

static void child(void)
{
    kept[0] = make_block(500);
    if (fork() == 0) {
        kept[1] = malloc(700);  // mark: leaked by the child
        memset(kept[1], 0, 700);
        forget();
        _exit(0);
    }
    free(kept[0]);
}

int main(int count, char** arguments)
{
    static const struct {
        const char* name;
        void (*run)(void);
    } faults[] = {
        {"leaks", make_leaks},
        {"overrun", overrun},
        {"overrun-unseen", overrun_unseen},
        {"underrun", underrun},
        {"twice", twice},
        {"late-write", late_write},
        {"large", large},
        {"grown", grown},
        {"child", child},
    };
    fputs("own words\n", stderr);
    puts("own output");
    fflush(stdout);
    for (size_t i = 0; count > 1 && i < sizeof faults / sizeof faults[0]; i++) {
        if (strcmp(arguments[1], faults[i].name) == 0) {
            faults[i].run();  // mark: run
            sleep(faults[i].run == child);
        }
    }
    forget();
    return 7;
}
