// SPDX-License-Identifier: MIT
// Layer os: the answers of systems where no report of a process is written.
#ifndef EGGBOX_SRC_OS_NO_PROCESS_H
#define EGGBOX_SRC_OS_NO_PROCESS_H

#include "os.h"

bool egb_os_has_reports_(void)
{
    return false;
}

egb_os_process egb_os_this_process_(void)
{
    const egb_os_process none = {0};
    return none;
}

uint64_t egb_os_process_number_(void)
{
    return 0;
}

uint64_t egb_os_parent_number_(void)
{
    return 0;
}

bool egb_os_process_exists_(uint64_t pid)
{
    (void)pid;
    return false;
}

bool egb_os_first_has_ended_(void)
{
    return false;
}

size_t egb_os_program_(char* out, size_t bytes)
{
    (void)out;
    (void)bytes;
    return 0;
}

int egb_os_open_arguments_(void)
{
    return -1;
}

int egb_os_create_(const char* path)
{
    (void)path;
    return -1;
}

size_t egb_os_read_(int file, char* to, size_t bytes)
{
    (void)file;
    (void)to;
    (void)bytes;
    return 0;
}

int egb_os_write_at_(int file, uint64_t place, uint64_t end, const char* text, size_t bytes)
{
    (void)file;
    (void)place;
    (void)end;
    (void)text;
    (void)bytes;
    return -1;
}

int egb_os_write_(int file, const char* text, size_t bytes)
{
    (void)file;
    (void)text;
    (void)bytes;
    return 1;
}

int egb_os_close_(int file)
{
    (void)file;
    return 1;
}

int egb_os_rename_(const char* from, const char* to)
{
    (void)from;
    (void)to;
    return 1;
}

void egb_os_remove_(const char* path)
{
    (void)path;
}

void egb_os_note_(const char* text, const char* path)
{
    (void)text;
    (void)path;
}

bool egb_os_find_module_(const void* address, char* path, size_t bytes, uintptr_t* offset)
{
    (void)address;
    (void)path;
    (void)bytes;
    (void)offset;
    return false;
}

#endif  // EGGBOX_SRC_OS_NO_PROCESS_H
