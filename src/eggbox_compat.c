// SPDX-License-Identifier: MIT
// The interfaces of older libraries as one translation unit. Compile this file beside eggbox.c, or
// alone if the program links the library eggbox, with include/ on the include path. It is apart
// from eggbox.c because it exports names that other programs and libraries have as well: GNU
// readline, for one, has an xmalloc() of its own.
#if defined(__cplusplus)
  #error "eggbox_compat.c is C: compile it with a compiler for C, or with -x c"
#endif

#include "compat/elr_mtx.c"  // first: it has the feature macros of the system's headers

#include "compat/elr_mpl.c"
#include "compat/elr_multi.c"
#include "compat/fault.c"
#include "compat/fb_allocator.c"
#include "compat/lock_guard.c"
#include "compat/x_allocator.c"
#if defined(STATIC_POOLS)
  #include "compat/xallocator_static.c"
#else
  #include "compat/xallocator.c"
#endif
#include "compat/xallocator_text.c"
