// SPDX-License-Identifier: MIT
// A port without critical sections: for a pool that one thread uses, and no interrupt, by the same
// calls as other pools.
#ifndef EGGBOX_PORT_NONE_H
#define EGGBOX_PORT_NONE_H

#include "../port.h"

EGB_C_BEGIN_

static inline uintptr_t egb_none_enter_(const egb_port* port)
{
    (void)port;
    return 0;
}

static inline void egb_none_leave_(const egb_port* port, uintptr_t before)
{
    (void)port;
    (void)before;
}

/// No critical sections; nothing can wait.
static const egb_port egb_port_none = {egb_none_enter_, egb_none_leave_, NULL, NULL, NULL, NULL};

EGB_C_END_

#endif  // EGGBOX_PORT_NONE_H
