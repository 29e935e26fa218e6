// SPDX-License-Identifier: MIT
// Layer os: the answers of systems where processes share no memory with locks that end with them.
#ifndef EGGBOX_SRC_OS_NO_SHARED_H
#define EGGBOX_SRC_OS_NO_SHARED_H

#include "os.h"

bool egb_os_has_shared_(void)
{
    return false;
}

egb_status egb_os_shared_make_(int* file, const char* path, unsigned mode, uint64_t bytes)
{
    (void)file;
    (void)path;
    (void)mode;
    (void)bytes;
    return EGB_UNSUPPORTED;
}

egb_status egb_os_shared_fill_(int file, uint64_t bytes)
{
    (void)file;
    (void)bytes;
    return EGB_UNSUPPORTED;
}

uint64_t egb_os_shared_room_(const char* path)
{
    (void)path;
    return 0;
}

uint64_t egb_os_shared_page_(int file)
{
    (void)file;
    return 0;
}

uint64_t egb_os_shared_page_at_(const char* path)
{
    (void)path;
    return 0;
}

egb_status egb_os_shared_name_(int file, const char* path)
{
    (void)file;
    (void)path;
    return EGB_UNSUPPORTED;
}

egb_status egb_os_shared_open_(int* file, const char* path)
{
    (void)file;
    (void)path;
    return EGB_UNSUPPORTED;
}

egb_status egb_os_shared_again_(int* again, int file)
{
    (void)again;
    (void)file;
    return EGB_UNSUPPORTED;
}

egb_status egb_os_shared_of_(int* file, uint64_t pid, int number)
{
    (void)file;
    (void)pid;
    (void)number;
    return EGB_UNSUPPORTED;
}

egb_status egb_os_shared_twin_(int* file, int number)
{
    (void)file;
    (void)number;
    return EGB_UNSUPPORTED;
}

int egb_os_shared_step_aside_(int file)
{
    return file;
}

void egb_os_shared_close_(int file)
{
    (void)file;
}

egb_status egb_os_shared_look_(int file, egb_os_shared_file* out)
{
    (void)file;
    (void)out;
    return EGB_UNSUPPORTED;
}

bool egb_os_shared_read_(int file, void* to, size_t bytes)
{
    (void)file;
    (void)to;
    (void)bytes;
    return false;
}

bool egb_os_shared_is_named_(int file, const char* path)
{
    (void)file;
    (void)path;
    return false;
}

void egb_os_shared_each_(
    const char* folder, const char* prefix, void (*visit)(const char* name, void* user), void* user
)
{
    (void)folder;
    (void)prefix;
    (void)visit;
    (void)user;
}

void* egb_os_shared_map_(
    int file, uint64_t offset, size_t bytes, bool is_writable, unsigned page_options
)
{
    (void)file;
    (void)offset;
    (void)bytes;
    (void)is_writable;
    (void)page_options;
    return NULL;
}

void egb_os_shared_unmap_(void* start, size_t bytes)
{
    (void)start;
    (void)bytes;
}

bool egb_os_shared_lock_(int file, unsigned first, unsigned count)
{
    (void)file;
    (void)first;
    (void)count;
    return false;
}

void egb_os_shared_unlock_(int file, unsigned first, unsigned count)
{
    (void)file;
    (void)first;
    (void)count;
}

bool egb_os_shared_is_locked_(int file, unsigned first, unsigned count)
{
    (void)file;
    (void)first;
    (void)count;
    return false;
}

void egb_os_shared_keep_(int file, unsigned byte)
{
    (void)file;
    (void)byte;
}

bool egb_os_shared_is_locked_briefly_(int file, unsigned first, unsigned count)
{
    return egb_os_shared_is_locked_(file, first, count);
}

void egb_os_shared_wait_(void* word, uint32_t value, uint64_t nanoseconds)
{
    (void)word;
    (void)value;
    (void)nanoseconds;
}

void egb_os_shared_wake_(void* word)
{
    (void)word;
}

#endif  // EGGBOX_SRC_OS_NO_SHARED_H
