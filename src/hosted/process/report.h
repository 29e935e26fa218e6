// SPDX-License-Identifier: MIT
// Room process: parts of the report for the file that knows why it is written.
#ifndef EGGBOX_SRC_HOSTED_PROCESS_REPORT_H
#define EGGBOX_SRC_HOSTED_PROCESS_REPORT_H

#include "eggbox/report.h"

enum { EGB_REPORT_PATH_MAX = 4096 };

// Notes when the process began, once, and follows forks.
void egb_report_note_start_(void);

// As egb_report_announce(). The mark of a library that a program links is `.linked`: its process
// may be on pools, too, and have a second mark.
void egb_report_announce_(const char* folder);

// The number of the system's error that the last report met; 0: none, or a lock was not free.
int egb_report_error_(void);

// As egb_report_write(), called by the program from the function with that frame: see
// EGB_REPORT_FRAME_(). A `signal` other than 0 ends the program. `is_for_run`: where the folder
// takes no file, the report goes to the live file. `milliseconds`: see egb_locks_are_free_soon_().
egb_status egb_report_write_from_(
    const char* folder, const void* frame, int signal, bool is_for_run, int milliseconds
);

// Removes the mark of egb_report_announce_(): this process is going to write no report.
void egb_report_withdraw_(const char* folder);

#endif  // EGGBOX_SRC_HOSTED_PROCESS_REPORT_H
