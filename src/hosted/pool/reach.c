// SPDX-License-Identifier: MIT
#include "reach.h"

#if EGB_IS_MALLOC

  #include "../region/early.h"
  #include "../region/large.h"
  #include "../region/pages.h"
  #include "../stacks/stacks.h"
  #include "layout.h"
  #include "redzone.h"
  #include "registry.h"

enum {
    STACKS_MAX    = 4096,
    LEAVES_MAX    = 256,
    COPY_WORDS    = 16384,
    TOP_BYTES     = 8192,  // at the end of a stack, for the descriptor of its thread
    BELOW_POINTER = 128,   // a function that calls none may use them, on x86-64
    WORD_BYTES    = sizeof(uintptr_t),
// Below the frame of the function that the program calls are the registers of its caller, and then
// what calls before have left: words that are no pointers of the program any more.
  #if defined(__x86_64__)
    BELOW_FRAME = 5 * WORD_BYTES,  // rbx, r12 to r15
  #elif defined(__i386__)
    BELOW_FRAME = 3 * WORD_BYTES,  // ebx, esi, edi
  #else
    BELOW_FRAME = BELOW_POINTER
  #endif
};

typedef struct reach_walk {
    egb_os_memory memory;
    const void*   pending;  // the list of reachable blocks to be looked through, by their marks
    uintptr_t     lost;     // the lost block that is looked through; 0: it is reachable memory
    uintptr_t     closed_start;  // the inaccessible mapping before
    uintptr_t     closed_end;
    size_t        leaf_count;
    uintptr_t     leaves[LEAVES_MAX];  // those of the chunk map
    size_t        thread_count;
    bool          is_stack_unknown;
    uintptr_t     stacks[STACKS_MAX];   // the stack pointers of threads
    uint32_t      threads[STACKS_MAX];  // their numbers
    uintptr_t     words[COPY_WORDS];
} reach_walk;

// The marks of blocks that have been looked through, and of the last one in the list.
static const char reachable;
static const char indirectly_lost;
static const char end_of_list;

static uintptr_t own_stack;  // the stack of the thread that writes the report starts here

// When main() has returned, the C library calls functions on the stack that the functions of the
// program had before, and their words are still there.
void egb_reach_enter_(const void* frame)
{
    const uintptr_t top = egb_os_top_after_return_((uintptr_t)frame);
    own_stack           = top != 0 ? top : (uintptr_t)frame - BELOW_FRAME;
}

egb_reach egb_reach_take_(const void** mark)
{
    const void* const was = *mark;
    *mark                 = NULL;
    return was == NULL               ? EGB_REACH_DIRECTLY_LOST
           : was == &indirectly_lost ? EGB_REACH_INDIRECTLY_LOST
                                     : EGB_REACH_STILL;
}

// ---- from an address to a block -----------------------------------------------------------------

typedef struct tracked_block {
    uintptr_t    start;
    size_t       bytes;
    const void** mark;
} tracked_block;

static bool is_traced(const egb_control* control)
{
    return control != NULL && control->id.slot != 0 && control->level == EGB_LEVEL_TRACK &&
           control->redzones != NULL;
}

static const void* as_address(uintptr_t number)
{
    return (const void*)number;  // NOLINT(performance-no-int-to-ptr): any word of the program
}

static tracked_block block_of_pool(const egb_control* control, const void* block)
{
    const tracked_block out = {
        (uintptr_t)block, egb_redzone_bytes_(control, block), egb_redzone_mark_(block)
    };
    return out;
}

static bool find_in_pool(uintptr_t address, tracked_block* out)
{
    const egb_control* const control = egb_owner_of_(as_address(address));
    const egb_chunk_* const  chunk =
        is_traced(control) ? egb_growing_chunk_of_(&control->depot.growing, as_address(address))
                            : NULL;
    if (chunk == NULL || address < chunk->shape.first) {
        return false;
    }
    const size_t stride = (size_t)chunk->fixed.stride * EGB_WORD_BYTES;
    const size_t index  = (address - chunk->shape.first) / stride;
    if (index >= chunk->shape.blocks || EGB_LOAD_(chunk->shape.states[index]) != EGB_STATE_LIVE_) {
        return false;
    }
    *out = block_of_pool(control, as_address(chunk->shape.first + index * stride));
    return address - out->start < out->bytes;
}

static tracked_block block_of_large(egb_large* large)
{
    const tracked_block out = {
        (uintptr_t)egb_large_start_(large), large->owner.bytes, &large->owner.mark
    };
    return out;
}

static bool find_large(uintptr_t address, tracked_block* out)
{
    egb_large* const large = egb_large_at_(as_address(address));
    if (large == NULL || !egb_large_is_tracked_(large)) {
        return false;
    }
    *out = block_of_large(large);
    return address - out->start < out->bytes;
}

static bool find_block(uintptr_t address, tracked_block* out)
{
    return address != 0 && (find_in_pool(address, out) || find_large(address, out));
}

// ---- words --------------------------------------------------------------------------------------

static void look_at_words(reach_walk* walk, const uintptr_t* words, size_t count)
{
    tracked_block found;
    for (size_t i = 0; i < count; i++) {
        if (!find_block(words[i], &found) || *found.mark != NULL || found.start == walk->lost) {
            continue;
        }
        if (walk->lost != 0) {
            *found.mark = &indirectly_lost;
        } else {
            *found.mark   = walk->pending;
            walk->pending = as_address(found.start);
        }
    }
}

// A copy of the memory: another thread may give it back meanwhile.
static void look_at_copy(reach_walk* walk, uintptr_t from, uintptr_t end)
{
    const size_t page = egb_os_page_bytes_();
    while (from < end) {
        const size_t bytes = egb_smaller_(end - from, sizeof walk->words);
        const size_t got   = egb_os_memory_read_(&walk->memory, from, walk->words, bytes);
        look_at_words(walk, walk->words, got / WORD_BYTES);
        from = got == bytes ? from + bytes : ((from + got) | (page - 1)) + 1;
    }
}

// The program may have made whole pages of its block inaccessible.
static void look_at_block(reach_walk* walk, const tracked_block* block)
{
    const uintptr_t from = egb_round_up_(block->start, WORD_BYTES);
    const uintptr_t end  = block->start + block->bytes;
    if (block->bytes >= egb_os_page_bytes_()) {
        look_at_copy(walk, from, end);
    } else if (from < end) {
        look_at_words(walk, as_address(from), (end - from) / WORD_BYTES);
    }
}

static void look_at_pending(reach_walk* walk)
{
    tracked_block block;
    while (walk->pending != &end_of_list && find_block((uintptr_t)walk->pending, &block)) {
        walk->pending = *block.mark;
        *block.mark   = &reachable;
        look_at_block(walk, &block);
    }
}

// ---- the memory of the program that is no block -------------------------------------------------

// The linker's: the begin and the end of this library in memory.
extern const char __ehdr_start[] __attribute__((visibility("hidden")));  // NOLINT
extern const char _end[] __attribute__((visibility("hidden")));          // NOLINT

static uintptr_t end_around(uintptr_t address, uintptr_t start, size_t bytes)
{
    const size_t page = egb_os_page_bytes_();
    return address - start < bytes ? egb_round_up_(start + bytes, page) : 0;
}

// The end of the library's own memory that the address is in, or of that of blocks, which are
// looked through by themselves; 0: it is in none.
static uintptr_t own_end(const reach_walk* walk, uintptr_t address)
{
    if (is_traced(egb_owner_of_(as_address(address)))) {
        return (address | (EGB_UNIT_BYTES - 1)) + 1;
    }
    const egb_large* const large = egb_large_at_(as_address(address));
    if (large != NULL && (large->state != EGB_LARGE_LIVE || egb_large_is_tracked_(large))) {
        return (uintptr_t)large->range.start + large->range.bytes;
    }
    uintptr_t end = egb_large_records_end_(address);
    if (end == 0) {
        end = egb_stacks_end_(address);
    }
    for (size_t i = 0; i < walk->leaf_count && end == 0; i++) {
        end = end_around(address, walk->leaves[i], sizeof(egb_leaf));
    }
    if (end == 0) {
        end = end_around(address, (uintptr_t)walk, sizeof *walk);
    }
    return end != 0 ? end
                    : end_around(address, (uintptr_t)__ehdr_start, (size_t)(_end - __ehdr_start));
}

// The end of the pages from `from` on that are to be looked at; `from`: there are none.
static uintptr_t end_of_data(reach_walk* walk, uintptr_t from, uintptr_t end, bool is_shared)
{
    const size_t page = egb_os_page_bytes_();
    uintptr_t    at   = from;
    while (at < end && at - from < sizeof walk->words &&
           egb_os_memory_is_written_(&walk->memory, at, is_shared) && own_end(walk, at) == 0) {
        at = (at | (page - 1)) + 1;
    }
    return egb_smaller_(at, end);
}

static void look_at_range(reach_walk* walk, uintptr_t from, uintptr_t end, bool is_shared)
{
    const size_t page = egb_os_page_bytes_();
    while (from < end) {
        const uintptr_t data_end = end_of_data(walk, from, end, is_shared);
        look_at_copy(walk, from, data_end);
        const uintptr_t own = data_end == from ? own_end(walk, from) : 0;
        from = own != 0 ? own : data_end != from ? data_end : (from | (page - 1)) + 1;
    }
}

// The lowest stack pointer in the mapping; 0: there is none.
static uintptr_t stack_in(const reach_walk* walk, const egb_os_mapping* mapping)
{
    uintptr_t lowest = 0;
    for (size_t i = 0; i < walk->thread_count; i++) {
        const uintptr_t one = walk->stacks[i];
        if (one - mapping->start < mapping->end - mapping->start && (lowest == 0 || one < lowest)) {
            lowest = one;
        }
    }
    return lowest;
}

// The index of the word at which the descriptor of a thread begins: its words 0 and 2 lead to
// itself. `count`: there is none. `from`: the address of the first word.
static size_t find_descriptor(const uintptr_t* words, size_t count, uintptr_t from)
{
    for (size_t i = 0; i + 2 < count; i++) {
        if (words[i] == from + i * WORD_BYTES && words[i + 2] == words[i]) {
            return i;
        }
    }
    return count;
}

// Whether a descriptor says that its stack begins in the inaccessible mapping before,
// and ends here.
static bool has_stack(const reach_walk* walk, const uintptr_t* words, size_t count, uintptr_t end)
{
    const uintptr_t closed_bytes = walk->closed_end - walk->closed_start;
    for (size_t i = 0; i + 1 < count; i++) {
        if (words[i] - walk->closed_start < closed_bytes && words[i] + words[i + 1] == end) {
            return true;
        }
    }
    return false;
}

// Whether the number of a thread that there is stands anywhere in a descriptor.
static bool has_thread(const reach_walk* walk, const uintptr_t* words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t word = words[i];
        for (size_t k = 0; k < walk->thread_count; k++) {
            if ((uint32_t)word == walk->threads[k] || word >> 32 == walk->threads[k]) {
                return true;
            }
        }
    }
    return false;
}

typedef enum mapping_use {
    USE_UNKNOWN,
    USE_STACK,        // the stack of a live thread
    USE_EMPTY_STACK,  // the stack of a thread that has ended
} mapping_use;

// Only a stack that glibc itself made for a thread has a descriptor at its end which says that the
// stack and its guard page are one.
static mapping_use use_of(reach_walk* walk, const egb_os_mapping* mapping)
{
    if (mapping->is_first_stack) {
        return USE_STACK;
    }
    if (walk->closed_end != mapping->start) {
        return USE_UNKNOWN;
    }
    const size_t     bytes = egb_smaller_(mapping->end - mapping->start, TOP_BYTES);
    const uintptr_t  from  = mapping->end - bytes;
    uintptr_t* const words = walk->words;
    const size_t     count = egb_os_memory_read_(&walk->memory, from, words, bytes) / WORD_BYTES;
    const size_t     at    = find_descriptor(words, count, from);
    if (!has_stack(walk, words + at, count - at, mapping->end)) {
        return USE_UNKNOWN;
    }
    return stack_in(walk, mapping) != 0 || has_thread(walk, words + at, count - at)
               ? USE_STACK
               : USE_EMPTY_STACK;
}

// The place in a mapping where the words of the program begin. In doubt it is the start: a pointer
// too many is better than a false leak.
static uintptr_t first_word_in(reach_walk* walk, const egb_os_mapping* mapping)
{
    const mapping_use use   = use_of(walk, mapping);
    const uintptr_t   stack = use == USE_STACK ? stack_in(walk, mapping) : 0;
    if (stack != 0) {
        return stack & ~(uintptr_t)(WORD_BYTES - 1);
    }
    return use == USE_EMPTY_STACK && !walk->is_stack_unknown ? mapping->end : mapping->start;
}

static void look_at_mapping(const egb_os_mapping* mapping, void* user)
{
    reach_walk* const walk = user;
    if (mapping->is_closed) {
        walk->closed_start = mapping->start;
        walk->closed_end   = mapping->end;
    } else if (mapping->is_data) {
        const uintptr_t first = first_word_in(walk, mapping);
        look_at_range(walk, first, mapping->end, mapping->is_shared);
    }
}

// ---- the whole ----------------------------------------------------------------------------------

static void note_thread(uint32_t thread, uintptr_t pointer, void* user)
{
    reach_walk* const walk = user;
    if (pointer == 0 || walk->thread_count == STACKS_MAX) {
        walk->is_stack_unknown = true;
    } else {
        walk->stacks[walk->thread_count]    = pointer;
        walk->threads[walk->thread_count++] = thread;
    }
}

static void note_other_thread(uint32_t thread, uintptr_t pointer, void* user)
{
    note_thread(thread, pointer == 0 ? 0 : pointer - BELOW_POINTER, user);
}

static void note_leaves(reach_walk* walk)
{
    for (size_t i = 0; i < (size_t)1 << EGB_ROOT_BITS && walk->leaf_count < LEAVES_MAX; i++) {
        if (egb_leaves_[i] != NULL) {
            walk->leaves[walk->leaf_count++] = (uintptr_t)egb_leaves_[i];
        }
    }
}

static void look_at_lost(reach_walk* walk, const tracked_block* block)
{
    if (*block->mark != &reachable) {
        walk->lost = block->start;
        look_at_block(walk, block);
    }
}

typedef struct pool_walk {
    reach_walk*        walk;
    const egb_control* control;
} pool_walk;

static void look_at_lost_of_pool(void* block, void* user)
{
    const pool_walk* const of  = user;
    const tracked_block    one = block_of_pool(of->control, block);
    look_at_lost(of->walk, &one);
}

static void look_at_lost_large(void* record, void* user)
{
    egb_large* const large = record;
    if (egb_large_is_tracked_(large)) {
        const tracked_block one = block_of_large(large);
        look_at_lost(user, &one);
    }
}

static void look_at_all_lost(reach_walk* walk)
{
    const size_t slots = __atomic_load_n(&egb_registry_.slots, __ATOMIC_ACQUIRE);
    for (size_t slot = 1; slot < slots; slot++) {
        pool_walk of = {walk, &egb_registry_.controls[slot]};
        if (is_traced(of.control)) {
            egb_each_live_(of.control, look_at_lost_of_pool, &of);
        }
    }
    egb_large_each_(look_at_lost_large, walk);
}

static bool look_at_all(reach_walk* walk)
{
    size_t            early_bytes;
    const void* const early = egb_early_memory_(&early_bytes);
    note_leaves(walk);
    note_thread(egb_os_thread_number_(), own_stack, walk);
    walk->pending = &end_of_list;
    if (!egb_os_each_stack_(note_other_thread, walk) ||
        !egb_os_each_mapping_(look_at_mapping, walk)) {
        return false;
    }
    look_at_words(walk, early, early_bytes / WORD_BYTES);
    look_at_pending(walk);
    look_at_all_lost(walk);
    return true;
}

bool egb_reach_mark_(void)
{
    reach_walk* const walk = egb_pages_(sizeof(reach_walk));
    if (walk == NULL) {
        return false;
    }
    const bool is_open = egb_os_memory_open_(&walk->memory);
    const bool is_done = is_open && look_at_all(walk) && !walk->memory.is_failed;
    if (is_open) {
        egb_os_memory_close_(&walk->memory);
    }
    egb_pages_release_(walk, sizeof(reach_walk));
    return is_done;
}

#endif
