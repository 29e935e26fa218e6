// SPDX-License-Identifier: MIT
// Room region: large blocks that end at a page which nobody may use, and which nobody may use
// after their free. Each is a region as any other large block's is:
//
//     | front: a pattern | the block | back: a pattern | guard page |
//       128 bytes at most              what its alignment leaves, below 16 bytes as a rule
//
// large.c hands them out and takes them back; here is where a block of such a region lies,
// which requests get one, what stands around it, and what is said of an access to a closed page.
#ifndef EGGBOX_SRC_HOSTED_REGION_GUARD_PAGE_H
#define EGGBOX_SRC_HOSTED_REGION_GUARD_PAGE_H

#include "large.h"

// Freed blocks that had a guard page: their addresses, and of memory two pages at most.
enum { EGB_PAGE_QUARANTINE_MAX = 64 };

// At one time. Each is up to two mappings, of which Linux allows a process 65530 by default.
enum { EGB_GUARD_PAGES_MAX = 8192, EGB_GUARD_PAGE_SAMPLES_MAX = 1024 };

// ---- which requests -----------------------------------------------------------------------------

// What EGGBOX_GUARD_PAGES says; NULL: nothing.
void egb_guard_page_read_setting_(const char* text);

// Whether a text is such a setting.
bool egb_guard_page_is_setting_(const char* text);

// Applies a setting. EGB_INVALID: it is none; EGB_UNSUPPORTED: there are no guard pages.
egb_status egb_guard_page_set_(const char* text);

bool egb_guard_page_for_large_(void);

// Whether small requests are sampled; whether one is to be served so now, which counts it.
bool egb_guard_page_samples_(void);
bool egb_guard_page_is_due_(void);

// So many small blocks more were handed out, or are about to be without a further look.
void egb_guard_page_count_(size_t blocks);

// The next sample is as far away as after a sample: this one could not be had.
void egb_guard_page_skip_(void);

// One block with a guard page more, in use or on its way there; false: there are as many as may be.
// And one less.
bool egb_guard_page_enter_(bool is_sample);
void egb_guard_page_leave_(bool is_sample);

// How many; `samples`: of these.
size_t egb_guard_page_in_use_(size_t* samples);

// Counts those in use, in the child of a fork: what other threads had on its way is lost there.
void egb_guard_page_reset_(void);

// ---- a region -----------------------------------------------------------------------------------

// Where a block lies in a region for it. Returns the bytes of that region, whole units; 0: it would
// be too large.
size_t egb_guard_page_plan_(egb_guard_page* plan, size_t align, size_t bytes);

// Closes the guard page of a fresh region, or opens of one that was closed the block's pages; and
// writes what stands around the block. False: refused, and nothing has changed.
bool egb_guard_page_close_page_(const egb_large* large);
bool egb_guard_page_open_block_(const egb_large* large);

// Closes all of a region whose block was freed; its memory goes, but for a page or two. False:
// refused, and nothing has changed.
bool egb_guard_page_close_(const egb_large* large);

// All of it may be used. False: refused.
bool egb_guard_page_open_(const egb_large* large);

// Whether the block's surroundings are not as they were written, and what is known of that.
bool egb_guard_page_check_(const egb_large* large, egb_finding* finding);

// The block is to have so many bytes, with the same room. False, and nothing has changed: the guard
// page would not be right behind it, or there is damage.
bool egb_guard_page_set_bytes_(egb_large* large, size_t bytes);

// What is known of the block.
egb_history egb_guard_page_history_(const egb_large* large);

// ---- quarantine: with the lock of large blocks --------------------------------------------------

// Its pages are closed. The oldest go, if there are too many; itself, if it is too large.
void egb_page_quarantine_add_(egb_large* large, egb_unmap_list* unmap_list);

// The oldest, if there are more than half as many as may be and it has so many bytes; else NULL.
egb_large* egb_page_quarantine_take_(size_t whole);

// All go.
void egb_page_quarantine_flush_(egb_unmap_list* unmap_list);

size_t egb_page_quarantine_bytes_(void);
size_t egb_page_quarantine_count_(void);

#endif  // EGGBOX_SRC_HOSTED_REGION_GUARD_PAGE_H
