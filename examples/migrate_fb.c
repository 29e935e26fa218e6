// SPDX-License-Identifier: MIT
// An unchanged program for fb_allocator, and beside it the same with eggbox's own calls. Such
// programs include "fb_allocator.h", with include/eggbox/compat on their include path.
#include "eggbox/compat/fb_allocator.h"
#include "eggbox/fixed.h"

#include <stdio.h>
#include <string.h>

typedef struct message {
    int  id;
    char text[28];
} message;

// The old part.
ALLOC_DEFINE(oldMessages, sizeof(message), 3)

static void use_old(void)
{
    message* sent[4];
    for (int i = 0; i < 4; i++) {
        sent[i] = ALLOC_Alloc(oldMessages, sizeof(message));
        printf("old message %d: %s\n", i, sent[i] != NULL ? "sent" : "no block left");
    }
    for (int i = 0; i < 4; i++) {
        ALLOC_Free(oldMessages, sent[i]);
    }
    printf("old: in use %u, peak %u\n", oldMessagesObj.blocksInUse, oldMessagesObj.maxBlocksInUse);
}

// The new part: a type in place of a size, and nothing to be set up either.
EGB_FIXED_DEFINE(new_messages, message, 3);

static void use_new(void)
{
    message* const one = egb_fixed_alloc(&new_messages);
    if (one != NULL) {
        (void)strcpy(one->text, "sent");
        printf("new message: %s\n", one->text);
    }
    egb_fixed_free(&new_messages, one);
    printf(
        "new: in use %d, peak %d\n",
        (int)egb_fixed_in_use(&new_messages),
        (int)egb_fixed_peak(&new_messages)
    );
}

// The fault that used to hand one block to two callers is found, with either.
static void say(const egb_misuse_event* event, void* user)
{
    (void)user;
    printf("%s, block %d\n", egb_misuse_text(event->kind), (int)event->block_index);
}

static void free_twice(void)
{
    void* const block = ALLOC_Alloc(oldMessages, 1);
    ALLOC_Free(oldMessages, block);
    ALLOC_Free(oldMessages, block);
}

int main(void)
{
    egb_misuse_set_handler(say, NULL);
    ALLOC_Init();
    use_old();
    use_new();
    free_twice();
    ALLOC_Term();
    return 0;
}
