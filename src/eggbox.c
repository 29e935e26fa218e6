// SPDX-License-Identifier: MIT
// All of eggbox as one translation unit: compile this file, with include/ on the include path, and
// nothing else is needed. Each name that it exports begins with egb_: the interfaces of older
// libraries are in eggbox_compat.c. Without an operating system define EGB_FREESTANDING to 1: then
// it is the core alone, and the program supplies egb_misuse(). For Windows define EGB_OWN_MISUSE to
// 1 if the program supplies it: no function gives way to another one of the same name there.
#if defined(__cplusplus)
  #error "eggbox.c is C: compile it with a compiler for C, or with -x c"
#endif

#if !defined(EGB_FREESTANDING)
  #define EGB_FREESTANDING 0
#endif

#if !EGB_FREESTANDING
  #include "os/posix_features.h"  // before any other header
#endif

// Before any other file includes the public headers. A library in place of malloc has no callers of
// these names.
#if !(defined(EGB_IS_MALLOC) && EGB_IS_MALLOC)
  #include "core/linkable.c"
  #if !EGB_FREESTANDING
    #include "hosted/process/linkable.c"
  #endif
#endif

#include "core/board_heap.c"
#include "core/fixed.c"
#include "core/fixed_ask.c"
#include "core/fixed_list.c"
#include "core/fixed_live.c"
#include "core/fixed_make.c"
#include "core/fixed_marked.c"
#include "core/fixed_misuse.c"
#include "core/fixed_plain.c"
#include "core/fixed_shape.c"
#include "core/fixed_shared.c"
#include "core/fixed_unchecked.c"
#include "core/growing.c"
#include "core/growing_ask.c"
#include "core/growing_bitmap.c"
#include "core/growing_chunks.c"
#include "core/growing_make.c"
#include "core/growing_static.c"
#include "core/range.c"
#include "core/slots.c"
#include "core/texts.c"

#if !EGB_FREESTANDING
  #if defined(_WIN32)
    #include "os/windows.c"
    #include "os/windows_pages.c"
    #include "os/windows_threads.c"
  #elif defined(__unix__) || defined(__APPLE__)
    #include "os/posix.c"
    #include "os/posix_cfi.c"
    #include "os/posix_faults.c"
    #include "os/posix_limits.c"
    #include "os/posix_memory.c"
    #include "os/posix_modules.c"
    #include "os/posix_page_options.c"
    #include "os/posix_pages.c"
    #include "os/posix_process.c"
    #include "os/posix_roots.c"
    #include "os/posix_shared.c"
    #include "os/posix_threads.c"
    #include "os/posix_unwind.c"
    #include "os/posix_walk.c"
  #else
    #include "os/none.c"
  #endif
  #include "hosted/cache/batch.c"
  #include "hosted/cache/claims.c"
  #include "hosted/cache/depot.c"
  #include "hosted/cache/lanes.c"
  #include "hosted/cache/magazine.c"
  #include "hosted/cache/magazine_invalidate.c"
  #include "hosted/cache/magazine_remote.c"
  #include "hosted/cache/marks.c"
  #include "hosted/cache/peak.c"
  #include "hosted/cache/split.c"
  #include "hosted/cache/threads.c"
  #include "hosted/cache/tight.c"
  #include "hosted/heap/classes.c"
  #include "hosted/heap/free.c"
  #include "hosted/heap/free_sized.c"
  #include "hosted/heap/large.c"
  #include "hosted/heap/purge.c"
  #include "hosted/heap/realloc.c"
  #include "hosted/heap/sizes.c"
  #include "hosted/heap/stats.c"
  #include "hosted/pool/alloc.c"
  #include "hosted/pool/ask.c"
  #include "hosted/pool/backing.c"
  #include "hosted/pool/budget.c"
  #include "hosted/pool/destroy.c"
  #include "hosted/pool/each.c"
  #include "hosted/pool/events.c"
  #include "hosted/pool/fork.c"
  #include "hosted/pool/free.c"
  #include "hosted/pool/free_pages.c"
  #include "hosted/pool/holders.c"
  #include "hosted/pool/live_numbers.c"
  #include "hosted/pool/make.c"
  #include "hosted/pool/memory.c"
  #include "hosted/pool/owned_magazine.c"
  #include "hosted/pool/passthrough.c"
  #include "hosted/pool/plain.c"
  #include "hosted/pool/reach.c"
  #include "hosted/pool/redzone.c"
  #include "hosted/pool/registry.c"
  #include "hosted/pool/samples.c"
  #include "hosted/pool/stats.c"
  #include "hosted/pool/wait.c"
  #include "hosted/process/check.c"
  #include "hosted/process/ended.c"
  #include "hosted/process/findings.c"
  #include "hosted/process/live_slot.c"
  #include "hosted/process/lock.c"
  #include "hosted/process/report.c"
  #include "hosted/process/wanted_report.c"
  #include "hosted/region/chunk_cache.c"
  #include "hosted/region/chunk_map.c"
  #include "hosted/region/early.c"
  #include "hosted/region/guard_page.c"
  #include "hosted/region/keep.c"
  #include "hosted/region/large.c"
  #include "hosted/region/large_cache.c"
  #include "hosted/region/large_records.c"
  #include "hosted/region/large_resize.c"
  #include "hosted/region/large_sizes.c"
  #include "hosted/region/obtain.c"
  #include "hosted/region/pages.c"
  #include "hosted/report/json.c"
  #include "hosted/report/misuse.c"
  #include "hosted/report/text.c"
  #include "hosted/settings/fault_injection.c"
  #include "hosted/settings/level.c"
  #include "hosted/settings/sampling.c"
  #include "hosted/stacks/call_tree.c"
  #include "hosted/stacks/stacks.c"
  #include "os/watch.c"
  #if !(defined(EGB_IS_MALLOC) && EGB_IS_MALLOC)
    #include "shared/ask.c"
    #include "shared/attach.c"
    #include "shared/blocks.c"
    #include "shared/feed.c"
    #include "shared/gc.c"
    #include "shared/look.c"
    #include "shared/records.c"
    #include "shared/recover.c"
    #include "shared/shape.c"
    #include "shared/wait.c"
    #include "shared/words.c"
  #endif
#endif
