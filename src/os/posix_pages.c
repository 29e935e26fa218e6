// SPDX-License-Identifier: MIT
// Pages of a POSIX system: mmap.
#include "posix_features.h"

#include "posix_page_options.h"
#include "posix_roots.h"
#include "posix_threads.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__linux__)
  #include <sys/syscall.h>
#endif

#include "posix_calls.h"

#if defined(MAP_ANONYMOUS)
  #define EGB_MAP_ANONYMOUS MAP_ANONYMOUS
#else
  #define EGB_MAP_ANONYMOUS MAP_ANON
#endif

size_t egb_os_page_bytes_(void)
{
    EGB_AMONG_DATA_ static size_t
           known;  // atomic; the C library looks for it among a hundred other answers
    size_t bytes = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (bytes == 0) {
        const long answer = sysconf(_SC_PAGESIZE);
        bytes             = answer > 0 ? (size_t)answer : 0;
        __atomic_store_n(&known, bytes, __ATOMIC_RELAXED);
    }
    return bytes;
}

// ---- reserve and release ------------------------------------------------------------------------

// Readable and writable at once: a page comes when it is first touched, so that nothing is left for
// a commit to do but the wishes. MAP_NORESERVE is not used: with it the system would promise memory
// that it can never give. Without it the system refuses here more than all of its memory, and, if
// it counts every promised page (overcommit forbidden), more than it could give later.
static void* map_pages(void* wanted, size_t bytes)
{
    void* const start =
        mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | EGB_MAP_ANONYMOUS, -1, 0);
    return start == MAP_FAILED ? NULL : start;
}

// Bytes from `start` to the next multiple of `align`.
static size_t bytes_to_align(const void* start, size_t align)
{
    return (size_t)(0 - (uintptr_t)start) & (align - 1);
}

// Maps more than is asked for and gives back what stands before and behind. Should the system
// refuse to take a piece, address space is lost but no memory.
static void* map_and_trim(size_t bytes, size_t align)
{
    const size_t surplus = align - egb_os_page_bytes_();
    char* const  whole   = bytes <= SIZE_MAX - surplus ? map_pages(NULL, bytes + surplus) : NULL;
    if (whole == NULL) {
        return NULL;
    }
    const size_t before = bytes_to_align(whole, align);
    const size_t behind = surplus - before;
    if (before > 0) {
        (void)munmap(whole, before);
    }
    if (behind > 0) {
        (void)munmap(whole + before + bytes, behind);
    }
    return whole + before;
}

static void* unmap_unaligned(void* start, size_t bytes, size_t align)
{
    if (start != NULL && bytes_to_align(start, align) != 0) {
        (void)munmap(start, bytes);
        return NULL;
    }
    return start;
}

// The last range from the system, as long as none went back since: the place before it is likely
// to be free, because the system takes the upper end of a gap. After a release the upper gap may be
// the released one. Atomic; no more than a wish.
EGB_AMONG_DATA_ static uintptr_t last_start;

// Aligned addresses to ask for, NULL for any. The system aligns long ranges by itself, for large
// pages.
static void* place_before_last(size_t bytes, size_t align)
{
    enum { LONG_BYTES = 2 << 20 };
    const uintptr_t last = __atomic_load_n(&last_start, __ATOMIC_RELAXED);
    return align > egb_os_page_bytes_() && bytes < LONG_BYTES && bytes < last
               ? (void*)((last - bytes) & ~(uintptr_t)(align - 1))
               : NULL;
}

// With luck what the system has is aligned. If not, the aligned address before it is likely to be
// free: three calls, where a longer range takes five.
static void* map_aligned(size_t bytes, size_t align)
{
    void* const     first  = map_pages(place_before_last(bytes, align), bytes);
    const uintptr_t wanted = (uintptr_t)first & ~(uintptr_t)(align - 1);
    void*           start  = unmap_unaligned(first, bytes, align);
    if (first != NULL && start == NULL) {
        start = unmap_unaligned(map_pages((void*)wanted, bytes), bytes, align);
        start = start != NULL ? start : map_and_trim(bytes, align);
    }
    __atomic_store_n(&last_start, (uintptr_t)start, __ATOMIC_RELAXED);
    return start;
}

void* egb_os_reserve_(size_t bytes, size_t align)
{
    if (bytes > PTRDIFF_MAX) {
        return NULL;
    }
    const int   before = errno;
    void* const start  = map_aligned(bytes, align);
    if (start != NULL) {
        egb_posix_add_root_(start, bytes);
    }
    errno = before;
    return start;
}

// Takes the memory away; the range stays, and is zero when it is touched again. Locked memory is
// refused, and if it is only a part, what stands in front of it may be gone.
static bool discard_pages(void* region, size_t bytes)
{
#if defined(MADV_DONTNEED)
    return madvise(region, bytes, MADV_DONTNEED) == 0;
#else
    (void)region;
    (void)bytes;
    return false;
#endif
}

// A range may lie in the middle of a mapping, because the system joins neighbours. Then it can
// refuse to cut it out when it has as many mappings as it allows; the memory goes back all the
// same.
void egb_os_release_(void* region, size_t bytes)
{
    const int before = errno;
    if (munmap(region, bytes) != 0) {
        (void)discard_pages(region, bytes);
    }
    __atomic_store_n(&last_start, 0, __ATOMIC_RELAXED);
    errno = before;
}

bool egb_os_can_split_(void)
{
    return true;
}

bool egb_os_forget_(void* region, size_t bytes)
{
    const int  before   = errno;
    const bool is_taken = discard_pages(region, bytes);
    errno               = before;
    return is_taken;
}

bool egb_os_forgets_to_zero_(void* page)
{
    enum { IS_ZERO = 1, IS_NOT = 2 };
    static int     known;  // atomic; 0: not tried
    volatile char* first = page;
    int            out   = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (out == 0) {
        *first = 1;
        if (egb_os_forget_(page, egb_os_page_bytes_())) {
            out = *first == 0 ? IS_ZERO : IS_NOT;
            __atomic_store_n(&known, out, __ATOMIC_RELAXED);
        }
        *first = 0;
    }
    return out == IS_ZERO;
}

bool egb_os_can_protect_(void)
{
    return true;
}

// Each change along the addresses takes one more mapping, and the number of mappings is limited.
egb_status egb_os_protect_(void* region, size_t bytes, bool is_open)
{
    const int before = errno;
    const int status = mprotect(region, bytes, is_open ? PROT_READ | PROT_WRITE : PROT_NONE);
    errno            = before;
    return status == 0 ? EGB_OK : EGB_NO_MEMORY;
}

// One call in place of two, and one that no sandbox forbids: madvise() it may.
egb_status egb_os_shut_(void* region, size_t bytes)
{
    const int   before = errno;
    void* const start =
        mmap(region, bytes, PROT_NONE, MAP_PRIVATE | MAP_FIXED | EGB_MAP_ANONYMOUS, -1, 0);
    errno = before;
    return start != MAP_FAILED ? EGB_OK : EGB_NO_MEMORY;
}

// ---- resize and move ----------------------------------------------------------------------------

// Not on 32-bit Arm: QEMU's user mode (7.2), on which its programs are tested, ends them with a
// signal.
#if defined(__linux__) && !defined(__arm__)

// The system call itself: the C library declares it for GNU programs only. Its flags by number, for
// the same reason.
egb_status egb_os_resize_(void* region, size_t bytes, size_t new_bytes)
{
    const int  before = errno;
    const long start  = syscall(SYS_mremap, region, bytes, new_bytes, 0);
    errno             = before;
    return start == -1 ? EGB_NO_MEMORY : EGB_OK;
}

// A sandbox refuses before the kernel looks at the addresses. If the kernel refuses, it may have
// unmapped the goal before, by its version and the reason: a thread that is alone unmaps the rest.
// Among others the goal's addresses may be another's by now, and are lost. That is rare: the kernel
// refuses if the program has split the source, as by mlock(), and if it has no memory.
egb_status egb_os_move_(void* from, size_t bytes, void* to, size_t to_bytes)
{
    enum { MAY_MOVE = 1, TO_THIS_PLACE = 2 };
    const int  before = errno;
    const long start  = syscall(SYS_mremap, from, bytes, to_bytes, MAY_MOVE | TO_THIS_PLACE, to);
    const bool is_forbidden = start == -1 && (errno == EPERM || errno == EACCES || errno == ENOSYS);
    if (start == -1 && !is_forbidden && egb_posix_is_only_thread_()) {
        (void)munmap(to, to_bytes);
    }
    errno = before;
    return start != -1 ? EGB_OK : is_forbidden ? EGB_UNSUPPORTED : EGB_NO_MEMORY;
}

#else

egb_status egb_os_resize_(void* region, size_t bytes, size_t new_bytes)
{
    (void)region;
    (void)bytes;
    (void)new_bytes;
    return EGB_UNSUPPORTED;
}

egb_status egb_os_move_(void* from, size_t bytes, void* to, size_t to_bytes)
{
    (void)from;
    (void)bytes;
    (void)to;
    (void)to_bytes;
    return EGB_UNSUPPORTED;
}

#endif

// ---- commit -------------------------------------------------------------------------------------

// Writes to each page, and changes nothing that is there.
static void touch_pages(volatile char* region, size_t bytes)
{
    const size_t page = egb_os_page_bytes_();
    for (size_t i = 0; i < bytes; i += page) {
        region[i] = region[i];
    }
}

// Returns false if the system has no memory for all the pages.
static bool prefault_pages(void* region, size_t bytes)
{
    switch (egb_posix_populate_(region, bytes)) {
        case EGB_POSIX_POPULATED: return true;
        case EGB_POSIX_UNKNOWN: touch_pages(region, bytes); return true;
        case EGB_POSIX_REFUSED: break;
    }
    discard_pages(region, bytes);
    return false;
}

egb_status
egb_os_commit_(void* region, size_t bytes, unsigned page_options, egb_os_obtained* obtained)
{
    const int  before     = errno;
    const bool wants_huge = (page_options & EGB_OS_HUGE_PAGES) != 0;
    if (wants_huge) {
        egb_posix_ask_huge_(region, bytes);
    }
    const bool prefault = (page_options & EGB_OS_PREFAULT) != 0;
    const bool is_done  = !prefault || prefault_pages(region, bytes);
    if (is_done && obtained != NULL) {
        obtained->prefaulted = egb_posix_prefaulted_(region, bytes, page_options);
        obtained->huge       = wants_huge ? egb_posix_huge_(region, bytes) : 0;
    }
    errno = before;
    return is_done ? EGB_OK : EGB_NO_MEMORY;
}
