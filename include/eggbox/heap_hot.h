// SPDX-License-Identifier: MIT
// Layer hosted: the hot path of heap.h, which includes this file. Everything here is private.
#ifndef EGGBOX_HEAP_HOT_H
#define EGGBOX_HEAP_HOT_H

#include "heap.h"

EGB_C_BEGIN_

// Sizes up to this find their pool in a table, one entry for each 16 bytes. They include a page
// with the headers that programs put around it.
enum { EGB_HEAP_STEP_BYTES_ = 16, EGB_HEAP_SMALL_BYTES_ = 8192 };

// The keys of the pools of small sizes. Null pools at first, and as long as requests are counted:
// no thread's magazine has that key, which sends each call to the cold path without a test of its
// own. Atomic.
EGB_ALIGNAS_(8) extern uint64_t egb_heap_small_[EGB_HEAP_SMALL_BYTES_ / EGB_HEAP_STEP_BYTES_ + 1];

// Not small, or not in the magazine. `site` is the place of the request; NULL: the caller.
void* egb_malloc_more_(size_t bytes, const void* site);

// The calls of heap.h, made for a function whose caller is at `site`.
void* egb_calloc_from_(size_t count, size_t bytes, const void* site);
void* egb_realloc_from_(void* block, size_t bytes, const void* site);
void* egb_aligned_alloc_from_(size_t align, size_t bytes, const void* site);
void  egb_free_from_(void* block, const void* site);

// For a thread that does nothing but call egb_heap_purge(), which gave back `given` bytes: waits
// until the next call is due. After some calls in vain it sleeps for 16 s, or until the heap is
// used.
void egb_heap_purge_wait_(size_t given);

// Ends that wait.
void egb_heap_purge_wake_(void);

// Whether the first thread of the process has ended: files tell. False also where a system call may
// be forbidden, or nobody tells.
bool egb_heap_purge_is_without_first_(void);

// That thread has ended: the calls of the program do the work again.
void egb_heap_purge_ends_(void);

// Calls the function in each child of a fork from now on, also in one that another thread makes
// while the process ends. False: refused.
bool egb_heap_call_in_children_(void (*function)(void));

// The program is about to forbid itself system calls, perhaps on pain of death: the limits of its
// memory are read a last time. Safe in a signal handler.
void egb_heap_expect_sandbox_(void);

// Whether it has said so.
bool egb_heap_expects_sandbox_(void);

// As egb_free(), for operator delete of C++ and the sized frees of C23: they know the size that was
// requested.
//
// Misuse  EGB_MISUSE_WRONG_SIZE, if the block is of another class than that size, or its size is
//         known and differs; not at level "off". The block is freed all the same.
void egb_free_sized_(void* block, size_t bytes);
void egb_free_aligned_(void* block, size_t align);
void egb_free_aligned_sized_(void* block, size_t align, size_t bytes);

// For a library that is the C library's malloc: makes it ready, when no lock is held and the
// process has one thread. Before that a request is served out of 1 MiB of static memory.
void egb_heap_begin_(void);

// For that library: main() begins soon. The constructors of all libraries are over.
void egb_heap_main_begins_(void);

// Serves a small request out of this thread's magazine. False: call egb_malloc_more_().
EGB_INLINE bool egb_malloc_pop_(size_t bytes, void** block)
{
    if (EGB_UNLIKELY(bytes > EGB_HEAP_SMALL_BYTES_)) {
        return false;
    }
    // The comparison is made once; compilers that do not optimise warn where it is only above.
    const size_t step = bytes > EGB_HEAP_SMALL_BYTES_
                            ? 0
                            : (bytes + EGB_HEAP_STEP_BYTES_ - 1) / EGB_HEAP_STEP_BYTES_;
    return egb_pool_pop_(EGB_LOAD_(egb_heap_small_[step]), block);
}

EGB_INLINE_PUBLIC void* egb_malloc(size_t bytes)
{
    void* block;
    return EGB_LIKELY(egb_malloc_pop_(bytes, &block)) ? block : egb_malloc_more_(bytes, NULL);
}

EGB_C_END_

#endif  // EGGBOX_HEAP_HOT_H
