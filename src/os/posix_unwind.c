// SPDX-License-Identifier: MIT
// The calls of a thread, by the unwinder of the compiler's library. It is no part of this library:
// a program without it has no stacks.
//
// An unwinder takes microseconds for a stack. On x86-64 most stacks are walked by rules instead
// (posix_walk.h), and the unwinder is asked for the rest: the first stack of a thread, those
// through signal handlers, and those through code with rules of another shape.
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
  #include "posix_loader.h"
  #include "posix_walk.h"

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

// The unwinder may allocate, and would be called by that. No walk begins, either, before the calls
// that it told are learned.
static __thread bool is_unwinding __attribute__((tls_model("initial-exec")));

// ---- the calls that were found ------------------------------------------------------------------

static void put_word(egb_os_calls* all, size_t* end, size_t call, uintptr_t place, uintptr_t word)
{
    all->words[*end]   = (egb_os_word){place, word};
    all->call_of[*end] = (uint16_t)call;
    (*end)++;
}

static void put_call(egb_os_calls* all, size_t at, const egb_os_call* call)
{
    size_t end = at == 0 ? 0 : all->words_end[at - 1];
    put_word(all, &end, at, call->top - sizeof(uintptr_t), (uintptr_t)call->address);
    if (call->frame_from != 0) {
        put_word(all, &end, at, call->frame_from, call->frame);
    }
    if (call->top_from != 0) {
        put_word(all, &end, at, call->top_from, call->top);
    }
    all->words_end[at]     = (uint16_t)end;
    all->calls[at].address = call->address;  // not all at once: that would wait for each store
    all->calls[at].top     = call->top;
    all->calls[at].frame   = call->frame;
}

// The words of a stack that is cut are for nobody: the next walk compares none.
void egb_os_calls_put_(egb_os_calls* all, size_t same, size_t count)
{
    const bool   is_cut   = same + count >= EGB_OS_CALLS_MAX;  // nobody knows how many there are
    const size_t most     = is_cut ? EGB_OS_CALLS_CUT : EGB_OS_CALLS_MAX;
    const size_t more     = count < most ? count : most;
    const size_t kept     = most - more < same ? most - more : same;
    const size_t left_out = same - kept;
    for (size_t i = 0; i < kept && left_out != 0; i++) {
        put_call(all, i, &all->calls[left_out + i]);
    }
    for (size_t i = 0; i < more; i++) {
        put_call(all, kept + i, &all->found[more - 1 - i]);
    }
    all->same   = is_cut ? 0 : same;
    all->count  = kept + more;
    all->is_cut = is_cut;
}

// ---- with the unwinder --------------------------------------------------------------------------

typedef struct unwinding {
    egb_os_call* calls;
    size_t       count;
    size_t       most;
    uintptr_t    begin;     // the top of the first call
    uintptr_t    zero_top;  // behind the return address 0, which ended the stack; 0: none did
} unwinding;

static _Unwind_Reason_Code note_call(struct _Unwind_Context* context, void* user)
{
    unwinding* const  all = user;
    const uintptr_t   top = unwind_top(context);
    const egb_os_call one = {(const void*)unwind_address(context), top, 0, 0, 0};
    if (all->count == 0 && top < all->begin) {
        return _URC_NO_REASON;  // further in
    }
    if (all->count == all->most) {
        return _URC_NORMAL_STOP;
    }
    if (one.address == NULL) {
        all->zero_top = top;
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
    if (all->count != 0 && all->calls[0].top == all->begin) {
        egb_walk_learn_(all->calls, all->count, all->count < all->most, all->zero_top);
    }
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    is_unwinding = false;
}

// ---- the interface ------------------------------------------------------------------------------

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

static void prepare_calls(void)
{
    is_unwinding = true;  // an allocation of the loader needs no stack
    find_unwinder();
    locking_process        = takes_lock() ? getpid() : 0;
    const bool is_prepared = egb_walk_prepare_();
    is_unwinding           = false;
    if (unwind_backtrace != NULL && unwind_address != NULL && unwind_top != NULL && is_prepared) {
        egb_os_call first;
        unwinding   all = {.calls = &first, .most = 1};
        unwind(&all);  // it prepares itself at its first call
        __atomic_store_n(&can_unwind, true, __ATOMIC_RELEASE);
    }
}

bool egb_os_prepare_calls_(void)
{
    static bool is_sought;    // atomic: a call looks for it, or did
    static bool is_prepared;  // atomic
    if ((_Unwind_Backtrace != NULL || egb_posix_may_open_()) &&
        !__atomic_exchange_n(&is_sought, true, __ATOMIC_RELAXED)) {
        prepare_calls();
        __atomic_store_n(&is_prepared, true, __ATOMIC_RELEASE);
    }
    return __atomic_load_n(&is_prepared, __ATOMIC_ACQUIRE);
}

// The addresses of the calls that were found, beside those of the stack before.
static size_t count_same(const egb_os_calls* all, size_t count)
{
    size_t same = 0;
    while (same < count && same < all->count &&
           all->calls[same].address == all->found[count - 1 - same].address) {
        same++;
    }
    return same;
}

bool egb_os_calls_(const egb_os_call* first, const void* site, egb_os_calls* out, bool is_fast)
{
    if (!__atomic_load_n(&can_unwind, __ATOMIC_ACQUIRE) || is_unwinding) {
        return false;
    }
    if (egb_walk_(first, site, out)) {
        return true;
    }
    unwinding all = {.calls = out->found, .most = EGB_OS_CALLS_MAX, .begin = first->top};
    if (!is_fast) {
        unwind(&all);
    }
    if (all.count == 0) {
        return false;
    }
    const size_t same = count_same(out, all.count);
    egb_os_calls_put_(out, 0, all.count);
    out->same = out->is_cut ? 0 : same;
    out->end  = 0;
    return true;
}

#else
  #include "no_calls.h"
#endif
