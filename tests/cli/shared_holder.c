// SPDX-License-Identifier: MIT
// Has a shared pool of the name that is its argument until its standard input ends: one frame is
// published, and one more block is held.
#include "eggbox/shared.h"

#include <stdio.h>

int main(int count, char** words)
{
    const egb_shared_options options = {
        .name = count == 2 ? words[1] : NULL, .block_bytes = 1000, .count = 4, .feed_count = 2
    };
    egb_shared* pool = NULL;
    if (egb_shared_create(&pool, &options) != EGB_OK) {
        return 1;
    }
    void* const block = egb_shared_alloc(pool);
    if (egb_shared_publish(pool, block, NULL, NULL) != EGB_OK) {
        return 2;
    }
    egb_shared_release(pool, block);
    (void)egb_shared_alloc(pool);
    (void)puts("ready");
    (void)fflush(stdout);
    while (getchar() != EOF) {
    }
    egb_shared_close(pool);
    return 0;
}
