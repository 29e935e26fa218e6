// SPDX-License-Identifier: MIT
// Layer faces: what elr_mpl.c and elr_multi.c share.
//
// A handle {pool, tag} of elr_mpl is the address of a record and the generation of an eggbox pool.
// Records stand in one table, by the slot of their pool, for ever: so a handle can be checked by
// looking, whatever became of its pool, and from a block's pool there is a way to its record. The
// table is zero pages until pools are made.
//
// Fields are read by threads that hold a handle while others add sizes to the same pool, or make a
// pool where an older one was: `key` and `next` are atomic. What is behind a key is written before
// the key.
#ifndef EGGBOX_COMPAT_ELR_PRIVATE_H
#define EGGBOX_COMPAT_ELR_PRIVATE_H

#include "eggbox/compat/elr_mpl.h"
#include "eggbox/pool.h"

typedef struct egb_elr_record {
    EGB_ALIGNAS_(64) uint64_t key;  // generation and slot of the pool; 0: none, or gone
    size_t                 size;    // as it was asked for
    elr_mpl_callback       on_alloc;
    elr_mpl_callback       on_free;
    struct egb_elr_record* next;      // the next size of the same multi pool; NULL: the last
    bool                   is_multi;  // the first size of a multi pool
    bool                   is_extra;  // a size that was made for larger requests
} egb_elr_record;

/// What a pool is made of.
typedef struct egb_elr_shape {
    size_t           size;
    elr_mpl_callback on_alloc;
    elr_mpl_callback on_free;
} egb_elr_shape;

/// The record of a handle, and its pool; NULL if the pool is gone or never was. (If it was gone by
/// other means than ours, the pool's own calls will say so.) `site` is where a stale handle was
/// used, for the report; NULL: no report.
egb_elr_record* egb_elr_find(const elr_mpl_t* handle, egb_pool* pool, const void* site);

/// The record of a pool of ours; NULL for others, and for the null pool.
egb_elr_record* egb_elr_of(egb_pool pool);

egb_pool  egb_elr_pool_of(const egb_elr_record* record);
elr_mpl_t egb_elr_handle_of(const egb_elr_record* record);

/// The parent that is meant: of NULL, the module's. False: there is none.
bool egb_elr_parent(const elr_mpl_t* fpool, egb_pool* parent, const void* site);

/// Makes a pool. NULL: refused.
egb_elr_record* egb_elr_make(egb_pool parent, egb_elr_shape shape);

/// Takes a block, and calls on_alloc.
void* egb_elr_take(const egb_elr_record* record, egb_pool pool);

/// Forgets the module's own multi pool, which was destroyed with all others.
void egb_elr_forget_multi(void);

#endif  // EGGBOX_COMPAT_ELR_PRIVATE_H
