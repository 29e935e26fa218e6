// SPDX-License-Identifier: MIT
// xallocator with STATIC_POOLS, in place of xallocator.c: 12 pools of MAX_BLOCKS blocks each, all
// in static memory. Nothing comes from a heap or the system. The pools are allocators of
// fb_allocator.h, and x_allocator.h finds the one that serves.
#include "eggbox/compat/stl_nodes.h"
#include "eggbox/compat/x_allocator.h"
#include "eggbox/compat/xallocator.h"

#include "xallocator_private.h"

#if !defined(MAX_BLOCKS)
  #define MAX_BLOCKS 32
#endif

// The sizes count the original's header, as x_allocator.h does when it chooses.
ALLOC_DEFINE(xpool_8, 8, MAX_BLOCKS)
ALLOC_DEFINE(xpool_16, 16, MAX_BLOCKS)
ALLOC_DEFINE(xpool_32, 32, MAX_BLOCKS)
ALLOC_DEFINE(xpool_64, 64, MAX_BLOCKS)
ALLOC_DEFINE(xpool_128, 128, MAX_BLOCKS)
ALLOC_DEFINE(xpool_256, 256, MAX_BLOCKS)
ALLOC_DEFINE(xpool_396, 396, MAX_BLOCKS)
ALLOC_DEFINE(xpool_512, 512, MAX_BLOCKS)
ALLOC_DEFINE(xpool_768, 768, MAX_BLOCKS)
ALLOC_DEFINE(xpool_1024, 1024, MAX_BLOCKS)
ALLOC_DEFINE(xpool_2048, 2048, MAX_BLOCKS)
ALLOC_DEFINE(xpool_4096, 4096, MAX_BLOCKS)

enum { XPOOLS = 12 };

static ALLOC_Allocator* const xpools[XPOOLS] = {
    &xpool_8Obj,
    &xpool_16Obj,
    &xpool_32Obj,
    &xpool_64Obj,
    &xpool_128Obj,
    &xpool_256Obj,
    &xpool_396Obj,
    &xpool_512Obj,
    &xpool_768Obj,
    &xpool_1024Obj,
    &xpool_2048Obj,
    &xpool_4096Obj
};
static XAllocData xpool_data = {xpools, XPOOLS};

// ---- the calls: weak, as those of xallocator.c --------------------------------------------------

EGB_WEAK void xalloc_init(void) {}

EGB_WEAK void xalloc_destroy(void) {}

EGB_WEAK void* xmalloc(size_t size)
{
    return XALLOC_Alloc(&xpool_data, size);
}

EGB_WEAK void xfree(void* ptr)
{
    XALLOC_Free(ptr);
}

EGB_WEAK void* xrealloc(void* ptr, size_t size)
{
    return XALLOC_Realloc(&xpool_data, ptr, size);
}

EGB_WEAK void xalloc_stats(void)
{
    for (size_t i = 0; i < XPOOLS; i++) {
        const ALLOC_Allocator* const pool = xpools[i];
        egb_xwrite_line_(pool->objectSize, pool->poolIndex, pool->blocksInUse);
    }
}

// No pool is aligned to more.
void* egb_xmalloc_aligned_(size_t align, size_t size)
{
    return align <= ALLOC_MEM_ALIGN ? XALLOC_Alloc(&xpool_data, size) : NULL;
}

void egb_xtrim_(void) {}

// ---- nodes of containers: blocks as all others --------------------------------------------------

#if !defined(_WIN32)
static egb_xnodes_ no_nodes[EGB_XNODE_STEPS_];

__thread egb_xnodes_* egb_xnodes_here_ __attribute__((tls_model("initial-exec"))) = no_nodes;
#endif

bool egb_xnodes_begin_(void)
{
    return false;
}

void egb_xnodes_end_(void) {}

void* egb_xnode_new_(size_t step)
{
    return XALLOC_Alloc(&xpool_data, step * EGB_XNODE_STEP_BYTES_);
}

void egb_xnode_free_(size_t step, void* node)
{
    (void)step;
    XALLOC_Free(node);
}

egb_pool egb_xclass_pool_(size_t size, size_t* block_bytes)
{
    const egb_pool none = {0, 0};
    (void)size;
    (void)block_bytes;
    return none;
}
