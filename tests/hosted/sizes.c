// SPDX-License-Identifier: MIT
// Sizes that are promises: a magazine is two cache lines, a handle one register, and a pool with
// nothing in it less than 1 KiB.
#include "pool/registry.h"

_Static_assert(sizeof(egb_pool) == 8, "a handle fits a register");
_Static_assert(sizeof(void*) != 8 || sizeof(egb_magazine_) == 128, "two cache lines");
_Static_assert(sizeof(void*) != 8 || offsetof(egb_thread_, magazines) % 128 == 0, "whole ones");
_Static_assert(sizeof(void*) != 8 || sizeof(egb_control) <= 1024, "EGB_POOLS_MAX of them: 64 MiB");
