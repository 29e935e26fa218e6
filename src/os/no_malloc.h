// SPDX-License-Identifier: MIT
// Layer os: the answers of systems, and of libraries, that have no malloc to pass requests on to.
#ifndef EGGBOX_SRC_OS_NO_MALLOC_H
#define EGGBOX_SRC_OS_NO_MALLOC_H

#include "os.h"

bool egb_os_has_malloc_(void)
{
    return false;
}

void* egb_os_malloc_(size_t align, size_t bytes)
{
    (void)align;
    (void)bytes;
    return NULL;
}

void egb_os_free_(void* block)
{
    (void)block;
}

#endif  // EGGBOX_SRC_OS_NO_MALLOC_H
