// SPDX-License-Identifier: MIT
// Free where the thread's magazine did not take the block as it came: see free.h.
#include "free.h"

#include "../../os/os.h"
#include "../cache/split.h"
#include "../cache/tight.h"
#include "../stacks/stacks.h"
#include "events.h"
#include "layout.h"
#include "redzone.h"
#include "registry.h"

static egb_misuse_kind kind_of_stranger(const void* address)
{
    const egb_pool other = egb_pool_of(address);
    return other.generation != 0 ? EGB_MISUSE_WRONG_POOL : EGB_MISUSE_FOREIGN;
}

// Frees a block of another lane when the remote batch is full.
static bool free_remote(egb_magazine_* magazine, uint64_t key, void* block)
{
    const egb_unit* const unit = egb_unit_like_(block);
    const uint64_t apart = unit == NULL ? 0 : egb_key_at_(unit) ^ EGB_LOAD_(magazine->chunk_key);
    unsigned char* state;
    return apart != 0 && (apart & ~EGB_KEY_LANES) == 0 &&
           egb_find_live_(&unit->shape, block, &state) &&
           egb_split_make_room_remote_(magazine, key) &&
           egb_push_remote_(magazine, block, state) == EGB_PUSH_DONE;
}

// Frees a block with a part of the depot alone, if it is split. At level "off" the block is looked
// at only now, as far as its chunk knows it.
static bool free_in_part(egb_magazine_* magazine, egb_pool pool, void* block)
{
    const uint64_t key = egb_pool_key_(pool);
    if (!egb_is_split_(magazine) || EGB_LOAD_(magazine->key) != key) {
        return false;
    }
    if (egb_key_is_checked_(key)) {
        return free_remote(magazine, key, block);
    }
    return egb_free_find_(egb_control_of_depot_(magazine->depot), block).fault.kind == 0 &&
           egb_split_make_room_(magazine, key) &&
           egb_push_is_done_(magazine, egb_push_unchecked_(magazine, block));
}

// A damaged red zone does not know the bytes: the claim passes, and the free reports the damage.
static bool is_claim_right(const egb_control* control, const egb_claim* claim, const void* block)
{
    if (!claim->fits || claim->bytes == 0 || !egb_redzone_knows_bytes_(block)) {
        return claim->fits;
    }
    const size_t bytes = egb_redzone_bytes_(control, block);
    return bytes == claim->bytes || bytes == claim->rounded;
}

// A block that is not in use has no known size, and the free reports it. The look comes before the
// free, which is part of the block's history afterwards.
static egb_finding
find_wrong_size(egb_control* control, egb_pool pool, const egb_claim* claim, const void* block)
{
    egb_finding finding = {0};
    if (claim != NULL && control->redzones != NULL && control->layout->is_live(control, block) &&
        !is_claim_right(control, claim, block)) {
        finding.kind    = EGB_MISUSE_WRONG_SIZE;
        finding.block   = block;
        finding.index   = egb_chunk_index_(egb_chunk_map_find_(egb_pool_key_(pool), block), block);
        finding.history = egb_redzone_history_(control, block);
    }
    return finding;
}

static void free_in_pool(
    egb_pool pool, egb_magazine* cache, const egb_claim* claim, void* block, const void* from
)
{
    const void* const    site     = egb_pool_site_(pool, from);
    egb_magazine_* const magazine = egb_magazine_for_(pool, cache);
    if (free_in_part(magazine, pool, block)) {
        return;
    }
    egb_control* const control = egb_pool_lock_(pool);
    if (control == NULL) {
        egb_pool_report_handle_(pool, block, site);
        return;
    }
    const bool        passes_on  = control->layout->passes_foreign_on;
    const egb_finding wrong_size = find_wrong_size(control, pool, claim, block);
    egb_free_fault    fault      = control->layout->give(control, magazine, pool, block, site);
    egb_pool_unlock_and_report_(control, pool, site);
    if (wrong_size.kind != 0) {
        egb_pool_report_finding_(pool, &wrong_size, egb_stack_here_(from));
    }
    egb_freeze_report_(pool, site);
    if (fault.kind == EGB_MISUSE_FOREIGN) {
        fault.kind = (int)kind_of_stranger(block);
    }
    if (fault.kind == EGB_MISUSE_FOREIGN && passes_on) {
        egb_os_free_(block);
    } else if (fault.kind != 0) {
        egb_pool_report_((egb_misuse_kind)fault.kind, pool, block, fault.index, site);
    }
}

void egb_pool_free_locked_(egb_pool pool, egb_magazine* cache, void* block, const void* site)
{
    if (block != NULL) {
        free_in_pool(pool, cache, NULL, block, site);
    }
}

void egb_pool_free_claimed_(egb_pool pool, const egb_claim* claim, void* block, const void* site)
{
    free_in_pool(pool, NULL, claim, block, site);
}

// If the pool was destroyed, the entry is nobody's any more.
bool egb_push_ended_(egb_magazine_* magazine)
{
    egb_depot* const depot = magazine->depot;
    void*            block;
    if (egb_magazine_pop_(magazine, &block)) {
        egb_magazine_forget_(magazine);
        return true;
    }
    egb_depot_lock_(depot);
    const bool is_revoked = EGB_LOAD_(magazine->key) == EGB_NO_KEY_;
    const bool is_back    = !is_revoked && (egb_magazine_take_back_aside_(depot, magazine) ||
                                         egb_magazine_pop_(magazine, &block));
    if (is_revoked) {
        EGB_STORE_(magazine->top, EGB_LOAD_(magazine->top) - sizeof(egb_entry_));
    } else if (!is_back) {
        egb_magazine_settle_(depot, magazine);  // `top` may be behind all entries
    }
    if (is_back || is_revoked) {
        egb_magazine_forget_(magazine);
    } else {
        egb_count_one_(&magazine->frees);
    }
    egb_depot_unlock_(depot);
    return is_back || is_revoked;
}

// False: it was not for want of room that the magazine did not take a block, or it is to take none.
static bool make_room(egb_magazine_* magazine, egb_pool pool, const void* site)
{
    if (egb_is_above_(&magazine->full, EGB_LOAD_(magazine->top))) {
        return false;
    }
    if (egb_split_make_room_(magazine, egb_pool_key_(pool))) {
        return true;
    }
    egb_control* const control = egb_pool_lock_(pool);
    const bool         is_its =
        control != NULL && magazine->depot == &control->depot && !control->depot.is_tight;
    if (is_its) {
        egb_magazine_make_room_(&control->depot, magazine);
    }
    if (control != NULL) {
        egb_pool_unlock_(control);
    }
    egb_freeze_report_(pool, site);
    return is_its;
}

// Frees a block that egb_push_block_() did not take for want of room. False:
// egb_pool_free_locked_() finds out why. At level "off" egb_pool_free_locked_() is the first to
// look at the block.
bool egb_free_after_room_(egb_magazine_* magazine, uint64_t key, void* block, const void* site)
{
    return block != NULL && egb_key_is_checked_(key) && EGB_LOAD_(magazine->key) == key &&
           make_room(magazine, egb_pool_of_key_(key), site) &&
           egb_push_is_done_(magazine, egb_push_block_(magazine, key, block));
}

void egb_pool_free_cold_(egb_pool pool, void* block)
{
    egb_pool_free_locked_(pool, NULL, block, EGB_CALLER());
}

static EGB_COLD void free_cold(
    egb_magazine_* magazine, egb_pool pool, egb_magazine* cache, void* block, const void* site
)
{
    if (!egb_free_after_room_(magazine, egb_pool_key_(pool), block, site)) {
        egb_pool_free_locked_(pool, cache, block, site);
    }
}

void egb_free_ended_(
    egb_magazine_* magazine, egb_pool pool, egb_magazine* cache, void* block, const void* site
)
{
    if (egb_push_ended_(magazine)) {
        free_cold(magazine, pool, cache, block, site);
    }
}

void egb_pool_free_other_(egb_pool pool, void* block)
{
    const uint64_t       key      = egb_pool_key_(pool);
    egb_magazine_* const magazine = egb_magazine_of_key_(key);
    const egb_push       push     = egb_push_block_(magazine, key, block);
    if (EGB_UNLIKELY(push == EGB_PUSH_ENDED)) {
        egb_free_ended_(magazine, pool, NULL, block, EGB_CALLER());
    } else if (EGB_UNLIKELY(push == EGB_PUSH_NO)) {
        free_cold(magazine, pool, NULL, block, EGB_CALLER());
    }
}

void egb_magazine_free_other_(egb_magazine* cache, void* block)
{
    egb_magazine_* const magazine = &cache->magazine;
    const uint64_t       key      = egb_pool_key_(cache->pool);
    // One that is not open is all zero: it has the null pool's key, and no entries.
    const bool     has_entries = egb_key_is_checked_(key) || EGB_LOAD_(magazine->top) != 0;
    const egb_push push        = has_entries ? egb_push_block_(magazine, key, block) : EGB_PUSH_NO;
    if (EGB_UNLIKELY(push == EGB_PUSH_ENDED)) {
        egb_free_ended_(magazine, cache->pool, cache, block, EGB_CALLER());
    } else if (EGB_UNLIKELY(push == EGB_PUSH_NO)) {
        free_cold(magazine, cache->pool, cache, block, EGB_CALLER());
    }
}

void egb_pool_free_many(egb_pool pool, void* const* blocks, size_t count)
{
    for (size_t i = 0; blocks != NULL && i < count; i++) {
        egb_pool_free(pool, blocks[i]);
    }
}
