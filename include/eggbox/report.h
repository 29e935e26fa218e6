// SPDX-License-Identifier: MIT
// Layer hosted: the report of a process, as docs/report-format.md has it: every pool, large blocks,
// misuse, and what the system counts of the process. Written without malloc and without stdio.
//
// Threads  any; of two at one time one is told EGB_BUSY.
// Signals  Both may be called where a signal interrupted any call of eggbox: they wait a moment for
//          the locks, and give up if they do not get them.
// Systems  Linux; others say EGB_UNSUPPORTED.
#ifndef EGGBOX_REPORT_H
#define EGGBOX_REPORT_H

#include "base.h"

#if defined(__cplusplus)
extern "C" {
#endif

/// Writes the report as `<pid>-<start>.json` into a folder; one that this process wrote before is
/// replaced. It has another name until it is whole. What it says of blocks in use, if they are
/// tracked, is not printed at the end of the process any more.
///
/// Returns  EGB_OK; EGB_INVALID if `folder` is NULL or too long; EGB_BUSY: another thread is
///          writing, or holds a lock for too long; EGB_NO_MEMORY: the file could not be written;
///          EGB_UNSUPPORTED: not on this system.
egb_status egb_report_write(const char* folder);

/// From now on the report is that of a new process: its requests count from now. In the child of a
/// fork it begins with what its parent holds, and peaks are no less than that.
void egb_report_restart(void);

#if defined(__cplusplus)
}
#endif

#endif  // EGGBOX_REPORT_H
