// SPDX-License-Identifier: MIT
// The report that the environment asks for: EGGBOX_REPORT names a folder. The library in place of
// malloc begins and ends it (src/override/process.c), since it sees more ends of a process. A
// library that a program links does so itself: it writes the report at exit(). Without the variable
// nothing happens.
#include "eggbox/report.h"

#include "../../os/os.h"
#include "../heap/heap.h"
#include "../pool/events.h"
#include "../pool/fork.h"
#include "../pool/registry.h"
#include "../region/obtain.h"
#include "../stacks/stacks.h"
#include "eggbox/guard.h"
#include "eggbox/heap.h"
#include "eggbox/live.h"
#include "eggbox/pool.h"
#include "live_slot.h"
#include "report.h"

// A copy, because a program may change its environment.
static char wanted_folder[EGB_REPORT_PATH_MAX];

// The number of the process; 0: no report.
EGB_AMONG_DATA_ static uint64_t wanted_by;

static void in_forked_child(void)
{
    wanted_by = egb_os_process_number_();
    egb_report_restart();
    egb_report_announce_(wanted_folder);
}

bool egb_report_begin_(void)
{
    egb_os_prepare_();
    const char* const wanted = egb_os_variable_("EGGBOX_REPORT");
    const size_t      length = wanted == NULL ? 0 : __builtin_strlen(wanted);
    if (length == 0 || length >= sizeof wanted_folder || !egb_os_has_reports_() ||
        !egb_registry_is_made_() || !egb_os_at_fork_(NULL, NULL, in_forked_child)) {
        return false;
    }
    egb_report_note_start_();
    if (EGB_IS_MALLOC) {
        egb_report_restart();  // the block of egb_heap_begin_() was not the program's
    }
    egb_heap_measure(true);
    wanted_by = egb_os_process_number_();
    (void)__builtin_memcpy(wanted_folder, wanted, length + 1);
    egb_report_announce_(wanted_folder);
    return true;
}

// The child of a vfork has its parent's memory, and another number.
static bool is_wanted(void)
{
    return wanted_by != 0 && egb_os_process_number_() == wanted_by;
}

uint64_t egb_report_process_(void)
{
    return wanted_by;
}

bool egb_report_or_check_is_due_(void)
{
    return wanted_by != 0 ? is_wanted() : egb_process_is_checked_at_end_();
}

void egb_report_go_on_(void)
{
    if (is_wanted()) {
        egb_live_note_goes_on_();
    }
}

static egb_status write_wanted(const void* frame, int signal, int milliseconds)
{
    if (!is_wanted()) {
        return EGB_UNSUPPORTED;
    }
    const egb_status status =
        egb_report_write_from_(wanted_folder, frame, signal, true, milliseconds);
    egb_live_note_end_(status == EGB_OK, egb_report_error_());
    return status;
}

egb_status egb_report_end_(const void* frame, int signal)
{
    return write_wanted(frame, signal, EGB_LOCKS_MILLISECONDS);
}

egb_status egb_report_try_end_(const void* frame, int signal, int milliseconds)
{
    return write_wanted(frame, signal, milliseconds);
}

#if !EGB_IS_MALLOC
__attribute__((constructor)) static void begin_at_load(void)
{
    egb_live_begin_();
    (void)egb_report_begin_();
}

// A program that links the library and makes no pool has nothing to report.
__attribute__((destructor)) static void end_at_exit(void)
{
    if (__atomic_load_n(&egb_registry_.slots, __ATOMIC_ACQUIRE) > 1) {
        (void)egb_report_end_(EGB_REPORT_FRAME_(), 0);
    } else {
        egb_report_withdraw_(wanted_folder);
        egb_live_note_end_(true, 0);
    }
}
#endif

// These calls are here because a linker takes from an archive only the files that are called: a
// program with a pool, or with blocks of the heap, has this file, and with it the report.

void* egb_malloc_more_(size_t bytes, const void* site)
{
    return egb_heap_alloc_more_(bytes, site != NULL ? site : EGB_CALLER());
}

void* egb_calloc(size_t count, size_t bytes)
{
    return egb_calloc_from_(count, bytes, EGB_CALLER());
}

void* egb_aligned_alloc(size_t align, size_t bytes)
{
    return egb_aligned_alloc_from_(align, bytes, EGB_CALLER());
}

void* egb_realloc(void* block, size_t bytes)
{
    return egb_realloc_from_(block, bytes, EGB_CALLER());
}

egb_status egb_pool_create(egb_pool* out, const egb_pool_options* options)
{
    const egb_pool root = {0, 0};
    // During a freeze such a pool is refused.
    if (options != NULL && !egb_is_frozen_() &&
        (options->level == EGB_LEVEL_TRACK || options->level == EGB_LEVEL_SAMPLE)) {
        egb_stacks_begin_();
    }
    const egb_status status = egb_pool_make_(out, options);
    egb_freeze_report_(options != NULL ? options->parent : root, EGB_CALLER());
    return status;
}
