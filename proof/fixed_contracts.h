// SPDX-License-Identifier: MIT
// The promises of each shipped function to the proof. A contract is on a declaration of its own, so
// the shipped sources need no annotation and are proved where they stand.
#ifndef EGGBOX_PROOF_FIXED_CONTRACTS_H
#define EGGBOX_PROOF_FIXED_CONTRACTS_H

#include "fixed_model.h"

// ---- trusted: what lies outside the memory model of the proof ------------------------------

/*@ requires laid_out(pool);
    assigns \nothing;
    ensures \result < capacity * pool->stride ==> (egb_word*)address == pool->first + \result;
    ensures \forall integer d; 0 <= d < WORDS_MAX ==>
      (egb_word*)address == pool->first + d ==> \result == d;
    ensures in_use(pool, (egb_word*)address) ==> \result == (egb_word*)address - pool->first;
*/
EGB_INLINE size_t egb_fixed_distance_(const egb_fixed* pool, const void* address);

/*@ requires laid_out(pool);
    assigns \nothing;
    ensures \result < capacity ==> distance == start(\result, pool->stride);
    ensures \forall integer i; 0 <= i < capacity ==>
      distance == start(i, pool->stride) ==> \result == i;
*/
EGB_INLINE size_t egb_fixed_index_(const egb_fixed* pool, size_t distance);

/*@ requires laid_out(pool);
    assigns \nothing;
    ensures \result < capacity ==>
      (egb_word*)address == pool->first + start(\result, pool->stride);
    ensures \forall integer i; 0 <= i < capacity ==>
      (egb_word*)address == pool->first + start(i, pool->stride) ==> \result == i;
*/
EGB_INLINE size_t egb_fixed_index_at_(const egb_fixed* pool, const void* address);

// The next five are not reached by a pool with marks while its list is whole.

/*@ requires \false;
    assigns \nothing;
*/
void* egb_fixed_drop_list_(egb_fixed* pool, const void* site);

/*@ requires \false;
    assigns \nothing;
*/
void* egb_fixed_alloc_live_(egb_fixed* pool, const void* site);

/*@ requires \false;
    assigns \nothing;
*/
void* egb_fixed_alloc_plain_(egb_fixed* pool, const void* site);

/*@ requires \false;
    assigns \nothing;
*/
EGB_INLINE bool egb_fixed_push_live_(egb_fixed* pool, size_t distance);

/*@ requires \false;
    assigns \nothing;
*/
bool egb_fixed_push_plain_(egb_fixed* pool, size_t distance);

/*@ assigns misuses;
    ensures misuses == (uint32_t)(\old(misuses) + 1);
*/
void egb_fixed_report_free_(const egb_fixed* pool, const void* address, const void* site);

// ---- proved ---------------------------------------------------------------------------------

/*@ requires pool == \null || \valid(pool);
    assigns \nothing;
    ensures \result != 0 <==> pool != \null && pool->first != \null;
*/
static inline bool egb_fixed_is_made_(const egb_fixed* pool);

/*@ requires \valid(pool) && pool->first != \null;
    assigns \nothing;
    ensures \result != 0;
*/
static inline bool egb_fixed_is_made_or_told_(const egb_fixed* pool, const void* site);

/*@ requires \valid_read(pool);
    assigns \nothing;
*/
static inline bool egb_fixed_has_bits_(const egb_fixed* pool);

/*@ requires bounded(pool);
    requires touched > 0 ==> pool->bound == start(touched - 1, pool->stride) + 1;  // a hint
    assigns \nothing;
    ensures \result == touched;
*/
static inline uint32_t egb_fixed_count_touched_(const egb_fixed* pool);

/*@ requires bounded(pool) && known == touched;
    assigns pool->bound;
    behavior fresh:
      assumes touched < capacity;
      ensures \result == pool->first + next_fresh(pool) && \result != \null;
      ensures pool->bound == next_fresh(pool) + 1;
      ensures next_fresh(pool) + pool->stride <= capacity * pool->stride;
    behavior none:
      assumes touched == capacity;
      ensures \result == \null && pool->bound == \old(pool->bound);
    complete behaviors;
    disjoint behaviors;
*/
static inline egb_word* egb_fixed_take_fresh_(egb_fixed* pool, uint32_t known);

/*@ requires laid_out(pool) && distance < capacity * pool->stride;
    assigns \nothing;
    ensures \result == pool->first + distance;
*/
EGB_INLINE egb_word* egb_fixed_block_(const egb_fixed* pool, uint32_t distance);

/*@ requires bounded(pool) && blocks(pool->stride) && pool->head == EGB_FIXED_NONE_;
    requires pool->mode == EGB_FIXED_MARKED_ && 2 <= pool->stride && pool->limit == touched;
    assigns pool->bound, pool->limit, pool->first[next_fresh(pool) + 1 .. last_cleared(pool)];
    ensures shape: same_shape{Pre, Post}(pool) && pool->head == \old(pool->head);
    behavior fresh:
      assumes touched < capacity;
      ensures (egb_word*)\result == pool->first + next_fresh(pool) && \result != \null;
      ensures pool->bound == next_fresh(pool) + 1 && pool->limit == \old(pool->limit) + 1;
    behavior none:
      assumes touched == capacity;
      ensures \result == \null && pool->bound == \old(pool->bound);
      ensures pool->limit == \old(pool->limit);
    complete behaviors;
    disjoint behaviors;
*/
void* egb_fixed_alloc_marked_at_(egb_fixed* pool, const void* site);

/*@ requires bounded(pool) && blocks(pool->stride) && pool->head == EGB_FIXED_NONE_;
    requires pool->mode == EGB_FIXED_MARKED_ && 2 <= pool->stride && pool->limit == touched;
    assigns pool->bound, pool->limit, pool->first[next_fresh(pool) + 1 .. last_cleared(pool)];
    ensures shape: same_shape{Pre, Post}(pool) && pool->head == \old(pool->head);
    behavior fresh:
      assumes touched < capacity;
      ensures (egb_word*)\result == pool->first + next_fresh(pool) && \result != \null;
      ensures pool->bound == next_fresh(pool) + 1 && pool->limit == \old(pool->limit) + 1;
    behavior none:
      assumes touched == capacity;
      ensures \result == \null && pool->bound == \old(pool->bound);
      ensures pool->limit == \old(pool->limit);
    complete behaviors;
    disjoint behaviors;
*/
EGB_COLD void* egb_fixed_alloc_cold_(egb_fixed* pool);

/*@ requires bounded(pool) && 2 <= pool->stride;
    assigns \nothing;
    ensures \result != 0 <==> can_pop(pool);
*/
EGB_INLINE bool egb_fixed_can_pop_(const egb_fixed* pool);

/*@ requires bounded(pool) && 2 <= pool->stride && pool->head < pool->bound;
    assigns pool->head, pool->first[pool->head + 1];
    ensures (egb_word*)\result == pool->first + \old(pool->head) && \result != \null;
    ensures pool->head == \old(pool->first[pool->head]);
    ensures pool->first[\old(pool->head) + 1] == 0;
    ensures shape: same_shape{Pre, Post}(pool);
*/
EGB_INLINE void* egb_fixed_pop_(egb_fixed* pool);

/*@ requires bounded(pool) && blocks(pool->stride);
    requires pool->mode == EGB_FIXED_MARKED_ && 2 <= pool->stride && pool->limit == touched;
    requires can_pop(pool) || pool->head == EGB_FIXED_NONE_;
    assigns pool->head, pool->bound, pool->limit,
            pool->first[pool->head + 1 .. last_popped(pool)],
            pool->first[next_fresh(pool) + 1 .. last_cleared(pool)];
    ensures shape: same_shape{Pre, Post}(pool);
    behavior recycled:
      assumes can_pop(pool);
      ensures (egb_word*)\result == pool->first + \old(pool->head) && \result != \null;
      ensures pool->head == \old(pool->first[pool->head]);
      ensures pool->bound == \old(pool->bound) && pool->limit == \old(pool->limit);
    behavior fresh:
      assumes !can_pop(pool) && touched < capacity;
      ensures (egb_word*)\result == pool->first + next_fresh(pool) && \result != \null;
      ensures pool->head == EGB_FIXED_NONE_;
      ensures pool->bound == next_fresh(pool) + 1 && pool->limit == touched + 1;
    behavior none:
      assumes !can_pop(pool) && touched == capacity;
      ensures \result == \null && pool->head == EGB_FIXED_NONE_;
      ensures pool->bound == \old(pool->bound) && pool->limit == \old(pool->limit);
    complete behaviors;
    disjoint behaviors;
*/
EGB_INLINE void* egb_fixed_alloc(egb_fixed* pool);

/*@ requires bounded(pool) && blocks(pool->stride) && known == touched;
    requires \valid(at) && \separated(at, pool);
    requires \separated(at, pool->first + (0 .. capacity * pool->stride - 1));
    assigns *at;
    ensures \result != 0 ==> \old(state[*at]) != FRESH;
    ensures \result == 0 ==> \old(state[*at]) == FRESH;
    ensures *at == (\result != 0 ? \old(pool->first[*at]) : \old(*at));
*/
static inline bool egb_fixed_step_(const egb_fixed* pool, uint32_t known, uint32_t* at);

/*@ requires whole(pool) && marked(pool) && state[wanted] != FRESH;
    requires at == pool->head && known == touched;
    assigns \nothing;
    ensures \result != 0 ==> state[wanted] == FREE;
    ensures \result == 0 ==> state[wanted] == IN_USE;
*/
bool egb_fixed_leads_to_(const egb_fixed* pool, uint32_t known, uint32_t at, uint32_t wanted);

/*@ requires whole(pool) && marked(pool);
    requires distance < WORDS_MAX && state[distance] == IN_USE ==>
      pool->first[distance + 1] == EGB_FIXED_MARK_;
    assigns pool->head, pool->first[0 .. capacity * pool->stride - 1];
    ensures \result != 0 ==> distance < WORDS_MAX && state[distance] == IN_USE;
    ensures \result == 0 && distance < WORDS_MAX ==> state[distance] != IN_USE;
    ensures \result != 0 ==>
      pool->head == distance && pool->first[distance] == \old(pool->head) &&
      kept_but_word{Pre, Post}(pool, distance);
    ensures \result == 0 ==> pool->head == \old(pool->head) && kept{Pre, Post}(pool);
*/
bool egb_fixed_push_marked_(egb_fixed* pool, size_t distance);

/*@ requires whole(pool) && marked(pool);
    requires distance < WORDS_MAX && state[distance] == IN_USE ==>
      pool->first[distance + 1] == EGB_FIXED_MARK_;
    assigns pool->head, pool->first[0 .. capacity * pool->stride - 1];
    ensures \result != 0 ==> distance < WORDS_MAX && state[distance] == IN_USE;
    ensures \result == 0 && distance < WORDS_MAX ==> state[distance] != IN_USE;
    ensures \result != 0 ==>
      pool->head == distance && pool->first[distance] == \old(pool->head) &&
      kept_but_word{Pre, Post}(pool, distance);
    ensures \result == 0 ==> pool->head == \old(pool->head) && kept{Pre, Post}(pool);
*/
static bool push_cold(egb_fixed* pool, size_t distance);

/*@ requires whole(pool) && marked(pool);
    requires in_use(pool, (egb_word*)block) ==> *((egb_word*)block + 1) == EGB_FIXED_MARK_;
    assigns pool->head, pool->first[0 .. capacity * pool->stride - 1], misuses;
    behavior null:
      assumes block == \null;
      ensures pool->head == \old(pool->head) && misuses == \old(misuses) && kept{Pre, Post}(pool);
    behavior valid:
      assumes in_use(pool, (egb_word*)block);
      ensures misuses == \old(misuses) && kept_but{Pre, Post}(pool, (egb_word*)block);
      ensures *(egb_word*)block == \old(pool->head);
      ensures *((egb_word*)block + 1) == EGB_FIXED_MARK_;
      ensures pool->first + pool->head == (egb_word*)block;
    behavior refused:
      assumes block != \null && !in_use(pool, (egb_word*)block);
      ensures misuses == (uint32_t)(\old(misuses) + 1);
      ensures pool->head == \old(pool->head) && kept{Pre, Post}(pool);
    complete behaviors;
    disjoint behaviors;
*/
EGB_COLD void egb_fixed_free_cold_(egb_fixed* pool, void* block);

/*@ requires laid_out(pool);
    requires index < pool->limit ==> \valid_read((egb_word*)block + 1);
    assigns \nothing;
    ensures \result != 0 <==>
      index < pool->limit && *((egb_word*)block + 1) != EGB_FIXED_MARK_;
*/
EGB_INLINE bool egb_fixed_can_push_at_(const egb_fixed* pool, const void* block, size_t index);

/*@ requires whole(pool) && marked(pool);
    assigns \nothing;
    ensures \result != 0 ==> (egb_word*)block == pool->first + ((egb_word*)block - pool->first);
    ensures \result != 0 ==> *((egb_word*)block + 1) != EGB_FIXED_MARK_;
    ensures \result != 0 ==> in_use(pool, (egb_word*)block);
    ensures \result == 0 && in_use(pool, (egb_word*)block) ==>
      *((egb_word*)block + 1) == EGB_FIXED_MARK_;
*/
EGB_INLINE bool egb_fixed_can_push_(const egb_fixed* pool, const void* block);

/*@ requires whole(pool) && marked(pool) && in_use(pool, (egb_word*)block);
    assigns pool->head, *((egb_word*)block + (0 .. 1));
    ensures *(egb_word*)block == \old(pool->head);
    ensures *((egb_word*)block + 1) == EGB_FIXED_MARK_;
    ensures pool->first + pool->head == (egb_word*)block;
    ensures others: kept_but{Pre, Post}(pool, (egb_word*)block);
*/
EGB_INLINE void egb_fixed_push_(egb_fixed* pool, void* block);

/*@ requires whole(pool) && marked(pool);
    assigns pool->head, pool->first[0 .. capacity * pool->stride - 1], misuses;
    behavior null:
      assumes block == \null;
      ensures pool->head == \old(pool->head) && misuses == \old(misuses) && kept{Pre, Post}(pool);
    behavior valid:
      assumes in_use(pool, (egb_word*)block);
      ensures misuses == \old(misuses);
      ensures others: kept_but{Pre, Post}(pool, (egb_word*)block);
      ensures *(egb_word*)block == \old(pool->head);
      ensures *((egb_word*)block + 1) == EGB_FIXED_MARK_;
      ensures pool->first + pool->head == (egb_word*)block;
    behavior refused:
      assumes block != \null && !in_use(pool, (egb_word*)block);
      ensures misuses == (uint32_t)(\old(misuses) + 1);
      ensures pool->head == \old(pool->head) && kept{Pre, Post}(pool);
    complete behaviors;
    disjoint behaviors;
*/
EGB_INLINE void egb_fixed_free(egb_fixed* pool, void* block);

#endif  // EGGBOX_PROOF_FIXED_CONTRACTS_H
