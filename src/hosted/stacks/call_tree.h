// SPDX-License-Identifier: MIT
// The tree of calls: a node is a call and the node of the call around it, so a stack is the node of
// its innermost call, and stacks share the nodes of outer calls. Each node is there once. Threads
// add nodes without a lock, and none ever goes.
//
// Wild writes of the program may come here: no step leaves the tree, and none goes on for ever.
#ifndef EGGBOX_SRC_HOSTED_STACKS_CALL_TREE_H
#define EGGBOX_SRC_HOSTED_STACKS_CALL_TREE_H

#include "eggbox/base.h"

// Nodes have numbers from 1 on. On a 64-bit system they take 64 MiB of addresses, unless the trees
// are cut, and the heads of the lists 2 MiB. Memory comes with use.
enum {
    EGB_CALL_NODES = sizeof(void*) < 8 ? 1 << 20 : 1 << 22,
    EGB_CALL_HEADS = sizeof(void*) < 8 ? 1 << 17 : 1 << 19
};

typedef struct egb_call_node {
    const void* address;
    uint32_t    parent;  // atomic: its number, 0 for the outermost call; the mark of a site
    uint32_t    next;    // the next node of the same head; 0: none
} egb_call_node;

// All zero at first.
typedef struct egb_call_tree {
    uint32_t used;  // atomic: the highest number
    // Atomic: the newest node of the list; 0: none.
    EGB_ALIGNAS_(64) uint32_t heads[EGB_CALL_HEADS];
    egb_call_node nodes[EGB_CALL_NODES];
} egb_call_tree;

// From now on all trees have so many nodes, a power of two. Those behind them need no memory. No
// tree has a node yet.
void egb_call_trees_cut_(uint32_t nodes);

// The bytes of a tree with so many nodes.
size_t egb_call_tree_bytes_(uint32_t nodes);

// The node of a call in a call with the node `parent`; if it is new, it is added. 0: there is no
// room. Lock-free.
uint32_t egb_call_tree_find_(egb_call_tree* tree, uint32_t parent, const void* address);

// Whether there is no room for another node.
bool egb_call_tree_is_full_(const egb_call_tree* tree);

// Marks the node of a site, and returns a pointer to it; whether a pointer leads to such a node.
const void* egb_call_tree_mark_(egb_call_tree* tree, uint32_t node);
bool        egb_call_tree_has_(const egb_call_tree* tree, const void* site);

// The addresses of a stack, the innermost first, `most` at most. Returns their number. `out` may be
// NULL.
size_t
egb_call_tree_read_(const egb_call_tree* tree, const void* site, const void** out, size_t most);

#endif  // EGGBOX_SRC_HOSTED_STACKS_CALL_TREE_H
