// SPDX-License-Identifier: MIT
// Layer override: finds the functions that the program would have without this library.
#ifndef EGGBOX_SRC_OVERRIDE_NEXT_H
#define EGGBOX_SRC_OVERRIDE_NEXT_H

#include <stdbool.h>

// The function of this name that the program would have without this library. NULL: there is none.
// It is looked up once, and then kept in `*kept`, which the caller makes static and NULL: the
// loader takes microseconds, and is not for signal handlers.
__attribute__((visibility("hidden"))) void* egb_next_function_(void** kept, const char* name);

// Whether the function is of this library.
__attribute__((visibility("hidden"))) bool egb_next_is_ours_(const void* function);

// Defines next_NAME(), which returns that function by its type, a pointer to a function.
#define EGB_NEXT_(type, name)                              \
    static type next_##name(void)                          \
    {                                                      \
        static void* kept;                                 \
        type         next;                                 \
        *(void**)&next = egb_next_function_(&kept, #name); \
        return next;                                       \
    }

#endif  // EGGBOX_SRC_OVERRIDE_NEXT_H
