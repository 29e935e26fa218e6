// SPDX-License-Identifier: MIT
// Layer override: signals that end a process, and the library's handlers.
#ifndef EGGBOX_SRC_OVERRIDE_SIGNALS_H
#define EGGBOX_SRC_OVERRIDE_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

// The handlers that the library has set up to now are not shown to the program.
void egb_signals_program_begins_(void);

// From now on, a signal that ends this process from outside calls this function before it does,
// with the number of the signal, and the milliseconds that it may wait for a lock. If the function
// returns false, the program goes on, and the signal comes again in a moment, 100 times at most.
void egb_signals_watch_(bool (*at_the_end)(int number, int milliseconds));

// A signal that is to come again comes now: the timer for it would not outlive an exec.
void egb_signals_hurry_(void);

// Around the report of a process that ends by itself. If another thread ends it already, begin
// waits for that end: two at one time would cut off one report, or tell of the wrong end. False:
// the report of that end is there. Signals do nothing until the report is told; go_on: the process
// did not end.
bool egb_signals_begin_end_(void);
void egb_signals_note_told_(void);
void egb_signals_go_on_(void);

// An end of the process, or a call that ends it: the number of the process, because a forked child
// inherits it without that thread, and the errno of the thread, which no other one has. Both are
// atomic.
typedef struct egb_signals_end {
    uint32_t    process;
    const void* thread;
} egb_signals_end;

// Before a call that runs exit handlers. The C library takes each of them off its list: a second
// call would find none, and end the process while the report is written. It waits as above, but
// signals still end the process: an exit handler may take as long as it likes.
void egb_signals_begin_exit_(egb_signals_end* calls);

#endif  // EGGBOX_SRC_OVERRIDE_SIGNALS_H
