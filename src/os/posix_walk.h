// SPDX-License-Identifier: MIT
// Layer os: the calls of a thread, read from its stack by rules. The rule of a return address comes
// from the call-frame information and is kept: from then on a call costs one look into a table.
//
// Only for x86-64. No call allocates, and none waits for another thread, except that a rule that is
// not known yet may take the loader's lock.
#ifndef EGGBOX_SRC_OS_POSIX_WALK_H
#define EGGBOX_SRC_OS_POSIX_WALK_H

#include "os.h"

// False: there is no memory for the rules.
bool egb_walk_prepare_(void);

// The calls from `first` on, `most` at most. 0: this stack, or a call in it, is for the unwinder.
size_t egb_walk_(egb_os_call first, egb_os_call* calls, size_t most);

// What the unwinder told. A stack that it saw whole has less than `most` calls.
void egb_walk_learn_(const egb_os_call* calls, size_t count, bool is_whole);

// In the child of a fork the loader's lock may be held, for ever, by a thread that the child does
// not have.
bool egb_walk_is_child_(void);

#endif  // EGGBOX_SRC_OS_POSIX_WALK_H
