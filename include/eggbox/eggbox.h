// SPDX-License-Identifier: MIT
// Everything eggbox offers to C. Programs in a hurry include this; others the header they need.
#ifndef EGGBOX_EGGBOX_H
#define EGGBOX_EGGBOX_H

#include "base.h"
#include "check.h"
#include "fixed.h"
#include "growing.h"
#include "guard.h"
#include "heap.h"
#include "pool.h"
#include "report.h"
#include "stats.h"

#endif  // EGGBOX_EGGBOX_H
