// SPDX-License-Identifier: MIT
// Room cache: lanes: a lane is a shard of threads that share chunks. The pool is locked.
#ifndef EGGBOX_SRC_HOSTED_CACHE_LANES_H
#define EGGBOX_SRC_HOSTED_CACHE_LANES_H

#include "depot.h"

// Whether the pool may have one more chunk for a lane without free blocks, while others have some.
bool egb_lane_may_have_one_more_(const egb_depot* depot);

// Makes the next blocks come from a chunk of the lane, if the first few chunks with free blocks
// have one, or if there may be one more.
void egb_lane_prefer_own_chunk_(egb_depot* depot, uint32_t lane);

#endif  // EGGBOX_SRC_HOSTED_CACHE_LANES_H
