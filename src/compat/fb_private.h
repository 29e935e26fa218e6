// SPDX-License-Identifier: MIT
// Layer faces: what fb_allocator.c, x_allocator.c and fault.c share.
#ifndef EGGBOX_COMPAT_FB_PRIVATE_H
#define EGGBOX_COMPAT_FB_PRIVATE_H

#include "eggbox/base.h"
#include "eggbox/compat/fb_allocator.h"

/// The file that FaultHandler() gets for a call that cannot be served.
extern const char egb_fb_not_served[];

/// Calls FaultHandler(). Returns NULL.
void* egb_fb_fault(unsigned short line);

/// Takes a block. NULL: none is left.
void* egb_fb_take(ALLOC_Allocator* self);

/// Gives a block back, or reports what is wrong with it. `self` NULL: it is foreign.
void egb_fb_give(ALLOC_Allocator* self, void* block, const void* site);

/// The allocator in whose blocks an address is; NULL: none of those that were ever used.
ALLOC_Allocator* egb_fb_owner(const void* block);

/// Says whether `block` is one of `self` that is in use; if not, reports what is wrong with it.
bool egb_fb_is_live(ALLOC_Allocator* self, const void* block, const void* site);

/// The product. False: it overflows.
bool egb_fb_product(size_t num, size_t size, size_t* product);

#endif  // EGGBOX_COMPAT_FB_PRIVATE_H
