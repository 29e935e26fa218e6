// SPDX-License-Identifier: MIT
// Embed tests: an interrupt at every instruction of some calls.
//
// The calls run again and again, with the timer set to fire one instruction later each time, until
// it fires after them.
#ifndef EGGBOX_TESTS_EMBED_SWEEP_H
#define EGGBOX_TESTS_EMBED_SWEEP_H

#include "board.h"

typedef struct sweep_scene {
    const char* name;
    void (*prepare)(void);    // before each run
    void (*calls)(void);      // are interrupted
    void (*interrupt)(void);  // the handler's part, once in each run
    bool (*is_sound)(void);   // after each run
    bool is_masked;           // the calls mask interrupts: several may come at one place
} sweep_scene;

// Checks that every instruction was interrupted, and prints a line. Returns the number of points
// after which the scene was not sound.
unsigned sweep(const sweep_scene* scene);

// The heading of these lines.
void sweep_print_heading(void);

#endif  // EGGBOX_TESTS_EMBED_SWEEP_H
