// SPDX-License-Identifier: MIT
// The inline functions of fixed.h and slots.h once more, for callers that cannot read C: other
// languages, and dlsym(). A program that does not call them does not get this object from the
// library.
#include "eggbox/base.h"

#undef EGB_INLINE_PUBLIC
#define EGB_INLINE_PUBLIC EGB_INLINE_LINKABLE_

#include "eggbox/fixed.h"
#include "eggbox/slots.h"
