// SPDX-License-Identifier: MIT
// Everything that eggbox offers to C. Include this, or only the headers that you need.
#ifndef EGGBOX_EGGBOX_H
#define EGGBOX_EGGBOX_H

#include "base.h"
#include "board_heap.h"
#include "fixed.h"
#include "fixed_placed.h"
#include "fixed_shared.h"
#include "growing.h"
#include "guard.h"
#include "heap.h"
#include "misuse.h"
#include "pool.h"
#include "report.h"
#include "shared.h"
#include "slots.h"
#include "stats.h"

#endif  // EGGBOX_EGGBOX_H
