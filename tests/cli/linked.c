// SPDX-License-Identifier: MIT
// A program with pools of its own. It lives and ends as its argument says.
#include <eggbox/heap.h>
#include <eggbox/pool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static egb_pool made(const char* name, size_t bytes)
{
    egb_pool               pool    = {0, 0};
    const egb_pool_options options = {.name = name, .block_bytes = bytes};
    if (egb_pool_create(&pool, &options) != EGB_OK) {
        exit(9);
    }
    return pool;
}

static void use(egb_pool pool, int count)
{
    void* blocks[100];
    for (int i = 0; i < count; i++) {
        blocks[i] = egb_pool_alloc(pool);
    }
    for (int i = 0; i < count; i++) {
        egb_pool_free(pool, blocks[i]);
    }
}

int main(int count, char** words)
{
    const char* const how = count > 1 ? words[1] : "";
    free(malloc(24));
    if (strcmp(how, "unused") == 0) {
        return 0;
    }
    const egb_pool sessions = made("sessions", 200);
    use(sessions, 20);
    for (int i = 0; i < 3; i++) {
        const egb_pool level = made("level", 64);
        use(level, 10 + i);
        if (egb_pool_destroy(level, i == 2 ? EGB_DESTROY_REFUSE : EGB_DESTROY_FORCE) != EGB_OK) {
            return 8;
        }
    }
    if (strcmp(how, "twice") == 0) {
        void* const block = egb_pool_alloc(sessions);
        egb_pool_free(sessions, block);
        egb_pool_free(sessions, block);
    }
    if (strcmp(how, "heap") == 0) {
        egb_free(egb_malloc(64));
    }
    if (strcmp(how, "fork") == 0 && fork() == 0) {
        use(sessions, 30);
        return 0;
    }
    (void)wait(NULL);
    if (strcmp(how, "_exit") == 0) {
        _exit(3);
    }
    if (strcmp(how, "again") == 0) {
        (void)execl(words[0], words[0], "once", (char*)NULL);
    }
    puts("own output");
    if (strcmp(how, "wait") == 0) {
        (void)fflush(stdout);
        (void)pause();
    }
    return 4;
}
