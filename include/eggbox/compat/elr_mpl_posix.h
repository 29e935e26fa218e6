/* SPDX-License-Identifier: MIT */
/* Layer faces: elr_mpl.h, under its name in the fork of elr_mpl for POSIX. */
#ifndef EGGBOX_COMPAT_ELR_MPL_POSIX_H
#define EGGBOX_COMPAT_ELR_MPL_POSIX_H

#include "elr_mpl.h"

#endif /* EGGBOX_COMPAT_ELR_MPL_POSIX_H */
