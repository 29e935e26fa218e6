// SPDX-License-Identifier: MIT
// A hash table with lists, the newest node first. A node is complete before its list has it, and
// then only its mark changes.
#include "call_tree.h"

#include "../../core/util.h"

#define SITE_MARK ((uint32_t)1 << 31)

enum { LIST_STEPS_MAX = 512 };  // along a list of 8 nodes on average, when the tree is full

static uint32_t nodes_in_tree = EGB_CALL_NODES;

void egb_call_trees_cut_(uint32_t nodes)
{
    nodes_in_tree = nodes;
}

size_t egb_call_tree_bytes_(uint32_t nodes)
{
    return offsetof(egb_call_tree, nodes) + nodes * sizeof(egb_call_node);
}

static uint32_t parent_of(const egb_call_node* node)
{
    return __atomic_load_n(&node->parent, __ATOMIC_RELAXED) & ~SITE_MARK;
}

static egb_call_node* node_at(egb_call_tree* tree, uint32_t number)
{
    return &tree->nodes[number & (nodes_in_tree - 1)];
}

// The heads of the calls in one call are in one line of the cache: most calls that are looked for
// have the call around them in common with the one before.
static uint32_t* head_of(egb_call_tree* tree, uint32_t parent, const void* address)
{
    const uint64_t line = egb_mix_(parent) >> 49;  // the upper bits are the mixed ones
    const uint64_t in   = egb_mix_((uintptr_t)address) >> 60;
    return &tree->heads[(line << 4 | in) % EGB_CALL_HEADS];
}

// From `from` to `end`, which is not looked at. 0: it is not there.
static uint32_t
look_along(egb_call_tree* tree, uint32_t from, uint32_t end, uint32_t parent, const void* address)
{
    size_t steps = 0;
    for (uint32_t at = from; at != end && at != 0 && steps < LIST_STEPS_MAX; steps++) {
        const egb_call_node* const node = node_at(tree, at);
        if (node->address == address && parent_of(node) == parent) {
            return at;
        }
        at = node->next;
    }
    return 0;
}

bool egb_call_tree_is_full_(const egb_call_tree* tree)
{
    return __atomic_load_n(&tree->used, __ATOMIC_RELAXED) >= nodes_in_tree - 1;
}

// A new node that no list has yet. 0: there is no room.
static uint32_t add_node(egb_call_tree* tree, uint32_t parent, const void* address)
{
    if (egb_call_tree_is_full_(tree)) {
        return 0;
    }
    const uint32_t number = __atomic_add_fetch(&tree->used, 1, __ATOMIC_RELAXED);
    if (number >= nodes_in_tree) {
        return 0;
    }
    egb_call_node* const node = node_at(tree, number);
    node->address             = address;
    node->parent              = parent;
    return number;
}

// If another thread adds nodes to the list meanwhile, they are looked at, too. If the process forks
// meanwhile, the number is lost in the child.
uint32_t egb_call_tree_find_(egb_call_tree* tree, uint32_t parent, const void* address)
{
    uint32_t* const head  = head_of(tree, parent, address);
    uint32_t        first = __atomic_load_n(head, __ATOMIC_ACQUIRE);
    uint32_t        found = look_along(tree, first, 0, parent, address);
    const uint32_t  fresh = found == 0 ? add_node(tree, parent, address) : 0;
    while (fresh != 0 && found == 0) {
        const uint32_t seen        = first;
        node_at(tree, fresh)->next = first;
        if (__atomic_compare_exchange_n(
                head, &first, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE
            )) {
            return fresh;
        }
        found = look_along(tree, first, seen, parent, address);
    }
    return found;
}

const void* egb_call_tree_mark_(egb_call_tree* tree, uint32_t node)
{
    egb_call_node* const leaf = node_at(tree, node);
    if ((__atomic_load_n(&leaf->parent, __ATOMIC_RELAXED) & SITE_MARK) == 0) {
        (void)__atomic_fetch_or(&leaf->parent, SITE_MARK, __ATOMIC_RELAXED);
    }
    return leaf;
}

bool egb_call_tree_has_(const egb_call_tree* tree, const void* site)
{
    const uintptr_t away = (uintptr_t)site - (uintptr_t)tree->nodes;
    return away < nodes_in_tree * sizeof(egb_call_node) && away % sizeof(egb_call_node) == 0 &&
           (__atomic_load_n(&((const egb_call_node*)site)->parent, __ATOMIC_RELAXED) & SITE_MARK) !=
               0;
}

size_t
egb_call_tree_read_(const egb_call_tree* tree, const void* site, const void** out, size_t most)
{
    const egb_call_node* node  = site;
    size_t               count = 0;
    while (count < most && node != tree->nodes) {
        if (out != NULL) {
            out[count] = node->address;
        }
        count++;
        node = &tree->nodes[parent_of(node) & (nodes_in_tree - 1)];
    }
    return count;
}
