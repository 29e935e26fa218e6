// SPDX-License-Identifier: MIT
// The room that magazines have for blocks: see claims.h.
#include "claims.h"

#include "../region/keep.h"
#include "threads.h"

bool egb_magazine_is_of_thread_(const egb_magazine_* magazine)
{
    const egb_thread_* const thread = egb_thread_self_();
    return (uintptr_t)magazine - (uintptr_t)thread < sizeof *thread;
}

// The bytes that a batch claims. Beside one of full length there is a spare one as a rule.
static size_t claim_of(const egb_depot* depot, const egb_batch* batch)
{
    const size_t batches = batch == NULL ? 0 : batch->room == depot->batch_blocks ? 2 : 1;
    return batches == 0 ? 0 : batches * batch->room * depot->block_bytes;
}

static void claim_room(size_t more, size_t less)
{
    if (more != less) {
        (void)__atomic_add_fetch(&egb_threads_.claimed, more - less, __ATOMIC_RELAXED);
    }
}

void egb_magazine_close_room_(egb_magazine_* magazine)
{
    if (EGB_LOAD_(magazine->full) != EGB_NO_ROOM) {
        claim_room(0, claim_of(magazine->depot, magazine->loaded));
        EGB_STORE_(magazine->full, EGB_NO_ROOM);
    }
}

// A closed magazine has no claim, but its thread still counts the batch as its own.
void egb_claim_change_(
    const egb_depot* depot, const egb_magazine_* magazine, const egb_batch* batch
)
{
    const size_t more      = claim_of(depot, batch);
    const size_t less      = claim_of(depot, magazine->loaded);
    const bool   is_closed = EGB_LOAD_(magazine->full) == EGB_NO_ROOM;
    claim_room(more, is_closed ? 0 : less);
    if (egb_magazine_is_of_thread_(magazine)) {
        egb_thread_self_()->room_bytes += more - less;
    }
}

// All threads together may have so many bytes in batches, and more if they are few; but each may
// have some in any case. Others can claim the bytes of an idle thread only after the purge has
// closed its magazines. More processors take and give more blocks in the same time.
static const size_t ROOM_BYTES_OF_MANY      = (sizeof(void*) < 8 ? 4 : 16) << 20;
static const size_t ROOM_BYTES_OF_FEW       = (sizeof(void*) < 8 ? 16 : 64) << 20;
static const size_t ROOM_BYTES_OF_PROCESSOR = (sizeof(void*) < 8 ? 1 : 4) << 20;
static const size_t ROOM_BYTES_LEAST        = 32 << 10;

static size_t thread_count(void)
{
    return egb_larger_(EGB_LOAD_(egb_threads_.count), 1);
}

static size_t bytes_of_many(void)
{
    const size_t processors = EGB_LOAD_(egb_threads_.processors);
    return egb_larger_(ROOM_BYTES_OF_MANY, processors * ROOM_BYTES_OF_PROCESSOR);
}

static bool are_few(void)
{
    enum { THREADS_FEW = 8 };
    return thread_count() <= THREADS_FEW;
}

static size_t bytes_of_all(void)
{
    return egb_smaller_(are_few() ? ROOM_BYTES_OF_FEW : bytes_of_many(), egb_keep_share_());
}

// The threshold of a memory that many share, as in A. K. Choudhury and E. L. Hahne, "Dynamic Queue
// Length Thresholds for Shared-Memory Packet Switches", 1998: one more may have a part of the rest.
// Few pools of few threads therefore have much, many have the same each, and no pool of a thread
// has to know of the others.
size_t egb_claim_allowed_(size_t own)
{
    enum { PART = 8 };
    const size_t all     = bytes_of_all();
    const size_t claimed = EGB_LOAD_(egb_threads_.claimed);
    const size_t least   = ROOM_BYTES_LEAST > own ? ROOM_BYTES_LEAST - own : 0;
    return egb_larger_(all > claimed ? (all - claimed) / PART : 0, least);
}

// The bytes that all magazines may still claim where the memory of the process is limited.
static size_t rest_of_share(void)
{
    const size_t share   = egb_keep_share_();
    const size_t claimed = EGB_LOAD_(egb_threads_.claimed);
    return share > claimed ? share - claimed : 0;
}

// If many magazines share the limit, the rest allows each only three long blocks, and every third
// alloc and free of such a block is an exchange with the pool. But the pool has many of them out of
// its chunks: its magazines may have room for a part of those in any case, each for as much as the
// others.
static size_t share_of_pool(const egb_depot* depot)
{
    enum { PART_OF_POOL = 8 };
    const size_t block_bytes = depot->growing.options.block_bytes;
    const size_t bytes       = depot->growing.in_use * block_bytes / PART_OF_POOL;
    return block_bytes < EGB_UNMARKED_BYTES
               ? 0
               : egb_smaller_(bytes / egb_larger_(depot->attached, 1), rest_of_share());
}

static size_t own_without(const egb_depot* depot, const egb_magazine_* magazine)
{
    return egb_thread_self_()->room_bytes - claim_of(depot, magazine->loaded);
}

// The blocks and bytes that a magazine has room for in any case.
enum { ROOM_SHORT = 3, ROOM_BYTES_SHORT = 4 << 10 };

static size_t allowed_to(const egb_depot* depot, const egb_magazine_* magazine)
{
    return egb_larger_(egb_claim_allowed_(own_without(depot, magazine)), share_of_pool(depot));
}

// Not for a little more: the batch would change at each call.
bool egb_claim_is_too_much_(const egb_depot* depot, const egb_magazine_* magazine)
{
    const size_t allowed = allowed_to(depot, magazine);
    return claim_of(depot, magazine->loaded) / 2 > egb_larger_(allowed, ROOM_BYTES_SHORT);
}

// A batch of full length has a spare one beside it: claim_of().
size_t egb_claim_room_(const egb_depot* depot, const egb_magazine_* magazine, size_t wanted)
{
    const size_t least = egb_larger_(ROOM_SHORT, ROOM_BYTES_SHORT / depot->block_bytes);
    if (wanted <= least || !egb_magazine_is_of_thread_(magazine)) {
        return wanted;
    }
    const size_t bytes = allowed_to(depot, magazine);
    const size_t most  = wanted == depot->batch_blocks ? wanted - 1 : wanted;
    if (most < wanted && 2 * wanted * depot->block_bytes <= bytes) {
        return wanted;
    }
    return egb_larger_(least, egb_smaller_(most, bytes / depot->block_bytes));
}

// An entry of no block ends the room, as it ends each batch. The entries behind it are of no block,
// too: no look through the room reaches them when chunks go, and the batch is made long again
// later.
static void cut_room(egb_batch* batch, size_t room)
{
    for (size_t i = room; room < batch->room && i <= batch->room; i++) {
        batch->entries[i] = *egb_no_entry_();
    }
    batch->room = (uint16_t)egb_smaller_(room, batch->room);
}

void egb_batch_shorten_(const egb_depot* depot, const egb_magazine_* magazine, egb_batch* batch)
{
    const size_t allowed = egb_claim_room_(depot, magazine, batch->room);
    cut_room(batch, egb_larger_(allowed, batch->count));
}

// A thread that only frees blocks that others take has a short batch loaded: each of its remote
// batches may have room for more, which no claim counts.
static size_t remote_room(const egb_depot* depot, const egb_magazine_* magazine)
{
    const size_t bytes = are_few() ? ROOM_BYTES_LEAST : ROOM_BYTES_SHORT;
    const size_t room  = egb_larger_(bytes / depot->block_bytes, magazine->loaded->room);
    return egb_smaller_(room, depot->batch_blocks);
}

void egb_batch_shorten_remote_(
    const egb_depot* depot, const egb_magazine_* magazine, egb_batch* batch
)
{
    const size_t allowed = egb_claim_room_(depot, magazine, batch->room);
    cut_room(batch, egb_smaller_(allowed, remote_room(depot, magazine)));
}

size_t egb_claim_remote_length_(const egb_depot* depot, const egb_magazine_* magazine)
{
    return egb_batch_length_for_(remote_room(depot, magazine), EGB_BATCH_LENGTHS - 1);
}
