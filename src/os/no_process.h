// SPDX-License-Identifier: MIT
// Layer os: the answers of systems where no report of a process is written.
#ifndef EGGBOX_SRC_OS_NO_PROCESS_H
#define EGGBOX_SRC_OS_NO_PROCESS_H

#include "os.h"

bool egb_os_has_reports(void)
{
    return false;
}

egb_os_process egb_os_this_process(void)
{
    const egb_os_process none = {0};
    return none;
}

size_t egb_os_program(char* out, size_t bytes)
{
    (void)out;
    (void)bytes;
    return 0;
}

int egb_os_open_arguments(void)
{
    return -1;
}

int egb_os_create(const char* path)
{
    (void)path;
    return -1;
}

size_t egb_os_read(int file, char* to, size_t bytes)
{
    (void)file;
    (void)to;
    (void)bytes;
    return 0;
}

bool egb_os_write(int file, const char* text, size_t bytes)
{
    (void)file;
    (void)text;
    (void)bytes;
    return false;
}

void egb_os_close(int file)
{
    (void)file;
}

bool egb_os_rename(const char* from, const char* to)
{
    (void)from;
    (void)to;
    return false;
}

void egb_os_remove(const char* path)
{
    (void)path;
}

bool egb_os_find_module(const void* address, const char** path, uintptr_t* offset)
{
    (void)address;
    (void)path;
    (void)offset;
    return false;
}

#endif  // EGGBOX_SRC_OS_NO_PROCESS_H
