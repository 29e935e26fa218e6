// SPDX-License-Identifier: MIT
// Pages of Windows: VirtualAlloc. Large pages need a privilege that programs do not have by
// default, and cannot be wished for a range that is already reserved: none are obtained.
#include "os.h"

#define WIN32_LEAN_AND_MEAN
#define PSAPI_VERSION 2  // its functions are in the kernel's library
#include <windows.h>

#include <psapi.h>

size_t egb_os_page_bytes_(void)
{
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return info.dwPageSize;
}

size_t egb_os_process_limit_(void)
{
    return SIZE_MAX;
}

size_t egb_os_group_limit_(void)
{
    return SIZE_MAX;
}

// ---- reserve and release ------------------------------------------------------------------------

static void* reserve_at(void* start, size_t bytes)
{
    return VirtualAlloc(start, bytes, MEM_RESERVE, PAGE_READWRITE);
}

static bool is_aligned(const void* start, size_t align)
{
    return ((uintptr_t)start & (align - 1)) == 0;
}

// A reservation cannot be cut: so a larger one finds a place, is given back, and the aligned part
// of it is asked for by address. Another thread may be quicker, hence the tries.
static void* reserve_aligned(size_t bytes, size_t align)
{
    for (int tries = 0; tries < 16; tries++) {
        char* const larger = reserve_at(NULL, bytes + align);
        if (larger == NULL) {
            return NULL;
        }
        (void)VirtualFree(larger, 0, MEM_RELEASE);
        void* const start = reserve_at(larger + ((0 - (uintptr_t)larger) & (align - 1)), bytes);
        if (start != NULL) {
            return start;
        }
    }
    return NULL;
}

void* egb_os_reserve_(size_t bytes, size_t align)
{
    if (bytes > PTRDIFF_MAX) {
        return NULL;
    }
    const DWORD before = GetLastError();
    void*       start  = reserve_at(NULL, bytes);  // with luck it is aligned
    if (start != NULL && !is_aligned(start, align)) {
        (void)VirtualFree(start, 0, MEM_RELEASE);
        start = bytes <= SIZE_MAX - align ? reserve_aligned(bytes, align) : NULL;
    }
    SetLastError(before);
    return start;
}

void egb_os_release_(void* region, size_t bytes)
{
    (void)bytes;  // the system remembers
    const DWORD before = GetLastError();
    (void)VirtualFree(region, 0, MEM_RELEASE);
    SetLastError(before);
}

bool egb_os_can_split_(void)
{
    return false;
}

bool egb_os_can_protect_(void)
{
    return true;
}

egb_status egb_os_protect_(void* region, size_t bytes, bool is_open)
{
    const DWORD before = GetLastError();
    DWORD       was;
    const BOOL  is_done =
        VirtualProtect(region, bytes, is_open ? PAGE_READWRITE : PAGE_NOACCESS, &was);
    SetLastError(before);
    return is_done ? EGB_OK : EGB_NO_MEMORY;
}

// A reservation is as long as it was made, and nothing moves pages.
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

// ---- commit -------------------------------------------------------------------------------------

// Writes to each page, and changes nothing that is there. The system has promised memory for all.
static void touch_pages(volatile char* region, size_t bytes)
{
    const size_t page = egb_os_page_bytes_();
    for (size_t i = 0; i < bytes; i += page) {
        region[i] = region[i];
    }
}

// Bytes of the range that are in memory.
static size_t resident_bytes(char* region, size_t bytes)
{
    enum { PAGES_MAX = 256 };
    PSAPI_WORKING_SET_EX_INFORMATION pages[PAGES_MAX];
    const size_t                     page  = egb_os_page_bytes_();
    size_t                           found = 0;
    for (size_t done = 0; done < bytes;) {
        DWORD count = 0;
        for (; count < PAGES_MAX && done < bytes; count++, done += page) {
            pages[count].VirtualAddress = region + done;
        }
        if (!QueryWorkingSetEx(GetCurrentProcess(), pages, count * (DWORD)sizeof pages[0])) {
            break;
        }
        for (DWORD i = 0; i < count; i++) {
            found += pages[i].VirtualAttributes.Valid ? page : 0;
        }
    }
    return found;
}

bool egb_os_forget_(void* region, size_t bytes)
{
    const DWORD before   = GetLastError();
    const bool  is_taken = VirtualAlloc(region, bytes, MEM_RESET, PAGE_READWRITE) != NULL;
    SetLastError(before);
    return is_taken;
}

bool egb_os_forgets_to_zero_(void* page)
{
    (void)page;
    return false;
}

egb_status egb_os_shut_(void* region, size_t bytes)
{
    (void)egb_os_forget_(region, bytes);
    return egb_os_protect_(region, bytes, false);
}

egb_status
egb_os_commit_(void* region, size_t bytes, unsigned page_options, egb_os_obtained* obtained)
{
    const DWORD before  = GetLastError();
    const bool  is_done = VirtualAlloc(region, bytes, MEM_COMMIT, PAGE_READWRITE) != NULL;
    if (is_done && (page_options & EGB_OS_PREFAULT) != 0) {
        touch_pages(region, bytes);
    }
    if (is_done && obtained != NULL) {
        obtained->prefaulted = resident_bytes(region, bytes);
        obtained->huge       = 0;
    }
    SetLastError(before);
    return is_done ? EGB_OK : EGB_NO_MEMORY;
}
