// SPDX-License-Identifier: MIT
// The report of a process: docs/report-format.md. Its memory is static, for one thread at a time.
#include "eggbox/report.h"

#include "../../os/os.h"
#include "../pool/fork.h"
#include "../pool/live_sites.h"
#include "../pool/registry.h"
#include "../report/json.h"
#include "../report/misuse.h"
#include "../report/text.h"
#include "../settings/settings.h"
#include "eggbox/heap.h"
#include "findings.h"

// ---- what a child of a fork does not count ------------------------------------------------------

// The counts of a size class, or of large blocks, that a forked process inherited.
typedef struct earlier {
    uint64_t allocations;
    uint64_t frees;
    uint64_t failures;
    uint64_t requested_bytes;
} earlier;

enum { PATH_BYTES_MAX = 4096 };

static struct {
    egb_heap_stats now;
    earlier        classes[EGB_HEAP_CLASSES];
    earlier        large;
    uint64_t       started_ns;
    egb_json       out;
    char           text[PATH_BYTES_MAX];
    char           path[PATH_BYTES_MAX + 64];
    char           whole_path[PATH_BYTES_MAX + 64];
} report;
static bool report_is_busy;  // atomic: a thread is writing

static uint64_t since(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

// In the child of a fork the thread that was writing a report no longer exists.
static void reset_report(void)
{
    __atomic_store_n(&report_is_busy, false, __ATOMIC_RELEASE);
}

static egb_fork_hook report_fork_hook = {.in_child = reset_report};

// The hook is added here, because adding it takes a lock: a report may be written in a signal
// handler that interrupted the holder of that lock.
__attribute__((constructor)) static void note_the_start(void)
{
    egb_fork_add_hook_(&report_fork_hook);
    report.started_ns = egb_os_nanoseconds_();
}

void egb_report_restart(void)
{
    note_the_start();
    egb_misuse_forget_();
    egb_holders_restart_();
    (void)egb_heap_get_stats(&report.now);
    report.large.allocations = report.now.large_allocations;
    report.large.frees       = report.now.large_frees;
    report.large.failures    = report.now.large_failures;
    for (size_t i = 0; i < EGB_HEAP_CLASSES; i++) {
        egb_pool_stats one;
        if (egb_pool_get_stats(report.now.classes[i].pool, &one) == EGB_OK) {
            const earlier before = {
                one.allocations, one.frees, one.failures, report.now.classes[i].requested_bytes
            };
            report.classes[i] = before;
        }
    }
}

// ---- the parts ----------------------------------------------------------------------------------

#define AS_TEXT(number)       #number
#define NUMBER_AS_TEXT(macro) AS_TEXT(macro)
static const char version_text[] = NUMBER_AS_TEXT(EGB_VERSION_MAJOR
) "." NUMBER_AS_TEXT(EGB_VERSION_MINOR) "." NUMBER_AS_TEXT(EGB_VERSION_PATCH);

// Writes an argument of any length: it is read in several parts if it is longer than the buffer,
// but stays one element of the list.
static void write_arguments(egb_json* out)
{
    egb_json_name_(out, "arguments");
    egb_json_open_(out, '[');
    const int file = egb_os_open_arguments_();
    size_t    held = 0;
    while (file >= 0) {
        const size_t got = egb_os_read_(file, report.text + held, sizeof report.text - held);
        held += got;
        size_t from = 0;
        for (size_t i = 0; i < held; i++) {
            if (report.text[i] == '\0') {
                egb_json_next_(out);
                egb_json_text_(out, report.text + from, i - from);
                from = i + 1;
            }
        }
        if (from == 0 && held == sizeof report.text) {  // too long: write its beginning
            egb_json_next_(out);
            egb_json_text_(out, report.text, held);
            break;
        }
        (void)__builtin_memmove(report.text, report.text + from, held - from);
        held -= from;
        if (got == 0) {
            break;
        }
    }
    if (file >= 0) {
        egb_os_close_(file);
    }
    egb_json_close_(out, ']');
}

// The common level of the size classes, if they have one.
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

static void write_process(egb_json* out, const egb_os_process* process)
{
    const uint64_t took = (egb_os_nanoseconds_() - report.started_ns) / 1000;
    egb_json_number_(out, "schema", 1);
    egb_json_word_(out, "kind", "eggbox-process");
    egb_json_member_(out, "program", report.text, egb_os_program_(report.text, sizeof report.text));
    write_arguments(out);
    egb_json_number_(out, "pid", process->pid);
    egb_json_number_(out, "parent_pid", process->parent_pid);
    egb_json_number_(out, "process_started", process->started_ticks);
    egb_json_number_(out, "started_ns", report.started_ns);
    egb_json_number_(out, "duration_s", took / 1000000);
    egb_json_byte_(out, '.');
    egb_json_digits_(out, took % 1000000, 6);
    egb_json_word_(out, "level", level_of_classes());
    egb_json_word_(out, "library", version_text);
    egb_json_number_(out, "peak_resident_bytes", process->peak_resident_bytes);
    egb_json_number_(out, "minor_faults", process->minor_faults);
    egb_json_number_(out, "major_faults", process->major_faults);
    egb_json_truth_(out, "is_measured", report.now.is_measured);
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

// Returns the pool's failures, if they are requests to the heap.
static uint64_t write_pool(egb_json* out, egb_pool pool)
{
    egb_pool_stats one;
    egb_pool_stats above;
    egb_level      level;
    const size_t   index = class_of_pool(pool);
    if (egb_pool_get_stats(pool, &one) != EGB_OK || !egb_pool_level_(pool, &level)) {
        return 0;
    }
    if (egb_pool_get_stats(egb_pool_parent(pool), &above) != EGB_OK) {
        above.name[0] = '\0';
    }
    const bool     is_class = index < EGB_HEAP_CLASSES;
    const earlier  none     = {0};
    const earlier  before   = is_class ? report.classes[index] : none;
    const uint64_t asked    = is_class ? report.now.classes[index].requested_bytes : 0;
    // The peak counts blocks in magazines; blocks never requested were never in use.
    const uint64_t peak = one.peak < one.allocations ? one.peak : one.allocations;
    egb_json_next_(out);
    egb_json_open_(out, '{');
    egb_json_word_(out, "name", one.name);
    egb_json_word_(out, "parent", above.name);
    egb_json_truth_(out, "is_size_class", is_class);
    egb_json_word_(out, "level", egb_level_text(level));
    egb_json_number_(out, "block_bytes", one.block_bytes);
    egb_json_number_(out, "stride_bytes", one.stride_bytes);
    egb_json_number_(out, "max_blocks", one.max_blocks);
    egb_json_number_(out, "budget_bytes", one.budget_bytes);
    egb_json_number_(out, "capacity", one.capacity);
    egb_json_number_(out, "in_use", one.in_use);
    egb_json_number_(out, "cached", one.in_magazines);
    egb_json_number_(out, "peak", peak);
    egb_json_number_(out, "allocations", since(one.allocations, before.allocations));
    egb_json_number_(out, "frees", since(one.frees, before.frees));
    egb_json_number_(out, "failures", since(one.failures, before.failures));
    egb_json_number_(out, "chunks", one.chunks);
    egb_json_number_(out, "bytes_held", one.bytes_held);
    egb_json_number_(out, "requested_bytes", since(asked, before.requested_bytes));
    egb_json_close_(out, '}');
    return is_class ? since(one.failures, before.failures) : 0;
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
    egb_json_close_(out, ']');
    return failures;
}

static uint64_t write_large(egb_json* out)
{
    const egb_heap_stats* const now      = &report.now;
    const uint64_t              failures = since(now->large_failures, report.large.failures);
    egb_json_name_(out, "large");
    egb_json_open_(out, '{');
    egb_json_number_(out, "allocations", since(now->large_allocations, report.large.allocations));
    egb_json_number_(out, "frees", since(now->large_frees, report.large.frees));
    egb_json_number_(out, "in_use", now->large_in_use);
    egb_json_number_(out, "peak", now->large_peak);
    egb_json_number_(out, "bytes_in_use", now->large_bytes);
    egb_json_number_(out, "peak_bytes", now->large_bytes_peak);
    egb_json_number_(out, "failures", failures);
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

static void make_paths(const char* folder, uint64_t pid)
{
    char* to = add_to_path(report.path, folder);
    to       = add_to_path(to, "/");
    to       = add_number_to_path(to, pid);
    to       = add_to_path(to, "-");
    to       = add_number_to_path(to, report.started_ns);
    (void)add_to_path(to, ".part");
    (void)__builtin_memcpy(report.whole_path, report.path, sizeof report.path);
    (void)add_to_path(report.whole_path + (to - report.path), ".json");
}

static egb_status write_file(const char* folder)
{
    const egb_os_process process = egb_os_this_process_();
    make_paths(folder, process.pid);
    egb_json* const out = &report.out;
    egb_json_begin_(out, egb_os_create_(report.path));
    if (out->file < 0) {
        return EGB_NO_MEMORY;
    }
    write_all(out, &process);
    egb_os_close_(out->file);
    if (out->has_failed || !egb_os_rename_(report.path, report.whole_path)) {
        egb_os_remove_(report.path);
        return EGB_NO_MEMORY;
    }
    egb_holders_at_exit_(false);
    return EGB_OK;
}

egb_status egb_report_write(const char* folder)
{
    if (!egb_os_has_reports_()) {
        return EGB_UNSUPPORTED;
    }
    if (folder == NULL || __builtin_strlen(folder) >= PATH_BYTES_MAX) {
        return EGB_INVALID;
    }
    if (__atomic_exchange_n(&report_is_busy, true, __ATOMIC_ACQUIRE)) {
        return EGB_BUSY;
    }
    const egb_status status = egb_locks_are_free_soon_() ? write_file(folder) : EGB_BUSY;
    __atomic_store_n(&report_is_busy, false, __ATOMIC_RELEASE);
    return status;
}
