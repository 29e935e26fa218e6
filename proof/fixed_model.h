// SPDX-License-Identifier: MIT
// A model of a fixed pool: which blocks it has, which are free and in what order. It exists only in
// the proof, as ghost variables, and defines when a pool in memory is whole.
#ifndef EGGBOX_PROOF_FIXED_MODEL_H
#define EGGBOX_PROOF_FIXED_MODEL_H

#include "fixed_private.h"

// Distances count words from block 0, as the pool's own do. A link is a word, so is every distance.
#define WORDS_MAX 0x100000000

#define FRESH  0  // no touched block starts here
#define FREE   1
#define IN_USE 2

//@ ghost uint32_t capacity;             // blocks of the pool
//@ ghost uint32_t touched;              // blocks handed out at least once since init or clear
//@ ghost uint32_t misuses;              // events that the handler got
//@ ghost uint8_t  state[WORDS_MAX];     // of the block at a distance
//@ ghost uint32_t number[WORDS_MAX];    // its index
//@ ghost uint32_t stack[WORDS_MAX];     // distances of the free blocks, the newest last
//@ ghost uint32_t free_count;
//@ ghost uint32_t rank[WORDS_MAX];      // where in `stack` a free block stands
//@ ghost uint32_t held[WORDS_MAX];      // distances of the blocks in use, in any order
//@ ghost uint32_t held_count;
//@ ghost uint32_t place[WORDS_MAX];     // where in `held` a block in use stands

/*@ // What init and resize leave and nothing else changes.
    predicate laid_out(egb_fixed* pool) =
      \valid(pool) && pool->first != \null && 1 <= pool->stride && 1 <= capacity &&
      capacity * pool->stride <= WORDS_MAX &&
      pool->reach == (capacity - 1) * pool->stride + 1 &&
      \valid(pool->first + (0 .. capacity * pool->stride - 1)) &&
      \separated(pool, pool->first + (0 .. capacity * pool->stride - 1));

    predicate bounded(egb_fixed* pool) =
      laid_out(pool) && touched <= capacity &&
      touched * pool->stride <= capacity * pool->stride &&
      pool->bound == (touched == 0 ? 0 : (touched - 1) * pool->stride + 1);

    lemma products:
      \forall integer k, n, stride; 0 <= k < n && 0 < stride ==> k * stride + stride <= n * stride;

    // The touched blocks are those that the model knows, and no two overlap.
    predicate kinds =
      \forall integer d; 0 <= d < WORDS_MAX ==>
        state[d] == FRESH || state[d] == FREE || state[d] == IN_USE;
    predicate placed(integer stride, integer end) =
      \forall integer d; 0 <= d < WORDS_MAX && state[d] != FRESH ==> d + stride <= end;
    predicate apart(integer stride) =
      \forall integer d, e; 0 <= d < e < WORDS_MAX && state[d] != FRESH && state[e] != FRESH ==>
        d + stride <= e;
    // Where block k starts. A name for a product, because provers look for names; an axiom, because
    // they would see through a definition.
    axiomatic starts {
      logic integer start(integer k, integer stride);
      axiom start_is_product: \forall integer k, stride; start(k, stride) == k * stride;
    }

    predicate numbered(integer n, integer stride) =
      (\forall integer d; 0 <= d < WORDS_MAX && state[d] != FRESH ==>
        0 <= number[d] < n && d == start(number[d], stride)) &&
      (\forall integer k; 0 <= k < n ==>
        0 <= start(k, stride) < WORDS_MAX && state[start(k, stride)] != FRESH);
    predicate blocks(integer stride) =
      kinds && placed(stride, touched * stride) && apart(stride) && numbered(touched, stride) &&
      state[EGB_FIXED_NONE_] == FRESH;

    // `stack` holds every free block once, `held` every block in use once.
    predicate stacked =
      (\forall integer r; 0 <= r < free_count ==> state[stack[r]] == FREE && rank[stack[r]] == r) &&
      (\forall integer d; 0 <= d < WORDS_MAX && state[d] == FREE ==>
        0 <= rank[d] < free_count && stack[rank[d]] == d);
    predicate held_are_in_use =
      \forall integer r; 0 <= r < held_count ==> state[held[r]] == IN_USE && place[held[r]] == r;
    predicate in_use_are_held =
      \forall integer d; 0 <= d < WORDS_MAX && state[d] == IN_USE ==>
        0 <= place[d] < held_count && held[place[d]] == d;
    predicate counted =
      free_count + held_count == touched && stacked && held_are_in_use && in_use_are_held;

    // The list in memory is that stack: it holds the free blocks, each once, and it ends.
    predicate headed(egb_fixed* pool) =
      pool->head == (free_count == 0 ? EGB_FIXED_NONE_ : stack[free_count - 1]);
    predicate linked(egb_fixed* pool) =
      \forall integer d; 0 <= d < WORDS_MAX && state[d] == FREE ==>
        pool->first[d] == (rank[d] == 0 ? EGB_FIXED_NONE_ : stack[rank[d] - 1]);

    predicate whole(egb_fixed* pool) =
      bounded(pool) && blocks(pool->stride) && counted && headed(pool) && linked(pool);

    predicate marked(egb_fixed* pool) =
      pool->mode == EGB_FIXED_MARKED_ && 2 <= pool->stride && pool->limit == touched &&
      (\forall integer d; 0 <= d < WORDS_MAX && state[d] == FREE ==>
        pool->first[d + 1] == EGB_FIXED_MARK_);

    predicate exhausted(egb_fixed* pool) =
      touched == capacity &&
      (\forall integer d; 0 <= d < WORDS_MAX ==> state[d] != FREE);

    predicate in_use(egb_fixed* pool, egb_word* block) =
      0 <= block - pool->first < WORDS_MAX && state[block - pool->first] == IN_USE &&
      block == pool->first + (block - pool->first);

    lemma in_use_by_distance:
      \forall egb_fixed* pool, integer d; 0 <= d < WORDS_MAX && state[d] == IN_USE ==>
        in_use(pool, pool->first + d);

    predicate can_pop(egb_fixed* pool) =
      pool->head < pool->bound && pool->first[pool->head + 1] == EGB_FIXED_MARK_;

    logic integer last_popped(egb_fixed* pool) =
      pool->head < pool->bound && pool->first[pool->head + 1] == EGB_FIXED_MARK_
        ? pool->head + 1 : pool->head;

    logic integer next_fresh(egb_fixed* pool) = touched * pool->stride;

    // Second words that a call writes end here, and begin one word after the block does.
    logic integer last_cleared(egb_fixed* pool) =
      next_fresh(pool) + (touched < capacity ? 1 : 0);

    predicate same_shape{A, B}(egb_fixed* pool) =
      \at(pool->first, A) == \at(pool->first, B) && \at(pool->stride, A) == \at(pool->stride, B) &&
      \at(pool->reach, A) == \at(pool->reach, B) && \at(pool->mode, A) == \at(pool->mode, B);

    predicate unchanged{A, B}(egb_fixed* pool) =
      \at(pool->head, A) == \at(pool->head, B) && \at(pool->bound, A) == \at(pool->bound, B) &&
      \at(pool->limit, A) == \at(pool->limit, B);

    // The words of the region, all but those of the link and mark at `block`.
    predicate kept_but{A, B}(egb_fixed* pool, egb_word* block) =
      \forall integer d; 0 <= d < \at(capacity * pool->stride, A) &&
        \at(pool->first, A) + d != block && \at(pool->first, A) + d != block + 1 ==>
        \at(pool->first[d], A) == \at(pool->first[d], B);

    predicate kept_but_word{A, B}(egb_fixed* pool, integer word) =
      \forall integer d; 0 <= d < \at(capacity * pool->stride, A) && d != word ==>
        \at(pool->first[d], A) == \at(pool->first[d], B);

    predicate kept{A, B}(egb_fixed* pool) =
      \forall integer d; 0 <= d < \at(capacity * pool->stride, A) ==>
        \at(pool->first[d], A) == \at(pool->first[d], B);

    predicate only{A, B}(integer d) =
      \forall integer e; 0 <= e < WORDS_MAX && e != d ==> \at(state[e], A) == \at(state[e], B);
*/

#endif  // EGGBOX_PROOF_FIXED_MODEL_H
