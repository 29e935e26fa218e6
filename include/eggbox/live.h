// SPDX-License-Identifier: MIT
// Layer hosted: the live file: counts of processes, in memory that outlives them. Everything here
// is private to the library and the command `eggbox`, which need not be of one build.
//
// `eggbox run` makes the file, and each process on pools maps it. A process claims a slot, and
// copies its counts there in each call that takes a lock anyway; requests that are measured are
// counted there, and nowhere else. No end of a process loses them. Nothing in the file decides
// anything: whoever writes nonsense there gets a wrong number, and never a wrong block.
//
// Behind the slots is room for a report of each: a process that may write no file any more, as it
// has changed its user or its root folder, writes it there. The room has no memory until then.
//
// Numbers are in the order of bytes of the machine. Each is written at once, and without a lock.
#ifndef EGGBOX_LIVE_H
#define EGGBOX_LIVE_H

#include "base.h"

#include <stdint.h>

EGB_C_BEGIN_

#define EGB_LIVE_MAGIC     UINT64_C(0x314556494c474745)
#define EGB_LIVE_VERSION   4u
#define EGB_LIVE_SLOTS_MAX 1024u  // processes at one time
#define EGB_LIVE_START     4096u  // offset of the first slot

enum { EGB_LIVE_POOLS = 96, EGB_LIVE_CLASSES = 80, EGB_LIVE_NAME = 32, EGB_LIVE_PROGRAM = 256 };

typedef struct egb_live_header {
    uint64_t magic;
    uint32_t version;
    uint32_t slot_count;
    uint64_t slot_bytes;
    uint32_t maker;         // the number of the process that made the file
    uint32_t is_harvested;  // the maker reads the slots of processes that have ended
    uint32_t refused;       // processes that found no slot free; atomic
    uint32_t claims;        // how often a slot was claimed; atomic
    uint64_t report_bytes;  // the room for a report of each slot; 0: there is none
} egb_live_header;

// A pool, as its lock was last let go. `in_use` counts what callers have, and free blocks in
// magazines: `in_magazines` when they were counted last, and `in_magazines_max` at most.
typedef struct egb_live_pool {
    uint64_t key;  // that of the pool's handle; 0: there is no pool here
    uint64_t block_bytes;
    uint64_t in_use;
    uint32_t in_magazines;  // 0: not counted yet. Counts take 1 % of the time
    uint32_t in_magazines_max;
    uint64_t peak;  // as in stats.h, and up to `in_magazines_max` more
    uint64_t bytes_held;
    uint64_t failures;
    uint64_t failures_before;  // before the slot was claimed
    char     name[EGB_LIVE_NAME];
} egb_live_pool;

// A size class. Its counts are exact while requests are measured, and else they stand still.
typedef struct egb_live_class {
    uint64_t pool;  // its place among the pools; 0: unused
    uint64_t requests;
    uint64_t requested_bytes;
} egb_live_class;

// Large blocks, exactly.
typedef struct egb_live_large {
    uint64_t allocations;
    uint64_t frees;
    uint64_t failures;
    uint64_t in_use;
    uint64_t peak;
    uint64_t bytes;
    uint64_t bytes_peak;
} egb_live_large;

// How far a process is.
enum {
    EGB_LIVE_RUNS     = 0,  // it runs, or ended without a report
    EGB_LIVE_REPORTED = 1,  // its report is written
    EGB_LIVE_FAILED   = 2   // its report could not be written: `report_error`
};

typedef struct egb_live_slot {
    uint32_t       pid;    // 0: the slot is free. A claim compares and swaps it
    uint32_t       state;  // atomic
    uint64_t       started_ns;
    uint64_t       process_started;  // 0: not known
    uint32_t       parent_pid;
    uint32_t       report_error;  // the system's number; 0: a lock was held
    uint32_t       is_linked;     // the library is a part of the program
    uint32_t       is_measured;   // requests are counted
    uint32_t       is_forked;     // blocks and peaks of its parent are in its own
    uint32_t       pools_beyond;  // highest place of a pool that found none here; 0: none
    uint32_t       is_end_seen;   // by its parent: then `end_status` is that of wait()
    int32_t        end_status;
    uint32_t       report_bytes;  // length of its report behind the slots; 0: none. Atomic
    uint32_t       unused;        // else some machines would leave a gap here, and others none
    char           library[16];   // its version
    char           level[16];
    char           program[EGB_LIVE_PROGRAM];
    egb_live_large large;
    egb_live_class classes[EGB_LIVE_CLASSES];
    egb_live_pool  pools[EGB_LIVE_POOLS];  // [0] is no pool
} egb_live_slot;

EGB_STATIC_ASSERT(sizeof(egb_live_slot) == 11544, "the same on each machine");

// The distance between slots: whole pages of 4 KiB.
#define EGB_LIVE_SLOT_BYTES 12288u

// The bytes of a file with so many slots, without room for reports.
#define EGB_LIVE_BYTES(count)                                                                \
    (EGB_CAST_(uint64_t, EGB_LIVE_START) + EGB_CAST_(uint64_t, count) * EGB_LIVE_SLOT_BYTES)

// The most room for a report. Programs of 32 bits open no file of 2 GiB or more.
#define EGB_LIVE_REPORT_MAX ((UINT64_C(2) << 20) - (UINT64_C(16) << 10))

// Maps the file that EGGBOX_LIVE names, and claims a slot: "PID/DESCRIPTOR", one of `eggbox run`;
// or "1", a file of this process's own. Called once, by a library that knows when a process begins.
void egb_live_begin_(void);

// This process has seen another one end, with this status of wait().
void egb_live_note_wait_(uint32_t pid, int status);

// The moment, by the clock that `started_ns` has.
uint64_t egb_live_now_(void);

// The same for a child whose number only the C library knows. One call stands before the wait of
// the C library for it, and one behind, with the status; -1: it saw none end. The child is a
// program that this process started later than `since_ns`, that is gone, and that nobody has seen
// end. Notes nothing if there are several, or if another such wait was on at the same time. If a
// thread is cancelled in its wait, the second call never comes, and from then on nothing is noted.
void egb_live_wait_begins_(void);
void egb_live_wait_ends_(uint64_t since_ns, int status);

EGB_C_END_

#endif  // EGGBOX_LIVE_H
