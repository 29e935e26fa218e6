// SPDX-License-Identifier: MIT
// Layer faces, compatibility: what stl_allocator.h and xallocator.c share. Everything here is
// private.
//
// Nodes of containers come from pools as well, one for each 8 bytes of size: tighter than the
// classes of xmalloc(), in whose numbers they count. In front of the pools each thread keeps nodes
// that its containers gave back, linked through the nodes themselves: a container does not free
// twice. At levels other than "check", where every block is to be looked at, and when the thread is
// ending, they go straight to the pool.
#ifndef EGGBOX_COMPAT_STL_NODES_H
#define EGGBOX_COMPAT_STL_NODES_H

#include "../heap.h"

#if defined(__cplusplus)
extern "C" {
#endif

// Sizes, and the most bytes that a thread keeps of each.
enum { EGB_XNODE_STEP_BYTES_ = 8, EGB_XNODE_BYTES_MAX_ = 512, EGB_XNODE_KEPT_BYTES_ = 1 << 19 };
enum { EGB_XNODE_STEPS_ = EGB_XNODE_BYTES_MAX_ / EGB_XNODE_STEP_BYTES_ + 1 };

typedef struct EGB_MAY_ALIAS egb_xnode_ {
    struct egb_xnode_* next;
} egb_xnode_;

// The nodes of one size that a thread keeps.
typedef struct egb_xnodes_ {
    egb_xnode_* newest;  // NULL: none
    size_t      room;    // how many more it takes; 0: also if it is not for this thread or pool
    size_t      most;    // what room began with; 0: it did not begin
} egb_xnodes_;

// A thread's, by size. It starts at a table that takes and has none.
#if !defined(_WIN32)
extern __thread egb_xnodes_* egb_xnodes_here_ __attribute__((tls_model("initial-exec")));
#endif

// Makes the thread's table. False: it has one, or is ending, or there is no memory.
bool egb_xnodes_begin_(void);

// Gives all nodes back, and keeps none from now on.
void egb_xnodes_end_(void);

// From the pool of this size; NULL: none. And to the thread's nodes, or the pool.
EGB_COLD void* egb_xnode_new_(size_t step);
EGB_COLD void  egb_xnode_free_(size_t step, void* node);

// The pool of the class that xmalloc(size) is of, made now if it is not there, and its block size.
// The null pool: refused, or of no class.
egb_pool egb_xclass_pool_(size_t size, size_t* block_bytes);

#if defined(__cplusplus)
}
#endif

#endif  // EGGBOX_COMPAT_STL_NODES_H
