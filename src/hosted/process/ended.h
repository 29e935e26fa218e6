// SPDX-License-Identifier: MIT
// Room process: the numbers of pools that have ended, for the report. A program often destroys its
// pools before it writes its report, and so do C++ objects.
#ifndef EGGBOX_SRC_HOSTED_PROCESS_ENDED_H
#define EGGBOX_SRC_HOSTED_PROCESS_ENDED_H

#include "../pool/registry.h"

// All pools of one name, size and parent that have ended. Calls, blocks in use and pools are sums;
// peak, capacity, chunks and bytes held are those of the largest. The level is the first pool's.
typedef struct egb_ended {
    egb_pool_stats stats;  // `pools`: their number
    char           parent[EGB_NAME_BYTES];
    egb_level      level;
} egb_ended;

// From now on ended pools are noted, unless nobody used them: 256 of different names, sizes and
// parents. Without this call the end of a pool costs one comparison.
void egb_ended_watch_(void);

// Forgets the pools that have ended until now.
void egb_ended_restart_(void);

// Copies one of them. False: there are no more. Waits for the registry lock.
bool egb_ended_at_(size_t index, egb_ended* out);

#endif  // EGGBOX_SRC_HOSTED_PROCESS_ENDED_H
