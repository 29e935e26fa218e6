// SPDX-License-Identifier: MIT
// First steps: a pool over an array, alloc and free, a full pool, numbers, and a double free.
// Build: cc first_steps.c -leggbox
#include "eggbox/eggbox.h"

#include <stdalign.h>
#include <stdio.h>

struct message {
    int  number;
    char text[60];
};

static alignas(struct message) char memory[EGB_FIXED_BYTES(sizeof(struct message), 3)];

// Gets every misuse. Without this handler the library prints a line of its own. The call is refused
// either way.
static void tell(const egb_misuse_event* event, void* user)
{
    (void)user;
    printf("misuse: %s of block %zu\n", egb_misuse_text(event->kind), event->block_index);
}

int main(void)
{
    egb_fixed        messages;
    const egb_status status =
        egb_fixed_init(&messages, memory, sizeof memory, sizeof(struct message));
    if (status != EGB_OK) {
        printf("no pool: %s\n", egb_status_text(status));
        return 1;
    }
    egb_misuse_set_handler(tell, NULL);

    // Take blocks until there is none: NULL, and nothing else happens.
    struct message* taken[4];
    for (int i = 0; i < 4; i++) {
        taken[i] = egb_fixed_alloc(&messages);
        if (taken[i] == NULL) {
            printf("message %d: no block left\n", i);
        } else {
            taken[i]->number = i;
        }
    }

    // Give one back: the next alloc gets it again.
    egb_fixed_free(&messages, taken[1]);
    printf(
        "in use %zu of %zu, peak %zu\n",
        egb_fixed_in_use(&messages),
        egb_fixed_capacity(&messages),
        egb_fixed_peak(&messages)
    );

    // Give it back twice: the handler is told, the pool stays whole.
    egb_fixed_free(&messages, taken[1]);
    printf("the pool is %s\n", egb_fixed_whole(&messages) ? "whole" : "damaged");
    return 0;
}
