// SPDX-License-Identifier: MIT
// Layer override: the functions that ours stand before.
#ifndef EGGBOX_SRC_OVERRIDE_NEXT_H
#define EGGBOX_SRC_OVERRIDE_NEXT_H

// The function of this name that the program would have without this library. NULL: there is none.
// It is looked up once, and then kept in `*kept`, which the caller makes static and NULL: the loader
// takes microseconds, and is not for signal handlers.
__attribute__((visibility("hidden"))) void* egb_next_function_(void** kept, const char* name);

#endif  // EGGBOX_SRC_OVERRIDE_NEXT_H
