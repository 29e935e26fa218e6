// SPDX-License-Identifier: MIT
// The slot of this process in the live file. The whole file is mapped once: a child of a fork
// claims a slot of its own by one atomic step, whatever it may no longer open or call.
#include "live_slot.h"

#include "../../os/os.h"
#include "../heap/heap.h"
#include "../pool/live_numbers.h"
#include "../pool/registry.h"
#include "../region/keep.h"
#include "../region/large.h"
#include "../report/text.h"
#include "../settings/settings.h"

EGB_STATIC_ASSERT(EGB_LIVE_CLASSES == EGB_HEAP_CLASSES, "a place for each class");
EGB_STATIC_ASSERT(sizeof(egb_live_slot) <= EGB_LIVE_SLOT_BYTES, "a slot has room");

// A process without `eggbox run` has a file for itself, and for the children of its forks.
enum { OWN_SLOTS = 64 };

static struct {
    char*          file;  // as memory; NULL: there is none
    uint32_t       slots;
    egb_live_slot* slot;          // the one of this process; NULL: none
    uint64_t       report_bytes;  // the room for its report, if another process made the file
    uint64_t       device;        // which file that is
    uint64_t       number;
    uint64_t       maker;
    int            descriptor;  // the file's in the maker; this process inherited it
    char           program[EGB_LIVE_PROGRAM];
} mapped;

// Waits for children whose number only the C library knows: how many threads wait now, and whether
// one of them had another beside it.
#define SEVERAL_WAITS (UINT32_C(1) << 31)
static uint32_t hidden_waits;

static egb_live_header* header(void)
{
    return (egb_live_header*)(void*)mapped.file;
}

static egb_live_slot* slot_at(uint32_t index)
{
    return (egb_live_slot*)(void*)(mapped.file + EGB_LIVE_START +
                                   (size_t)index * EGB_LIVE_SLOT_BYTES);
}

// The slots in the order in which a process looks for its own.
static egb_live_slot* slot_near(uint32_t pid, uint32_t step)
{
    return slot_at((pid % mapped.slots + step) % mapped.slots);
}

// ---- a slot -------------------------------------------------------------------------------------

typedef struct claimant {
    uint32_t pid;
    uint64_t process_started;  // 0: not known
} claimant;

// Whether nobody reads any more what the process has left: its report says all, and is no part of
// this file; or no command harvests this file.
static bool is_done_with(const egb_live_slot* slot)
{
    return (EGB_LOAD_(slot->state) == EGB_LIVE_REPORTED && EGB_LOAD_(slot->report_bytes) == 0) ||
           header()->is_harvested == 0;
}

// The slot of the program that this process was before it became this one by exec. The child of a
// fork does not ask when it began: its slot is one that it had, or that of an earlier process of
// the same number. Nobody reads either any more.
static bool is_former_own(const egb_live_slot* slot, uint32_t pid, const claimant* own)
{
    return pid == own->pid && own->process_started != 0 &&
           (slot->process_started == own->process_started || slot->process_started == 0);
}

// A process may have forbidden itself the question whether another one is there.
static bool is_of_the_dead(uint32_t pid)
{
    return !egb_keep_expects_sandbox_() && !egb_os_process_exists_(pid);
}

static bool
can_claim(const egb_live_slot* slot, uint32_t pid, const claimant* own, bool is_last_try)
{
    return pid == 0 || (is_done_with(slot) &&
                        (is_former_own(slot, pid, own) || (is_last_try && is_of_the_dead(pid))));
}

static bool claim_slot(egb_live_slot* slot, const claimant* own, bool is_last_try)
{
    uint32_t pid = __atomic_load_n(&slot->pid, __ATOMIC_ACQUIRE);
    return can_claim(slot, pid, own, is_last_try) &&
           __atomic_compare_exchange_n(
               &slot->pid, &pid, own->pid, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED
           );
}

// NULL: all are in use. The first look is at the same slot for each program of one process.
static egb_live_slot* claim(const claimant* own)
{
    for (uint32_t i = 0; i < 2 * mapped.slots; i++) {
        egb_live_slot* const slot = slot_near(own->pid, i);
        if (claim_slot(slot, own, i >= mapped.slots)) {
            (void)__atomic_fetch_add(&header()->claims, 1, __ATOMIC_RELEASE);
            return slot;
        }
    }
    (void)__atomic_fetch_add(&header()->refused, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void enter_slot(uint64_t process_started, bool is_forked)
{
    const size_t         number = offsetof(egb_live_slot, pid) + sizeof(uint32_t);
    const claimant       own    = {(uint32_t)egb_os_process_number_(), process_started};
    egb_live_slot* const slot   = claim(&own);
    if (slot != NULL) {
        (void)__builtin_memset((char*)slot + number, 0, sizeof *slot - number);
        slot->parent_pid      = (uint32_t)egb_os_parent_number_();
        slot->process_started = process_started;
        slot->started_ns      = egb_os_nanoseconds_();
        slot->is_forked       = is_forked;
        slot->is_linked       = !EGB_IS_MALLOC;
        slot->is_measured     = egb_heap_is_measured_();
        egb_text_copy_(slot->program, sizeof slot->program, mapped.program);
    }
    mapped.slot = slot;
    egb_heap_count_to_(slot != NULL ? slot->classes : NULL);
    egb_large_live_to_(slot != NULL ? &slot->large : NULL);
    egb_live_pools_to_(slot);
}

// It asks the system for two numbers and the time alone: the process may have forbidden itself the
// rest. If all slots are taken, it also asks whether their processes exist.
static void enter_in_child(void)
{
    EGB_STORE_(hidden_waits, 0);
    enter_slot(0, true);
}

const char* egb_live_program_(void)
{
    return mapped.program;
}

void egb_live_note_start_(uint64_t started_ns, const char* library, const char* level)
{
    if (mapped.slot != NULL) {
        mapped.slot->started_ns  = started_ns;
        mapped.slot->is_measured = egb_heap_is_measured_();
        egb_text_copy_(mapped.slot->library, sizeof mapped.slot->library, library);
        egb_text_copy_(mapped.slot->level, sizeof mapped.slot->level, level);
    }
}

void egb_live_note_goes_on_(void)
{
    if (mapped.slot != NULL) {
        __atomic_store_n(&mapped.slot->state, EGB_LIVE_RUNS, __ATOMIC_RELEASE);
    }
}

void egb_live_note_end_(bool is_written, int error)
{
    if (mapped.slot != NULL) {
        const uint32_t state      = is_written ? EGB_LIVE_REPORTED : EGB_LIVE_FAILED;
        mapped.slot->report_error = (uint32_t)error;
        __atomic_store_n(&mapped.slot->state, state, __ATOMIC_RELEASE);
    }
}

// Looks at 32 slots from the place on that the number of the child gives: a slot lies farther away
// only if the 32 before were taken, and a child that is not on pools has none anywhere. The parent
// has waited for the child before this note: a harvest between the two finds no cause.
void egb_live_note_wait_(uint32_t pid, int status)
{
    enum { LOOKS_MAX = 32 };
    for (uint32_t i = 0; mapped.file != NULL && i < LOOKS_MAX && i < mapped.slots; i++) {
        egb_live_slot* const slot = slot_near(pid, i);
        if (EGB_LOAD_(slot->pid) == pid) {
            EGB_STORE_(slot->end_status, status);
            __atomic_store_n(&slot->is_end_seen, 1, __ATOMIC_RELEASE);
        }
    }
}

// ---- children whose number only the C library knows ---------------------------------------------

uint64_t egb_live_now_(void)
{
    return egb_os_nanoseconds_();
}

void egb_live_wait_begins_(void)
{
    uint32_t was = EGB_LOAD_(hidden_waits);
    uint32_t now;
    do {
        now = was == 0 ? 1 : (was + 1) | SEVERAL_WAITS;
    } while (!__atomic_compare_exchange_n(
        &hidden_waits, &was, now, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED
    ));
}

// Whether this wait was alone from its begin on. The child of a fork has none of its parent's.
static bool leave_wait(void)
{
    uint32_t was = EGB_LOAD_(hidden_waits);
    uint32_t now;
    do {
        now = was == 0 || (was & ~SEVERAL_WAITS) == 1 ? 0 : was - 1;
    } while (!__atomic_compare_exchange_n(
        &hidden_waits, &was, now, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED
    ));
    return was == 1;
}

// A slot of a program that this process started, and that is gone.
static bool is_unseen_child(const egb_live_slot* slot, uint32_t parent, uint64_t since_ns)
{
    const uint32_t pid = EGB_LOAD_(slot->pid);
    return pid != 0 && EGB_LOAD_(slot->parent_pid) == parent && EGB_LOAD_(slot->is_end_seen) == 0 &&
           slot->is_forked == 0 && slot->started_ns > since_ns && is_of_the_dead(pid);
}

// 0: there is none, or several.
static uint32_t find_unseen_child(uint64_t since_ns)
{
    const uint32_t own   = (uint32_t)egb_os_process_number_();
    uint32_t       found = 0;
    for (uint32_t i = 0; mapped.file != NULL && i < mapped.slots; i++) {
        const egb_live_slot* const slot = slot_at(i);
        if (is_unseen_child(slot, own, since_ns)) {
            const uint32_t pid = EGB_LOAD_(slot->pid);
            if (found != 0 && found != pid) {
                return 0;
            }
            found = pid;
        }
    }
    return found;
}

void egb_live_wait_ends_(uint64_t since_ns, int status)
{
    const uint32_t child = status != -1 ? find_unseen_child(since_ns) : 0;
    if (leave_wait() && child != 0) {
        egb_live_note_wait_(child, status);
    }
}

// ---- the file -----------------------------------------------------------------------------------

static void write_header(uint32_t slots)
{
    const egb_live_header out = {
        .magic      = EGB_LIVE_MAGIC,
        .version    = EGB_LIVE_VERSION,
        .slot_count = slots,
        .slot_bytes = EGB_LIVE_SLOT_BYTES,
        .maker      = (uint32_t)egb_os_process_number_()
    };
    *header() = out;
}

static bool is_ours(const egb_live_header* found, uint64_t bytes, uint64_t maker)
{
    return found->magic == EGB_LIVE_MAGIC && found->version == EGB_LIVE_VERSION &&
           found->slot_bytes == EGB_LIVE_SLOT_BYTES && found->maker == (uint32_t)maker &&
           found->slot_count != 0 && found->slot_count <= EGB_LIVE_SLOTS_MAX &&
           found->report_bytes <= EGB_LIVE_REPORT_MAX &&
           bytes == EGB_LIVE_BYTES(found->slot_count) + found->slot_count * found->report_bytes;
}

// The child of a fork of this process finds it by the mapping; others by the descriptor, which
// stays open. Nobody harvests it.
static bool make_own(void)
{
    int file;
    if (egb_os_shared_make_(&file, NULL, 0, EGB_LIVE_BYTES(OWN_SLOTS)) != EGB_OK) {
        return false;
    }
    file        = egb_os_shared_step_aside_(file);
    mapped.file = egb_os_shared_map_(file, 0, (size_t)EGB_LIVE_BYTES(OWN_SLOTS), true, 0);
    if (mapped.file == NULL) {
        egb_os_shared_close_(file);
        return false;
    }
    mapped.slots = OWN_SLOTS;
    write_header(OWN_SLOTS);
    return true;
}

// Only a file that nobody can make shorter: an access behind its end would be a signal.
static bool map_other(int file, uint64_t maker)
{
    egb_os_shared_file facts;
    egb_live_header    found;  // others may write to the file
    if (egb_os_shared_look_(file, &facts) != EGB_OK || !facts.is_writable || !facts.is_sealed ||
        !egb_os_shared_read_(file, &found, sizeof found) || !is_ours(&found, facts.bytes, maker)) {
        return false;
    }
    mapped.file  = egb_os_shared_map_(file, 0, (size_t)EGB_LIVE_BYTES(found.slot_count), true, 0);
    mapped.slots = found.slot_count;
    mapped.report_bytes = found.report_bytes;
    mapped.device       = facts.device;
    mapped.number       = facts.number;
    return mapped.file != NULL;
}

static bool map_and_close(int file, uint64_t maker)
{
    const bool is_mapped = map_other(file, maker);
    egb_os_shared_close_(file);
    return is_mapped;
}

// "PID/DESCRIPTOR". False: the text is another one, or there is no live file. Our own descriptor of
// that number serves where the other process is gone, or belongs to another user.
static bool map_named(const char* text)
{
    uint64_t          maker;
    uint64_t          number;
    const char* const end   = text + __builtin_strlen(text);
    const char*       slash = text;
    int               file;
    while (*slash != '/' && *slash != '\0') {
        slash++;
    }
    if (*slash == '\0' || !egb_entry_number_(text, slash, &maker) ||
        !egb_entry_number_(slash + 1, end, &number) || number > INT32_MAX) {
        return false;
    }
    mapped.maker      = maker;
    mapped.descriptor = (int)number;
    return (egb_os_shared_of_(&file, maker, (int)number) == EGB_OK && map_and_close(file, maker)) ||
           (egb_os_shared_twin_(&file, (int)number) == EGB_OK && map_and_close(file, maker));
}

// ---- the room for a report ----------------------------------------------------------------------

// The program may have another file under that number by now.
static bool is_mapped_file(int file)
{
    egb_os_shared_file facts;
    return egb_os_shared_look_(file, &facts) == EGB_OK && facts.is_writable &&
           facts.device == mapped.device && facts.number == mapped.number;
}

static bool is_mapped_or_close(int file)
{
    const bool is_it = is_mapped_file(file);
    if (!is_it) {
        egb_os_shared_close_(file);
    }
    return is_it;
}

void egb_live_forget_report_(void)
{
    if (mapped.slot != NULL) {
        __atomic_store_n(&mapped.slot->report_bytes, 0, __ATOMIC_RELEASE);
    }
}

bool egb_live_open_room_(egb_live_room* out)
{
    if (mapped.slot == NULL || mapped.report_bytes == 0) {
        return false;
    }
    if (!(egb_os_shared_twin_(&out->file, mapped.descriptor) == EGB_OK &&
          is_mapped_or_close(out->file)) &&
        !(egb_os_shared_of_(&out->file, mapped.maker, mapped.descriptor) == EGB_OK &&
          is_mapped_or_close(out->file))) {
        return false;
    }
    const size_t place = (size_t)((char*)mapped.slot - mapped.file) / EGB_LIVE_SLOT_BYTES;
    out->start         = EGB_LIVE_BYTES(mapped.slots) + place * mapped.report_bytes;
    out->end           = out->start + mapped.report_bytes;
    egb_live_forget_report_();
    return true;
}

void egb_live_close_room_(const egb_live_room* room, uint64_t bytes)
{
    egb_os_shared_close_(room->file);
    __atomic_store_n(&mapped.slot->report_bytes, (uint32_t)bytes, __ATOMIC_RELEASE);
}

void egb_live_begin_(void)
{
    egb_os_prepare_();
    const char* const wanted = egb_os_variable_("EGGBOX_LIVE");
    if (wanted == NULL || *wanted == '\0' || !egb_os_has_shared_() || !egb_registry_is_made_()) {
        return;
    }
    const bool is_own = wanted[0] == '1' && wanted[1] == '\0';
    if (!(is_own ? make_own() : map_named(wanted)) ||
        !egb_os_at_fork_(NULL, NULL, enter_in_child)) {
        return;
    }
    const size_t length    = egb_os_program_(mapped.program, sizeof mapped.program - 1);
    mapped.program[length] = '\0';
    enter_slot(egb_os_this_process_().started_ticks, false);
}
