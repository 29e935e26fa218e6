// SPDX-License-Identifier: MIT
// Layer hosted: the report of a process, as docs/report-format.md describes it: every pool, large
// blocks, misuse, and the system's numbers of the process. Written without malloc and without
// stdio.
//
// With EGGBOX_REPORT=FOLDER in its environment a program writes its report there at exit(), if it
// has made a pool or used the heap. If there is no such folder, nothing is written or said.
// `eggbox run` sets the variable.
//
// Threads  any; if two threads write at one time, one gets EGB_BUSY.
// Signals  A signal handler that interrupted any call of eggbox may call write and restart: they
//          wait a moment for the locks, and give up if they do not get them.
// Systems  Linux; others answer EGB_UNSUPPORTED.
#ifndef EGGBOX_REPORT_H
#define EGGBOX_REPORT_H

#include "base.h"

EGB_C_BEGIN_

/// Writes the report as `<pid>-<start>.json` into a folder, and replaces an earlier report of this
/// process. The file has another name until it is complete, and is a new one: a link, a pipe or a
/// file of that name is left alone, and nothing is written. The report lists tracked blocks in use;
/// the library then does not print them again at the end of the process.
///
/// Returns  EGB_OK; EGB_INVALID if `folder` is NULL or too long; EGB_BUSY: another thread is
///          writing, or holds a lock for too long; EGB_NO_MEMORY: the file could not be written;
///          EGB_UNSUPPORTED: not on this system.
egb_status egb_report_write(const char* folder);

/// Starts the report of a new process: requests to the heap and to every pool count from now. In
/// the child of a fork the report begins with the blocks that the parent holds, and peaks are no
/// less than those. O(pools * threads)
void egb_report_restart(void);

/// Leaves a mark in a folder: this process is going to write its report there. The mark is a
/// symbolic link `<pid>-<start>.begun` that names the program; the report takes its place. A mark
/// that stays therefore tells of a process that ended without a report. If a report cannot be
/// written, a link `<pid>-<start>.failed` holds the number of the system's error, 0 for a lock that
/// another thread held.
///
/// From this call on the report also has the numbers of pools that end before it is written.
///
/// Call it after egb_report_restart(), which begins the report of another process.
void egb_report_announce(const char* folder);

// The report that the environment asks for (EGGBOX_REPORT): for a library in place of malloc, which
// knows when a process begins and ends. begin: false if none is asked for. end: as
// egb_report_write(); EGB_UNSUPPORTED if none is asked for, or in the child of a vfork; `signal` is
// the number of the signal that ends the process, 0 if none does. try_end: the same in a handler
// that comes again after EGB_BUSY; it waits about so long for each lock. go_on: the process did not
// end, and the report is not the last one. is_due: the end of this process has a report or, if none
// is asked for, a check; not in the child of a vfork, which has its parent's memory. process: the
// number of the process that memory knows of, 0 if no report is asked for. Private.
bool       egb_report_begin_(void);
bool       egb_report_or_check_is_due_(void);
uint64_t   egb_report_process_(void);
egb_status egb_report_end_(const void* frame, int signal);
egb_status egb_report_try_end_(const void* frame, int signal, int milliseconds);
void       egb_report_go_on_(void);

// The frame of the function that uses this macro, on the stack of its thread. The registers of its
// caller are stored there: what the program points to is in them, or above. The function must be
// one that returns, and must not be inlined. Private.
#define EGB_REPORT_FRAME_() (__builtin_unwind_init(), __builtin_frame_address(0))

EGB_C_END_

#endif  // EGGBOX_REPORT_H
