// SPDX-License-Identifier: MIT
// All of eggbox as one translation unit: compile this file, with include/ on the include path, and
// nothing else is needed. Without an operating system define EGB_FREESTANDING to 1: then it is the
// core alone, and the program supplies egb_misuse().
#if !defined(EGB_FREESTANDING)
  #define EGB_FREESTANDING 0
#endif

#if !EGB_FREESTANDING
  #include "os/posix_features.h"  // before any other header
#endif

#include "core/fixed.c"
#include "core/fixed_ask.c"
#include "core/fixed_live.c"
#include "core/fixed_make.c"
#include "core/fixed_misuse.c"
#include "core/fixed_modes.c"
#include "core/growing.c"
#include "core/growing_ask.c"
#include "core/growing_home.c"
#include "core/growing_make.c"
#include "core/growing_static.c"
#include "core/growing_tree.c"
#include "core/status.c"

#if !EGB_FREESTANDING
  #if defined(_WIN32)
    #include "os/windows.c"
    #include "os/windows_pages.c"
    #include "os/windows_threads.c"
  #elif defined(__unix__) || defined(__APPLE__)
    #include "os/posix.c"
    #include "os/posix_faults.c"
    #include "os/posix_pages.c"
    #include "os/posix_process.c"
    #include "os/posix_roots.c"
    #include "os/posix_threads.c"
    #include "os/posix_wishes.c"
  #else
    #include "os/none.c"
  #endif
  #include "hosted/backing.c"
  #include "hosted/batch.c"
  #include "hosted/chunk_map.c"
  #include "hosted/depot.c"
  #include "hosted/destroy.c"
  #include "hosted/fail.c"
  #include "hosted/fork.c"
  #include "hosted/guard.c"
  #include "hosted/heap.c"
  #include "hosted/heap_guarded.c"
  #include "hosted/heap_kept.c"
  #include "hosted/heap_large.c"
  #include "hosted/heap_quiet.c"
  #include "hosted/heap_sizes.c"
  #include "hosted/holders.c"
  #include "hosted/lanes.c"
  #include "hosted/level.c"
  #include "hosted/line.c"
  #include "hosted/lock.c"
  #include "hosted/look.c"
  #include "hosted/magazine.c"
  #include "hosted/misuse.c"
  #include "hosted/passthrough.c"
  #include "hosted/pool.c"
  #include "hosted/pool_ask.c"
  #include "hosted/pool_make.c"
  #include "hosted/report.c"
  #include "hosted/report_findings.c"
  #include "hosted/report_json.c"
  #include "hosted/seal.c"
  #include "hosted/shelf.c"
  #include "hosted/thread.c"
  #include "hosted/world.c"
  #include "os/watch.c"
  #if (defined(_WIN32) || defined(__unix__) || defined(__APPLE__)) && \
      !(defined(EGB_IS_MALLOC) && EGB_IS_MALLOC)
    #include "compat/elr_mpl.c"
    #include "compat/elr_mtx.c"
    #include "compat/elr_multi.c"
    #include "compat/fault.c"
    #include "compat/fb_allocator.c"
    #include "compat/lock_guard.c"
    #include "compat/x_allocator.c"
    #include "compat/xallocator.c"
  #endif
#endif
