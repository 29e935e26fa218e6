// SPDX-License-Identifier: MIT
// Layer faces, compatibility: shared by stl_allocator.h and xallocator.c. Everything here is
// private.
//
// Nodes of containers come from pools, too, one for each 8 bytes of size. That is tighter than the
// size classes of xmalloc(), in whose numbers the nodes are counted. Each thread keeps nodes that
// its containers gave back, linked through the nodes themselves: a container does not free twice.
// Nodes go straight to their pool when the thread is ending, and at levels other than "check",
// because these check every block.
#ifndef EGGBOX_COMPAT_STL_NODES_H
#define EGGBOX_COMPAT_STL_NODES_H

#include "../heap.h"

EGB_C_BEGIN_

// The sizes of nodes, and the bytes that a thread keeps of each size at most.
enum { EGB_XNODE_STEP_BYTES_ = 8, EGB_XNODE_BYTES_MAX_ = 512, EGB_XNODE_KEPT_BYTES_ = 1 << 19 };
enum { EGB_XNODE_STEPS_ = EGB_XNODE_BYTES_MAX_ / EGB_XNODE_STEP_BYTES_ + 1 };

typedef struct EGB_MAY_ALIAS egb_xnode_ {
    struct egb_xnode_* next;
} egb_xnode_;

// The nodes of one size that a thread keeps.
typedef struct egb_xnodes_ {
    egb_xnode_* newest;  // NULL: none
    size_t      room;    // for more nodes; 0: also if none are kept
    size_t      most;    // the initial value of room; 0: no node was kept yet
} egb_xnodes_;

// The thread's nodes, by size. It starts at a table that has no nodes and takes none.
#if !defined(_WIN32)
extern __thread egb_xnodes_* egb_xnodes_here_ __attribute__((tls_model("initial-exec")));
#endif

// Makes the thread's table. False: the thread has one, or is ending, or there is no memory.
bool egb_xnodes_begin_(void);

// Gives all nodes of the thread back. It keeps none from now on.
void egb_xnodes_end_(void);

// Takes a node from the pool of this size; NULL: no memory. Gives a node to the thread's table, or
// to the pool.
EGB_COLD void* egb_xnode_new_(size_t step);
EGB_COLD void  egb_xnode_free_(size_t step, void* node);

// Returns the pool that serves xmalloc(size), made now if it does not exist, and its block size.
// The null pool: refused, or `size` is too large for any class.
egb_pool egb_xclass_pool_(size_t size, size_t* block_bytes);

EGB_C_END_

#endif  // EGGBOX_COMPAT_STL_NODES_H
