// SPDX-License-Identifier: MIT
// A set of stacks, to which threads add without a lock. It is in one range of addresses, which the
// system fills with memory as it is used.
#include "stacks.h"

#include "../../core/util.h"
#include "../../os/os.h"
#include "../settings/settings.h"

enum {
    OWN_CALLS_MAX      = 8,  // of the library itself, between a site and here
    CALLS_MAX          = EGB_STACK_CALLS_MAX + OWN_CALLS_MAX,
    STACK_PLACES       = 1 << 18,
    STACK_PLACES_TRIED = 32,
    PLACE_BITS         = 22  // of the words of `room`
};

// With 20 calls a stack has 176 bytes on a 64-bit system: 190,000 of them have room.
#define ROOM_BYTES ((size_t)(sizeof(void*) < 8 ? 8 : 32) << 20)

typedef struct egb_stack {
    uint64_t    check;  // made of the calls: tells a stack from anything else
    const void* calls[];
} egb_stack;

typedef struct stack_set {
    uint32_t places[STACK_PLACES];  // atomic: where a stack is, and some bits of its check; 0: free
    uint64_t used;                  // atomic; bytes of `room`
    EGB_ALIGNAS_(8) unsigned char room[];
} stack_set;

static stack_set* stacks;  // atomic; NULL: there are no stacks

// ---- the set ------------------------------------------------------------------------------------

// Never 0. Another one for other calls, as good as always.
static uint64_t check_of_calls(const void* const* calls, size_t count)
{
    uint64_t mixed = count;
    for (size_t i = 0; i < count; i++) {
        mixed = egb_mix_(mixed ^ (uintptr_t)calls[i]);
        mixed ^= mixed >> 29;
    }
    return mixed | 1;
}

static size_t stack_bytes(size_t count)
{
    return egb_round_up_(sizeof(egb_stack) + (count + 1) * sizeof(void*), 8);
}

// The bits of a check that a place has above those of the words: a look at a place tells, nearly
// always, that another stack is there.
static uint32_t mark_of_check(uint64_t check)
{
    return (uint32_t)(check >> 1) & ~(uint32_t)0 << PLACE_BITS;
}

static egb_stack* stack_at(stack_set* all, uint32_t place)
{
    const size_t words = place % (1u << PLACE_BITS);
    return (egb_stack*)(void*)(all->room + words * 8);
}

static bool is_stack(const egb_stack* stack, uint64_t check, const void* const* calls, size_t count)
{
    return stack->check == check &&
           __builtin_memcmp((const void*)stack->calls, (const void*)calls, count * sizeof(void*)) ==
               0 &&
           stack->calls[count] == NULL;
}

// A new stack that nobody sees yet. NULL: the room is used up.
static egb_stack* add_stack(stack_set* all, uint64_t check, const void* const* calls, size_t count)
{
    const size_t   bytes = stack_bytes(count);
    const uint64_t begin = __atomic_load_n(&all->used, __ATOMIC_RELAXED);
    if (begin + bytes > ROOM_BYTES) {
        return NULL;
    }
    const uint64_t at = __atomic_fetch_add(&all->used, bytes, __ATOMIC_RELAXED);
    if (at + bytes > ROOM_BYTES) {
        return NULL;
    }
    egb_stack* const stack = (egb_stack*)(void*)(all->room + at);
    stack->check           = check;
    (void)__builtin_memcpy((void*)stack->calls, (const void*)calls, count * sizeof(void*));
    stack->calls[count] = NULL;
    return stack;
}

// The stack with these calls; if it is new, it is added. NULL: there is no room.
static const void* const* find_stack(stack_set* all, const void* const* calls, size_t count)
{
    const uint64_t check = check_of_calls(calls, count);
    const uint32_t mark  = mark_of_check(check);
    egb_stack*     fresh = NULL;
    for (size_t i = 0; i < STACK_PLACES_TRIED; i++) {
        uint32_t* const place = &all->places[((check >> 40) + i) % STACK_PLACES];
        uint32_t        found = __atomic_load_n(place, __ATOMIC_ACQUIRE);
        if (found == 0) {
            fresh = fresh == NULL ? add_stack(all, check, calls, count) : fresh;
            if (fresh == NULL) {
                return NULL;
            }
            const size_t   words = (size_t)((unsigned char*)fresh - all->room) / 8;
            const uint32_t at    = (uint32_t)words | mark;
            if (__atomic_compare_exchange_n(
                    place, &found, at, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE
                )) {
                return fresh->calls;
            }
        }
        const bool is_marked = found >> PLACE_BITS == mark >> PLACE_BITS;
        if (is_marked && is_stack(stack_at(all, found), check, calls, count)) {
            return stack_at(all, found)->calls;
        }
    }
    return NULL;
}

static bool is_full(const stack_set* all)
{
    const uint64_t begin = __atomic_load_n(&all->used, __ATOMIC_RELAXED);
    return begin + stack_bytes(EGB_STACK_CALLS_MAX) > ROOM_BYTES;
}

// ---- a stack ------------------------------------------------------------------------------------

// The calls from `site` on. Returns their number; 0: it is not among them.
static size_t calls_from(
    const void* site, const egb_os_call* calls, size_t count, const void* out[EGB_STACK_CALLS_MAX]
)
{
    size_t first = 0;
    size_t taken = 0;
    while (first < count && calls[first].address != site) {
        first++;
    }
    while (first + taken < count && taken < EGB_STACK_CALLS_MAX) {
        out[taken] = calls[first + taken].address;
        taken++;
    }
    return taken;
}

// When there is no room for new stacks, the unwinder need not work for one.
__attribute__((noinline)) const void* egb_stack_here_(const void* site)
{
    const egb_os_call first = EGB_OS_CALL_HERE_();
    stack_set* const  all   = __atomic_load_n(&stacks, __ATOMIC_ACQUIRE);
    egb_os_call       calls[CALLS_MAX];
    const void*       addresses[EGB_STACK_CALLS_MAX];
    if (all == NULL || site == NULL) {
        return site;
    }
    const size_t             known = egb_os_calls_(first, calls, CALLS_MAX, is_full(all));
    const size_t             count = calls_from(site, calls, known, addresses);
    const void* const* const stack = count == 0 ? NULL : find_stack(all, addresses, count);
    return stack == NULL ? site : (const void*)stack;
}

void egb_stacks_begin_(void)
{
    static bool has_begun;  // atomic
    if (__atomic_exchange_n(&has_begun, true, __ATOMIC_RELAXED)) {
        return;
    }
    egb_os_prepare_calls_();
    const size_t     page  = egb_os_page_bytes_();
    const size_t     bytes = page == 0 ? 0 : egb_round_up_(sizeof(stack_set) + ROOM_BYTES, page);
    stack_set* const fresh = bytes == 0 ? NULL : egb_os_reserve_(bytes, page);
    if (fresh != NULL && egb_os_commit_(fresh, bytes, 0, NULL) == EGB_OK) {
        fresh->used = 8;  // place 0 is free
        __atomic_store_n(&stacks, fresh, __ATOMIC_RELEASE);
    }
}

__attribute__((constructor)) static void begin_early(void)
{
    egb_os_prepare_();  // before it no variable is known
    if (egb_level_is_wanted_(EGB_LEVEL_TRACK) || egb_level_is_wanted_(EGB_LEVEL_SAMPLE)) {
        egb_stacks_begin_();
    }
}

// ---- what a site is -----------------------------------------------------------------------------

// A pointer that is none to a stack may lead into the middle of one: the check tells.
const void* const* egb_site_stack_(const void* site)
{
    stack_set* const     all  = __atomic_load_n(&stacks, __ATOMIC_ACQUIRE);
    const unsigned char* from = site;
    if (all == NULL || from < all->room + sizeof(egb_stack) || from >= all->room + ROOM_BYTES ||
        (uintptr_t)site % 8 != 0) {
        return NULL;
    }
    const void* const* const calls = (const void* const*)site;
    const size_t             room  = (size_t)(all->room + ROOM_BYTES - from) / sizeof(void*);
    const size_t             most  = egb_smaller_(room, EGB_STACK_CALLS_MAX + 1);
    size_t                   count = 0;
    while (count < most && calls[count] != NULL) {
        count++;
    }
    const egb_stack* const stack = (const egb_stack*)(const void*)(from - sizeof(egb_stack));
    const bool             is_whole =
        count != 0 && count < most && stack->check == check_of_calls(calls, count);
    return is_whole ? calls : NULL;
}

const void* egb_site_address_(const void* site)
{
    const void* const* const stack = egb_site_stack_(site);
    return stack == NULL ? site : stack[0];
}
