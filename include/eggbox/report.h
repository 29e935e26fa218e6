// SPDX-License-Identifier: MIT
// Layer hosted: the report of a process, as docs/report-format.md describes it: every pool, large
// blocks, misuse, and the system's numbers of the process. Written without malloc and without
// stdio.
//
// Threads  any; if two threads write at one time, one gets EGB_BUSY.
// Signals  A signal handler that interrupted any call of eggbox may call both functions: they wait
//          a moment for the locks, and give up if they do not get them.
// Systems  Linux; others answer EGB_UNSUPPORTED.
#ifndef EGGBOX_REPORT_H
#define EGGBOX_REPORT_H

#include "base.h"

#if defined(__cplusplus)
extern "C" {
#endif

/// Writes the report as `<pid>-<start>.json` into a folder, and replaces an earlier report of this
/// process. The file has another name until it is complete. The report lists tracked blocks in use;
/// the library then does not print them again at the end of the process.
///
/// Returns  EGB_OK; EGB_INVALID if `folder` is NULL or too long; EGB_BUSY: another thread is
///          writing, or holds a lock for too long; EGB_NO_MEMORY: the file could not be written;
///          EGB_UNSUPPORTED: not on this system.
egb_status egb_report_write(const char* folder);

/// Starts the report of a new process: its requests count from now. In the child of a fork the
/// report begins with the blocks that the parent holds, and peaks are no less than those.
void egb_report_restart(void);

#if defined(__cplusplus)
}
#endif

#endif  // EGGBOX_REPORT_H
