// SPDX-License-Identifier: MIT
// Everything eggbox offers to C. Programs in a hurry include this; others the header they need.
#ifndef EGGBOX_EGGBOX_H
#define EGGBOX_EGGBOX_H

#include "eggbox/base.h"
#include "eggbox/check.h"
#include "eggbox/fixed.h"
#include "eggbox/growing.h"
#include "eggbox/guard.h"
#include "eggbox/heap.h"
#include "eggbox/pool.h"
#include "eggbox/report.h"
#include "eggbox/stats.h"

#endif  // EGGBOX_EGGBOX_H
