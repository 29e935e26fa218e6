// SPDX-License-Identifier: MIT
// A machine without an operating system, or one that we do not know: there is nowhere to write to,
// no pages, and one thread, which never ends and needs no lock.
#include "no_c_library_blocks.h"
#include "no_calls.h"
#include "no_malloc.h"
#include "no_process.h"
#include "no_shared.h"
#include "os.h"

void egb_os_write_error_(const char* text, size_t bytes)
{
    (void)text;
    (void)bytes;
}

void egb_os_abort_(void)
{
    for (;;) {
    }
}

void egb_os_prepare_(void) {}

const char* egb_os_variable_(const char* name)
{
    (void)name;
    return NULL;
}

bool egb_os_explain_faults_(void (*explain)(const void* address, egb_os_access access))
{
    (void)explain;
    return false;
}

// ---- pages --------------------------------------------------------------------------------------

size_t egb_os_page_bytes_(void)
{
    return 0;
}

size_t egb_os_process_limit_(void)
{
    return SIZE_MAX;
}

size_t egb_os_group_limit_(void)
{
    return SIZE_MAX;
}

void* egb_os_reserve_(size_t bytes, size_t align)
{
    (void)bytes;
    (void)align;
    return NULL;
}

egb_status
egb_os_commit_(void* region, size_t bytes, unsigned page_options, egb_os_obtained* obtained)
{
    (void)region;
    (void)bytes;
    (void)page_options;
    (void)obtained;
    return EGB_NO_MEMORY;
}

void egb_os_release_(void* region, size_t bytes)
{
    (void)region;
    (void)bytes;
}

bool egb_os_can_split_(void)
{
    return false;
}

bool egb_os_can_protect_(void)
{
    return false;
}

egb_status egb_os_protect_(void* region, size_t bytes, bool is_open)
{
    (void)region;
    (void)bytes;
    (void)is_open;
    return EGB_UNSUPPORTED;
}

egb_status egb_os_shut_(void* region, size_t bytes)
{
    (void)region;
    (void)bytes;
    return EGB_UNSUPPORTED;
}

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

// ---- time, chance -------------------------------------------------------------------------------

uint64_t egb_os_milliseconds_(void)
{
    return 0;
}

uint64_t egb_os_random_(void)
{
    return 0;
}

// ---- threads ------------------------------------------------------------------------------------

void egb_os_lock_(egb_os_mutex* mutex)
{
    (void)mutex;
}

void egb_os_unlock_(egb_os_mutex* mutex)
{
    (void)mutex;
}

void egb_os_lock_reset_(egb_os_mutex* mutex)
{
    (void)mutex;
}

bool egb_os_forget_(void* region, size_t bytes)
{
    (void)region;
    (void)bytes;
    return false;
}

bool egb_os_forgets_to_zero_(void* page)
{
    (void)page;
    return false;
}

void egb_os_wait_(uint32_t* word, uint32_t value, uint32_t milliseconds)
{
    (void)word;
    (void)value;
    (void)milliseconds;
}

void egb_os_wake_(uint32_t* word)
{
    (void)word;
}

size_t egb_os_processors_(void)
{
    return 1;
}

uint32_t egb_os_thread_number_(void)
{
    return 0;
}

void egb_os_thread_is_forked_(void) {}

bool egb_os_at_thread_exit_(void (*function)(void* argument))
{
    (void)function;
    return false;
}

bool egb_os_arm_thread_exit_(void* argument)
{
    (void)argument;
    return false;
}

bool egb_os_at_fork_(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    (void)prepare;
    (void)parent;
    (void)child;
    return true;
}

bool egb_os_can_fence_threads_(void)
{
    return false;
}

bool egb_os_fence_threads_(void)
{
    return false;
}

uint64_t egb_os_nanoseconds_(void)
{
    return 0;
}

bool egb_os_try_lock_(egb_os_mutex* mutex)
{
    (void)mutex;
    return true;
}

bool egb_os_lock_soon_(egb_os_mutex* mutex, int milliseconds)
{
    (void)mutex;
    (void)milliseconds;
    return true;
}
