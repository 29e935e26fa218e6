// SPDX-License-Identifier: MIT
// Layer override: the functions that ours stand before.
#ifndef EGGBOX_SRC_OVERRIDE_NEXT_H
#define EGGBOX_SRC_OVERRIDE_NEXT_H

// The function of this name that the program would have without this library. NULL: there is none.
__attribute__((visibility("hidden"))) void* egb_next_function_(const char* name);

#endif  // EGGBOX_SRC_OVERRIDE_NEXT_H
