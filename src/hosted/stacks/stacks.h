// SPDX-License-Identifier: MIT
// Room stacks: the calls that led to a site, for pools at the levels "track" and "sample". Each
// distinct stack is kept once, until the process ends, and a pointer to it takes the place of the
// site: wherever this library passes a site on, that is a code address or such a pointer, and the
// functions at the end tell which.
//
// The memory is bounded. When it is full, and on systems that do not tell the calls, a site is its
// code address alone.
#ifndef EGGBOX_SRC_HOSTED_STACKS_STACKS_H
#define EGGBOX_SRC_HOSTED_STACKS_STACKS_H

#include "eggbox/base.h"

// A stack has all its calls, 512 at most. If there are more, it has the innermost 64.
enum { EGB_STACK_CALLS_MAX = 512, EGB_STACK_CALLS_CUT = 64 };

// From now on there are stacks. Others may allocate here; no lock is held. The library does it when
// it begins if EGGBOX_CHECK has such a level, so that the loader is not asked in the middle of a
// request.
void egb_stacks_begin_(void);

// The same, if that was wanted when it was too early to find the unwinder.
void egb_stacks_begin_late_(void);

// The stack of this thread from `site` on, a return address in it; or `site`, if the stack is not
// known. No lock is held, and no signal handler of this library calls it. Lock-free.
const void* egb_stack_here_(const void* site);

// How often the stack was not known since egb_stacks_begin_(); from now on anew.
uint64_t egb_stacks_unknown_(void);
void     egb_stacks_restart_(void);

// The end of the memory of stacks, if the address is in it; else 0. Old values of registers are
// there, which lead to no block on behalf of the program.
uintptr_t egb_stacks_end_(uintptr_t address);

// The code address of a site, whatever it is.
const void* egb_site_address_(const void* site);

// Whether a site is a stack. Any pointer will do, also one that was written over.
bool egb_site_is_stack_(const void* site);

// The return addresses of a site, the innermost first and NULL behind the last; NULL: it is no
// stack, or there is no room for more stacks that were asked for. The same array each time, which
// stays until the process ends. Lock-free.
const void* const* egb_site_stack_(const void* site);

#endif  // EGGBOX_SRC_HOSTED_STACKS_STACKS_H
