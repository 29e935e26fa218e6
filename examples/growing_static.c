// SPDX-License-Identifier: MIT
// A growing pool without a heap: one static region, lent to one pool after the other. A device that
// decodes messages and later writes a log needs the memory for both, but never at the same time.
#include "eggbox/growing.h"

#include <stdio.h>  // in place of a serial line

struct message {
    struct message* next;
    char            text[28];
};

struct record {
    double at, value;
};

static uint64_t          memory[256];
static egb_static_region region = {memory, sizeof memory, false};
static egb_growing       messages;
static egb_growing       records;

// Both say the same about the memory and nothing about how many blocks come out of it.
static egb_status init(egb_growing* pool, size_t block_bytes)
{
    const egb_growing_options options = {
        .block_bytes = block_bytes,
        .block_align = 8,
        .backing     = egb_static_backing(&region),
    };
    return egb_growing_init(pool, &options);
}

static struct message* receive(void)
{
    struct message* newest = NULL;
    for (int i = 0; i < 10; i++) {
        struct message* const taken = egb_growing_alloc(&messages);
        if (taken == NULL) {
            break;
        }
        *taken = (struct message){newest, "hello"};
        newest = taken;
    }
    return newest;
}

int main(void)
{
    if (init(&messages, sizeof(struct message)) != EGB_OK ||
        init(&records, sizeof(struct record)) != EGB_OK) {
        return 1;
    }
    struct message* oldest = receive();
    printf(
        "messages %zu, records %d\n",
        egb_growing_in_use(&messages),
        egb_growing_alloc(&records) != NULL
    );

    while (oldest != NULL) {
        struct message* const next = oldest->next;
        egb_growing_free(&messages, oldest);
        oldest = next;
    }
    printf("given back %zu bytes\n", egb_growing_trim(&messages, 0));

    const egb_status enough = egb_growing_reserve(&records, 50);
    printf("room for 50 records: %s\n", egb_status_text(enough));
    egb_growing_destroy(&records);
    return 0;
}
