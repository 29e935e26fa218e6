// SPDX-License-Identifier: MIT
// Room process: the slot of this process in the live file: eggbox/live.h. Without a slot all this
// does nothing.
#ifndef EGGBOX_SRC_HOSTED_PROCESS_LIVE_SLOT_H
#define EGGBOX_SRC_HOSTED_PROCESS_LIVE_SLOT_H

#include "eggbox/live.h"

// A report is going to be written, which began at this moment: the slot is known by it.
void egb_live_note_start_(uint64_t started_ns, const char* library, const char* level);

// The process goes on behind its report: what it says is no longer all.
void egb_live_note_goes_on_(void);

// The report is written; or it is not, for this number of the system's error.
void egb_live_note_end_(bool is_written, int error);

#endif  // EGGBOX_SRC_HOSTED_PROCESS_LIVE_SLOT_H
