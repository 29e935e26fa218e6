// SPDX-License-Identifier: MIT
#include "obtain.h"

#include "../../core/util.h"
#include "../../os/os.h"
#include "chunk_cache.h"
#include "eggbox/atomic_hot.h"
#include "keep.h"
#include "pages.h"

EGB_AMONG_DATA_ static bool is_frozen;     // atomic
EGB_AMONG_DATA_ static bool refused_once;  // atomic: a request was refused, and no report told yet

void egb_freeze_(bool is_on)
{
    EGB_STORE_(is_frozen, is_on);
}

bool egb_is_frozen_(void)
{
    return EGB_LOAD_(is_frozen);
}

bool egb_may_obtain_(void)
{
    if (egb_is_frozen_()) {
        EGB_STORE_(refused_once, true);
        return false;
    }
    return true;
}

// ---- the rest of a range ------------------------------------------------------------------------

// A start is a multiple of the granule, so the number of granules has room below it.
static size_t bytes_of_rest(uintptr_t rest, size_t granule)
{
    return (rest & (granule - 1)) * granule;
}

static void* start_of_rest(uintptr_t rest, size_t granule)
{
    return (void*)(rest & ~(uintptr_t)(granule - 1));
}

static uintptr_t rest_from(void* start, size_t bytes, size_t granule)
{
    return bytes == 0 ? 0 : (uintptr_t)start + bytes / granule;
}

// NOLINTNEXTLINE(readability-non-const-parameter): it is written to, atomically
static bool move_rest(uintptr_t* rest, uintptr_t* from, uintptr_t to)
{
    return __atomic_compare_exchange_n(rest, from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

void* egb_rest_take_(uintptr_t* rest, size_t granule, size_t bytes)
{
    uintptr_t there = __atomic_load_n(rest, __ATOMIC_ACQUIRE);
    while (bytes <= bytes_of_rest(there, granule)) {
        char* const  start = start_of_rest(there, granule);
        const size_t left  = bytes_of_rest(there, granule) - bytes;
        if (move_rest(rest, &there, rest_from(start, left, granule))) {
            return start + left;
        }
    }
    return NULL;
}

// NOLINTNEXTLINE(readability-non-const-parameter): it is written to, atomically
size_t egb_rest_replace_(uintptr_t* rest, size_t granule, void* start, size_t bytes)
{
    const uintptr_t after  = rest_from(start, bytes, granule);
    const uintptr_t before = __atomic_exchange_n(rest, after, __ATOMIC_ACQ_REL);
    const size_t    unused = bytes_of_rest(before, granule);
    if (unused != 0) {
        egb_region_release_(start_of_rest(before, granule), unused);
    }
    return unused;
}

void egb_rest_add_(uintptr_t* rest, size_t granule, void* start, size_t bytes)
{
    char* const end   = (char*)start + bytes;
    uintptr_t   there = __atomic_load_n(rest, __ATOMIC_ACQUIRE);
    size_t      sum   = bytes + bytes_of_rest(there, granule);
    while (start_of_rest(there, granule) == end && sum / granule < granule) {
        if (move_rest(rest, &there, rest_from(start, sum, granule))) {
            return;
        }
        sum = bytes + bytes_of_rest(there, granule);
    }
    (void)egb_rest_replace_(rest, granule, start, bytes);
}

void* egb_rest_cut_(
    uintptr_t* rest, size_t granule, size_t bytes, size_t whole, egb_obtain_range* obtain
)
{
    void* piece = egb_rest_take_(rest, granule, bytes);
    while (piece == NULL) {
        void* const range = obtain(whole, EGB_UNIT_BYTES);
        if (range == NULL) {
            return NULL;
        }
        egb_rest_add_(rest, granule, range, whole);
        piece = egb_rest_take_(rest, granule, bytes);
    }
    return piece;
}

// ---- regions ------------------------------------------------------------------------------------

// A span is one request to the system for many short regions. Each request alone would cost a call
// or more with the lock of a pool held, and threads that touch new pages would wait for it in the
// kernel.
enum { SPAN_BYTES = 1 << 20, PIECE_BYTES_MAX = SPAN_BYTES / 4 };

EGB_AMONG_DATA_ static uintptr_t rest_of_span;  // in units

// Bytes that went back in ranges shorter than a span. The system puts a short region in such a
// place, and no span: a process would have ever more mappings, and Linux allows 65,530. Atomic; an
// estimate, since others take such places, too.
EGB_AMONG_DATA_ static size_t hole_bytes;

void egb_note_hole_(size_t bytes)
{
    const size_t before = EGB_LOAD_(hole_bytes);
    if (bytes < SPAN_BYTES && before < SIZE_MAX / 2) {
        EGB_STORE_(hole_bytes, before + bytes);
    }
}

static void note_request(size_t bytes)
{
    const size_t before = EGB_LOAD_(hole_bytes);
    if (bytes < SPAN_BYTES) {
        EGB_STORE_(hole_bytes, before - egb_smaller_(before, bytes));
    }
}

void egb_region_release_(void* region, size_t bytes)
{
    egb_note_hole_(bytes);
    egb_os_release_(region, bytes);
}

size_t egb_obtain_trim_(void)
{
    return egb_rest_replace_(&rest_of_span, EGB_UNIT_BYTES, NULL, 0);
}

static bool is_piece(size_t bytes, size_t align)
{
    return bytes <= PIECE_BYTES_MAX && bytes % EGB_UNIT_BYTES == 0 && align <= EGB_UNIT_BYTES &&
           egb_os_can_split_() && egb_keep_expects_more_() && egb_keep_share_() >= SPAN_BYTES &&
           EGB_LOAD_(hole_bytes) < bytes && egb_may_obtain_();
}

// NULL: the system has no range of this length.
static void* obtain_piece(size_t bytes)
{
    return egb_rest_cut_(&rest_of_span, EGB_UNIT_BYTES, bytes, SPAN_BYTES, egb_os_reserve_);
}

void* egb_obtain_table_(size_t bytes, size_t align)
{
    if (!egb_may_obtain_()) {
        return NULL;
    }
    void* region = egb_os_reserve_(bytes, align);
    // Kept memory is unused: all of it goes before a request is refused.
    if (region == NULL && egb_obtain_trim_() + egb_region_cache_trim_(0, SIZE_MAX) != 0) {
        region = egb_os_reserve_(bytes, align);
    }
    return region;
}

void* egb_obtain_records_(size_t bytes, size_t align)
{
    void* region = is_piece(bytes, align) ? obtain_piece(bytes) : NULL;
    if (region == NULL) {
        region = egb_obtain_table_(bytes, align);
        note_request(region != NULL ? bytes : 0);
    }
    return region;
}

void* egb_obtain_region_(size_t bytes, size_t align)
{
    void* const region = egb_obtain_records_(bytes, align);
    if (region != NULL) {
        egb_keep_note_got_(bytes);
    }
    return region;
}

// ---- pages --------------------------------------------------------------------------------------

egb_status
egb_obtain_pages_(void* region, size_t bytes, unsigned page_options, egb_os_obtained* obtained)
{
    const egb_status status = egb_os_commit_(region, bytes, page_options, obtained);
    return status != EGB_OK && egb_region_cache_trim_(0, SIZE_MAX) != 0
               ? egb_os_commit_(region, bytes, page_options, obtained)
               : status;
}

bool egb_freeze_take_refusal_(void)
{
    return EGB_LOAD_(refused_once) && __atomic_exchange_n(&refused_once, false, __ATOMIC_RELAXED);
}
