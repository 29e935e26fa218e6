// SPDX-License-Identifier: MIT
// Room process: the slot of this process in the live file: eggbox/live.h. Without a slot all this
// does nothing.
#ifndef EGGBOX_SRC_HOSTED_PROCESS_LIVE_SLOT_H
#define EGGBOX_SRC_HOSTED_PROCESS_LIVE_SLOT_H

#include "eggbox/live.h"

// The program as the process knew it when it began; empty: it has no slot. Under another root it
// can no longer ask.
const char* egb_live_program_(void);

// A report is going to be written. It has the same start of the process, by which a reader finds
// the report of a slot.
void egb_live_note_start_(uint64_t started_ns, const char* library, const char* level);

// The process goes on after its report: the report no longer says all.
void egb_live_note_goes_on_(void);

// The report is written; or it is not, and `error` is the number of the system's error, 0 for a
// lock that was not free.
void egb_live_note_end_(bool is_written, int error);

// The part of the live file for the report of this process, open to write.
typedef struct egb_live_room {
    int      file;
    uint64_t start;
    uint64_t end;
} egb_live_room;

// False: there is none, or the process has closed the file. `bytes`: so much is written; 0: there
// is no report.
bool egb_live_open_room_(egb_live_room* out);
void egb_live_close_room_(const egb_live_room* room, uint64_t bytes);

// A later report is in a file: the one that is in the live file is no more.
void egb_live_forget_report_(void);

#endif  // EGGBOX_SRC_HOSTED_PROCESS_LIVE_SLOT_H
