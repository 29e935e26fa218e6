// SPDX-License-Identifier: MIT
// Between the explorer and the sources of the shared layer that it runs: the steps that they take
// on shared memory, and the calls that a process makes.
#ifndef EGGBOX_TESTS_SHARED_EXPLORE_EXPLORE_H
#define EGGBOX_TESTS_SHARED_EXPLORE_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

enum {
    EXPLORE_PROCESSES = 4,  // the last one audits what the others leave
    EXPLORE_AUDITOR   = EXPLORE_PROCESSES - 1,
    EXPLORE_BLOCKS    = 3,
    EXPLORE_FEED      = 2,
    EXPLORE_LOCKS     = 8,
    EXPLORE_WORDS     = 4 + 1 + 5 * EXPLORE_BLOCKS + 3 * EXPLORE_FEED
};

// ---- steps: implemented by the explorer ---------------------------------------------------------

typedef enum explore_kind {
    EXPLORE_NOTHING,
    EXPLORE_LOAD,
    EXPLORE_STORE,
    EXPLORE_ADD,
    EXPLORE_OR,
    EXPLORE_AND,
    EXPLORE_COMPARE,
    EXPLORE_READ,  // no atomic access: half of a block
    EXPLORE_WRITE,
    EXPLORE_LOCK,  // a lock of the kernel; `value` is the number of its byte
    EXPLORE_UNLOCK,
    EXPLORE_IS_LOCKED,
    EXPLORE_SLEEP,  // while the word is `value`
    EXPLORE_WAKE,
    EXPLORE_PAUSE
} explore_kind;

// Takes one step, and returns the value before it. `order`: 0 relaxed, 3 sequentially consistent.
uint64_t explore_step(
    explore_kind         kind,
    volatile const void* at,
    int                  order,
    uint64_t             value,
    uint64_t             expected,
    const char*          function
);

// A fault that no call may have: the run ends.
void explore_fail(const char* what);

// ---- processes: implemented by attachment.c -----------------------------------------------------

typedef struct explore_shape {
    unsigned blocks;
    unsigned feed;
    bool     drops_oldest;
    uint64_t generation;  // the first one
} explore_shape;

void explore_make(const explore_shape* shape, uint64_t* words);

// The number of the word at an address. -1: a number for people alone, or no shared memory.
int explore_word_of(volatile const void* at);
enum {
    EXPLORE_ATTACHED,
    EXPLORE_FREED,
    EXPLORE_NEWS,
    EXPLORE_HEAD,
    EXPLORE_HINTS,
    EXPLORE_BLOCK,                                        // word, generation, sequence of each
    EXPLORE_RING   = EXPLORE_BLOCK + 3 * EXPLORE_BLOCKS,  // sequence, index, generation of each
    EXPLORE_HALVES = EXPLORE_RING + 3 * EXPLORE_FEED      // two for each block
};

// The private data of a process that outlives a call.
typedef struct explore_own {
    uint64_t taken;
    uint32_t slot;
    uint32_t held[EXPLORE_BLOCKS];
    uint32_t is_publisher;
} explore_own;

typedef enum explore_call {
    CALL_ATTACH,
    CALL_LEAVE,
    CALL_ALLOC,
    CALL_ALLOC_WAIT,
    CALL_FILL,
    CALL_READ,
    CALL_SEND,
    CALL_OPEN,
    CALL_RELEASE,
    CALL_PUBLISH,
    CALL_NEXT,
    CALL_NEXT_WAIT,
    CALL_TAKE,
    CALL_LATEST,
    CALL_RECOVER
} explore_call;

typedef struct explore_handle {
    uint32_t block;
    uint64_t generation;  // 0: none
} explore_handle;

typedef struct explore_request {
    explore_call   call;
    int            block;
    unsigned       stamp;  // the value that is written to a block, and as its note
    uint64_t       after;
    explore_handle handle;
} explore_request;

typedef struct explore_answer {
    bool           has;  // the call has a block, or was done
    int            block;
    unsigned       stamp;
    uint64_t       halves[2];
    uint64_t       sequence;
    explore_handle handle;
} explore_answer;

// The notes, which no atomic operation protects.
unsigned char* explore_notes(void);

// Process `number` makes a call.
void explore_do(
    unsigned number, explore_own* own, const explore_request* request, explore_answer* answer
);

#if defined(__cplusplus)
}
#endif

#endif  // EGGBOX_TESTS_SHARED_EXPLORE_EXPLORE_H
