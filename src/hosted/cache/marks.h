// SPDX-License-Identifier: MIT
// Room cache: places of a batch that are sampled, in pools at level "sample": docs/decisions/0032.
//
// Marks are on places of a loaded batch, and not on its blocks: each place has a mark with the
// probability that a block of the pool's size is sampled, whatever the program does. A block that
// is taken out of a marked place is a sample, each time. Therefore a block is a sample with that
// probability, at any time, however often its thread took and gave back blocks before.
//
// A magazine may go down to a mark and up to a mark without a call: `bottom` stands behind the
// marked place below `top`, and `full` in front of the one above. The hot path knows nothing of it.
// A magazine without room (tight.h, claims.h) gets no room by this: only a load opens it.
//
// A push that meets the marked place above has put its block there by then. It takes the block
// back, which leaves no block in the entry, and comes with the lock, as at the end of a batch.
#ifndef EGGBOX_SRC_HOSTED_CACHE_MARKS_H
#define EGGBOX_SRC_HOSTED_CACHE_MARKS_H

#include "magazine.h"

// Marks the places of a batch anew, if the pool is sampled.
void egb_marks_draw_(const egb_depot* depot, egb_batch* batch);

// The place behind the highest marked one below `place`; 0: there is none. And the lowest marked
// place from `place` on; the batch's room: there is none.
size_t egb_marks_below_(const egb_batch* batch, size_t place);
size_t egb_marks_from_(const egb_batch* batch, size_t place);

// A block was taken out of a marked place. Returns how many blocks it stands for. A loop that stays
// at one place would be a sample each time: after 64 samples egb_marks_thin_(), after 128 more once
// again, and so on.
double egb_marks_fire_(const egb_depot* depot, egb_batch* batch);

// Removes marks by chance, as if they had been drawn with a period twice as long; those that stay
// stand for more blocks from now on.
void egb_marks_thin_(const egb_depot* depot, egb_batch* batch);

// ---- as far as a magazine goes without a call ---------------------------------------------------

// Its thread may take blocks: all of them, or down to the mark below `top`. It may add some up to
// the mark above, if the magazine has room at all.
void egb_magazine_open_(const egb_depot* depot, egb_magazine_* magazine);

// Whether the next block of a magazine is to be a sample; and takes it. Returns how many blocks it
// stands for.
bool   egb_magazine_is_at_mark_(const egb_depot* depot, const egb_magazine_* magazine);
double egb_magazine_take_marked_(const egb_depot* depot, egb_magazine_* magazine, egb_entry_* out);

// Lets a block into the marked place at `top`. False: `top` is at no mark, but at the end of the
// batch, or the magazine has no room.
bool egb_magazine_pass_mark_(const egb_depot* depot, egb_magazine_* magazine);

#endif  // EGGBOX_SRC_HOSTED_CACHE_MARKS_H
