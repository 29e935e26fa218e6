// SPDX-License-Identifier: MIT
// Room region: large blocks between inaccessible pages, which are inaccessible after their free.
// Each is a region like that of any other large block:
//
//     | guard pages | front: a pattern | the block | back: a pattern | guard page |
//                     128 bytes at most              what its alignment leaves, below 16 bytes as a
//                                                    rule
//
// The pages before the block cost addresses only. A block with an alignment of more than a page has
// none.
//
// large.c hands them out and takes them back. This file places a block in its region, selects the
// requests that get one, writes and checks the patterns, and explains an access to a closed page.
#ifndef EGGBOX_SRC_HOSTED_REGION_GUARD_PAGE_H
#define EGGBOX_SRC_HOSTED_REGION_GUARD_PAGE_H

#include "large.h"

// Freed blocks with guard pages in quarantine: they hold addresses, and two pages of memory at
// most.
enum { EGB_PAGE_QUARANTINE_MAX = 64 };

// The most at one time. Each is up to three mappings; Linux allows a process 65530 by default.
enum { EGB_GUARD_PAGES_MAX = 8192, EGB_GUARD_PAGE_SAMPLES_MAX = 1024 };

// ---- which requests -----------------------------------------------------------------------------

// Applies the text of EGGBOX_GUARD_PAGES; NULL: it is not set.
void egb_guard_page_read_setting_(const char* text);

// Whether the text is a valid setting.
bool egb_guard_page_is_setting_(const char* text);

// Applies a setting. EGB_INVALID: the text is invalid; EGB_UNSUPPORTED: no guard pages here.
egb_status egb_guard_page_set_(const char* text);

// Whether large blocks have guard pages: by the setting, or because EGGBOX_CHECK puts the pool
// "heap" at level "guard" or "track".
bool egb_guard_page_for_large_(void);

// Whether small requests are sampled.
bool egb_guard_page_samples_(void);

// Counts a small request. True: it is due for a guard page.
bool egb_guard_page_is_due_(void);

// Counts small blocks that were handed out, or are about to be without another call here.
void egb_guard_page_count_(size_t blocks);

// This sample failed: the next one comes as late as after a success.
void egb_guard_page_skip_(void);

// Counts one more block with a guard page, in use or being made. False: the limit is reached. Takes
// the lock of large blocks.
bool egb_guard_page_enter_(bool is_sample);

// Counts one such block less. Takes the lock of large blocks.
void egb_guard_page_leave_(bool is_sample);

// The number of such blocks; `samples`: the sampled ones among them. The lock is held.
size_t egb_guard_page_in_use_(size_t* samples);

// Counts again, in the child of a fork: blocks that other threads were making are lost there.
void egb_guard_page_reset_(void);

// ---- a region -----------------------------------------------------------------------------------

// Places a block in its region: sets `bytes`, `room` and `lead`. Returns the region's bytes, in
// whole units; 0: the request is too large, or pages are as long as a unit here.
size_t egb_guard_page_plan_(egb_guard_page* plan, size_t align, size_t bytes);

// Closes the guard pages of a fresh region, and writes the patterns around the block. False: the
// system refused, and the caller releases the region.
bool egb_guard_page_close_pages_(const egb_large* large);

// The same for a closed region: opens the pages of the block.
bool egb_guard_page_open_block_(const egb_large* large);

// Closes the whole region of a freed block; its memory goes, except a page or two. False: the
// system refused, and nothing has changed.
bool egb_guard_page_close_(const egb_large* large);

// Opens the whole region. False: the system refused.
bool egb_guard_page_open_(const egb_large* large);

// Whether a pattern around the block is damaged; then `finding` tells where.
bool egb_guard_page_check_(const egb_large* large, egb_finding* finding);

// Changes the size of a block in use where it is: within its room, or into the closed addresses
// behind it. The caller must not hold the large lock. False, and nothing has changed: the block
// would not end at a guard page, or there is damage. A block that realloc has copied often enough
// may end up to a page before its guard page: else growth by small steps would take a time that
// rises with the square of its size.
bool egb_guard_page_resize_(egb_large* large, size_t bytes);

// The block's history.
egb_history egb_guard_page_history_(const egb_large* large);

// ---- quarantine: with the lock of large blocks --------------------------------------------------

// Adds a region with closed pages. If there are too many regions or bytes, the oldest go; if the
// region is longer than the whole quarantine may be, it goes itself.
void egb_page_quarantine_add_(egb_large* large, egb_unmap_list* unmap_list);

// Takes the oldest if it has `whole` bytes and the quarantine is more than half full; else NULL.
egb_large* egb_page_quarantine_take_(size_t whole);

// Empties the quarantine.
void egb_page_quarantine_flush_(egb_unmap_list* unmap_list);

size_t egb_page_quarantine_bytes_(void);
size_t egb_page_quarantine_count_(void);

#endif  // EGGBOX_SRC_HOSTED_REGION_GUARD_PAGE_H
