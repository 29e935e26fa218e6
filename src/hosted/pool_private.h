// SPDX-License-Identifier: MIT
// Layer hosted: what the files of the pool share among themselves.
//
// Locks, in the order in which they are taken: the world's, a pool's, a workshop's or that of large
// blocks, the ledger's: who asks the system for memory, with whatever lock, may have to take it.
// The world's keeps the tree, and the lists of threads and caches. A pool's keeps everything in its
// control block but the links of the tree, and in every magazine of the pool what is not the hot
// path's. With both, another thread's magazine may be emptied.
#ifndef EGGBOX_SRC_HOSTED_POOL_PRIVATE_H
#define EGGBOX_SRC_HOSTED_POOL_PRIVATE_H

#include "../core/growing_private.h"
#include "../os/os.h"
#include "eggbox/pool.h"
#include "fail.h"

enum { EGB_NAME_BYTES = 48, EGB_UNIT_BYTES = 65536, EGB_LANES = 8 };

// Batches of up to 128 blocks each: what is free beyond them costs a walk into the chunks for each
// block. A batch takes 2,112 bytes; touched are those that it has blocks for. Of batches less than
// half full there are no more than threads that end may leave to the next. Where blocks are to come
// back from their chunks in order, there are no more bytes of them than caches hold.
enum {
    EGB_DEPOT_BATCHES_MAX = 1024,
    EGB_DEPOT_SMALL_MAX   = 64,
    EGB_DEPOT_BYTES_MAX   = 4 << 20,
    EGB_DEPOT_BYTES_ALONE = 512 << 10  // where the pool has one thread
};

// Tables of threads that ended, kept for threads to come.
enum { EGB_SPARE_TABLES_MAX = 16 };

// What a free block has in it at most, in its chunk: a link and a mark, or two marks.
enum { EGB_LINK_BYTES = 2 * EGB_WORD_BYTES };

// An array of free blocks: what magazines hold, and what they exchange with the depot. Each entry
// behind the last is one that was taken, or no block's; so is the last one always.
typedef struct egb_batch {
    EGB_ALIGNAS_(64) struct egb_batch* next;  // in the depot
    uint32_t   count;                         // of entries, while it is not loaded in a magazine
    uint32_t   lane;                          // of the workshop it is from
    egb_entry_ entries[EGB_MAGAZINE_BLOCKS_MAX + 1];
} egb_batch;

// A part of a depot, so that batches come back to the threads that filled them.
typedef struct egb_lane {
    egb_batch* full;   // with blocks
    egb_batch* empty;  // without blocks
} egb_lane;

// A region that has been a chunk. Not all of it was touched: what is between the blocks that were,
// and the states and the header at its end, is still zero.
typedef struct egb_shelved {
    void*  region;  // NULL: none
    size_t bytes;
    size_t touched;  // bytes from the start; touched <= end
    size_t end;      // where states and header begin
    size_t front;    // pages in front of it may be in memory,
    size_t back;     // and those from it on
} egb_shelved;

// What a handle leads to. There is an array of them, which is never given back: a stale handle
// leads to a control block that says so.
typedef struct egb_control {
    EGB_ALIGNAS_(128) egb_os_mutex lock;

    // The depot. What an exchange with it writes stands together, and nothing else does: it comes
    // from the processor of the thread that had the lock before, a line at a time.
    uint32_t depot_batches;
    uint32_t depot_blocks;
    uint32_t depot_least;  // blocks, since the window began
    uint32_t depot_puts;   // so many batches ago
    egb_lane lanes[EGB_LANES];

    EGB_ALIGNAS_(64) uint32_t slot;  // as in the handle, atomic
    uint32_t  generation;            // of the pool that is there now, atomic; 0: none is
    uint32_t  last_generation;       // that was ever there
    egb_level level;
    bool      is_checked;     // the level is not "off"
    bool      is_charged;     // what it holds counts for its ancestors
    bool      is_forgotten;   // the pages of its blocks went back when it was destroyed
    bool      is_passing_on;  // what it gives back goes to the shelf
    bool      is_gathering;   // chunks are to become free: until nearly all of them are needed
    unsigned  flags;
    char      name[EGB_NAME_BYTES];

    egb_exhausted_fn on_exhausted;
    void*            user;
    size_t           block_bytes;

    egb_growing        growing;
    struct egb_guards* guards;  // NULL: the blocks have none
    egb_fail           fail;
    egb_static_region  memory;
    const egb_shape_*  static_shape;  // of the one chunk there, else NULL; atomic
    egb_status         refusal;       // why the backing said no; EGB_INVALID: the pool's own budget
    size_t             prefaulted;
    size_t             huge;
    egb_shelved        recycled;  // the region that is to become a chunk is from the shelf

    size_t     batch_blocks;  // most blocks in a batch; 0: the pool has no magazines
    size_t     attached;      // magazines
    size_t     reserved;      // until so many blocks are out no chunk comes for a lane's sake
    size_t     peak;
    uint64_t   frees;  // not counting those that magazines count
    uint64_t   failures;
    egb_damage damage;  // found since the lock was taken, to be reported when it is given back

    size_t held;          // bytes of this pool and its descendants: the ledger's
    size_t budget_bytes;  // 0: no limit

    struct egb_control* parent;  // the tree: the world's
    struct egb_control* child;
    struct egb_control* next;
    struct egb_control* previous;
    struct egb_control* next_static;  // of all pools on static memory
    struct egb_control* next_free;    // of all slots without a pool: the ledger's
} egb_control;

// ---- world.c: slots, handles and locks ----------------------------------------------------------

typedef struct egb_world {
    egb_os_mutex lock;
    egb_control* controls;  // the first is the root's; atomic, NULL: no pool was ever made
    size_t       slots;     // in use or used once, atomic
    size_t       slots_max;
    egb_thread_* threads;
    egb_thread_* spare_table;  // of threads that ended, with no magazines
    size_t       spare_tables;
    size_t       lane_threads[EGB_LANES];
    egb_cache*   caches;
    egb_control* statics;
    egb_os_mutex ledger;
    egb_control* free_slots;
    bool         can_take;   // from other threads' magazines; else there are none. Atomic
    bool         has_asked;  // for calls around a fork. Atomic
} egb_world;

extern egb_world egb_the_world;

// Makes the world at the first call; no lock is held. False: the system refused.
bool egb_world_is_made(void);

// A control block for a new pool, still without a generation; NULL: there are too many pools, or
// the system refused. And back.
egb_control* egb_slot_take(void);
void         egb_slot_give_back(egb_control* control);

// The null pool: the root, which is no pool that a call can be for.
static inline bool egb_is_null(egb_pool pool)
{
    return pool.slot == 0 && pool.generation == 0;
}

// What a handle leads to, without a lock; NULL for null and stale handles.
static inline egb_control* egb_control_of(egb_pool pool)
{
    egb_control* const controls = __atomic_load_n(&egb_the_world.controls, __ATOMIC_ACQUIRE);
    const size_t       index    = pool.slot / EGB_SLOT_STEP_;
    if (controls == NULL || pool.generation == 0 ||
        index >= __atomic_load_n(&egb_the_world.slots, __ATOMIC_ACQUIRE)) {
        return NULL;
    }
    egb_control* const control = &controls[index];
    return __atomic_load_n(&control->generation, __ATOMIC_ACQUIRE) == pool.generation &&
                   EGB_LOAD_(control->slot) == pool.slot
               ? control
               : NULL;
}

// The same, and the root's of {0, 0}.
egb_control* egb_control_or_root(egb_pool pool);

egb_pool egb_handle_of(const egb_control* control);

// Locks the pool; NULL if there is none.
egb_control* egb_pool_lock(egb_pool pool);
void         egb_pool_unlock(egb_control* control);

// As egb_pool_unlock(), and reports what damage was found.
void egb_pool_unlock_and_report(egb_control* control, egb_pool pool, const void* site);

// Tells the misuse handler. No lock is held.
void egb_pool_report(
    egb_event_kind kind, egb_pool pool, const void* address, size_t index, const void* site
);
void egb_pool_report_handle(egb_pool pool, const void* block, const void* site);

// False: there is no such pool.
bool egb_pool_level(egb_pool pool, egb_level* level);

// Bytes of a block in use of a pool without guards, as far as the map alone knows it: no lock, and
// neither the chunk's header nor the control block, which are in no cache as a rule. 0: ask others.
size_t egb_plain_bytes(const void* block);

// The next pool after `control` in the subtree of `root`, parents first; NULL: that was the last.
egb_control* egb_tree_next(const egb_control* root, egb_control* control);

// ---- backing.c: chunks from the system, charged to budgets --------------------------------------

egb_backing egb_pool_backing(egb_control* control);

// What the pool holds more or less, for its budget and those of its ancestors. False: there is not
// as much.
bool egb_charge(egb_control* control, size_t bytes);
void egb_uncharge(egb_control* control, size_t bytes);

// Takes what the pool holds off its ancestors' accounts, once.
void egb_uncharge_all(egb_control* control);

// The same without a pool to charge: for growing pools of the library's own.
egb_backing egb_plain_backing(void);

// Memory for the library itself, of whole pages, all zero; NULL: refused. And back.
void* egb_pages(size_t bytes);
void  egb_pages_release(void* region, size_t bytes);

// Gives wholly free chunks of a pool back until it holds no more than `keep_bytes`, to the system
// or to the shelf, and says how many bytes that were.
size_t egb_pool_give_up(egb_pool pool, size_t keep_bytes, bool to_shelf);

// ---- shelf.c: regions for pools to come ---------------------------------------------------------

// A region of exactly so many bytes, or none. And back, which may push out others; false: it has
// more bytes of addresses than the shelf has room for in memory, or there are too many in its way.
egb_shelved egb_shelf_take(size_t bytes);
bool        egb_shelf_put(const egb_shelved* one);

size_t egb_shelf_held(void);

// Gives the oldest back to the system until no more than `keep_bytes` are left, but no more than so
// many regions, and says how many bytes that were.
size_t egb_shelf_trim(size_t keep_bytes, size_t regions_max);

// ---- chunk_map.c: from an address to its chunk --------------------------------------------------

// Addresses have 48 bits on 64-bit machines: all that systems hand out unless asked for more.
#if UINTPTR_MAX > UINT32_MAX
enum { EGB_ADDRESS_BITS = 48, EGB_LEAF_BITS = 16 };
#else
enum { EGB_ADDRESS_BITS = 32, EGB_LEAF_BITS = 8 };
#endif
enum { EGB_UNIT_BITS = 16, EGB_ROOT_BITS = EGB_ADDRESS_BITS - EGB_UNIT_BITS - EGB_LEAF_BITS };

// What is in a unit of the address space, in a cache line of its own: all that a free has to know,
// and who asks for a block's size. `key` is the last to be set and the first to be cleared: with 0
// nothing else counts. All but the shape is atomic. A large block's has a shape of zero.
typedef struct egb_unit {
    EGB_ALIGNAS_(64) uint64_t key;  // the pool's handle, and a lane; 0: nothing is there
    egb_chunk_* chunk;
    egb_shape_  shape;        // the chunk's; without states it has no blocks here
    uint32_t    blocks;       // in the chunk; 0: the pool is destroyed, or it is a large block's
    size_t      block_bytes;  // of the pool; 0: others have to be asked, guards or a large block
} egb_unit;
EGB_STATIC_ASSERT(sizeof(egb_unit) == 64, "a unit is one line");

// Bits of a slot that handles do not have say in the map whose threads a chunk's blocks are for.
enum { EGB_KEY_LANE = 2 };
#define EGB_KEY_LANES ((uint64_t)(EGB_LANES - 1) * EGB_KEY_LANE)
EGB_STATIC_ASSERT(EGB_LANES* EGB_KEY_LANE < EGB_SLOT_STEP_, "a lane is part of no slot");

static inline uint64_t egb_key_in_lane(uint64_t key, size_t lane)
{
    return (key & ~EGB_KEY_LANES) | lane * EGB_KEY_LANE;
}

static inline size_t egb_lane_of_key(uint64_t key)
{
    return (size_t)(key & EGB_KEY_LANES) / EGB_KEY_LANE;
}

// In the place of a handle: a large block of the heap is here, and `chunk` is its record. It is no
// pool's handle, and it leads to the root.
#define EGB_LARGE_KEY ((uint64_t)EGB_SLOT_STEP_ / 2)

typedef struct egb_leaf {
    egb_unit units[(size_t)1 << EGB_LEAF_BITS];
} egb_leaf;

extern egb_leaf* egb_leaves[(size_t)1 << EGB_ROOT_BITS];  // atomic; they are never given back

// False: refused; what was set is to be cleared.
bool egb_chunk_map_set(void* region, size_t bytes, const egb_unit* unit);
void egb_chunk_map_clear(void* region, size_t bytes);

// The chunk's key from now on.
void egb_chunk_map_set_key(const egb_chunk_* chunk, uint64_t key);

// The chunk's blocks are no pool's any more, but it is still there.
void egb_chunk_map_forget(const egb_chunk_* chunk);

// What is in the map already becomes another's, under the same key.
void egb_chunk_map_pass_on(void* region, size_t bytes, egb_chunk_* chunk);

// The unit of an address, as far as it has as many bits as addresses have. NULL: there is no chunk
// there, nor was there one near.
static inline egb_unit* egb_unit_like(const void* address)
{
    const uintptr_t unit = (uintptr_t)address >> EGB_UNIT_BITS;
    const uintptr_t root = unit >> EGB_LEAF_BITS & (((uintptr_t)1 << EGB_ROOT_BITS) - 1);
    egb_leaf* const leaf = __atomic_load_n(&egb_leaves[root], __ATOMIC_ACQUIRE);
    return leaf == NULL ? NULL : &leaf->units[unit & (((uintptr_t)1 << EGB_LEAF_BITS) - 1)];
}

EGB_INLINE bool egb_is_address(const void* address)
{
    return (uintptr_t)address >> EGB_UNIT_BITS >> EGB_LEAF_BITS >> EGB_ROOT_BITS == 0;
}

static inline egb_unit* egb_unit_of(const void* address)
{
    return egb_is_address(address) ? egb_unit_like(address) : NULL;
}

static inline uint64_t egb_key_at(const egb_unit* unit)
{
    return __atomic_load_n(&unit->key, __ATOMIC_ACQUIRE);
}

// The key of whose chunk is there, whatever its lane; 0: nothing is.
static inline uint64_t egb_key_of_unit(const egb_unit* unit)
{
    return unit == NULL ? 0 : egb_key_in_lane(egb_key_at(unit), 0);
}

// Whose chunk an address is in, any part of it; NULL: no pool's, or one's on static memory. By the
// time the caller looks it may have changed.
egb_control* egb_chunk_map_owner(const void* address);

// The chunk of `owner` that an address is in, or NULL. The pool is locked, or the address is that
// of a block in use, or the chunk may be gone.
egb_chunk_* egb_chunk_map_find(const egb_control* owner, const void* address);

// Whether `address` is in one of the chunk's blocks.
static inline bool egb_chunk_has(const egb_chunk_* chunk, const void* address)
{
    const uintptr_t offset = (uintptr_t)address - (uintptr_t)chunk->fixed.first;
    return offset / EGB_WORD_BYTES < chunk->shape.blocks * (size_t)chunk->fixed.stride;
}

// The chunk of this pool that `address` is in. The pool is locked.
egb_chunk_* egb_chunk_in(const egb_control* control, const void* address);

// ---- batch.c ------------------------------------------------------------------------------------

// An empty batch for so many blocks from the lane's workshop; NULL: the system refused, or is not
// asked, because the process is sealed. And back; NULL is no batch.
egb_batch* egb_batch_new(size_t lane, size_t blocks);
void       egb_batch_drop(egb_batch* batch);

// Blocks that come in the order of address are parted: none is to be handed out right after the one
// in front of it, so what runs over the end of a block does not meet the one that was taken next.
// First come the odd ones of eight, then the even ones: farther apart they would share less of the
// caches. Those of a list stay as they are, or programs that free and take in turns would scatter
// them.
void egb_part_neighbours(void** run, size_t count);

// Puts what was taken first on top: it is handed out first.
void egb_batch_turn_around(egb_batch* batch);

// The magazine forgets what it remembers of chunks that are wholly free. Its thread may be using
// it.
void egb_magazine_strike(const egb_control* control, egb_magazine_* magazine);

// Asks for the entries of a batch that waited so long that they are in no near cache: every alloc
// would wait for its own.
void egb_batch_fetch(const egb_batch* batch);

// An entry that is no block's.
const egb_entry_* egb_no_entry(void);

// Gives wholly free chunks of batches back to the system, and says how many bytes that were.
size_t egb_workshops_trim(void);

// The locks of all workshops.
void egb_workshops_lock(void);
void egb_workshops_unlock(void);
void egb_workshops_reset(void);

// ---- lanes.c: with the pool locked --------------------------------------------------------------

// Whether the pool may have a chunk more for a lane that has nothing free, where others have some.
bool egb_lane_may_have_one_more(const egb_control* control);

// Takes the next blocks out of a chunk of the lane, if there is one or may be one more.
void egb_lane_prefer_own_chunk(egb_control* control, uint32_t lane);

// ---- magazine.c: with the pool locked -----------------------------------------------------------

// As egb_growing_take(), but gives no block when there is damage to be reported first: each is an
// event, and they are found one at a time.
void* egb_take_from_chunks(egb_control* control, egb_chunk_** chunk);

// Whether the magazine is the pool's now. `magazine` may be NULL.
bool egb_magazine_attach_other_(egb_control* control, egb_magazine_* magazine, egb_pool pool);

static inline bool egb_magazine_attach(egb_control* control, egb_magazine_* magazine, egb_pool pool)
{
    return (magazine != NULL && magazine->control == control) ||
           egb_magazine_attach_other_(control, magazine, pool);
}

// The oldest entry is at `bottom` from now on; INTPTR_MAX: none is for the taking.
void egb_magazine_set_bottom(const egb_control* control, egb_magazine_* magazine, uintptr_t bottom);

// Addresses of entries are compared as signed numbers, because `top` may go below 0. On 32-bit
// machines they may all be below 0.
static inline intptr_t egb_magazine_bottom(const egb_magazine_* magazine)
{
    const intptr_t unchecked = (intptr_t)EGB_LOAD_(magazine->bottom);
    const intptr_t checked   = (intptr_t)EGB_LOAD_(magazine->bottom_checked);
    return unchecked < checked ? unchecked : checked;
}

// The end of a magazine, or of what is away in one, that has no room whatever its top.
#define EGB_NO_ROOM ((uintptr_t)INTPTR_MIN)

// Makes the magazine one without entries, and no pool's, as far as the hot path knows.
void egb_magazine_clear(egb_magazine_* magazine);

// Ends it for a pool that is being destroyed, whatever its thread is doing.
void egb_magazine_revoke(egb_control* control, egb_magazine_* magazine);

// Gives all its blocks back and makes it no pool's. Its thread calls it, or is no more.
void egb_magazine_detach(egb_control* control, egb_magazine_* magazine);

// The same for a pool that is being destroyed: the blocks stay where they are, as nobody's.
void egb_magazine_discard(egb_control* control, egb_magazine_* magazine);

// Puts blocks into an empty magazine. False: the pool has none.
bool egb_magazine_refill(egb_control* control, egb_magazine_* magazine);

// Makes room in a full magazine.
void egb_magazine_make_room(egb_control* control, egb_magazine_* magazine);

// Whether the threads of a pool keep to chunks of their own: not where blocks may be few.
static inline bool egb_has_own_chunks(const egb_control* control)
{
    return control->batch_blocks != 0 && control->growing.options.max_blocks == 0 &&
           control->memory.region == NULL;
}

// Blocks that are neither in a chunk nor in the depot: those of callers, and what magazines have.
static inline size_t egb_blocks_out(const egb_control* control)
{
    return control->growing.in_use - control->depot_blocks;
}

// The chunk's key in the map.
static inline uint64_t egb_key_of_chunk(const egb_chunk_* chunk)
{
    return egb_key_at(egb_unit_of(chunk->region));
}

// Makes room among what waits to go back to its lane. False: there is no memory for it.
bool egb_magazine_make_room_away(egb_control* control, egb_magazine_* magazine);

// What waits there goes back to its chunks. Its thread may be adding to it.
void   egb_magazine_flush_away(egb_control* control, egb_magazine_* magazine);
size_t egb_magazine_count_away(const egb_magazine_* magazine);

// The free list, or the mark, may use a block that a tool watches.
static inline void egb_open_link(const egb_control* control, const void* block)
{
    const size_t stride = control->growing.options.block_bytes;
    if (egb_touches_free(&control->growing.options)) {
        egb_os_watch_open(block, egb_smaller(stride, EGB_LINK_BYTES));
    }
}

// What a tool that watches is told of a block that is taken, whose state was `state`: that nothing
// is known of its contents, unless it is zero.
static inline void
egb_watch_taken(const egb_control* control, const void* block, size_t bytes, unsigned state)
{
    egb_os_watch_taken(control, block, bytes);
    if (state == 0 && (control->flags & EGB_FRESH_ZERO) != 0) {
        egb_os_watch_open(block, bytes);
    }
}

// One block without a magazine, and its chunk. NULL: none.
egb_chunk_* egb_take_one(egb_control* control, egb_entry_* entry);

// More blocks may be in use now than ever before.
void egb_note_peak(egb_control* control);

// ---- thread.c: with the world locked, and the pool ----------------------------------------------

// Gives a magazine's blocks back to its pool, which it locks, and makes it no pool's. No effect if
// it is no pool's.
void egb_magazine_let_go(egb_magazine_* magazine);

// This thread's magazine for the pool, or what is to become it; NULL: the thread has none. No lock
// is held.
egb_magazine_* egb_thread_get_magazine_(egb_pool pool);

static inline egb_magazine_* egb_thread_magazine(egb_pool pool)
{
    egb_thread_* const   thread   = egb_thread_self_();
    const uint64_t       key      = egb_pool_key_(pool);
    egb_magazine_* const magazine = egb_magazine_in_(thread, key);
    return EGB_LOAD_(magazine->key) == key && EGB_LOAD_(thread->revoked) == 0
               ? magazine
               : egb_thread_get_magazine_(pool);
}

// Calls `visit` with every magazine of the pool.
void egb_each_magazine(
    egb_control* control, void (*visit)(egb_magazine_* magazine, void* user), void* user
);

// Takes all free blocks out of all magazines, and of the depot, into the chunks. Returns how many.
size_t egb_reclaim(egb_control* control);

// Ends all magazines of a pool that is being destroyed.
void egb_revoke(egb_control* control);

// No magazine knows a chunk that is wholly free any more: it may be about to go.
void egb_forget_chunks(egb_control* control);

// Prepares for the ends of threads, once. False: there can be no magazines.
bool egb_threads_start(void);

// Lets go of this thread's magazines of pools that were destroyed.
void egb_thread_drop_revoked(void);

// Takes the blocks out of all caches, which become no pool's until they are used again. In the
// child of a fork, where the memory of those of other threads may be used for something else.
void egb_caches_let_go(void);

// Into the list of all caches, and out of it.
void egb_cache_link(egb_cache* cache);
void egb_cache_unlink(egb_cache* cache);

// Ends a thread's table, the thread's own or one that is no more, and gives its blocks back.
void egb_thread_end(egb_thread_* thread);

// ---- fork.c -------------------------------------------------------------------------------------

bool egb_fork_start(void);

// Whether nobody keeps a lock, for longer than a moment, that questions about pools take.
bool egb_locks_are_free_soon(void);

// ---- pool.c -------------------------------------------------------------------------------------

// As egb_free(), for what the hot path did not take: large blocks, blocks for which the magazine
// has no room, and misuse. Not NULL.
void egb_free_refused(void* block, const void* site);

// Whether some allocations of the pool fail on purpose.
bool egb_pool_fails(egb_pool pool);

// As egb_free(), for another call that was made at `site`.
void egb_free_from(void* block, const void* site);

// ---- pool_make.c --------------------------------------------------------------------------------

// As egb_pool_create(), and what the seal refused is still to be reported.
egb_status egb_pool_make(egb_pool* out, const egb_pool_options* options);

// ---- destroy.c ----------------------------------------------------------------------------------

// One magazine less; the last one of a destroyed pool lets its memory go.
void egb_magazine_left(egb_control* control);

#endif  // EGGBOX_SRC_HOSTED_POOL_PRIVATE_H
