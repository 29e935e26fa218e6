// SPDX-License-Identifier: MIT
// Address ranges in a tree: see range.h.
#include "range.h"

// The deepest search. A tree of 2^32 ranges is less than half as deep as a rule; the bound ends the
// search of a signal handler that meets a tree in the middle of a change.
enum { STEPS_MAX = 160 };

static uint32_t priority_of(const egb_range* range)
{
    const uintptr_t address = (uintptr_t)range;
    uint32_t        mixed   = (uint32_t)(address >> 4) ^ (uint32_t)(address >> 16 >> 16);
    mixed                   = (mixed ^ mixed >> 16) * UINT32_C(0x7FEB352D);
    mixed                   = (mixed ^ mixed >> 15) * UINT32_C(0x846CA68B);
    return mixed ^ mixed >> 16;
}

static bool stands_before(const egb_range* range, const egb_range* other)
{
    return (uintptr_t)range->start < (uintptr_t)other->start;
}

void egb_range_add_(egb_range** root, egb_range* range)
{
    const uint32_t priority = priority_of(range);
    egb_range**    place    = root;
    while (*place != NULL && priority_of(*place) >= priority) {
        place = stands_before(range, *place) ? &(*place)->left : &(*place)->right;
    }
    // The subtree that stood here is divided among the two sides of the new range.
    egb_range*  rest  = *place;
    egb_range** left  = &range->left;
    egb_range** right = &range->right;
    *place            = range;
    while (rest != NULL) {
        if (stands_before(range, rest)) {
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

void egb_range_remove_(egb_range** root, const egb_range* range)
{
    egb_range** place = root;
    while (*place != range) {
        place = stands_before(range, *place) ? &(*place)->left : &(*place)->right;
    }
    // Its two sides become one in its place.
    egb_range* left  = range->left;
    egb_range* right = range->right;
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

egb_range* egb_range_find_(egb_range* root, const void* address)
{
    egb_range* range = root;
    for (int step = 0; range != NULL && step < STEPS_MAX; step++) {
        if ((uintptr_t)address < (uintptr_t)range->start) {
            range = range->left;
        } else if ((uintptr_t)address - (uintptr_t)range->start < range->bytes) {
            return range;
        } else {
            range = range->right;
        }
    }
    return NULL;
}

egb_range* egb_range_after_(egb_range* root, uintptr_t address)
{
    egb_range* found = NULL;
    while (root != NULL) {
        if ((uintptr_t)root->start > address) {
            found = root;
            root  = root->left;
        } else {
            root = root->right;
        }
    }
    return found;
}

bool egb_range_is_ordered_at_(const egb_range* range)
{
    const uint32_t priority = priority_of(range);
    return (range->left == NULL || priority_of(range->left) <= priority) &&
           (range->right == NULL || priority_of(range->right) <= priority);
}
