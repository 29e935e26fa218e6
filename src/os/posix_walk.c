// SPDX-License-Identifier: MIT
// The rule of a return address says where the next call's top, frame pointer and return address
// are. It is right as long as the same code is at that address. After a library was unloaded
// another one may be there, so an unload makes all rules old. It is noticed when a new rule is
// learned: code that was never called before has such addresses, and a rule of other code leads,
// as good as always, to a word that is no known return address. A wrong rule does no harm before
// that: it reads no word outside the part of the stack that the unwinder has seen.
#include "posix_features.h"

#include "posix_walk.h"

#if defined(__linux__) && defined(__GNUC__)
  #include <sys/types.h>
  #include <unistd.h>

static pid_t home_process;  // written once, before the first walk

bool egb_walk_is_child_(void)
{
    return home_process != getpid();
}

#endif

#if defined(__linux__) && defined(__GNUC__) && defined(__x86_64__)
  #include <dlfcn.h>
  #include <link.h>

  #include "posix_cfi.h"

  // A static program may lack them.
  #pragma weak dlsym
  #pragma weak dl_iterate_phdr

enum {
    STACK_WORD_BYTES = sizeof(uintptr_t),
    RULE_BITS        = 16,
    RULES            = 1 << RULE_BITS,
    RULES_TRIED      = 8,
    STEP_MAX         = 1 << 17,  // from one call to the next, without a change of the stack
    WALKS_MAX        = 2,
    AGES             = 1 << 16,
    FRAME_SHIFT      = 3,  // of the parts of a rule in a word
    IS_KNOWN_SHIFT   = 5,
    AGE_SHIFT        = 8,
    OFFSET_UNIT      = 8
};

// A return address and its rule. Both are atomic; 0: free, not known.
typedef struct rule_place {
    uint64_t address;
    uint64_t rule;
} rule_place;

static rule_place* rules;  // as `home_process`

// How many unloads the rules know of, and their age, which a rule must have. Atomic.
static uint64_t known_unloads;
static uint64_t rules_age;

// The part of a stack that the unwinder has seen whole: all of it can be read. A thread may change
// its stack, with coroutines and for signals: nothing is read outside.
static __thread uintptr_t seen_from __attribute__((tls_model("initial-exec")));
static __thread uintptr_t seen_to __attribute__((tls_model("initial-exec")));

// ---- modules ------------------------------------------------------------------------------------

  #if defined(DLFO_STRUCT_HAS_EH_DBASE)

typedef int find_object_fn(void* address, struct dl_find_object* found);

// glibc 2.35 and later; takes no lock.
static find_object_fn* find_object;

static void prepare_find_object(void)
{
    *(void**)&find_object = dlsym == NULL ? NULL : dlsym(RTLD_DEFAULT, "_dl_find_object");
}

static bool has_find_object(void)
{
    return find_object != NULL;
}

static bool find_by_object(uintptr_t address, egb_cfi_module* out)
{
    struct dl_find_object found;
    if (find_object((void*)address, &found) != 0 || found.dlfo_eh_frame == NULL) {
        return false;
    }
    *out = (egb_cfi_module){found.dlfo_map_start, found.dlfo_map_end, found.dlfo_eh_frame};
    return true;
}

  #else

static void prepare_find_object(void) {}

static bool has_find_object(void)
{
    return false;
}

static bool find_by_object(uintptr_t address, egb_cfi_module* out)
{
    (void)address;
    (void)out;
    return false;
}

  #endif

typedef struct module_search {
    uintptr_t      address;
    egb_cfi_module found;
    bool           is_found;
} module_search;

static bool is_in_segment(const struct dl_phdr_info* info, size_t i, uintptr_t address)
{
    const ElfW(Phdr)* const part = &info->dlpi_phdr[i];
    return part->p_type == PT_LOAD && address - (info->dlpi_addr + part->p_vaddr) < part->p_memsz;
}

static const unsigned char* loaded_at(const struct dl_phdr_info* info, uintptr_t address)
{
    return (const unsigned char*)(info->dlpi_addr + address);
}

// The module is the segment that the information is in: all that is read of it lies there.
static void take_module(const struct dl_phdr_info* info, uintptr_t header, egb_cfi_module* out)
{
    *out = (egb_cfi_module){NULL, NULL, loaded_at(info, header)};
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        if (is_in_segment(info, i, info->dlpi_addr + header)) {
            out->from = loaded_at(info, info->dlpi_phdr[i].p_vaddr);
            out->to   = out->from + info->dlpi_phdr[i].p_filesz;
        }
    }
}

static int look_at_module(struct dl_phdr_info* info, size_t bytes, void* user)
{
    module_search* const search = user;
    uintptr_t            header = 0;
    bool                 is_in  = false;
    (void)bytes;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        is_in  = is_in || is_in_segment(info, i, search->address);
        header = info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME ? info->dlpi_phdr[i].p_vaddr : header;
    }
    if (is_in && header != 0) {
        take_module(info, header, &search->found);
        search->is_found = true;
    }
    return is_in ? 1 : 0;
}

static bool find_module(uintptr_t address, egb_cfi_module* out)
{
    if (has_find_object()) {
        return find_by_object(address, out);
    }
    module_search search = {.address = address};
    if (dl_iterate_phdr != NULL) {
        (void)dl_iterate_phdr(look_at_module, &search);
    }
    *out = search.found;
    return search.is_found;
}

// ---- the rules ----------------------------------------------------------------------------------

static uint64_t word_of_rule(egb_cfi_rule rule, uint64_t age)
{
    return (uint64_t)rule.top | (uint64_t)rule.frame << FRAME_SHIFT | 1u << IS_KNOWN_SHIFT |
           age << AGE_SHIFT | (uint64_t)(rule.frame_offset / OFFSET_UNIT) << 46 >> 18 |
           (uint64_t)(rule.top_offset / OFFSET_UNIT) << 46;
}

static intptr_t top_offset(uint64_t rule)
{
    return ((int64_t)rule >> 46) * OFFSET_UNIT;
}

static intptr_t frame_offset(uint64_t rule)
{
    return ((int64_t)(rule << 18) >> 46) * OFFSET_UNIT;
}

static egb_cfi_top top_kind(uint64_t rule)
{
    return (egb_cfi_top)(rule & ((1u << FRAME_SHIFT) - 1));
}

static egb_cfi_frame frame_kind(uint64_t rule)
{
    return (egb_cfi_frame)(rule >> FRAME_SHIFT & 3);
}

static bool is_of_age(uint64_t rule, uint64_t age)
{
    return (rule >> IS_KNOWN_SHIFT & 1) != 0 && (rule >> AGE_SHIFT) % AGES == age;
}

static uint64_t age_now(void)
{
    return __atomic_load_n(&rules_age, __ATOMIC_RELAXED) % AGES;
}

// The place of a return address, or a free one for it. NULL: there is none.
static rule_place* place_of_rule(uint64_t address)
{
    const uint64_t mixed = address * 0x9E3779B97F4A7C15u;  // Fibonacci hashing
    for (size_t i = 0; i < RULES_TRIED; i++) {
        rule_place* const place = &rules[((mixed >> (64 - RULE_BITS)) + i) % RULES];
        const uint64_t    found = __atomic_load_n(&place->address, __ATOMIC_RELAXED);
        if (found == 0 || found == address) {
            return place;
        }
    }
    return NULL;
}

// An address keeps its place for ever, so that its rule is one word that threads can replace.
static void keep_rule(uint64_t address, uint64_t rule)
{
    rule_place* const place = place_of_rule(address);
    uint64_t          found = 0;
    if (place != NULL &&
        (__atomic_compare_exchange_n(
             &place->address, &found, address, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED
         ) ||
         found == address)) {
        __atomic_store_n(&place->rule, rule, __ATOMIC_RELAXED);
    }
}

// 0: not known.
static uint64_t kept_rule(uint64_t address, uint64_t age)
{
    const rule_place* const place = place_of_rule(address);
    const bool              is_it =
        place != NULL && __atomic_load_n(&place->address, __ATOMIC_RELAXED) == address;
    const uint64_t rule = is_it ? __atomic_load_n(&place->rule, __ATOMIC_RELAXED) : 0;
    return is_of_age(rule, age) ? rule : 0;
}

static int note_unloads(struct dl_phdr_info* info, size_t bytes, void* user)
{
    const size_t needed = offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs;
    if (bytes >= needed) {
        *(uint64_t*)user = info->dlpi_subs;
    }
    return 1;
}

// Makes all rules old if something was unloaded.
static void heed_unloads(void)
{
    uint64_t known   = __atomic_load_n(&known_unloads, __ATOMIC_RELAXED);
    uint64_t unloads = known;
    if (dl_iterate_phdr != NULL && !egb_walk_is_child_()) {
        (void)dl_iterate_phdr(note_unloads, &unloads);
    }
    if (unloads != known &&
        __atomic_compare_exchange_n(
            &known_unloads, &known, unloads, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED
        )) {
        (void)__atomic_fetch_add(&rules_age, 1, __ATOMIC_RELAXED);
    }
}

// The rule of an address, for the age that is then. Code that no module has is not this one's to
// judge: a program may have told the unwinder about it.
static uint64_t learn_rule(uint64_t address)
{
    heed_unloads();
    const uint64_t age    = age_now();
    egb_cfi_rule   rule   = {EGB_CFI_OTHER, EGB_CFI_KEPT, 0, 0};
    egb_cfi_module module = {NULL, NULL, NULL};
    if (!has_find_object() && egb_walk_is_child_()) {
        return word_of_rule(rule, age);
    }
    if (find_module(address - 1, &module)) {
        rule = egb_cfi_rule_(&module, address);
    }
    keep_rule(address, word_of_rule(rule, age));
    return word_of_rule(rule, age);
}

// ---- a walk -------------------------------------------------------------------------------------

__attribute__((no_sanitize("address", "thread"))) static uintptr_t word_at(uintptr_t place)
{
    return *(const uintptr_t*)place;
}

// False: the word is not between a call's top and `end`.
static bool read_word(uintptr_t top, uintptr_t place, uintptr_t end, uintptr_t* out)
{
    const bool is_in = place >= top && place < end && place % STACK_WORD_BYTES == 0;
    *out             = is_in ? word_at(place) : 0;
    return is_in;
}

// From a call to the next. False: that would lead out of what can be read.
static bool step(egb_os_call* call, uint64_t rule, uintptr_t end)
{
    const egb_cfi_top kind = top_kind(rule);
    uintptr_t         top  = (kind == EGB_CFI_BY_STACK ? call->top : call->frame);
    top += (uintptr_t)top_offset(rule);
    if (kind == EGB_CFI_BY_POINTER && !read_word(call->top, top, end, &top)) {
        return false;
    }
    if (top <= call->top || top > end || top % STACK_WORD_BYTES != 0) {
        return false;
    }
    const egb_cfi_frame frame = frame_kind(rule);
    if (frame != EGB_CFI_KEPT) {
        const uintptr_t from  = frame == EGB_CFI_BELOW_TOP ? top : call->frame;
        const uintptr_t place = from + (uintptr_t)frame_offset(rule);
        if (!read_word(call->top, place, end, &call->frame)) {
            return false;
        }
    }
    call->top     = top;
    call->address = (const void*)word_at(top - STACK_WORD_BYTES);
    return true;
}

// With rules of one age. `is_old` when they became old on the way.
static size_t
walk_at_age(egb_os_call call, egb_os_call* calls, size_t most, uint64_t age, bool* is_old)
{
    const uintptr_t end = seen_to;
    for (size_t count = 0; count < most; count++) {
        calls[count]           = call;
        const uint64_t address = (uint64_t)(uintptr_t)call.address;
        uint64_t       rule    = kept_rule(address, age);
        if (rule == 0) {
            rule    = learn_rule(address);
            *is_old = !is_of_age(rule, age);
        }
        if (top_kind(rule) == EGB_CFI_LAST) {
            return count + 1;
        }
        if (*is_old || top_kind(rule) == EGB_CFI_OTHER || !step(&call, rule, end)) {
            return 0;
        }
    }
    return most;
}

size_t egb_walk_(egb_os_call first, egb_os_call* calls, size_t most)
{
    size_t count  = 0;
    bool   is_old = first.top >= seen_from && first.top <= seen_to;
    for (size_t i = 0; i < WALKS_MAX && is_old; i++) {
        is_old = false;
        count  = walk_at_age(first, calls, most, age_now(), &is_old);
    }
    return is_old ? 0 : count;
}

// ---- what the unwinder told ---------------------------------------------------------------------

// Whether a call's return address is the word below its top, as it is unless it is no call but the
// return from a signal handler.
static bool is_called(const egb_os_call* call)
{
    return word_at(call->top - STACK_WORD_BYTES) == (uintptr_t)call->address;
}

static bool is_step(const egb_os_call* one, const egb_os_call* next)
{
    const uintptr_t distance = next->top - one->top;
    return next->top > one->top && distance <= STEP_MAX && distance % STACK_WORD_BYTES == 0 &&
           is_called(one) && is_called(next);
}

// The part of a stack from `first` to `last`. If the stack ends there, it is another stack than the
// known one unless that ends there, too. If not, it is the same if the two parts overlap.
static void learn_range(uintptr_t first, uintptr_t last, bool is_whole)
{
    const bool is_same = is_whole ? last == seen_to : first <= seen_to && last >= seen_from;
    seen_from          = is_same && seen_from < first ? seen_from : first;
    seen_to            = is_same && seen_to > last ? seen_to : last;
}

// Where the unwinder ended in code of no module, the stack ends.
static void learn_end(const egb_os_call* last)
{
    const uint64_t     address = (uint64_t)(uintptr_t)last->address;
    const egb_cfi_rule end     = {EGB_CFI_LAST, EGB_CFI_KEPT, 0, 0};
    const uint64_t     age     = age_now();
    const uint64_t     rule    = kept_rule(address, age);
    if (rule != 0 && top_kind(rule) == EGB_CFI_OTHER && is_called(last)) {
        keep_rule(address, word_of_rule(end, age));
    }
}

void egb_walk_learn_(const egb_os_call* calls, size_t count, bool is_whole)
{
    if (count == 0) {
        return;
    }
    bool is_regular = true;
    for (size_t i = 0; i + 1 < count && is_regular; i++) {
        is_regular = is_step(&calls[i], &calls[i + 1]);
    }
    if (is_regular) {
        learn_range(calls[0].top, calls[count - 1].top, is_whole);
    }
    if (is_whole) {
        learn_end(&calls[count - 1]);
    }
}

bool egb_walk_prepare_(void)
{
    const size_t      bytes = RULES * sizeof(rule_place);
    rule_place* const fresh = egb_os_reserve_(bytes, egb_os_page_bytes_());
    if (fresh == NULL || egb_os_commit_(fresh, bytes, 0, NULL) != EGB_OK) {
        return false;
    }
    prepare_find_object();
    home_process = getpid();
    rules        = fresh;
    return true;
}

#elif defined(__linux__) && defined(__GNUC__)

bool egb_walk_prepare_(void)
{
    home_process = getpid();
    return true;
}

size_t egb_walk_(egb_os_call first, egb_os_call* calls, size_t most)
{
    (void)first;
    (void)calls;
    (void)most;
    return 0;
}

void egb_walk_learn_(const egb_os_call* calls, size_t count, bool is_whole)
{
    (void)calls;
    (void)count;
    (void)is_whole;
}

#endif
