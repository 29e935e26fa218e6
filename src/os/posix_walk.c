// SPDX-License-Identifier: MIT
// The rule of a return address says where the next call's top, frame pointer and return address
// are. A walk reads rules and the stack, and calls nothing that another part of the program might
// have, or hold a lock of.
//
// The code of the program itself stays, so a walk learns a rule there at once. A library may be
// unloaded, and others read it only while a call in it has not returned: its rules are learned from
// the calls that the unwinder told. Other code may come to the place of an unloaded library. That
// is noticed with the first told call in it, and makes all rules old. Until then a rule of the
// unloaded library leads, as good as always, to a word that is no known return address, and so to
// the unwinder. A wrong rule does no harm: it reads no word outside the part of the stack that the
// unwinder has seen.
#include "posix_features.h"

#include "posix_walk.h"

#include "posix_modules.h"

#ifdef EGB_OS_HAS_MODULES
  #include <sys/auxv.h>

enum {
    STACK_WORD_BYTES = sizeof(uintptr_t),
    RULE_BITS        = 16,
    RULES            = 1 << RULE_BITS,
    RULES_TRIED      = 8,
    STEP_MAX         = 1 << 17,  // from one call to the next, without a change of the stack
    AGES             = 1 << 16,
    FRAME_SHIFT      = 3,  // shifts of the parts of a rule in a word
    IS_KNOWN_SHIFT   = 5,
    AGE_SHIFT        = 8,
    OFFSET_UNIT      = 8,
    FIRST_CODE_BYTES = 64
};

// A return address and its rule. Both are atomic; 0: free, not known.
typedef struct rule_place {
    uint64_t address;
    uint64_t rule;
} rule_place;

static rule_place* rules;  // written once, before the first walk; NULL: no rules

// The part of a stack that the unwinder has seen whole: all of it can be read. A thread may change
// its stack, with coroutines and for signals: nothing is read outside.
static __thread uintptr_t seen_from __attribute__((tls_model("initial-exec")));
static __thread uintptr_t seen_to __attribute__((tls_model("initial-exec")));

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

// Whether the rule leads to a next call, whose return address is the word below its top.
static bool is_leading(uint64_t rule)
{
    return top_kind(rule) == EGB_CFI_BY_STACK || top_kind(rule) == EGB_CFI_BY_FRAME ||
           top_kind(rule) == EGB_CFI_BY_POINTER;
}

static bool is_of_age(uint64_t rule, uint64_t age)
{
    return (rule >> IS_KNOWN_SHIFT & 1) != 0 && (rule >> AGE_SHIFT) % AGES == age;
}

// The age that a rule must have.
static uint64_t age_now(void)
{
    return __atomic_load_n(&egb_modules_age_, __ATOMIC_RELAXED) % AGES;
}

static size_t place_tried_first(uint64_t address)
{
    return (size_t)(address * 0x9E3779B97F4A7C15u >> (64 - RULE_BITS));  // Fibonacci hashing
}

// The place of a return address, or a free one for it. NULL: there is none.
static rule_place* place_of_rule(uint64_t address)
{
    for (size_t i = 0; i < RULES_TRIED; i++) {
        rule_place* const place = &rules[(place_tried_first(address) + i) % RULES];
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

// 0: not known. Most addresses are at the first of their places.
EGB_INLINE uint64_t kept_rule(uint64_t address, uint64_t age)
{
    const rule_place* place = &rules[place_tried_first(address)];
    if (EGB_UNLIKELY(__atomic_load_n(&place->address, __ATOMIC_RELAXED) != address)) {
        place = place_of_rule(address);
        if (place == NULL || __atomic_load_n(&place->address, __ATOMIC_RELAXED) != address) {
            return 0;
        }
    }
    const uint64_t rule = __atomic_load_n(&place->rule, __ATOMIC_RELAXED);
    return is_of_age(rule, age) ? rule : 0;
}

// Code that no module has is not this one's to judge: a program may have told the unwinder of it.
static uint64_t learn_rule(uint64_t address, const egb_module* module, uint64_t age)
{
    egb_cfi_rule rule = {EGB_CFI_NONE, EGB_CFI_KEPT, 0, 0};
    if (module != NULL) {
        rule = egb_cfi_rule_(&module->information, address);
    }
    keep_rule(address, word_of_rule(rule, age));
    return word_of_rule(rule, age);
}

// 0: not known.
EGB_INLINE uint64_t rule_for_walk(uint64_t address, uint64_t age)
{
    const uint64_t rule = kept_rule(address, age);
    return rule == 0 && egb_module_is_in_program_(address - 1)
               ? learn_rule(address, egb_modules_program_(), age)
               : rule;
}

// For a call that the unwinder told.
static uint64_t rule_of_told(uint64_t address, uint64_t age)
{
    const uint64_t rule = kept_rule(address, age);
    egb_module     module;
    if (rule != 0) {
        return rule;
    }
    return learn_rule(address, egb_module_find_(address - 1, &module) ? &module : NULL, age);
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

// From a call to the next. False: that would lead out of the words that can be read.
EGB_INLINE bool step(egb_os_call* call, uint64_t rule, uintptr_t end)
{
    const egb_cfi_top kind = top_kind(rule);
    uintptr_t         top  = (kind == EGB_CFI_BY_STACK ? call->top : call->frame);
    top += (uintptr_t)top_offset(rule);
    call->top_from   = 0;
    call->frame_from = 0;
    if (kind == EGB_CFI_BY_POINTER) {
        call->top_from = top;
        if (!read_word(call->top, top, end, &top)) {
            return false;
        }
    }
    if (top <= call->top || top > end || top % STACK_WORD_BYTES != 0) {
        return false;
    }
    const egb_cfi_frame frame = frame_kind(rule);
    if (frame != EGB_CFI_KEPT) {
        const uintptr_t from = frame == EGB_CFI_BELOW_TOP ? top : call->frame;
        call->frame_from     = from + (uintptr_t)frame_offset(rule);
        if (!read_word(call->top, call->frame_from, end, &call->frame)) {
            return false;
        }
    }
    call->top     = top;
    call->address = (const void*)word_at(top - STACK_WORD_BYTES);
    return true;
}

// Whether the words of this call are on the stack from `from` on.
static bool is_above(const egb_os_calls* all, size_t call, uintptr_t from)
{
    size_t word = call == 0 ? 0 : all->words_end[call - 1];
    while (word < all->words_end[call] && all->words[word].place >= from) {
        word++;
    }
    return word == all->words_end[call];
}

// How many of the outermost calls of the walk before are led to by the same words. A step needs a
// call, its rule and such words alone: a walk that comes to one of these calls would go on to all
// that are farther out.
//
// The words of a call are not below the top of the next one farther in.
static size_t count_in_place(const egb_os_calls* all, uintptr_t from, uintptr_t end, uint64_t age)
{
    size_t count = all->count;
    if (all->end != end || all->age != age ||
        (all->ends_with_zero && word_at(end - STACK_WORD_BYTES) != 0)) {
        return 0;
    }
    while (count > 0 && all->calls[count - 1].top <= from) {
        count--;
    }
    count -= count > 0 && !is_above(all, count - 1, from) ? 1 : 0;
    const size_t words = count == 0 ? 0 : all->words_end[count - 1];
    for (size_t i = 0; i < words; i++) {
        if (word_at(all->words[i].place) != all->words[i].word) {
            return all->call_of[i];
        }
    }
    return count;
}

static bool is_same_call(const egb_os_call* one, const egb_os_call* other)
{
    return one->top == other->top && one->address == other->address && one->frame == other->frame;
}

// The calls from `call` to the first that is one of the outermost `*same` of the walk before, which
// become those from it on; or to the end. That call is found, too, since other words may have led
// to it. 0: a call is for the unwinder.
static size_t
find_calls(egb_os_call call, egb_os_calls* all, size_t* same, uintptr_t end, uint64_t age)
{
    for (size_t count = 0; count < EGB_OS_CALLS_MAX; count++) {
        while (*same > 0 && all->calls[*same - 1].top < call.top) {
            (*same)--;
        }
        if (*same > 0 && is_same_call(&all->calls[*same - 1], &call)) {
            all->found[count] = call;
            return count + 1;
        }
        if (call.address == NULL) {
            *same               = 0;
            all->ends_with_zero = true;
            return call.top == end ? count : 0;  // the unwinder ended there, too
        }
        all->found[count]   = call;
        const uint64_t rule = rule_for_walk((uintptr_t)call.address, age);
        if (rule != 0 && top_kind(rule) == EGB_CFI_LAST) {
            *same               = 0;
            all->ends_with_zero = false;
            return count + 1;
        }
        if (!is_leading(rule) || !step(&call, rule, end)) {
            return 0;
        }
    }
    return EGB_OS_CALLS_MAX;
}

// From a function of this library to the innermost call at `site`, which is a few calls farther
// out. If it is not, the call stays as it is.
static void leave_library(egb_os_call* call, const void* site, uintptr_t end, uint64_t age)
{
    enum { LIBRARY_STEPS_MAX = 16 };
    egb_os_call at = *call;
    for (size_t i = 0; i < LIBRARY_STEPS_MAX && at.address != NULL; i++) {
        if (at.address == site) {
            *call = at;
            return;
        }
        const uint64_t rule = kept_rule((uintptr_t)at.address, age);
        if (!is_leading(rule) || !step(&at, rule, end)) {
            return;
        }
    }
}

// A signal handler may change the part of the stack that was seen: `end` is read once.
bool egb_walk_(const egb_os_call* first, const void* site, egb_os_calls* out)
{
    egb_os_call     call = *first;
    const uintptr_t end  = __atomic_load_n(&seen_to, __ATOMIC_RELAXED);
    const uint64_t  age  = age_now();
    if (call.top < seen_from || call.top > end) {
        return false;
    }
    leave_library(&call, site, end, age);
    size_t       same  = count_in_place(out, call.top, end, age);
    const size_t count = find_calls(call, out, &same, end, age);
    if (count == 0) {
        return false;
    }
    egb_os_calls_put_(out, same == 0 ? 0 : same - 1, count);
    out->same = out->is_cut ? 0 : same;
    out->end  = out->is_cut ? 0 : end;
    out->age  = age;
    return true;
}

static bool is_in_c_library(uintptr_t address)
{
    egb_module one;
    egb_module c_library;
    return egb_module_find_(address, &one) && egb_module_find_((uintptr_t)&getauxval, &c_library) &&
           (one.from == c_library.from || one.from == getauxval(AT_BASE));  // or the loader
}

// By rules alone, since the program may have damaged its stack, and the unwinder would read by its
// words. This walk reads frames of the libraries, and ends at the first function of the program.
__attribute__((noinline)) uintptr_t egb_os_top_after_return_(uintptr_t frame)
{
    egb_os_call     call  = EGB_OS_CALL_HERE_();
    const uintptr_t end   = __atomic_load_n(&seen_to, __ATOMIC_RELAXED);
    uint64_t        rule  = 0;
    bool            is_in = rules != NULL && call.top <= end;
    for (; is_in; is_in = is_leading(rule) && step(&call, rule, end)) {
        const uintptr_t address = (uintptr_t)call.address - 1;
        if (call.top > frame && !is_in_c_library(address)) {
            return address - getauxval(AT_ENTRY) < FIRST_CODE_BYTES ? call.top : 0;
        }
        rule = rule_of_told((uintptr_t)call.address, age_now());
    }
    return 0;
}

// ---- what the unwinder told ---------------------------------------------------------------------

// By a rule that leads, the unwinder has read the word below the next call's top. Otherwise that
// may be no word that can be read: a signal may have come to code with no stack left.
static bool is_step(const egb_os_call* one, uint64_t rule, const egb_os_call* next)
{
    const uintptr_t distance = next->top - one->top;
    return is_leading(rule) && next->top > one->top && distance <= STEP_MAX &&
           distance % STACK_WORD_BYTES == 0 &&
           word_at(next->top - STACK_WORD_BYTES) == (uintptr_t)next->address;
}

// The part of a stack from `first` to `last`. If the stack ends there, it is another stack than the
// known one unless that ends there, too. If not, it is the same if the two parts overlap.
static void learn_range(uintptr_t first, uintptr_t last, bool is_whole)
{
    const bool is_same = is_whole ? last == seen_to : first <= seen_to && last >= seen_from;
    seen_from          = is_same && seen_from < first ? seen_from : first;
    seen_to            = is_same && seen_to > last ? seen_to : last;
}

// A stack that the unwinder saw to its end, in a call with this rule. If it has no information
// and does not know the code, the stack ends. A signal that it knows ends no stack, even if nothing
// came behind it that time.
static void learn_end(const egb_os_call* last, uint64_t rule, uint64_t age)
{
    const egb_cfi_rule end = {EGB_CFI_LAST, EGB_CFI_KEPT, 0, 0};
    if (top_kind(rule) == EGB_CFI_NONE) {
        keep_rule((uintptr_t)last->address, word_of_rule(end, age));
    }
}

void egb_walk_learn_(const egb_os_call* calls, size_t count, bool is_whole, uintptr_t zero_top)
{
    if (count == 0 || rules == NULL || !egb_modules_note_(calls, count)) {
        return;
    }
    const egb_os_call* const last       = &calls[count - 1];
    const uint64_t           age        = age_now();
    uint64_t                 rule       = rule_of_told((uintptr_t)calls->address, age);
    bool                     is_regular = true;
    for (size_t i = 1; i < count; i++) {
        is_regular = is_regular && is_step(&calls[i - 1], rule, &calls[i]);
        rule       = rule_of_told((uintptr_t)calls[i].address, age);
    }
    if (!is_regular) {
        return;
    }
    const egb_os_call zero = {NULL, zero_top, 0, 0, 0};
    learn_range(calls->top, is_step(last, rule, &zero) ? zero_top : last->top, is_whole);
    if (is_whole && zero_top == 0) {
        learn_end(last, rule, age);
    }
}

bool egb_walk_prepare_(void)
{
    const size_t bytes = RULES * sizeof(rule_place);
    if (!egb_modules_prepare_()) {
        return true;
    }
    rules = egb_os_reserve_(bytes, egb_os_page_bytes_());
    if (rules == NULL || egb_os_commit_(rules, bytes, 0, NULL) != EGB_OK) {
        return false;
    }
    return true;
}

#elif defined(__linux__) && defined(__GNUC__) &&                       \
    (defined(__x86_64__) || defined(__i386__) || defined(__aarch64__))

bool egb_walk_prepare_(void)
{
    return true;
}

bool egb_walk_(const egb_os_call* first, const void* site, egb_os_calls* out)
{
    (void)first;
    (void)site;
    (void)out;
    return false;
}

void egb_walk_learn_(const egb_os_call* calls, size_t count, bool is_whole, uintptr_t zero_top)
{
    (void)calls;
    (void)count;
    (void)is_whole;
    (void)zero_top;
}

uintptr_t egb_os_top_after_return_(uintptr_t frame)
{
    (void)frame;
    return 0;
}

#endif
