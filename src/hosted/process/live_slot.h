// SPDX-License-Identifier: MIT
// Room process: the slot of this process in the live file: eggbox/live.h. Without a slot all this
// does nothing.
#ifndef EGGBOX_SRC_HOSTED_PROCESS_LIVE_SLOT_H
#define EGGBOX_SRC_HOSTED_PROCESS_LIVE_SLOT_H

#include "eggbox/live.h"

// A report is going to be written. It has the same start of the process, by which a reader finds
// the report of a slot.
void egb_live_note_start_(uint64_t started_ns, const char* library, const char* level);

// The process goes on after its report: the report no longer says all.
void egb_live_note_goes_on_(void);

// The report is written; or it is not, and `error` is the number of the system's error, 0 for a
// lock that was not free.
void egb_live_note_end_(bool is_written, int error);

#endif  // EGGBOX_SRC_HOSTED_PROCESS_LIVE_SLOT_H
