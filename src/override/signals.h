// SPDX-License-Identifier: MIT
// Layer override: signals that end a process.
#ifndef EGGBOX_SRC_OVERRIDE_SIGNALS_H
#define EGGBOX_SRC_OVERRIDE_SIGNALS_H

#include <stdbool.h>

// From now on, a signal that ends this process from outside calls this function before it does,
// with the number of the signal. If the function returns false, it is called again in a moment, ten
// times at most.
void egb_signals_watch_(bool (*at_the_end)(int number));

#endif  // EGGBOX_SRC_OVERRIDE_SIGNALS_H
