// SPDX-License-Identifier: MIT
// How the chunks of a growing pool hang together: a tree by address, in which free finds a block's
// chunk, and a list of those with a free block, from which alloc takes. Both run through the
// chunks' headers and need no other memory.
//
// The tree is a treap: by address from left to right, and no chunk has a lower priority than those
// below it. Priorities look random, so the tree is as deep as one that was built in random order,
// whatever the order of the addresses, and every step is a loop.
#include "growing_private.h"

// The chunk's priority, mixed from its address.
static uint32_t priority_of(const egb_chunk_* chunk)
{
    const uintptr_t address = (uintptr_t)chunk;
    uint32_t        mixed   = (uint32_t)(address >> 4) ^ (uint32_t)(address >> 16 >> 16);
    mixed                   = (mixed ^ mixed >> 16) * UINT32_C(0x7FEB352D);
    mixed                   = (mixed ^ mixed >> 15) * UINT32_C(0x846CA68B);
    return mixed ^ mixed >> 16;
}

static bool stands_before(const egb_chunk_* chunk, const egb_chunk_* other)
{
    return (uintptr_t)chunk < (uintptr_t)other;
}

void egb_tree_add_(egb_chunk_** root, egb_chunk_* chunk)
{
    const uint32_t priority = priority_of(chunk);
    egb_chunk_**   place    = root;
    while (*place != NULL && priority_of(*place) >= priority) {
        place = stands_before(chunk, *place) ? &(*place)->left : &(*place)->right;
    }
    // The subtree that stood here is divided among the two sides of the new chunk.
    egb_chunk_*  rest  = *place;
    egb_chunk_** left  = &chunk->left;
    egb_chunk_** right = &chunk->right;
    *place             = chunk;
    while (rest != NULL) {
        if (stands_before(chunk, rest)) {
            *right = rest;
            right  = &rest->left;
            rest   = *right;
        } else {
            *left = rest;
            left  = &rest->right;
            rest  = *left;
        }
    }
    *left  = NULL;
    *right = NULL;
}

void egb_tree_remove_(egb_chunk_** root, egb_chunk_* chunk)
{
    egb_chunk_** place = root;
    while (*place != chunk) {
        place = stands_before(chunk, *place) ? &(*place)->left : &(*place)->right;
    }
    // Its two sides become one in its place.
    egb_chunk_* left  = chunk->left;
    egb_chunk_* right = chunk->right;
    while (left != NULL && right != NULL) {
        if (priority_of(left) >= priority_of(right)) {
            *place = left;
            place  = &left->right;
            left   = *place;
        } else {
            *place = right;
            place  = &right->left;
            right  = *place;
        }
    }
    *place = left != NULL ? left : right;
}

egb_chunk_* egb_tree_after_(egb_chunk_* root, uintptr_t address)
{
    egb_chunk_* found = NULL;
    while (root != NULL) {
        if ((uintptr_t)root->region > address) {
            found = root;
            root  = root->left;
        } else {
            root = root->right;
        }
    }
    return found;
}

bool egb_tree_is_ordered_at_(const egb_chunk_* chunk)
{
    const uint32_t priority = priority_of(chunk);
    return (chunk->left == NULL || priority_of(chunk->left) <= priority) &&
           (chunk->right == NULL || priority_of(chunk->right) <= priority);
}

egb_chunk_* egb_growing_chunk_of_(const egb_growing* pool, const void* address)
{
    egb_chunk_* chunk = pool->tree;
    while (chunk != NULL) {
        if ((uintptr_t)address < (uintptr_t)chunk->region) {
            chunk = chunk->left;
        } else if ((uintptr_t)address - (uintptr_t)chunk->region < chunk->region_bytes) {
            break;
        } else {
            chunk = chunk->right;
        }
    }
    return chunk;
}

void egb_growing_each_chunk_(
    const egb_growing* pool, void (*visit)(egb_chunk_* chunk, void* user), void* user
)
{
    egb_chunk_* chunk = egb_tree_after_(pool->tree, 0);
    while (chunk != NULL) {
        visit(chunk, user);
        chunk = egb_tree_after_(pool->tree, (uintptr_t)chunk->region);
    }
}

// ---- the list -----------------------------------------------------------------------------------

// Not the list of util.h: `previous` of the first chunk is the last one, which costs no word.

void egb_available_add_first_(egb_growing* pool, egb_chunk_* chunk)
{
    egb_chunk_* const first = pool->available;
    chunk->next             = first;
    chunk->previous         = chunk;
    if (first != NULL) {
        chunk->previous = first->previous;
        first->previous = chunk;
    }
    pool->available = chunk;
}

void egb_available_add_last_(egb_growing* pool, egb_chunk_* chunk)
{
    egb_chunk_* const first = pool->available;
    if (first == NULL) {
        egb_available_add_first_(pool, chunk);
        return;
    }
    chunk->next           = NULL;
    chunk->previous       = first->previous;
    first->previous->next = chunk;
    first->previous       = chunk;
}

void egb_available_remove_(egb_growing* pool, egb_chunk_* chunk)
{
    egb_chunk_* const next = chunk->next;
    if (chunk == pool->available) {
        pool->available = next;
    } else {
        chunk->previous->next = next;
    }
    egb_chunk_* const behind = next != NULL ? next : pool->available;  // whoever points back at it
    if (behind != NULL) {
        behind->previous = chunk->previous;
    }
    chunk->next     = NULL;
    chunk->previous = NULL;
}

void egb_growing_prefer_(egb_growing* pool, egb_chunk_* chunk)
{
    if (chunk != pool->available) {
        egb_available_remove_(pool, chunk);
        egb_available_add_first_(pool, chunk);
    }
}
