// SPDX-License-Identifier: MIT
// Layer os: the answers of a library that does not stand before the C library's malloc: no block is
// known to be of that malloc.
#ifndef EGGBOX_SRC_OS_NO_C_LIBRARY_BLOCKS_H
#define EGGBOX_SRC_OS_NO_C_LIBRARY_BLOCKS_H

#include "os.h"

size_t egb_os_c_library_bytes_(void* block)
{
    (void)block;
    return 0;
}

void egb_os_c_library_free_(void* block)
{
    (void)block;
}

#endif  // EGGBOX_SRC_OS_NO_C_LIBRARY_BLOCKS_H
