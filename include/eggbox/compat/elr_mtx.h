/* SPDX-License-Identifier: MIT */
/* Layer faces: the locks and counters that users of elr_mpl had to supply. eggbox's pools do not
 * use them; they are for programs that call them directly. A program's own functions of these names
 * are used in place of these.
 *
 * Threads  Any thread may make any call. While elr_mtx_init() or elr_mtx_finalize() of a mutex
 *          runs, no other thread may use this mutex.
 */
#ifndef EGGBOX_COMPAT_ELR_MTX_H
#define EGGBOX_COMPAT_ELR_MTX_H

#if defined(__cplusplus)
extern "C" {
#endif

/** A recursive mutex: room for the system's, and private. */
typedef struct __elr_mtx {
    union {
        double number;
        void*  pointer;
        char   bytes[80];
    } system_;
} elr_mtx;

/** A counter that threads share, the type of its value, and its initial value. */
typedef volatile int elr_atomic_t;
typedef int          elr_counter_t;
#define ELR_ATOMIC_ZERO 0

/** Adds or subtracts one. Returns the new value. */
elr_counter_t elr_atomic_inc(elr_atomic_t* v);
elr_counter_t elr_atomic_dec(elr_atomic_t* v);

/** Makes a mutex. Returns 1; 0 if `mtx` is NULL or the system refused: do not finalize it then. */
int elr_mtx_init(elr_mtx* mtx);

/** Waits until no other thread has the mutex, and takes it. */
void elr_mtx_lock(elr_mtx* mtx);

/** Releases the mutex. Misuse: by a thread that does not hold it. */
void elr_mtx_unlock(elr_mtx* mtx);

/** Ends a mutex. Misuse: while a thread holds it. */
void elr_mtx_finalize(elr_mtx* mtx);

#if defined(__cplusplus)
}
#endif

#endif /* EGGBOX_COMPAT_ELR_MTX_H */
