// SPDX-License-Identifier: MIT
// Room settings: which allocated bytes are sampled (EGGBOX_SAMPLE), in pools at level "sample".
//
// Sample points lie along the bytes that are allocated, one in a period of bytes on average, and
// independently of each other: a Poisson process. A block with a point in it is sampled. That has
// the probability 1 - exp(-bytes / period), and the block stands for the inverse of it, its scale.
// The distances between points have no memory: each pool may have a sampler of its own, and any
// order of blocks will do. docs/decisions/0032.
#ifndef EGGBOX_SRC_HOSTED_SETTINGS_SAMPLING_H
#define EGGBOX_SRC_HOSTED_SETTINGS_SAMPLING_H

#include "eggbox/base.h"

enum { EGB_SAMPLE_PERIOD = 512 << 10, EGB_SAMPLE_PERIOD_MAX = 1 << 30 };

// All zero at first. The lock of its owner protects it.
typedef struct egb_sampler {
    uint64_t left;      // bytes before the next point
    uint64_t random;    // state of the generator; 0: it has not begun
    uint32_t halvings;  // the period is twice as long, so many times, for the distance in `left`
} egb_sampler;

// How many of `count` blocks of so many bytes come before the first one that is sampled; `count`:
// none of them is. Blocks behind a sampled one are not counted. `bytes * count` is below 2^63.
size_t egb_sampler_pass_(egb_sampler* sampler, size_t bytes, size_t count);

// A sample was taken. If 64 come within 128 ms, 500 a second in the whole process, the period
// becomes twice as long for all samplers; it becomes shorter again when they take four times as
// long. Lock-free.
void egb_sampling_note_(void);

// 32 random bits.
uint32_t egb_sampler_random_(egb_sampler* sampler);

// How many blocks of so many bytes a sampled one stands for, after so many halvings.
double egb_sampling_scale_(size_t bytes, uint32_t times);

// The bytes between two points on average.
uint64_t egb_sampling_period_(void);

// Applies the text of EGGBOX_SAMPLE, such as 4096, 512k or 1m; NULL: it is not set. A wrong text is
// ignored, with a line on stderr.
void egb_sampling_read_(const char* text);

// For tests, until the setting is read again: samplers that begin from now on have random numbers
// that follow from this one, and no look at the clock changes a period.
void egb_sampling_seed_(uint64_t first);

#endif  // EGGBOX_SRC_HOSTED_SETTINGS_SAMPLING_H
