// SPDX-License-Identifier: MIT
// Room pool: the samples of a pool at level "sample". The lock of their owner protects them: the
// pool's lock, or that of large blocks.
//
// A sampled block in use has a record. The samples of one site are added up for ever, in a sum. A
// report can therefore tell the blocks in use and those that were ever allocated.
#ifndef EGGBOX_SRC_HOSTED_POOL_SAMPLES_H
#define EGGBOX_SRC_HOSTED_POOL_SAMPLES_H

#include "../settings/sampling.h"

// A sampled block in use.
typedef struct egb_sample {
    const void* block;  // NULL: this place is free
    const void* site;   // or stack: room stacks
    double      scale;  // how many blocks it stands for
    size_t      bytes;  // as requested
    uint64_t    serial;
    uint64_t    when;  // in the system's milliseconds
    uint32_t    thread;
} egb_sample;

// All samples of one site, scaled.
typedef struct egb_sample_sum {
    const void* site;
    uint64_t    samples;  // 0: this place is free
    double      blocks;
    double      bytes;  // as requested
} egb_sample_sum;

// All zero at first. Both tables are powers of two long, and at most three quarters full.
typedef struct egb_samples {
    egb_sampler     sampler;  // selects the blocks
    egb_sample*     records;
    size_t          record_places;
    size_t          records_used;
    egb_sample_sum* sums;
    size_t          sum_places;
    size_t          sums_used;
    uint64_t        serial;         // the number of the last sample
    uint64_t        serial_before;  // the last number that the reports of this process leave out
    uint64_t        lost;           // samples without memory for their record or sum
} egb_samples;

// The samples of large blocks.
extern egb_samples egb_large_samples_;

// There is a pool at level "sample", or there are large blocks at it; whether there ever was.
void egb_samples_begin_(void);
bool egb_has_samples_(void);

// Adds a block to the sum of its site; adds its record. If there is no memory, counts it as lost.
void egb_samples_sum_up_(egb_samples* all, const egb_sample* sample);
void egb_samples_add_(egb_samples* all, const egb_sample* sample);

// The record of a block in use; NULL: it has none. Removes it; no effect if there is none.
const egb_sample* egb_samples_find_(const egb_samples* all, const void* block);
void              egb_samples_remove_(egb_samples* all, const void* block);

// From now on only later samples count: the sums begin anew.
void egb_samples_restart_(egb_samples* all);

// Gives the memory of the tables back.
void egb_samples_end_(const egb_samples* all);

#endif  // EGGBOX_SRC_HOSTED_POOL_SAMPLES_H
