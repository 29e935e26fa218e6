// SPDX-License-Identifier: MIT
// Layer os: all that eggbox asks of an operating system. One file per system answers.
#ifndef EGGBOX_SRC_OS_OS_H
#define EGGBOX_SRC_OS_OS_H

#include "eggbox/base.h"

// Writes to where a program's complaints go. Without buffering, allocation or a change of errno;
// what cannot be written is lost. Safe in a signal handler.
void egb_os_write_error(const char* text, size_t bytes);

#endif  // EGGBOX_SRC_OS_OS_H
