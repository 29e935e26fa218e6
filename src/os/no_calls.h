// SPDX-License-Identifier: MIT
// Layer os: the answers of systems that do not tell the calls of a thread.
#ifndef EGGBOX_SRC_OS_NO_CALLS_H
#define EGGBOX_SRC_OS_NO_CALLS_H

#include "os.h"

bool egb_os_prepare_calls_(void)
{
    return true;
}

bool egb_os_calls_(const egb_os_call* first, const void* site, egb_os_calls* out, bool is_fast)
{
    (void)first;
    (void)site;
    (void)out;
    (void)is_fast;
    return false;
}

uintptr_t egb_os_top_after_return_(uintptr_t frame)
{
    (void)frame;
    return 0;
}

#endif  // EGGBOX_SRC_OS_NO_CALLS_H
