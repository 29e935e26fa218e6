// SPDX-License-Identifier: MIT
// Large blocks that become larger or smaller, where they are or elsewhere, without copying.
#include "ask.h"
#include "guard_page.h"
#include "large_cache.h"

static void set_place(egb_large* large, void* region, size_t bytes)
{
    egb_large_lock_();
    egb_large_note_bytes_(bytes, large->bytes);
    large->region = region;
    large->bytes  = bytes;
    egb_large_unlock_();
}

// Caches the end of the block's region. False: no memory for its record.
static bool cut_end(egb_large* large, size_t whole)
{
    egb_unmap_list unmap_list = {NULL};
    egb_large_lock_();
    egb_large* const end = egb_large_new_record_();
    if (end != NULL) {
        end->region = (char*)large->region + whole;
        end->bytes  = large->bytes - whole;
        egb_chunk_map_pass_on_(end->region, end->bytes, (egb_chunk_*)(void*)end);
        egb_large_note_bytes_(whole, large->bytes);
        large->bytes = whole;
        egb_large_keep_(end, &unmap_list);
    }
    egb_large_unlock_();
    (void)egb_unmap_list_release_(&unmap_list);
    return end != NULL;
}

// The addresses behind a smaller block may be reused as soon as they are given back: the map
// forgets them first.
static bool shrink(egb_large* large, size_t whole)
{
    if (egb_os_can_split_()) {
        return cut_end(large, whole);
    }
    char* const  tail       = (char*)large->region + whole;
    const size_t tail_bytes = large->bytes - whole;
    egb_chunk_map_clear_(tail, tail_bytes);
    if (egb_os_resize_(large->region, large->bytes, whole) != EGB_OK) {
        (void
        )egb_large_enter_(tail, tail_bytes, large);  // the map still has these units: no allocation
        return false;
    }
    set_place(large, large->region, whole);
    return true;
}

static egb_status extend(egb_large* large, size_t whole)
{
    if (!egb_may_ask_()) {
        return EGB_NO_MEMORY;
    }
    const egb_status status = egb_os_resize_(large->region, large->bytes, whole);
    if (status != EGB_OK) {
        return status;
    }
    if (!egb_large_enter_((char*)large->region + large->bytes, whole - large->bytes, large)) {
        (void)egb_os_resize_(large->region, whole, large->bytes);
        return EGB_NO_MEMORY;
    }
    set_place(large, large->region, whole);
    return EGB_OK;
}

static bool move_to(egb_large* large, void* to, size_t whole)
{
    void* const  from  = large->region;
    const size_t bytes = large->bytes;
    if (!egb_large_enter_(to, whole, large)) {
        egb_os_release_(to, whole);
        return false;
    }
    egb_chunk_map_clear_(from, bytes);
    const egb_status status = egb_os_move_(from, bytes, to, whole);
    if (status != EGB_OK) {
        (void)egb_large_enter_(from, bytes, large);
        egb_chunk_map_clear_(to, whole);
        if (status == EGB_UNSUPPORTED) {
            egb_os_release_(to, whole);
        }
        return false;
    }
    set_place(large, to, whole);
    return true;
}

// Extends the block into cached bytes behind it. False: there are fewer.
static bool extend_into_kept(egb_large* large, size_t whole)
{
    egb_large_lock_();
    const bool is_done = egb_large_cache_give_behind_(large, whole - large->bytes);
    if (is_done) {
        egb_large_note_bytes_(whole, large->bytes);
        large->bytes = whole;
    }
    egb_large_unlock_();
    return is_done;
}

// Grows in place or elsewhere, without copying.
static egb_status grow_to(egb_large* large, size_t whole)
{
    const egb_status status = extend(large, whole);
    if (status != EGB_NO_MEMORY) {
        return status;
    }
    void* const to = egb_ask_reserve_(whole, EGB_UNIT_BYTES);
    return to != NULL && move_to(large, to, whole) ? EGB_OK : EGB_NO_MEMORY;
}

// Grows by an eighth more than requested: that costs addresses, but no memory until it is touched,
// and a block that grows step by step moves seldom. If addresses are short, it grows by the
// requested size.
static bool grow(egb_large* large, size_t bytes)
{
    const size_t exact = egb_large_units_for_(bytes);
    const size_t whole = egb_large_units_for_(bytes <= PTRDIFF_MAX / 2 ? bytes + bytes / 8 : bytes);
    if (extend_into_kept(large, whole) || extend_into_kept(large, exact)) {
        return true;
    }
    const egb_status status = grow_to(large, whole);
    return status == EGB_OK ||
           (status == EGB_NO_MEMORY && whole != exact && grow_to(large, exact) == EGB_OK);
}

// No other thread changes the record while its block is in use; other threads may read it.
void* egb_large_resize_(void* block, size_t bytes)
{
    if (bytes > PTRDIFF_MAX) {
        return NULL;
    }
    egb_large_lock_();
    egb_large* const large    = egb_large_at_(block);
    const bool       is_exact = large != NULL && egb_large_has_page_(large);
    const bool       may_stay = is_exact && egb_guard_page_set_bytes_(large, bytes);
    egb_large_unlock_();
    if (large == NULL || is_exact) {
        return may_stay ? block : NULL;
    }
    const bool is_done =
        bytes <= large->bytes ? shrink(large, egb_large_units_for_(bytes)) : grow(large, bytes);
    return is_done ? large->region : NULL;
}
