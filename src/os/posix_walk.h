// SPDX-License-Identifier: MIT
// Layer os: the calls of a thread, read from its stack by rules. The rule of a return address comes
// from the call-frame information and is kept: from then on a call costs one look into a table.
//
// Only for x86-64, with glibc 2.35 or later. Nothing here allocates, takes a lock, or waits for
// another thread.
#ifndef EGGBOX_SRC_OS_POSIX_WALK_H
#define EGGBOX_SRC_OS_POSIX_WALK_H

#include "os.h"

// False: there is no memory for the rules.
bool egb_walk_prepare_(void);

// The calls from `first` on, as egb_os_calls_(). False: this stack, or a call in it, is for the
// unwinder.
bool egb_walk_(const egb_os_call* first, const void* site, egb_os_calls* out);

// Puts the `count` calls that were found behind the outermost `same` calls of `all`.
void egb_os_calls_put_(egb_os_calls* all, size_t same, size_t count);

// Learns from the calls that the unwinder told, from one around the asking function on. `is_whole`:
// it saw the stack to its end. `zero_top`: it ended with the return address 0, at this top, if not
// 0.
void egb_walk_learn_(const egb_os_call* calls, size_t count, bool is_whole, uintptr_t zero_top);

#endif  // EGGBOX_SRC_OS_POSIX_WALK_H
