// SPDX-License-Identifier: MIT
// Files of /proc about this process, on Linux.
#ifndef EGGBOX_SRC_OS_POSIX_PROC_H
#define EGGBOX_SRC_OS_POSIX_PROC_H

#include "os.h"

// Most files of /proc/self are empty when the first thread has ended: it has no memory any more.
// Those of a thread that goes on tell the same. Emulators know the files of /proc/self only, and so
// do older kernels.
#define EGB_POSIX_OWN_FILE_(name)                                                \
    (egb_os_first_has_ended_() ? "/proc/thread-self/" name : "/proc/self/" name)

#endif  // EGGBOX_SRC_OS_POSIX_PROC_H
