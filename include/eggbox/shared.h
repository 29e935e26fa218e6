// SPDX-License-Identifier: MIT
// Layer shared: the shared pool, equal blocks in memory that several processes map.
//
//   control part, written by all                          blocks, read-only for some
//   | shape | attachments | words | hints | feed | notes |  | block 0 | block 1 | ...
//
// A process that has the pool open is an attachment. It is alive as long as it holds a lock on its
// byte of the file, which the kernel drops when the process is gone, whatever ended it. One word
// for each block says which attachments hold it, and whether the feed does. A process may be killed
// at any instruction: the others find the blocks that it held, and none is lost.
//
// A block that is handed out is a frame. A frame's handle is a value of 16 bytes; it opens this
// frame in any process, or none at all. The feed is a ring of the frames published last: every
// reader may see each of them (egb_shared_next), or each goes to one worker (egb_shared_take).
// Frames outlive their publisher.
//
// Alloc, open, release, publish and next take a lock of this process and execute a few atomic
// operations. They make no system call but to wake a process that waits. Two calls do more: an
// alloc that finds no free block, and the first publish of an attachment, try locks of the file and
// look at all blocks, O(count). The control part is open to all attachments: this protects from
// accidents, not from malice.
//
// Linux, with /proc. Elsewhere create and attach answer EGB_UNSUPPORTED. Any thread may call
// anything at any time, with one exception: no call may be waiting on a pool while this process
// closes the pool (egb_shared_cancel() ends waits). A call with a pool that was closed is refused,
// for certain: the pools opened later have other addresses. Not for signal handlers.
#ifndef EGGBOX_SHARED_H
#define EGGBOX_SHARED_H

#include "base.h"

EGB_C_BEGIN_

/// A pool as this process has it open. The address is a handle, and leads to nothing.
typedef struct egb_shared egb_shared;

/// A frame's handle, for any queue, socket or file. All zero is no frame's.
typedef struct egb_frame {
    uint32_t pool;        // number of the pool, by chance and not 0
    uint32_t index;       // number of the block, from 0
    uint64_t generation;  // the block's, from 1: it never comes back
} egb_frame;

/// The most attachments at one time; bytes of a note, and of `about`; blocks; bytes of a name.
#define EGB_SHARED_ATTACHMENTS_MAX 62u
#define EGB_SHARED_NOTE_BYTES_MAX  64u
#define EGB_SHARED_ABOUT_BYTES_MAX 256u
#define EGB_SHARED_BLOCKS_MAX      16777216u
#define EGB_SHARED_NAME_BYTES_MAX  200u

/// A timeout without an end. Times are measured by a clock that nobody can set, each in the process
/// that waits: no moment is compared with that of another process.
#define EGB_SHARED_FOREVER UINT64_MAX

/// The answer of egb_shared_alloc() when no block is free, and no dead process held one.
typedef enum egb_shared_full {
    EGB_SHARED_FAIL        = 0,  // it returns NULL
    EGB_SHARED_WAIT        = 1,  // it waits for `wait_ns`, then returns NULL
    EGB_SHARED_DROP_OLDEST = 2   // it takes the oldest frame that only the feed holds, else NULL
} egb_shared_full;

/// Flags of create and attach.
#define EGB_SHARED_READ_ONLY  1u  // attach: blocks cannot be written to, and alloc returns NULL
#define EGB_SHARED_PREFAULT   2u  // map each page now, so that no access is a page fault later
#define EGB_SHARED_HUGE_PAGES 4u  // large pages, where the system grants them: a hint

/// How to make a pool. All zero but `block_bytes` and `count` is fine.
typedef struct egb_shared_options {
    const char* name;    // NULL: none, and the descriptor is handed on; else the file is
                         //   /dev/shm/eggbox-NAME, or the path `name` if that begins with /:
                         //   in memory, as /dev/shm, or in a hugetlbfs
    size_t block_bytes;  // required: 1 or more
    size_t block_align;  // 0: 64; else a power of two up to 4096
    size_t count;        // required: blocks, 1 to EGB_SHARED_BLOCKS_MAX
    size_t feed_count;   // frames that the feed keeps, at most `count`; 0: there is no feed
    size_t note_bytes;   // bytes with each published frame, at most EGB_SHARED_NOTE_BYTES_MAX
    egb_shared_full on_full;
    uint64_t        wait_ns;  // for EGB_SHARED_WAIT; EGB_SHARED_FOREVER: no limit
    unsigned permissions;  // mode of the named file; 0: 0600. Every process writes to it, also one
                           // with EGB_SHARED_READ_ONLY
    unsigned    flags;     // EGB_SHARED_PREFAULT | EGB_SHARED_HUGE_PAGES
    const void* about;     // describes the blocks for those who attach; copied. NULL: nothing
    size_t      about_bytes;  // at most EGB_SHARED_ABOUT_BYTES_MAX
} egb_shared_options;

/// Makes a pool and attaches to it. All of its memory is allocated before the call returns: a full
/// /dev/shm is EGB_NO_MEMORY here, and never a signal later. A name whose attachments are all dead
/// is replaced; a pool with a name is complete when its name appears. If the memory is not there
/// for a pool with a name, dead pools go, provided that they leave enough: that of the name alone,
/// or all that egb_shared_gc() removes; for a path, only a dead pool of that path.
///
/// Returns  EGB_OK, and the pool in `*out`;
///          EGB_INVALID if `out` or `options` is NULL, an option is out of its range, or the name
///          is empty, has a slash and does not begin with one, or is too long;
///          EGB_BUSY if there is a living pool, or anything else, of this name;
///          EGB_LIMIT if the pool would have more bytes than this process can address;
///          EGB_NO_MEMORY if the system refused memory, a file or a descriptor: make `count` or
///          `block_bytes` smaller, or /dev/shm larger (docker run --shm-size);
///          EGB_UNSUPPORTED on this system, and without /proc.
///          On anything but EGB_OK `*out` is unchanged and nothing is left behind.
EGB_NODISCARD egb_status egb_shared_create(egb_shared** out, const egb_shared_options* options);

/// Attaches to a pool by its name. `flags`: EGB_SHARED_READ_ONLY | EGB_SHARED_PREFAULT |
/// EGB_SHARED_HUGE_PAGES. The frames of the feed stay, even if all attachments are dead. Blocks
/// that dead attachments held become free: here those of the slot that this attachment gets, and
/// the others by a later alloc or by egb_shared_recover(). The holes that
/// a copy of a file may have are allocated here, where the file system can do that: no access is a
/// signal later.
///
/// Returns  EGB_OK; EGB_STALE if there is no such name (any more);
///          EGB_LIMIT if EGB_SHARED_ATTACHMENTS_MAX processes have it open;
///          EGB_CORRUPT if the file is no pool, is cut short, or its shape was damaged;
///          EGB_INVALID for a NULL, a wrong name or unknown flags;
///          EGB_NO_MEMORY if the system refused memory, a descriptor or the permission;
///          EGB_UNSUPPORTED if another version of the library made it, on this system, and without
///          /proc.
///          On anything but EGB_OK `*out` is unchanged and nothing is left behind.
EGB_NODISCARD egb_status egb_shared_attach(egb_shared** out, const char* name, unsigned flags);

/// The same by a descriptor, which stays the caller's: got over a UNIX socket, from a parent, or by
/// opening /proc/PID/fd/N. EGB_INVALID also if it is not open for reading and writing.
EGB_NODISCARD egb_status egb_shared_attach_fd(egb_shared** out, int fd, unsigned flags);

/// The descriptor of the pool, to hand on; the pool's until it is closed. -1: closed.
int egb_shared_fd(const egb_shared* shared);

/// Gives all back that this process holds, and detaches. The file of a named pool goes with its
/// last attachment. NULL and a pool that is closed already are ignored. No address of a block may
/// be used any more, and no other call may be waiting on this pool.
void egb_shared_close(egb_shared* shared);

/// A block for this process to write to, with undefined contents: the free one with the lowest
/// number, of those that have a hint. A free block may lack its hint after a death.
///
/// Returns  NULL if there is none, by the rule `on_full`, if the pool was closed, or if it is
///          read-only here.
/// Time     if a block with a hint is free, up to count / 64 words of hints and a few atomic
///          operations. Else all blocks are looked at, and the dead are recovered, O(count).
void* egb_shared_alloc(egb_shared* shared);

/// The same, but waits until a block is free, whatever `on_full`.
///
/// Returns  EGB_OK; EGB_BUSY if none was free in time, or egb_shared_cancel() was called;
///          EGB_INVALID for a NULL or a read-only pool; EGB_STALE if the pool was closed.
EGB_NODISCARD egb_status egb_shared_alloc_wait(egb_shared* shared, void** out, uint64_t timeout_ns);

/// The handle of a frame that this process holds; all zero if it is none. The handle may be used
/// when the frame is gone: then it is stale.
egb_frame egb_shared_handle(const egb_shared* shared, const void* block);

/// Opens a frame by its handle: from now on this process holds it once more.
///
/// Returns  EGB_OK, and the address here in `*out`; EGB_STALE if the frame is gone, for certain, or
///          the pool was closed; EGB_INVALID for a NULL, and for a handle that is not this pool's.
EGB_NODISCARD egb_status egb_shared_open(egb_shared* shared, egb_frame frame, void** out);

/// Holds a frame once more that this process holds. Each hold needs its release. Misuse is reported
/// as with egb_shared_release(), NULL as an address that is no block's.
void egb_shared_retain(egb_shared* shared, void* block);

/// Ends one hold. The last one of all processes and the feed makes the block free. NULL is ignored.
/// Misuse (eggbox/misuse.h) is reported, and nothing changes: EGB_MISUSE_DOUBLE_FREE for a block
/// that this process does not hold, whether it ever did or not; EGB_MISUSE_INTERIOR and
/// EGB_MISUSE_FOREIGN for an address that is no block's; EGB_MISUSE_STALE for a closed pool;
/// EGB_MISUSE_NO_POOL for a pool of NULL.
void egb_shared_release(egb_shared* shared, void* block);

/// Publishes a frame that this process holds, and still holds afterwards: everyone may see it, and
/// nobody should write to it any more. The first publish makes this attachment the publisher of the
/// pool, until it is closed or its process is gone. A frame that falls out of the feed is
/// free when nobody holds it. `note` has the pool's `note_bytes`; NULL: zeros. `sequence` may be
/// NULL.
///
/// Returns  EGB_OK, and the frame's number, from 1, in `*sequence`;
///          EGB_BUSY if another attachment publishes, or a process was stopped for a second while
///          it repaired the feed after a publisher's death: this attachment is then no publisher;
///          EGB_INVALID for a NULL, a block that this process does not hold, a frame that was
///          published before, or a read-only pool;
///          EGB_UNSUPPORTED if the pool has no feed; EGB_STALE if it was closed.
EGB_NODISCARD egb_status
egb_shared_publish(egb_shared* shared, void* block, const void* note, uint64_t* sequence);

/// A published frame. This process holds it, and has to release it.
typedef struct egb_published {
    void*         block;
    egb_frame     frame;
    uint64_t      sequence;  // its number in the feed, from 1
    uint64_t      missed;    // frames between `after` and this one that fell out of the feed
    unsigned char note[EGB_SHARED_NOTE_BYTES_MAX];  // the first `note_bytes` were given to publish
} egb_published;

/// The oldest frame of the feed that is newer than number `after`; 0: the oldest of all. Pass the
/// number of the last one to see each frame once. Never waits for a reader, nor does the publisher.
///
/// Returns  EGB_OK; EGB_BUSY if none came in time, or egb_shared_cancel() was called;
///          EGB_INVALID for a NULL; EGB_UNSUPPORTED without a feed; EGB_STALE if it was closed.
///          On anything but EGB_OK `*out` is unchanged.
EGB_NODISCARD egb_status
egb_shared_next(egb_shared* shared, uint64_t after, uint64_t timeout_ns, egb_published* out);

/// Takes the oldest frame out of the feed: no other take, next or latest gets it after that.
/// `missed` is 0. The rest is as with egb_shared_next().
EGB_NODISCARD egb_status
egb_shared_take(egb_shared* shared, uint64_t timeout_ns, egb_published* out);

/// The newest frame of the feed. EGB_BUSY if there is none. The rest is as with egb_shared_next().
EGB_NODISCARD egb_status egb_shared_latest(egb_shared* shared, egb_published* out);

/// Ends the waits of this process on this pool: they return EGB_BUSY.
void egb_shared_cancel(egb_shared* shared);

/// Gives back all that dead attachments held. Alloc does so before it says no; this call does it at
/// once. Returns how many dead attachments there were. Time: some system calls for each.
size_t egb_shared_recover(egb_shared* shared);

/// The numbers of a pool. Exact if nobody uses it meanwhile.
typedef struct egb_shared_numbers {
    size_t   block_bytes;   // as given to create
    size_t   stride_bytes;  // from one block to the next
    size_t   count;
    size_t   feed_count;
    size_t   note_bytes;
    size_t   bytes;        // size of the whole file
    size_t   in_use;       // blocks that are not free
    size_t   only_feed;    // those of them that only the feed holds
    size_t   attachments;  // alive or not yet recovered
    uint64_t published;    // frames, ever
    uint64_t dropped;      // frames that alloc took from the feed, ever
    uint64_t failures;     // allocs that found no block, ever; one that waits may be several
    uint64_t recovered;    // dead attachments, ever
} egb_shared_numbers;

/// Returns EGB_OK; EGB_INVALID for a NULL; EGB_STALE if the pool was closed.
egb_status egb_shared_stats(const egb_shared* shared, egb_shared_numbers* out);

/// The bytes given to create as `about`, and how many; they live until close. NULL: none.
const void* egb_shared_about(const egb_shared* shared, size_t* bytes);

/// An attachment, as egb_shared_each() shows it. Process numbers are those of its own namespace:
/// only `is_alive` is certain.
typedef struct egb_shared_attachment {
    unsigned slot;  // from 0
    bool     is_alive;
    bool     is_this;
    uint64_t pid;
    char     program[32];  // the end of its path
    size_t   held;         // blocks
    uint64_t missed;       // frames that its next and take were too late for
    uint64_t waiting;  // its threads that wait for a frame or a block; the dead wait for nothing
} egb_shared_attachment;

/// Calls `visit` for each attachment, dead ones too. It must not close the pool.
void egb_shared_each(
    const egb_shared* shared,
    void (*visit)(const egb_shared_attachment* one, void* user),
    void* user
);

/// The attachments that hold block `index`: bit n is slot n; EGB_SHARED_HELD_BY_FEED is the feed.
/// 0: the block is free, or there is none of this number.
uint64_t egb_shared_holders(const egb_shared* shared, size_t index);
#define EGB_SHARED_HELD_BY_FEED (UINT64_C(1) << 62)

/// The numbers and attachments of a pool from outside, by its name: no attachment is taken, nobody
/// is recovered, and nothing is written. `visit` may be NULL; no attachment is `is_this`.
///
/// Returns  EGB_OK; EGB_STALE if there is no such name; EGB_CORRUPT if the file is no pool, is cut
///          short, or its shape was damaged; EGB_INVALID for a NULL or a wrong name; EGB_NO_MEMORY
///          if the system refused memory, a descriptor or the permission; EGB_UNSUPPORTED if
///          another version of the library made it, and on this system. Else `*out` is unchanged.
egb_status egb_shared_look(
    const char*         name,
    egb_shared_numbers* out,
    void (*visit)(const egb_shared_attachment* one, void* user),
    void* user
);

/// Removes the files of pools in /dev/shm whose attachments are all dead, and nothing else. Returns
/// how many.
size_t egb_shared_gc(void);

EGB_C_END_

#endif  // EGGBOX_SHARED_H
