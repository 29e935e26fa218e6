// SPDX-License-Identifier: MIT
// Layer hosted: large blocks that end at a page which nobody may use, and which nobody may use
// after their free. Each is a region as any other large block's is:
//
//     | front: a pattern | the block | back: a pattern | guard page |
//       128 bytes at most              what its alignment leaves, below 16 bytes as a rule
//
// heap_large.c hands them out and takes them back; here is where a block of such a region lies,
// which requests get one, what stands around it, and what is said of an access to a closed page.
#ifndef EGGBOX_SRC_HOSTED_HEAP_GUARDED_H
#define EGGBOX_SRC_HOSTED_HEAP_GUARDED_H

#include "guard.h"
#include "heap_kept.h"

// At one time. Each is up to two mappings, of which Linux allows a process 65530 by default.
enum { EGB_GUARDED_MAX = 8192, EGB_GUARDED_SAMPLES_MAX = 1024 };

// ---- which requests -----------------------------------------------------------------------------

// What EGGBOX_GUARD_PAGES says; NULL: nothing.
void egb_guarded_read(const char* text);

bool egb_guards_large(void);

// Whether small requests are sampled; whether one is to be served so now, which counts it.
bool egb_guards_samples(void);
bool egb_guarded_is_due(void);

// So many small blocks more were handed out, or are about to be without a further look.
void egb_guarded_count(size_t blocks);

// The next sample is as far away as after a sample: this one could not be had.
void egb_guarded_skip(void);

// One block with a guard page more, in use or on its way there; false: there are as many as may be.
// And one less.
bool egb_guarded_enter(bool is_sample);
void egb_guarded_leave(bool is_sample);

// How many; `samples`: of these.
size_t egb_guarded_in_use(size_t* samples);

// Counts those in use, in the child of a fork: what other threads had on its way is lost there.
void egb_guarded_reset(void);

// ---- a region -----------------------------------------------------------------------------------

// Where a block lies in a region for it. Returns the bytes of that region, whole units; 0: it would
// be too large.
size_t egb_guarded_plan(egb_guarded* plan, size_t align, size_t bytes);

// Closes the guard page of a fresh region, or opens of one that was closed the block's pages; and
// writes what stands around the block. False: refused, and nothing has changed.
bool egb_guarded_close_page(const egb_large* large);
bool egb_guarded_open_block(const egb_large* large);

// Closes all of a region whose block was freed; its memory goes, but for a page or two. False:
// refused, and nothing has changed.
bool egb_guarded_close(const egb_large* large);

// All of it may be used. False: refused.
bool egb_guarded_open(const egb_large* large);

// Whether the block's surroundings are not as they were written, and what is known of that.
bool egb_guarded_look(const egb_large* large, egb_finding* finding);

// The block is to have so many bytes, with the same room. False, and nothing has changed: the guard
// page would not be right behind it, or there is damage.
bool egb_guarded_set_bytes(egb_large* large, size_t bytes);

// What is known of the block.
egb_history egb_guarded_history(const egb_large* large);

// ---- quarantine: with the lock of large blocks --------------------------------------------------

// Its pages are closed. The oldest go, if there are too many; itself, if it is too large.
void egb_retired_add(egb_large* large, egb_doomed* doomed);

// The oldest, if there are more than half as many as may be and it has so many bytes; else NULL.
egb_large* egb_retired_take(size_t whole);

// All go.
void egb_retired_flush(egb_doomed* doomed);

size_t egb_retired_bytes(void);
size_t egb_retired_count(void);

#endif  // EGGBOX_SRC_HOSTED_HEAP_GUARDED_H
