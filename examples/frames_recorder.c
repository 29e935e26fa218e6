// SPDX-License-Identifier: MIT
// Frames go to a recorder, each to one: egb_shared_take(). The recorder is killed with frames in
// its hands; the camera goes on, and no block is lost.
#include "eggbox/shared.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

// Holds three frames and waits for its end.
static void record_until_killed(egb_shared* pool)
{
    for (int i = 0; i < 3; i++) {
        egb_published frame;
        if (egb_shared_take(pool, EGB_SHARED_FOREVER, &frame) != EGB_OK) {
            _exit(1);
        }
    }
    (void)raise(SIGKILL);
}

static int publish(egb_shared* pool, const char* text)
{
    char* const block = egb_shared_alloc(pool);
    if (block == NULL) {
        return 0;
    }
    (void)strcpy(block, text);
    const egb_status status = egb_shared_publish(pool, block, NULL, NULL);
    egb_shared_release(pool, block);
    return status == EGB_OK ? 1 : 0;
}

int main(void)
{
    const egb_shared_options options = {.block_bytes = 64, .count = 4, .feed_count = 4};
    egb_shared*              pool    = NULL;
    int                      status  = 0;
    egb_status               made    = egb_shared_create(&pool, &options);
    if (made != EGB_OK) {
        printf("no pool: %s\n", egb_status_text(made));
        return 1;
    }
    const pid_t recorder = fork();  // the child has an attachment of its own
    if (recorder == 0) {
        record_until_killed(pool);
    }
    int published = 0;
    for (int i = 0; i < 3; i++) {
        published += publish(pool, "for the recorder");
    }
    (void)waitpid(recorder, &status, 0);
    printf("published %d, the recorder was %s\n", published, WIFSIGNALED(status) ? "killed" : "?");
    // One block is free. The next alloc finds none, and takes back what the dead one held.
    for (int i = 0; i < 4; i++) {
        published += publish(pool, "for the next one");
    }
    egb_published frame;
    if (egb_shared_take(pool, 0, &frame) == EGB_OK) {
        printf(
            "published %d, frame %d is %s\n",
            published,
            (int)frame.sequence,
            (const char*)frame.block
        );
        egb_shared_release(pool, frame.block);
    }
    egb_shared_close(pool);
    return 0;
}
