// SPDX-License-Identifier: MIT
// Room pool: chunks from the system, charged to budgets.
#ifndef EGGBOX_SRC_HOSTED_POOL_BACKING_H
#define EGGBOX_SRC_HOSTED_POOL_BACKING_H

#include "control.h"

// ---- backing.c ----------------------------------------------------------------------------------

egb_backing egb_pool_backing_(egb_control* control);

// Takes the blocks out of all magazines, then gives wholly free chunks back until the pool holds no
// more than `keep_bytes`, to the system or to the region caches. Returns the bytes given back.
size_t egb_pool_give_up_(egb_pool pool, size_t keep_bytes, bool to_cache);

// Takes the blocks out of magazines that nobody has used since the last such call.
void egb_pool_reclaim_idle_(egb_pool pool);

// Puts the blocks of the pool's depot back into their chunks. Returns the bytes of its wholly free
// chunks.
size_t egb_pool_flush_(egb_pool pool);

// Gives up to `bytes` bytes of chunks that are wholly free now to the system or to the cache of
// large regions. Magazines keep their blocks. Returns the bytes given.
size_t egb_pool_give_idle_(egb_pool pool, size_t bytes, bool to_cache);

// The bytes of the pool's wholly free chunks. Takes no lock; the answer may be outdated.
size_t egb_pool_idle_(egb_pool pool);

// ---- free_pages.c -------------------------------------------------------------------------------

// A walk over the chunks of a pool that are partly free, from the one that alloc would use last.
typedef struct egb_page_walk {
    const void* next;     // the chunk that it goes on with; NULL: it begins, or is over
    size_t      given;    // bytes of pages
    size_t      looked;   // bytes of the chunks that were looked at
    bool        at_once;  // chunks that blocks were just taken from, too
    bool        is_over;
} egb_page_walk;

// One step: gives pages that hold only free blocks back to the system, of chunks that no block was
// taken from for a whole turn. Blocks in magazines count as in use. A step looks at 4 MiB and a
// chunk at most, whatever it finds.
void egb_pool_give_pages_(egb_pool pool, egb_page_walk* walk);

// The next turn begins.
void egb_pool_begin_turn_(egb_pool pool);

// ---- budget.c -----------------------------------------------------------------------------------

// Charges `bytes` to the pool and its ancestors. Returns NULL; or the lowest pool whose budget is
// too small, and then nothing has changed.
const egb_control* egb_charge_(egb_control* control, size_t bytes);
void               egb_uncharge_(egb_control* control, size_t bytes);

// Takes what the pool holds off its ancestors' accounts, once.
void egb_uncharge_all_(egb_control* control);

#endif  // EGGBOX_SRC_HOSTED_POOL_BACKING_H
