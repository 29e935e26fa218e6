// SPDX-License-Identifier: MIT
// Files of /proc about this process, on Linux.
#ifndef EGGBOX_SRC_OS_POSIX_PROC_H
#define EGGBOX_SRC_OS_POSIX_PROC_H

#include "os.h"

// Whether the first thread of this process has ended, and other threads go on. Most files of
// /proc/self are empty then: the first thread has no memory any more. Those of a thread that goes
// on tell the same.
bool egb_posix_first_has_ended_(void);

// Emulators know the files of /proc/self only, and so do older kernels.
#define EGB_POSIX_OWN_FILE_(name)                                                   \
    (egb_posix_first_has_ended_() ? "/proc/thread-self/" name : "/proc/self/" name)

#endif  // EGGBOX_SRC_OS_POSIX_PROC_H
