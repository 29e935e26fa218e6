// SPDX-License-Identifier: MIT
// The calls of a thread, by the unwinder of the compiler's library. It is no part of this library:
// a program without it has no stacks.
//
// An unwinder takes microseconds for a stack. On x86-64 the distance from a return address on the
// stack to the next one is nearly always the same for the same code, so it is remembered: a stack
// that was seen before is read again with one look into a table and one into the stack for each
// call. Code with a frame of variable size is found out when its distance differs.
#include "posix_features.h"

#include "os.h"

// On other processors the unwinder's stack pointers are not those of the compiler.
#if defined(__linux__) && defined(__GNUC__) &&                         \
    (defined(__x86_64__) || defined(__i386__) || defined(__aarch64__))
  #include <dlfcn.h>
  #include <sys/syscall.h>
  #include <sys/types.h>
  #include <unistd.h>
  #include <unwind.h>

  #include "posix_calls.h"

  // A static program has no loader, and needs no unwinder for our sake.
  #pragma weak dlopen
  #pragma weak dlsym
  #pragma weak _Unwind_Backtrace
  #pragma weak _Unwind_GetIP
  #pragma weak _Unwind_GetCFA

typedef uintptr_t           register_fn(struct _Unwind_Context* context);
typedef _Unwind_Reason_Code backtrace_fn(_Unwind_Trace_Fn visit, void* user);

// Written once, before `can_unwind`.
static backtrace_fn* unwind_backtrace;
static register_fn*  unwind_address;
static register_fn*  unwind_top;
static bool          can_unwind;  // atomic

// The process whose threads may take the loader's lock to unwind. 0: none is taken, since the C
// library has _dl_find_object() (glibc 2.35), and the unwinder asks it.
static pid_t locking_process;

// The unwinder may allocate, and would be called by that.
static __thread bool is_unwinding __attribute__((tls_model("initial-exec")));

// ---- with the unwinder --------------------------------------------------------------------------

typedef struct unwinding {
    egb_os_call* calls;
    size_t       count;
    size_t       most;
    uintptr_t    begin;  // the top of the first call
} unwinding;

static _Unwind_Reason_Code note_call(struct _Unwind_Context* context, void* user)
{
    unwinding* const  all = user;
    const uintptr_t   top = unwind_top(context);
    const egb_os_call one = {(const void*)unwind_address(context), top};
    if (all->count == 0 && top < all->begin) {
        return _URC_NO_REASON;  // further in
    }
    if (all->count == all->most || one.address == NULL) {
        return _URC_NORMAL_STOP;
    }
    all->calls[all->count++] = one;
    return _URC_NO_REASON;
}

// In the child of a fork the lock may be held, for ever, by a thread that the child does not have.
static bool may_hang(void)
{
    return locking_process != 0 && locking_process != getpid();
}

static void unwind(unwinding* all)
{
    is_unwinding = true;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (!may_hang()) {
        (void)unwind_backtrace(note_call, all);
    }
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    is_unwinding = false;
}

// ---- with the distances -------------------------------------------------------------------------

  #if defined(__x86_64__)

enum {
    ADDRESS_BYTES   = sizeof(uintptr_t),
    DISTANCES       = 65536,
    DISTANCES_TRIED = 8,
    DISTANCE_BITS   = 16,
    DISTANCE_MAX    = 16384,   // far less than what lies behind any stack
    DISTANCE_LAST   = 0xFFFF,  // instead of a distance: no call follows
    DISTANCE_OTHER  = 0xFFFE   // it differs
};

// A return address, and the distance to the next one. Atomic; 0: free.
static uint64_t* distances;

// The part of a stack that the unwinder has seen whole: all of it can be read. A thread may change
// its stack, with coroutines and for signals: nothing is guessed outside.
static __thread uintptr_t seen_from __attribute__((tls_model("initial-exec")));
static __thread uintptr_t seen_to __attribute__((tls_model("initial-exec")));

static bool prepare_distances(void)
{
    const size_t    bytes = DISTANCES * sizeof(uint64_t);
    uint64_t* const fresh = egb_os_reserve_(bytes, egb_os_page_bytes_());
    if (fresh != NULL && egb_os_commit_(fresh, bytes, 0, NULL) == EGB_OK) {
        distances = fresh;
    }
    return distances != NULL;
}

// The place of a return address, or a free one for it. NULL: there is none.
static uint64_t* distance_place(const void* address)
{
    const uint64_t key   = (uint64_t)(uintptr_t)address;
    const uint64_t mixed = key * 0x9E3779B97F4A7C15u;  // Fibonacci hashing
    for (size_t i = 0; i < DISTANCES_TRIED; i++) {
        uint64_t* const place = &distances[((mixed >> 48) + i) % DISTANCES];
        const uint64_t  found = __atomic_load_n(place, __ATOMIC_RELAXED);
        if (found == 0 || found >> DISTANCE_BITS == key) {
            return place;
        }
    }
    return NULL;
}

static void learn_distance(const void* address, uint64_t distance)
{
    uint64_t* const place = distance_place(address);
    if (place == NULL) {
        return;
    }
    const uint64_t entry = (uint64_t)(uintptr_t)address << DISTANCE_BITS | distance;
    uint64_t       found = __atomic_load_n(place, __ATOMIC_RELAXED);
    if (found == 0 && __atomic_compare_exchange_n(
                          place, &found, entry, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED
                      )) {
        return;
    }
    if (found >> DISTANCE_BITS == entry >> DISTANCE_BITS && found != entry) {
        __atomic_store_n(
            place, entry >> DISTANCE_BITS << DISTANCE_BITS | DISTANCE_OTHER, __ATOMIC_RELAXED
        );
    }
}

// The word that lies below a call's top: the return address itself, unless it is no call but the
// return from a signal handler.
__attribute__((no_sanitize("address"))) static const void* word_below(uintptr_t top)
{
    return *(const void* const*)(top - ADDRESS_BYTES);
}

static uint64_t distance_between(const egb_os_call* one, const egb_os_call* next)
{
    const uintptr_t distance = next->top - one->top;
    const bool      is_regular =
        next->top > one->top && distance <= DISTANCE_MAX && distance % ADDRESS_BYTES == 0;
    return is_regular && word_below(one->top) == one->address &&
                   word_below(next->top) == next->address
               ? distance
               : DISTANCE_OTHER;
}

// The part of a stack from `first` to `last`. If the stack ends there, it is another stack than the
// known one unless that ends there, too. If not, it is the same if the two parts overlap.
static void learn_range(uintptr_t first, uintptr_t last, bool is_whole)
{
    const bool is_same = is_whole ? last == seen_to : first <= seen_to && last >= seen_from;
    seen_from          = is_same && seen_from < first ? seen_from : first;
    seen_to            = is_same && seen_to > last ? seen_to : last;
}

static void learn_distances(const unwinding* all)
{
    bool is_regular = true;
    for (size_t i = 0; i + 1 < all->count; i++) {
        const uint64_t distance = distance_between(&all->calls[i], &all->calls[i + 1]);
        is_regular              = is_regular && distance != DISTANCE_OTHER;
        learn_distance(all->calls[i].address, distance);
    }
    if (all->count == 0) {
        return;
    }
    const egb_os_call last     = all->calls[all->count - 1];
    const bool        is_whole = all->count < all->most;
    if (is_whole) {
        learn_distance(
            last.address, word_below(last.top) == last.address ? DISTANCE_LAST : DISTANCE_OTHER
        );
    }
    if (is_regular) {
        learn_range(all->calls[0].top, last.top, is_whole);
    }
}

// Returns 0 as soon as one distance is not known.
static size_t read_again(egb_os_call call, egb_os_call* calls, size_t most)
{
    const uintptr_t end = seen_to;
    if (call.top < seen_from || call.top > end) {
        return 0;
    }
    for (size_t count = 0; count < most; count++) {
        calls[count]                = call;
        const uint64_t* const place = distance_place(call.address);
        const uint64_t        entry = place == NULL ? 0 : __atomic_load_n(place, __ATOMIC_RELAXED);
        const uintptr_t       distance = (uintptr_t)(entry & DISTANCE_LAST);
        if (distance == DISTANCE_LAST) {
            return count + 1;
        }
        call.top += distance;
        if (entry == 0 || distance == DISTANCE_OTHER || call.top > end) {
            return 0;
        }
        call.address = word_below(call.top);
    }
    return most;
}

  #else

static bool prepare_distances(void)
{
    return true;
}

static void learn_distances(const unwinding* all)
{
    (void)all;
}

static size_t read_again(egb_os_call call, egb_os_call* calls, size_t most)
{
    (void)call;
    (void)calls;
    (void)most;
    return 0;
}

  #endif

// ---- both ---------------------------------------------------------------------------------------

static void find_unwinder(void)
{
    unwind_backtrace = _Unwind_Backtrace;
    unwind_address   = _Unwind_GetIP;
    unwind_top       = _Unwind_GetCFA;
    if (unwind_backtrace != NULL || dlopen == NULL || dlsym == NULL) {
        return;
    }
    void* const library = dlopen("libgcc_s.so.1", RTLD_NOW);
    if (library != NULL) {
        *(void**)&unwind_backtrace = dlsym(library, "_Unwind_Backtrace");
        *(void**)&unwind_address   = dlsym(library, "_Unwind_GetIP");
        *(void**)&unwind_top       = dlsym(library, "_Unwind_GetCFA");
    }
}

// On i386 the C library has an older part of the unwinder, too, which takes the lock.
static bool takes_lock(void)
{
  #if defined(__i386__)
    return true;
  #else
    return dlsym == NULL || dlsym(RTLD_DEFAULT, "_dl_find_object") == NULL;
  #endif
}

void egb_os_prepare_calls_(void)
{
    static bool has_begun;  // atomic
    if (__atomic_exchange_n(&has_begun, true, __ATOMIC_RELAXED)) {
        return;
    }
    is_unwinding = true;  // what the loader allocates needs no stack
    find_unwinder();
    locking_process = takes_lock() ? getpid() : 0;
    is_unwinding    = false;
    if (unwind_backtrace != NULL && unwind_address != NULL && unwind_top != NULL &&
        prepare_distances()) {
        egb_os_call first;
        unwinding   all = {.calls = &first, .most = 1};
        unwind(&all);  // it prepares itself at its first call
        __atomic_store_n(&can_unwind, true, __ATOMIC_RELEASE);
    }
}

size_t egb_os_calls_(egb_os_call first, egb_os_call* calls, size_t most, bool is_guess)
{
    if (!__atomic_load_n(&can_unwind, __ATOMIC_ACQUIRE) || is_unwinding) {
        return 0;
    }
    if (is_guess) {
        return read_again(first, calls, most);
    }
    unwinding all = {.calls = calls, .most = most, .begin = first.top};
    unwind(&all);
    learn_distances(&all);
    return all.count;
}

#else
  #include "no_calls.h"
#endif
