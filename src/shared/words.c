// SPDX-License-Identifier: MIT
// The word of a block, and its rules. Each arrow is one atomic operation:
//
//   take     0 -> mine, and the number in the feed is forgotten
//   open     others -> others | mine, then the generation is compared; if it differs: drop
//   drop     others | mine -> others; mine -> RETIRING | mine, generation + 1, -> 0
//   recover  as drop, in the dead one's place; where it died in RETIRING, the generation moves on
//            once more
//   evict    FEED -> RETIRING | mine, generation + 1, -> mine
//   claim    FEED | mine | others -> mine | others
//   publish  mine | others -> FEED | mine | others (feed.c)
//   twin     mine | others -> mine | twin | others, before a fork (records.c)
//
// The generation never changes under a holder. At each instruction a bit of the word names the
// attachment that has something left to do, and the death of that attachment is noticed.
#include "shared_private.h"

// The word is RETIRING and one attachment's: nobody else changes it.
static void retire(egb_shared_block_* block)
{
    (void)atomic_fetch_add(&block->generation, 1);
    atomic_store(&block->word, 0);
}

bool egb_shared_word_take_(egb_shared_block_* block, uint64_t mine)
{
    uint64_t word = 0;
    if (!atomic_compare_exchange_strong(&block->word, &word, mine)) {
        return false;
    }
    atomic_store_explicit(&block->sequence, 0, memory_order_release);
    return true;
}

bool egb_shared_word_open_(
    egb_shared_block_* block, uint64_t mine, uint64_t also, uint64_t generation, bool* is_freed
)
{
    uint64_t word = atomic_load(&block->word);
    do {
        if (word == 0 || (word & EGB_SHARED_RETIRING_) != 0 || (word & also) != also) {
            return false;
        }
    } while (!atomic_compare_exchange_weak(&block->word, &word, word | mine));
    if (atomic_load(&block->generation) == generation) {
        return true;
    }
    *is_freed = egb_shared_word_drop_(block, mine, mine);
    return false;
}

// Clears `bit`, if it is set. `by` is the attachment whose death frees the block until `retire`
// ends. True: the block is free now.
bool egb_shared_word_drop_(egb_shared_block_* block, uint64_t bit, uint64_t by)
{
    uint64_t word = atomic_load(&block->word);
    while ((word & bit) != 0 && (word & EGB_SHARED_RETIRING_) == 0) {
        const uint64_t others = word & ~bit;
        const uint64_t next   = others != 0 ? others : EGB_SHARED_RETIRING_ | by;
        if (atomic_compare_exchange_weak(&block->word, &word, next)) {
            if (others == 0) {
                retire(block);
            }
            return others == 0;
        }
    }
    return false;
}

bool egb_shared_word_recover_(egb_shared_block_* block, uint64_t dead)
{
    if (atomic_load(&block->word) == (EGB_SHARED_RETIRING_ | dead)) {
        retire(block);
        return true;
    }
    return egb_shared_word_drop_(block, dead, dead);
}

// The block becomes mine, if only the feed holds it.
bool egb_shared_word_evict_(egb_shared_block_* block, uint64_t mine)
{
    uint64_t word = EGB_SHARED_FEED_;
    if (!atomic_compare_exchange_strong(&block->word, &word, EGB_SHARED_RETIRING_ | mine)) {
        return false;
    }
    (void)atomic_fetch_add(&block->generation, 1);
    atomic_store(&block->sequence, 0);
    atomic_store(&block->word, mine);
    return true;
}

// I hold the block: of several that ask, one gets it from the feed.
bool egb_shared_word_claim_(egb_shared_block_* block)
{
    return (atomic_fetch_and(&block->word, ~EGB_SHARED_FEED_) & EGB_SHARED_FEED_) != 0;
}
