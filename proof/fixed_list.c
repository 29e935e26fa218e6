// SPDX-License-Identifier: MIT
// The free list of the fixed pool, proved: see README.md. The shipped sources are included as they
// are; the functions after them join each call with its effect on the model. Their contracts
// therefore hold for a caller in every history of calls.
#include "fixed_contracts.h"

#include "fixed.c"
#include "fixed_marked.c"

// ---- the first state ------------------------------------------------------------------------

// The pool is whole after init and clear.
/*@ requires laid_out(pool) && pool->head == EGB_FIXED_NONE_ && pool->bound == 0;
    requires touched == 0 && free_count == 0 && held_count == 0;
    requires \forall integer d; 0 <= d < WORDS_MAX ==> state[d] == FRESH;
    assigns \nothing;
    ensures whole(pool);
    ensures pool->mode == EGB_FIXED_MARKED_ && 2 <= pool->stride && pool->limit == 0 ==>
      marked(pool);
*/
void begin(egb_fixed* pool)
{
    (void)pool;
}

// ---- what a call does to the model ----------------------------------------------------------

/*@ requires blocks(stride) && counted && 1 <= stride && touched * stride < WORDS_MAX + stride;
    requires free_count > 0 ==> d == stack[free_count - 1];
    requires free_count == 0 ==>
      d == touched * stride && d + stride <= WORDS_MAX && touched < EGB_FIXED_COUNT_MAX;
    requires d != EGB_FIXED_NONE_;
    assigns touched, state[d], number[d], free_count, held[held_count], held_count, place[d];
    ensures blocks(stride) && counted;
    ensures taken: \old(state[d]) != IN_USE && state[d] == IN_USE && only{Pre, Post}(d);
    ensures free_count == (\old(free_count) > 0 ? \old(free_count) - 1 : 0);
    ensures touched == \old(touched) + (\old(free_count) > 0 ? 0 : 1);
*/
void note_alloc(uint32_t d, uint32_t stride)
{
    (void)d;
    (void)stride;
    //@ assert old: free_count > 0 ==> state[d] == FREE && rank[d] == free_count - 1;
    //@ assert new: free_count == 0 ==> state[d] == FRESH;
    //@ assert product: start(touched, stride) == touched * stride;
    //@ assert next: (touched + 1) * stride == touched * stride + stride;
    /*@ ghost
      if (free_count > 0) {
          free_count = free_count - 1;
      } else {
          number[d] = touched;
          touched = touched + 1;
      }
      state[d] = IN_USE;
      place[d] = held_count;
      held[held_count] = d;
      held_count = held_count + 1;
    */
    //@ assert kinds;
    //@ assert placed(stride, touched * stride);
    //@ assert apart(stride);
    //@ assert numbered(touched, stride);
    //@ assert count: free_count + held_count == touched;
    //@ assert stacked;
    //@ assert held_are_in_use;
    //@ assert in_use_are_held;
}

/*@ requires blocks(stride) && counted;
    requires d < WORDS_MAX && state[d] == IN_USE;
    assigns state[d], free_count, held_count, held[place[d]], place[held[held_count - 1]],
            rank[d], stack[free_count];
    ensures blocks(stride) && counted;
    ensures freed: state[d] == FREE && only{Pre, Post}(d);
    ensures free_count == \old(free_count) + 1 && stack[free_count - 1] == d;
    ensures rank[d] == \old(free_count);
    ensures \forall integer r; 0 <= r < \old(free_count) ==> stack[r] == \old(stack[r]);
*/
void note_free(uint32_t d, uint32_t stride)
{
    (void)d;
    (void)stride;
    /*@ ghost
      uint32_t last = held[held_count - 1];
      uint32_t at = place[d];
      held[at] = last;
      place[last] = at;
      held_count = held_count - 1;
      state[d] = FREE;
      rank[d] = free_count;
      stack[free_count] = d;
      free_count = free_count + 1;
    */
    //@ assert kinds;
    //@ assert placed(stride, touched * stride);
    //@ assert apart(stride);
    //@ assert numbered(touched, stride);
    //@ assert count: free_count + held_count == touched;
    //@ assert stacked;
    //@ assert held_are_in_use;
    //@ assert in_use_are_held;
}

// ---- alloc and free ---------------------------------------------------------------------------

/*@ requires whole(pool) && marked(pool);
    assigns pool->head, pool->bound, pool->limit, touched, misuses,
            pool->first[pool->head + 1 .. last_popped(pool)],
            pool->first[next_fresh(pool) + 1 .. last_cleared(pool)],
            state[0 .. WORDS_MAX - 1], number[0 .. WORDS_MAX - 1],
            free_count, held[0 .. WORDS_MAX - 1], held_count, place[0 .. WORDS_MAX - 1];
    ensures bounded: bounded(pool);
    ensures blocks: blocks(pool->stride);
    ensures counted: counted;
    ensures headed: headed(pool);
    ensures linked: linked(pool);
    ensures marked: marked(pool);
    ensures no_misuse: misuses == \old(misuses);
    ensures null_when_exhausted: \result == \null <==> \old(exhausted(pool));
    ensures null_changes_nothing:
      \result == \null ==> unchanged{Pre, Post}(pool) && only{Pre, Post}(-1);
    ensures one_block: \result != \null ==>
      \exists integer d; 0 <= d < WORDS_MAX && \result == pool->first + d &&
        \old(state[d]) != IN_USE && state[d] == IN_USE && only{Pre, Post}(d);
*/
egb_word* take(egb_fixed* pool)
{
    //@ assert free_count > 0 ==> state[pool->head] == FREE && can_pop(pool);
    //@ assert inside: pool->head < pool->bound ==> pool->head + 2 <= capacity * pool->stride;
    /*@ assert behind: touched < capacity ==>
          touched * pool->stride + pool->stride <= capacity * pool->stride; */
    /*@ assert top: free_count > 0 ==> pool->head == stack[free_count - 1] &&
          pool->first[pool->head] == (free_count == 1 ? EGB_FIXED_NONE_ : stack[free_count - 2]); */
    egb_word* const block = (egb_word*)egb_fixed_alloc(pool);
    //@ assert shape: same_shape{Pre, Here}(pool);
    if (block == NULL) {
        //@ assert same: unchanged{Pre, Here}(pool) && laid_out(pool) && free_count == 0;
        //@ assert nothing: bounded(pool) && blocks(pool->stride) && counted && headed(pool);
        return NULL;
    }
    const uint32_t d = (uint32_t)(block - pool->first);
    //@ assert pool->stride == \at(pool->stride, Pre);
    //@ assert pool->reach == \at(pool->reach, Pre) && pool->first == \at(pool->first, Pre);
    //@ assert laid_out(pool);
    //@ assert block == pool->first + d;
    //@ assert old: free_count > 0 ==> d == stack[free_count - 1];
    //@ assert new: free_count == 0 ==> d == touched * pool->stride && touched < capacity;
    //@ assert room: free_count == 0 ==> d + pool->stride <= capacity * pool->stride;
    //@ assert head: pool->head == (free_count <= 1 ? EGB_FIXED_NONE_ : stack[free_count - 2]);
    /*@ assert kept: \forall integer e; 0 <= e < WORDS_MAX && state[e] == FREE && e != d ==>
          pool->first[e] == \at(pool->first[e], Pre) &&
          pool->first[e + 1] == \at(pool->first[e + 1], Pre); */
    note_alloc(d, pool->stride);
    //@ assert fits: touched <= capacity && touched * pool->stride <= capacity * pool->stride;
    /*@ assert bound:
          pool->bound == (touched == 0 ? 0 : (touched - 1) * pool->stride + 1); */
    //@ assert bounded(pool);
    //@ assert headed(pool);
    //@ assert linked(pool);
    //@ assert known: blocks(pool->stride) && counted;
    //@ assert marks: marked(pool);
    return block;
}

/*@ requires whole(pool) && marked(pool);
    requires d < WORDS_MAX && state[d] == IN_USE;
    assigns pool->head, pool->first[0 .. capacity * pool->stride - 1], misuses,
            state[d], free_count, held_count,
            held[0 .. WORDS_MAX - 1], place[0 .. WORDS_MAX - 1],
            rank[d], stack[0 .. WORDS_MAX - 1];
    ensures whole: whole(pool) && marked(pool);
    ensures no_misuse: misuses == \old(misuses);
    ensures freed: state[d] == FREE && pool->head == d;
    ensures others: only{Pre, Post}(d);
    ensures contents: kept_but{Pre, Post}(pool, pool->first + d);
*/
void give(egb_fixed* pool, uint32_t d)
{
    egb_fixed_free(pool, pool->first + d);
    //@ assert pool->head == d && pool->first[d] == \at(pool->head, Pre);
    //@ assert pool->stride == \at(pool->stride, Pre);
    //@ assert pool->reach == \at(pool->reach, Pre) && pool->first == \at(pool->first, Pre);
    //@ assert laid_out(pool);
    //@ assert pool->bound == \at(pool->bound, Pre) && pool->limit == \at(pool->limit, Pre);
    //@ assert bounded(pool);
    /*@ assert kept: \forall integer e; 0 <= e < WORDS_MAX && state[e] == FREE ==>
          pool->first[e] == \at(pool->first[e], Pre) &&
          pool->first[e + 1] == \at(pool->first[e + 1], Pre); */
    note_free(d, pool->stride);
    //@ assert headed(pool);
    //@ assert linked(pool);
}

/*@ requires whole(pool) && marked(pool);
    requires block != \null && !in_use(pool, block);
    assigns pool->head, pool->first[0 .. capacity * pool->stride - 1], misuses;
    ensures whole: whole(pool) && marked(pool);
    ensures told: misuses == (uint32_t)(\old(misuses) + 1);
    ensures contents: kept{Pre, Post}(pool);
*/
void give_wrongly(egb_fixed* pool, egb_word* block)
{
    egb_fixed_free(pool, block);
}

// ---- the caller -----------------------------------------------------------------------------

// A write of a user to a block in use leaves the pool whole.
/*@ requires whole(pool);
    requires d < WORDS_MAX && state[d] == IN_USE && word < pool->stride;
    assigns pool->first[d + word];
    ensures whole(pool) && (\old(marked(pool)) ==> marked(pool));
*/
void use(egb_fixed* pool, uint32_t d, uint32_t word, uint32_t value)
{
    pool->first[d + word] = value;
}

/*@ requires whole(pool) && marked(pool); */
void two_blocks_never_overlap(egb_fixed* pool)
{
    egb_word* const a = take(pool);
    egb_word* const b = take(pool);
    //@ assert a != \null && b != \null ==> a + pool->stride <= b || b + pool->stride <= a;
}
