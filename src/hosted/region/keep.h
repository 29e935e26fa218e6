// SPDX-License-Identifier: MIT
// Room region: how much unused memory the heap keeps.
//
// The purge gives back memory that was not used for a time, but it needs a look at the clock, by a
// call that goes further than a magazine, or a thread that calls egb_heap_purge(). A program that
// frees much and then makes only calls that magazines serve would keep it for ever. Unused memory
// beyond a limit therefore goes at once: 8 MiB, or 64 MiB where a thread purges. If memory is
// needed again soon after it went, the limit grows by twice as much, to 1 GiB at most (64 MiB on
// 32-bit machines), and it falls again when nothing is: so a program with phases soon keeps the
// memory of a phase. Pieces that were too short for the request teach nothing: kept, they would not
// have served.
//
// While many threads come and go, memory goes and is needed again all the time, and the limit
// grows. That says nothing about the time after their end. The memory that stays then has a limit
// of its own, at least 8 MiB, that is learned in the same way from one such end to the next.
//
// A process whose memory is limited, by itself or by its control group, keeps a small share of that
// at most: nobody asks it for memory back before the kernel ends it. The limits are read when the
// process has got some MiB, so that short programs do not pay for it, and again while it gets more,
// because they may change.
#ifndef EGGBOX_SRC_HOSTED_REGION_KEEP_H
#define EGGBOX_SRC_HOSTED_REGION_KEEP_H

#include "eggbox/base.h"

// The bytes that may stay unused, within the share.
size_t egb_keep_bytes_(void);

// Notes that unused memory went because it was over this limit, or over another limit of a cache.
// It was in a piece of `piece` bytes.
void egb_keep_note_given_(size_t bytes, size_t piece);

// The bytes that may stay unused when a crowd of threads has ended, within the share. The
// second call notes how much went for that reason.
size_t egb_keep_after_crowd_(void);
void   egb_keep_note_given_after_crowd_(size_t bytes);

// The share of the memory that the process may have: no cache is larger. SIZE_MAX: there is no
// limit.
size_t egb_keep_share_(void);

// The system gave so many bytes, now or with a span before. A lock may be held. Once a second this
// reads the limits of the process, and hence files.
void egb_keep_note_got_(size_t bytes);

// Whether the process has got some MiB: a hint that it will get more.
bool egb_keep_expects_more_(void);

// The bytes beyond which the system refuses, as they are now. SIZE_MAX: there is no limit, it may
// not be read any more, or another thread is reading it.
size_t egb_keep_refusal_bytes_(void);

// Reads the limits a last time: the program is about to forbid itself system calls, perhaps on pain
// of death.
void egb_keep_read_no_more_(void);

// Whether that was called: a system call without need may end the program.
bool egb_keep_expects_sandbox_(void);

// Notes that so many epochs of the purge have passed.
void egb_keep_end_epochs_(uint32_t count);

// Somebody calls egb_heap_purge() again and again, until there was no call for 40 s; or nobody does
// any more.
void egb_keep_note_purger_(bool is_there);

// In the child of a fork nobody does, and nobody reads limits.
void egb_keep_is_forked_(void);

// Milliseconds from the moment `then` to `now`. 0 if `then` is up to a minute later: another thread
// looked at the clock later and noted it first.
static inline uint32_t egb_milliseconds_since_(uint32_t then, uint32_t now)
{
    const uint32_t later = then - now;
    const uint32_t since = now - then;
    return (later <= 60000u) ? 0u : since;
}

#endif  // EGGBOX_SRC_HOSTED_REGION_KEEP_H
