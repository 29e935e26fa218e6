// SPDX-License-Identifier: MIT
// Layer compat: declarations that elr_mpl.c and elr_multi.c share.
//
// A handle {pool, tag} of elr_mpl is the address of a record and the generation of an eggbox pool.
// The records are one table, indexed by the slot of their pool, and are never freed. A handle can
// therefore be checked by reading its record, whatever became of the pool, and the pool of a block
// leads to its record. The table is zero pages until pools are made.
//
// Threads that hold a handle read a record while other threads add sizes to its pool, or reuse the
// record for a new pool. `key` and `next` are therefore atomic, and the other fields are written
// before the key.
#ifndef EGGBOX_COMPAT_ELR_PRIVATE_H
#define EGGBOX_COMPAT_ELR_PRIVATE_H

#include "eggbox/compat/elr_mpl.h"
#include "eggbox/pool.h"

typedef struct egb_elr_record {
    EGB_ALIGNAS_(64) uint64_t key;  // generation and slot of the pool; 0: no pool, or destroyed
    size_t                 size;    // as requested
    elr_mpl_callback       on_alloc;
    elr_mpl_callback       on_free;
    struct egb_elr_record* next;      // the next size of the same multi pool; NULL: the last
    bool                   is_multi;  // the first size of a multi pool
    bool                   is_extra;  // a size that was made for larger requests
} egb_elr_record;

/// The parameters of a new pool.
typedef struct egb_elr_shape {
    size_t           size;
    elr_mpl_callback on_alloc;
    elr_mpl_callback on_free;
} egb_elr_shape;

/// Returns the record of a handle, and sets `*pool`. NULL: the pool was destroyed, or never made.
/// (If egb_pool_destroy() ended the pool, the record is still there, and calls of the pool report
/// the stale handle.) `site`: the caller, for the report of a stale handle; NULL: no report.
egb_elr_record* egb_elr_find_(const elr_mpl_t* handle, egb_pool* pool, const void* site);

/// Returns the record of a pool of elr_mpl; NULL for other pools, and for the null pool.
egb_elr_record* egb_elr_of_(egb_pool pool);

egb_pool  egb_elr_pool_of_(const egb_elr_record* record);
elr_mpl_t egb_elr_handle_of_(const egb_elr_record* record);

/// Sets `*parent` to the pool of `fpool`, for NULL to the module's root. False: there is none.
bool egb_elr_parent_(const elr_mpl_t* fpool, egb_pool* parent, const void* site);

/// Makes a pool. NULL: refused.
egb_elr_record* egb_elr_make_(egb_pool parent, egb_elr_shape shape);

/// Destroys a pool and its descendants, after on_free for their blocks.
void egb_elr_destroy_(egb_pool pool);

/// Takes a block, and calls on_alloc.
void* egb_elr_take_(const egb_elr_record* record, egb_pool pool);

/// Forgets the pool of elr_mpl_alloc_multi(NULL), which is destroyed with all others.
void egb_elr_forget_multi_(void);

#endif  // EGGBOX_COMPAT_ELR_PRIVATE_H
