/* SPDX-License-Identifier: MIT */
/* Layer faces: the locks and counters that elr_mpl asked its users for. eggbox's pools need none of
 * them; they are here for programs that use them for themselves. A program that has its own
 * functions of these names keeps them.
 *
 * Threads  Any thread, any call, but elr_mtx_init() and elr_mtx_finalize() of one mutex.
 */
#ifndef EGGBOX_COMPAT_ELR_MTX_H
#define EGGBOX_COMPAT_ELR_MTX_H

#if defined(__cplusplus)
extern "C" {
#endif

/** A mutex: room for the system's, and private. The thread that has it may lock it again. */
typedef struct __elr_mtx {
    union {
        double number;
        void*  pointer;
        char   bytes[80];
    } system_;
} elr_mtx;

/** A counter that threads share, its value, and what it starts with. */
typedef volatile int elr_atomic_t;
typedef int          elr_counter_t;
#define ELR_ATOMIC_ZERO 0

/** Adds or subtracts one. Returns the counter's value then. */
elr_counter_t elr_atomic_inc(elr_atomic_t* v);
elr_counter_t elr_atomic_dec(elr_atomic_t* v);

/** Makes a mutex. Returns 1; 0 if `mtx` is NULL or the system refused: then nothing is to end. */
int elr_mtx_init(elr_mtx* mtx);

/** Waits until no other thread has the mutex, and takes it. */
void elr_mtx_lock(elr_mtx* mtx);

/** Gives it back. Misuse: by a thread that does not have it. */
void elr_mtx_unlock(elr_mtx* mtx);

/** Ends a mutex. Misuse: while a thread has it. */
void elr_mtx_finalize(elr_mtx* mtx);

#if defined(__cplusplus)
}
#endif

#endif /* EGGBOX_COMPAT_ELR_MTX_H */
