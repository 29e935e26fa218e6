// SPDX-License-Identifier: MIT
// Layer faces: the name under which elr_mpl's fork for POSIX had the same interface.
#ifndef EGGBOX_COMPAT_ELR_MPL_POSIX_H
#define EGGBOX_COMPAT_ELR_MPL_POSIX_H

#include "elr_mpl.h"

#endif  // EGGBOX_COMPAT_ELR_MPL_POSIX_H
