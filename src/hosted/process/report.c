// SPDX-License-Identifier: MIT
// The report of a process: docs/report-format.md. Its memory is static, for one thread at a time.
#include "eggbox/report.h"

#include "../../os/os.h"
#include "../heap/heap.h"
#include "../pool/fork.h"
#include "../pool/holders.h"
#include "../pool/registry.h"
#include "../region/large.h"
#include "../report/json.h"
#include "../report/misuse.h"
#include "../report/text.h"
#include "../settings/settings.h"
#include "eggbox/heap.h"
#include "ended.h"
#include "findings.h"
#include "live_slot.h"
#include "report.h"

// ---- what a child of a fork does not count ------------------------------------------------------

// Pools know theirs (egb_earlier). These are the counts of large blocks, and the bytes requested of
// size classes, that a forked process inherited; and the memory of the writer.

static struct {
    egb_heap_stats now;
    uint64_t       requested_before[EGB_HEAP_CLASSES];
    egb_earlier    large;
    const char*    mark;        // the ending of the mark that announces it; NULL: there is none
    bool           has_failed;  // and a note says so
    int            error;       // the system's error of the last report; 0: none
    int            signal;      // that ends the process; 0: none does
    egb_json       out;
    char           text[EGB_REPORT_PATH_MAX];
    char           path[EGB_REPORT_PATH_MAX + 64];
    char           whole_path[EGB_REPORT_PATH_MAX + 64];
} report;
EGB_AMONG_DATA_ static uint64_t started_ns;
static bool                     report_is_busy;  // atomic: a thread is writing

// In the child of a fork the thread that was writing a report no longer exists.
static void reset_report(void)
{
    __atomic_store_n(&report_is_busy, false, __ATOMIC_RELEASE);
}

static egb_fork_hook report_fork_hook = {.in_child = reset_report};

// The hook is added here, because adding it takes a lock: a report may be written in a signal
// handler that interrupted the holder of that lock.
__attribute__((constructor)) void egb_report_note_start_(void)
{
    egb_fork_add_hook_(&report_fork_hook);
    if (started_ns == 0) {  // else a restart came first, and the files have its name
        started_ns = egb_os_nanoseconds_();
    }
}

void egb_report_restart(void)
{
    if (!egb_locks_are_free_soon_(EGB_LOCKS_MILLISECONDS)) {  // a handler's thread may hold one
        return;
    }
    started_ns        = 0;
    report.mark       = NULL;
    report.has_failed = false;
    egb_report_note_start_();
    egb_misuse_forget_();
    egb_holders_restart_();
    egb_ended_restart_();
    (void)egb_heap_get_stats(&report.now);
    report.large.allocations = report.now.large_allocations;
    report.large.frees       = report.now.large_frees;
    report.large.failures    = report.now.large_failures;
    egb_pools_count_anew_();
    egb_large_count_sizes_anew_();
    for (size_t i = 0; i < EGB_HEAP_CLASSES; i++) {
        report.requested_before[i] = report.now.classes[i].requested_bytes;
    }
}

// ---- the parts ----------------------------------------------------------------------------------

#define AS_TEXT(number)       #number
#define NUMBER_AS_TEXT(macro) AS_TEXT(macro)
static const char version_text[] = NUMBER_AS_TEXT(EGB_VERSION_MAJOR
) "." NUMBER_AS_TEXT(EGB_VERSION_MINOR) "." NUMBER_AS_TEXT(EGB_VERSION_PATCH);

static void write_argument(egb_json* out, size_t from, size_t end)
{
    egb_json_next_(out);
    egb_json_text_(out, report.text + from, end - from);
}

// Reads the arguments into the buffer, part by part. An argument that is longer than the buffer is
// cut.
static void write_arguments(egb_json* out)
{
    egb_json_name_(out, "arguments");
    egb_json_open_(out, '[');
    const int file   = egb_os_open_arguments_();
    size_t    held   = 0;
    bool      is_cut = false;  // the buffer starts within an argument whose first part is written
    while (file >= 0) {
        const size_t got = egb_os_read_(file, report.text + held, sizeof report.text - held);
        held += got;
        size_t from = 0;
        for (size_t i = 0; i < held; i++) {
            if (report.text[i] == '\0') {
                if (!is_cut) {
                    write_argument(out, from, i);
                }
                is_cut = false;
                from   = i + 1;
            }
        }
        if (from == 0 && held == sizeof report.text) {
            if (!is_cut) {
                write_argument(out, 0, held);
            }
            is_cut = true;
            from   = held;
        }
        (void)__builtin_memmove(report.text, report.text + from, held - from);
        held -= from;
        if (got == 0) {
            break;
        }
    }
    if (file >= 0) {
        (void)egb_os_close_(file);
    }
    egb_json_close_(out, ']');
}

// The common level of the size classes: "mixed" if they differ; the level for addresses in no pool
// if no class is used.
static const char* level_of_classes(void)
{
    const char* level = NULL;
    for (size_t i = 0; i < EGB_HEAP_CLASSES; i++) {
        egb_level one;
        if (!egb_pool_level_(report.now.classes[i].pool, &one)) {
            continue;
        }
        if (level != NULL && level != egb_level_text(one)) {
            return "mixed";
        }
        level = egb_level_text(one);
    }
    return level != NULL ? level : egb_level_text(egb_level_of_no_pool_());
}

static void write_program(egb_json* out)
{
    const size_t length = egb_os_program_(report.text, sizeof report.text);
    if (length != 0) {
        egb_json_member_(out, "program", report.text, length);
    } else {
        egb_json_word_(out, "program", egb_live_program_());
    }
}

static void write_process(egb_json* out, const egb_os_process* process)
{
    const uint64_t took = (egb_os_nanoseconds_() - started_ns) / 1000;
    egb_json_number_(out, "schema", 1);
    egb_json_word_(out, "kind", "eggbox-process");
    write_program(out);
    write_arguments(out);
    egb_json_number_(out, "pid", process->pid);
    egb_json_number_(out, "parent_pid", process->parent_pid);
    egb_json_number_(out, "process_started", process->started_ticks);
    egb_json_number_(out, "started_ns", started_ns);
    egb_json_number_(out, "duration_s", took / 1000000);
    egb_json_byte_(out, '.');
    egb_json_digits_(out, took % 1000000, 6);
    egb_json_word_(out, "level", level_of_classes());
    egb_json_word_(out, "library", version_text);
    egb_json_truth_(out, "is_linked", !EGB_IS_MALLOC);
    egb_json_number_(out, "peak_resident_bytes", process->peak_resident_bytes);
    egb_json_number_(out, "minor_faults", process->minor_faults);
    egb_json_number_(out, "major_faults", process->major_faults);
    egb_json_truth_(out, "is_measured", report.now.is_measured);
    if (report.signal != 0) {
        egb_json_number_(out, "signal", (uint64_t)report.signal);
    }
}

// The size class of a pool; EGB_HEAP_CLASSES: none.
static size_t class_of_pool(egb_pool pool)
{
    size_t index = 0;
    while (index < EGB_HEAP_CLASSES &&
           egb_pool_key_(report.now.classes[index].pool) != egb_pool_key_(pool)) {
        index++;
    }
    return index;
}

typedef struct pool_numbers {
    const egb_pool_stats* stats;
    const char*           parent;
    egb_level             level;
    bool                  is_class;
    bool                  has_ended;
    uint64_t              requested_bytes;
} pool_numbers;

static void write_numbers(egb_json* out, const pool_numbers* of)
{
    const egb_pool_stats* const one = of->stats;
    egb_json_next_(out);
    egb_json_open_(out, '{');
    egb_json_word_(out, "name", one->name);
    egb_json_word_(out, "parent", of->parent);
    egb_json_truth_(out, "is_size_class", of->is_class);
    egb_json_word_(out, "level", egb_level_text(of->level));
    egb_json_number_(out, "block_bytes", one->block_bytes);
    egb_json_number_(out, "stride_bytes", one->stride_bytes);
    egb_json_number_(out, "max_blocks", one->max_blocks);
    egb_json_number_(out, "budget_bytes", one->budget_bytes);
    egb_json_number_(out, "capacity", one->capacity);
    egb_json_number_(out, "in_use", one->in_use);
    egb_json_number_(out, "cached", one->in_magazines);
    egb_json_number_(out, "peak", one->peak);
    egb_json_number_(out, "allocations", one->allocations);
    egb_json_number_(out, "frees", one->frees);
    egb_json_number_(out, "failures", one->failures);
    egb_json_number_(out, "chunks", one->chunks);
    egb_json_number_(out, "bytes_held", one->bytes_held);
    egb_json_number_(out, "requested_bytes", of->requested_bytes);
    if (of->has_ended) {
        egb_json_number_(out, "ended", one->pools);
    }
    egb_json_close_(out, '}');
}

// Returns the failures of requests to the heap: those of its size classes, and of the pool above
// them, for classes without a pool. Other pools have none.
static uint64_t write_pool(egb_json* out, egb_pool pool)
{
    egb_pool_stats one;
    egb_pool_stats above;
    egb_level      level;
    const size_t   index = class_of_pool(pool);
    if (egb_pool_get_stats_for_report_(pool, &one) != EGB_OK || !egb_pool_level_(pool, &level)) {
        return 0;
    }
    if (egb_pool_get_stats(egb_pool_parent(pool), &above) != EGB_OK) {
        above.name[0] = '\0';
    }
    const bool     is_class = index < EGB_HEAP_CLASSES;
    const uint64_t asked =
        is_class
            ? egb_since_(report.now.classes[index].requested_bytes, report.requested_before[index])
            : 0;
    const pool_numbers numbers = {&one, above.name, level, is_class, false, asked};
    write_numbers(out, &numbers);
    const bool is_heap = egb_pool_key_(pool) == egb_pool_key_(egb_heap_pool());
    return is_class || is_heap ? one.failures : 0;
}

static void write_ended(egb_json* out)
{
    egb_ended one;
    for (size_t i = 0; egb_ended_at_(i, &one); i++) {
        const pool_numbers numbers = {
            .stats = &one.stats, .parent = one.parent, .level = one.level, .has_ended = true
        };
        write_numbers(out, &numbers);
    }
}

static uint64_t write_pools(egb_json* out)
{
    const egb_control* const controls = __atomic_load_n(&egb_registry_.controls, __ATOMIC_ACQUIRE);
    const size_t             slots    = __atomic_load_n(&egb_registry_.slots, __ATOMIC_ACQUIRE);
    uint64_t                 failures = 0;
    egb_json_name_(out, "pools");
    egb_json_open_(out, '[');
    for (size_t slot = 1; controls != NULL && slot < slots; slot++) {
        failures += write_pool(out, egb_handle_of_(&controls[slot]));
    }
    write_ended(out);
    egb_json_close_(out, ']');
    return failures;
}

static void write_large_size(const egb_large_size* size, void* user)
{
    egb_json* const out = user;
    egb_json_next_(out);
    egb_json_open_(out, '{');
    egb_json_number_(out, "bytes", size->bytes);
    egb_json_number_(out, "allocations", size->requests);
    egb_json_number_(out, "allocations_over", size->over);
    egb_json_number_(out, "in_use", size->in_use);
    egb_json_number_(out, "peak", size->peak);
    egb_json_close_(out, '}');
}

static void write_large_sizes(egb_json* out)
{
    egb_json_name_(out, "sizes");
    egb_json_open_(out, '[');
    egb_large_each_size_(write_large_size, out);
    egb_json_close_(out, ']');
}

static uint64_t write_large(egb_json* out)
{
    const egb_heap_stats* const now      = &report.now;
    const uint64_t              failures = egb_since_(now->large_failures, report.large.failures);
    egb_json_name_(out, "large");
    egb_json_open_(out, '{');
    egb_json_number_(
        out, "allocations", egb_since_(now->large_allocations, report.large.allocations)
    );
    egb_json_number_(out, "frees", egb_since_(now->large_frees, report.large.frees));
    egb_json_number_(out, "in_use", now->large_in_use);
    egb_json_number_(out, "peak", now->large_peak);
    egb_json_number_(out, "bytes_in_use", now->large_bytes);
    egb_json_number_(out, "peak_bytes", now->large_bytes_peak);
    egb_json_number_(out, "failures", failures);
    egb_json_truth_(out, "is_tracked", egb_heap_tracks_large_() || egb_heap_samples_large_());
    write_large_sizes(out);
    egb_json_close_(out, '}');
    return failures;
}

static void write_count(egb_json* out, const char* name, const char* text, uint64_t count)
{
    if (count != 0) {
        egb_json_next_(out);
        egb_json_open_(out, '{');
        egb_json_word_(out, name, text);
        egb_json_number_(out, "count", count);
        egb_json_close_(out, '}');
    }
}

static void write_all(egb_json* out, const egb_os_process* process)
{
    (void)egb_heap_get_stats(&report.now);
    egb_json_open_(out, '{');
    write_process(out, process);
    uint64_t failures = write_pools(out);
    failures += write_large(out);
    egb_json_name_(out, "not_served");
    egb_json_open_(out, '[');
    write_count(out, "reason", "there was no memory for them", failures);
    egb_json_close_(out, ']');
    egb_json_name_(out, "misuse");
    egb_json_open_(out, '[');
    for (int kind = EGB_MISUSE_NO_POOL; kind <= EGB_MISUSE_LAST; kind++) {
        const egb_misuse_kind one = (egb_misuse_kind)kind;
        write_count(out, "kind", egb_misuse_text(one), egb_misuse_count_(one));
    }
    egb_json_close_(out, ']');
    egb_report_findings_(out);
    egb_json_close_(out, '}');
    egb_json_plain_(out, "\n");
    egb_json_flush_(out);
}

// ---- the file -----------------------------------------------------------------------------------

static char* add_to_path(char* to, const char* text)
{
    while (*text != '\0') {
        *to++ = *text++;
    }
    *to = '\0';
    return to;
}

static char* add_number_to_path(char* to, uint64_t number)
{
    char digits[EGB_DIGITS_BYTES];
    return add_to_path(to, egb_text_digits_(digits, number, 10, 1));
}

// The path of this process's file with that ending.
static void make_path(char* to, const char* folder, uint64_t pid, const char* ending)
{
    to = add_to_path(to, folder);
    to = add_to_path(to, "/");
    to = add_number_to_path(to, pid);
    to = add_to_path(to, "-");
    to = add_number_to_path(to, started_ns);
    (void)add_to_path(to, ending);
}

// Returns 0, or the number of the system's error. The folder may be one that others write to:
// a name that they have put there is not written to, and not removed.
static int write_file(const char* folder, const egb_os_process* process)
{
    make_path(report.path, folder, process->pid, ".part");
    make_path(report.whole_path, folder, process->pid, ".json");
    egb_json* const out = &report.out;
    egb_json_begin_(out, egb_os_create_(report.path));
    if (out->file < 0) {
        return -out->file;
    }
    write_all(out, process);
    const int of_close = egb_os_close_(out->file);
    int       error    = out->error != 0 ? out->error : of_close;
    if (error == 0) {
        error = egb_os_rename_(report.path, report.whole_path);
    }
    if (error != 0) {
        egb_os_remove_(report.path);
    }
    return error;
}

// The process has another user or another root by now, or the disk is full.
static int write_to_live_file(const egb_os_process* process, int error)
{
    egb_json* const out = &report.out;
    egb_live_room   room;
    if (!egb_live_open_room_(&room)) {
        return error;
    }
    egb_json_begin_at_(out, room.file, room.start, room.end);
    write_all(out, process);
    egb_live_close_room_(&room, out->error == 0 ? out->place - room.start : 0);
    return out->error;
}

static void remove_note(const char* folder, uint64_t pid, const char* ending)
{
    make_path(report.path, folder, pid, ending);
    egb_os_remove_(report.path);
}

static void note_the_end(const char* folder, uint64_t pid, bool is_written, int error)
{
    char number[EGB_DIGITS_BYTES];
    if (report.mark == NULL) {
        return;
    }
    if (is_written) {
        remove_note(folder, pid, report.mark);
    }
    if (report.has_failed || !is_written) {
        remove_note(folder, pid, ".failed");
    }
    if (!is_written) {
        egb_os_note_(egb_text_digits_(number, (uint64_t)error, 10, 1), report.path);
    }
    report.has_failed = !is_written;
}

static egb_status write_when_free(const char* folder, bool is_for_run, int milliseconds)
{
    const egb_os_process process = egb_os_this_process_();
    const bool           is_free = egb_locks_are_free_soon_(milliseconds);
    int                  error   = is_free ? write_file(folder, &process) : 0;
    if (error != 0 && is_for_run) {
        error = write_to_live_file(&process, error);
    } else if (is_free && is_for_run) {
        egb_live_forget_report_();
    }
    note_the_end(folder, process.pid, is_free && error == 0, error);
    report.error = error;
    if (!is_free) {
        return EGB_BUSY;
    }
    if (error != 0) {
        return EGB_NO_MEMORY;
    }
    egb_holders_at_exit_(false);
    return EGB_OK;
}

static egb_status refusal(const char* folder)
{
    if (!egb_os_has_reports_()) {
        return EGB_UNSUPPORTED;
    }
    return folder == NULL || __builtin_strlen(folder) >= EGB_REPORT_PATH_MAX ? EGB_INVALID : EGB_OK;
}

egb_status egb_report_write_from_(
    const char* folder, const void* frame, int signal, bool is_for_run, int milliseconds
)
{
    egb_status status = refusal(folder);
    if (status != EGB_OK) {
        return status;
    }
    if (__atomic_exchange_n(&report_is_busy, true, __ATOMIC_ACQUIRE)) {
        return EGB_BUSY;
    }
    egb_reach_enter_(frame);
    report.signal = signal;
    status        = write_when_free(folder, is_for_run, milliseconds);
    __atomic_store_n(&report_is_busy, false, __ATOMIC_RELEASE);
    return status;
}

__attribute__((noinline)) egb_status egb_report_write(const char* folder)
{
    return egb_report_write_from_(folder, EGB_REPORT_FRAME_(), 0, false, EGB_LOCKS_MILLISECONDS);
}

static void announce(const char* folder, const char* mark)
{
    if (refusal(folder) != EGB_OK || __atomic_exchange_n(&report_is_busy, true, __ATOMIC_ACQUIRE)) {
        return;
    }
    const size_t length = egb_os_program_(report.text, sizeof report.text - 1);
    report.text[length] = '\0';
    make_path(report.path, folder, egb_os_process_number_(), mark);
    egb_os_note_(length == 0 ? "?" : report.text, report.path);
    report.mark = mark;
    egb_live_note_start_(started_ns, version_text, level_of_classes());
    egb_ended_watch_();
    __atomic_store_n(&report_is_busy, false, __ATOMIC_RELEASE);
}

void egb_report_announce(const char* folder)
{
    announce(folder, ".begun");
}

void egb_report_announce_(const char* folder)
{
    announce(folder, EGB_IS_MALLOC ? ".begun" : ".linked");
}

int egb_report_error_(void)
{
    return report.error;
}

void egb_report_withdraw_(const char* folder)
{
    if (report.mark != NULL) {
        remove_note(folder, egb_os_process_number_(), report.mark);
    }
}
