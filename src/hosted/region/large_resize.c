// SPDX-License-Identifier: MIT
// Large blocks that become larger or smaller, where they are or elsewhere. Bytes are copied only
// where the system cannot move pages.
#include "guard_page.h"
#include "large_cache.h"
#include "obtain.h"

// From this size on a block that grows asks the system for more addresses, or moves its pages
// elsewhere. A shorter block is copied into a cached region, if one is likely to fit: that is
// quicker than the calls and their page faults, and the next block finds the pages that this one
// leaves. A copy into a new region would cost a page fault for each page.
static const size_t MOVED_BYTES_MIN = (size_t)2 << 20;

// If more blocks than this are in use, all shorter ones are copied. Each block that was moved is a
// mapping of its own from then on, and Linux allows a process 65,530: then it refuses every new
// region.
enum { MOVED_BLOCKS_MAX = 2048 };

// Pages that the system does not move are copied in parts of this size. The pages of each part go
// before the next part is copied: the block is never in memory twice, where ranges can be split.
static const size_t PART_BYTES = (size_t)2 << 20;

static void set_bytes(egb_large* large, size_t bytes)
{
    egb_large_lock_();
    egb_large_note_bytes_(bytes, large->range.bytes);
    large->range.bytes = bytes;
    egb_large_unlock_();
}

// ---- smaller ------------------------------------------------------------------------------------

// Caches the end of the block's region. False: no memory for its record.
static bool cut_end(egb_large* large, size_t whole)
{
    egb_unmap_list unmap_list = {NULL};
    egb_large_lock_();
    egb_large* const end = egb_large_new_record_();
    if (end != NULL) {
        end->range.start = (char*)large->range.start + whole;
        end->range.bytes = large->range.bytes - whole;
        end->mapping     = large->mapping;
        egb_large_note_bytes_(whole, large->range.bytes);
        large->range.bytes = whole;
        egb_large_enter_(end);
        egb_large_keep_(end, &unmap_list);
    }
    egb_large_unlock_();
    (void)egb_unmap_list_release_(&unmap_list);
    return end != NULL;
}

// The addresses behind a smaller block may be reused as soon as they are given back: the record is
// changed first.
static bool shrink(egb_large* large, size_t whole)
{
    if (egb_os_can_split_()) {
        return cut_end(large, whole);
    }
    const size_t bytes = large->range.bytes;
    set_bytes(large, whole);
    if (egb_os_resize_(large->range.start, bytes, whole) != EGB_OK) {
        set_bytes(large, bytes);
        return false;
    }
    return true;
}

// ---- larger -------------------------------------------------------------------------------------

// In place, into addresses that nobody has.
static bool extend(egb_large* large, size_t whole)
{
    if (large->mapping == 0 || !egb_may_obtain_() ||
        egb_os_resize_(large->range.start, large->range.bytes, whole) != EGB_OK) {
        return false;
    }
    set_bytes(large, whole);
    return true;
}

// In place, into cached bytes behind it. A long block stays in one mapping: only then the system
// moves its pages.
static bool extend_into_cached(egb_large* large, size_t whole)
{
    egb_large_lock_();
    const size_t bytes = large->range.bytes;
    const bool   is_done =
        egb_large_cache_give_behind_(large, whole - bytes, whole >= MOVED_BYTES_MIN);
    if (is_done) {
        egb_large_note_bytes_(whole, bytes);
    }
    egb_large_unlock_();
    return is_done;
}

// The source goes back to the system.
static void copy_in_parts(char* to, char* from, size_t bytes)
{
    const size_t part_bytes = egb_os_can_split_() ? PART_BYTES : bytes;
    for (size_t offset = 0; offset < bytes; offset += part_bytes) {
        const size_t part = egb_smaller_(part_bytes, bytes - offset);
        (void)__builtin_memcpy(to + offset, from + offset, part);
        egb_os_release_(from + offset, part);
    }
    egb_note_hole_(bytes);
}

// Moves the pages of a block that no address leads to meanwhile. Returns their new place, which has
// `whole` bytes; NULL: the system refused, and nothing has changed.
static void* move_pages(const egb_large* large, size_t whole)
{
    void* const  from  = large->range.start;
    const size_t bytes = large->range.bytes;
    void*        to    = egb_obtain_region_(whole, EGB_UNIT_BYTES);
    egb_status   moved = EGB_UNSUPPORTED;
    if (to != NULL && large->mapping != 0) {
        moved = egb_os_move_(from, bytes, to, whole);
    }
    if (moved == EGB_NO_MEMORY) {
        to = egb_obtain_region_(whole, EGB_UNIT_BYTES);
    }
    if (moved == EGB_OK) {
        egb_note_hole_(bytes);
    }
    if (to == NULL || moved == EGB_OK) {
        return to;
    }
    if (egb_obtain_pages_(to, whole, 0, NULL) != EGB_OK) {
        egb_os_release_(to, whole);
        return NULL;
    }
    copy_in_parts(to, from, bytes);
    return to;
}

static bool move_to_more(egb_large* large, size_t whole)
{
    egb_large_lock_();
    egb_large_leave_(large);
    egb_large_unlock_();
    void* const to = move_pages(large, whole);
    egb_large_lock_();
    if (to != NULL) {
        egb_large_note_bytes_(whole, large->range.bytes);
        egb_large_note_mapping_(large);
        large->range.start = to;
        large->range.bytes = whole;
    }
    egb_large_enter_(large);
    egb_large_unlock_();
    return to != NULL;
}

// If the system cannot move pages, each block shorter than MOVED_BYTES_MIN is copied.
static bool is_copied(const egb_large* large, size_t whole)
{
    if (whole >= MOVED_BYTES_MIN || egb_is_frozen_()) {
        return false;
    }
    egb_large_numbers now;
    egb_large_count_(&now);
    egb_large_lock_();
    const bool may_fit = egb_large_cache_may_fit_(whole);
    egb_large_unlock_();
    return may_fit || now.in_use > MOVED_BLOCKS_MAX || large->mapping == 0 || !egb_os_can_split_();
}

// Grows by an eighth more than requested: that costs addresses, but no memory until it is touched,
// and a block that grows step by step moves seldom. If addresses are short, it grows by the
// requested size.
static bool grow(egb_large* large, size_t bytes)
{
    const size_t exact = egb_large_units_for_(bytes);
    const size_t whole = egb_large_units_for_(bytes <= PTRDIFF_MAX / 2 ? bytes + bytes / 8 : bytes);
    if (extend_into_cached(large, whole) || extend_into_cached(large, exact)) {
        return true;
    }
    if (is_copied(large, exact)) {
        return false;
    }
    const bool is_done = extend(large, whole) || move_to_more(large, whole) ||
                         (whole != exact && (extend(large, exact) || move_to_more(large, exact)));
    if (is_done) {
        egb_large_limit_cache_();
    }
    return is_done;
}

// No other thread changes the record while its block is in use; other threads may read it.
void* egb_large_resize_(void* block, size_t bytes)
{
    if (bytes > PTRDIFF_MAX) {
        return NULL;
    }
    egb_large_lock_();
    egb_large* const large = egb_large_at_(block);
    egb_large_unlock_();
    if (large == NULL) {
        return NULL;
    }
    if (egb_large_has_page_(large)) {
        return egb_guard_page_resize_(large, bytes) ? block : NULL;
    }
    const bool is_done = bytes <= large->range.bytes ? shrink(large, egb_large_units_for_(bytes))
                                                     : grow(large, bytes);
    return is_done ? large->range.start : NULL;
}
