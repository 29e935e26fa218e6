// SPDX-License-Identifier: MIT
// Room region: whole pages for the library itself.
#ifndef EGGBOX_SRC_HOSTED_REGION_PAGES_H
#define EGGBOX_SRC_HOSTED_REGION_PAGES_H

#include "eggbox/growing.h"

// Regions of chunks and large blocks are whole units of this size.
enum { EGB_UNIT_BYTES = 65536 };

// Whole zero pages for the library itself. NULL: the system refused.
void* egb_pages_(size_t bytes);

// Gives them back to the system.
void egb_pages_release_(void* region, size_t bytes);

// The backing of the library's own growing pools: the system's pages, charged to no budget. A chunk
// may be a page or more, where the system takes back parts of a region.
egb_backing egb_plain_backing_(void);

// Gives addresses back that such pools have not come to yet.
void egb_plain_trim_(void);

#endif  // EGGBOX_SRC_HOSTED_REGION_PAGES_H
