// SPDX-License-Identifier: MIT
// The processes of an exploration: each has a pool open, in one memory, and calls the functions of
// the library. The system below them is the explorer's.
#include "shared_private.h"

#include "eggbox/misuse.h"

#include <string.h>

enum { POOL_NUMBER = 7, HALF = sizeof(uint64_t) };

// Atomic operations reach the words of the explorer by these addresses; nothing is stored here but
// the notes.
static struct {
    egb_shared_state_ state;
    egb_shared_block_ blocks[EXPLORE_BLOCKS];
    _Atomic uint64_t  hints[1];
    egb_shared_entry_ ring[EXPLORE_FEED];
    unsigned char     notes[EXPLORE_BLOCKS];
    EGB_ALIGNAS_(8) unsigned char halves[EXPLORE_BLOCKS][2][HALF];
} memory;

// Each record has the range of addresses from which its handle comes.
static EGB_ALIGNAS_(65536) union {
    egb_shared record;
    char       range[EGB_SHARED_RECORD_BYTES_];
} records[EXPLORE_PROCESSES];
static uint32_t    held[EXPLORE_PROCESSES][EXPLORE_BLOCKS];
static signed char word_at[sizeof memory / 4];
static unsigned    blocks_made;

static void name_word(int number, volatile const void* at)
{
    word_at[((uintptr_t)at - (uintptr_t)&memory) / 4] = (signed char)(number + 1);
}

static void name_words(void)
{
    name_word(EXPLORE_ATTACHED, &memory.state.attached);
    name_word(EXPLORE_FREED, &memory.state.freed);
    name_word(EXPLORE_NEWS, &memory.state.news);
    name_word(EXPLORE_HEAD, &memory.state.head);
    name_word(EXPLORE_HINTS, &memory.hints[0]);
    for (int i = 0; i < EXPLORE_BLOCKS; i++) {
        name_word(EXPLORE_BLOCK + 3 * i, &memory.blocks[i].word);
        name_word(EXPLORE_BLOCK + 3 * i + 1, &memory.blocks[i].generation);
        name_word(EXPLORE_BLOCK + 3 * i + 2, &memory.blocks[i].sequence);
        name_word(EXPLORE_HALVES + 2 * i, memory.halves[i][0]);
        name_word(EXPLORE_HALVES + 2 * i + 1, memory.halves[i][1]);
    }
    for (int i = 0; i < EXPLORE_FEED; i++) {
        name_word(EXPLORE_RING + 3 * i, &memory.ring[i].sequence);
        name_word(EXPLORE_RING + 3 * i + 1, &memory.ring[i].index);
        name_word(EXPLORE_RING + 3 * i + 2, &memory.ring[i].generation);
    }
}

int explore_word_of(volatile const void* at)
{
    const uintptr_t offset = (uintptr_t)at - (uintptr_t)&memory;
    return offset < sizeof memory ? word_at[offset / 4] - 1 : -1;
}

unsigned char* explore_notes(void)
{
    return memory.notes;
}

void explore_make(const explore_shape* shape, uint64_t* words)
{
    memset(&memory, 0, sizeof memory);
    memset(words, 0, EXPLORE_WORDS * sizeof *words);
    name_words();
    blocks_made = shape->blocks;
    for (unsigned i = 0; i < shape->blocks; i++) {
        words[EXPLORE_BLOCK + 3 * i + 1] = shape->generation;
        words[EXPLORE_HINTS] |= (uint64_t)1 << i;
    }
    for (int i = 0; i < EXPLORE_PROCESSES; i++) {
        records[i].record = (egb_shared
        ){.is_used   = true,
          .is_open   = true,
          .handle    = &records[i].record,
          .file      = i,
          .lock_file = i,
          .state     = &memory.state,
          .blocks    = memory.blocks,
          .hints     = memory.hints,
          .ring      = memory.ring,
          .notes     = memory.notes,
          .payload   = (char*)memory.halves,
          .held      = held[i],
          .count     = shape->blocks,
          .stride    = sizeof memory.halves[0],
          .shape     = {
                  .pool       = POOL_NUMBER,
                  .count      = shape->blocks,
                  .feed_count = shape->feed,
                  .note_bytes = 1,
                  .stride     = sizeof memory.halves[0],
                  .on_full    = shape->drops_oldest ? EGB_SHARED_DROP_OLDEST : EGB_SHARED_FAIL
          }};
    }
}

// ---- calls --------------------------------------------------------------------------------------

static void* address_of(int block)
{
    return memory.halves[block];
}

static void has_block(explore_answer* answer, const void* block)
{
    answer->has = block != NULL;
    if (block != NULL) {
        answer->block = (int)(((const char*)block - (const char*)memory.halves) / (2 * HALF));
    }
}

static void has_frame(explore_answer* answer, egb_status status, const egb_published* frame)
{
    if (status == EGB_OK) {
        has_block(answer, frame->block);
        answer->stamp    = frame->note[0];
        answer->sequence = frame->sequence;
        answer->handle   = (explore_handle){frame->frame.index, frame->frame.generation};
    }
}

static void touch(const explore_request* request, explore_answer* answer)
{
    for (int i = 0; i < 2; i++) {
        unsigned char* const half = memory.halves[request->block][i];
        if (request->call == CALL_FILL) {
            (void)explore_step(EXPLORE_WRITE, half, 0, request->stamp, 0, __func__);
        } else {
            answer->halves[i] = explore_step(EXPLORE_READ, half, 0, 0, 0, __func__);
        }
    }
    answer->has = true;
}

// Does the same to shared memory and locks as leave_pool() of attach.c.
static void leave(egb_shared* shared)
{
    egb_shared_clean_(shared, egb_shared_bit_(shared->slot));
    egb_os_shared_unlock_(shared->lock_file, shared->slot, 1);
    if (shared->is_publisher) {  // closing the file drops this one, too
        egb_os_shared_unlock_(shared->lock_file, EGB_SHARED_PUBLISHER_BYTE_, 1);
    }
    shared->is_publisher = false;
    memset(shared->held, 0, shared->count * sizeof *shared->held);
}

static void follow_feed(egb_shared* shared, const explore_request* request, explore_answer* answer)
{
    egb_published    frame;
    const uint64_t   limit  = request->call == CALL_NEXT_WAIT ? EGB_SHARED_FOREVER : 0;
    const egb_status status = request->call == CALL_TAKE ? egb_shared_take(shared, 0, &frame)
                              : request->call == CALL_LATEST
                                  ? egb_shared_latest(shared, &frame)
                                  : egb_shared_next(shared, request->after, limit, &frame);
    has_frame(answer, status, &frame);
}

static void share_handle(egb_shared* shared, const explore_request* request, explore_answer* answer)
{
    void* block = NULL;
    if (request->call == CALL_SEND) {
        const egb_frame frame = egb_shared_handle(shared, address_of(request->block));
        answer->has           = frame.generation != 0;
        answer->handle        = (explore_handle){frame.index, frame.generation};
    } else {
        const egb_frame frame = {POOL_NUMBER, request->handle.block, request->handle.generation};
        if (egb_shared_open(shared, frame, &block) == EGB_OK) {
            has_block(answer, block);
        }
    }
}

static void call(egb_shared* shared, const explore_request* request, explore_answer* answer)
{
    unsigned char note  = (unsigned char)request->stamp;
    void*         block = NULL;
    switch (request->call) {
        case CALL_ATTACH:
            answer->has =
                egb_shared_claim_slot_(shared, shared->lock_file, &shared->slot) == EGB_OK;
            break;
        case CALL_LEAVE: leave(shared); break;
        case CALL_ALLOC: has_block(answer, egb_shared_alloc(shared)); break;
        case CALL_ALLOC_WAIT:
            (void)!egb_shared_alloc_wait(shared, &block, EGB_SHARED_FOREVER);
            has_block(answer, block);
            break;
        case CALL_FILL:
        case CALL_READ: touch(request, answer); break;
        case CALL_SEND:
        case CALL_OPEN: share_handle(shared, request, answer); break;
        case CALL_RELEASE: egb_shared_release(shared, address_of(request->block)); break;
        case CALL_PUBLISH:
            answer->has =
                egb_shared_publish(shared, address_of(request->block), &note, &answer->sequence) ==
                EGB_OK;
            break;
        case CALL_RECOVER: (void)egb_shared_recover(shared); break;
        default: follow_feed(shared, request, answer);
    }
}

void explore_do(
    unsigned number, explore_own* own, const explore_request* request, explore_answer* answer
)
{
    egb_shared* const shared = &records[number].record;
    shared->taken            = own->taken;
    shared->slot             = own->slot;
    shared->is_publisher     = own->is_publisher != 0;
    memcpy(held[number], own->held, sizeof own->held);
    call(shared, request, answer);
    own->taken        = shared->taken;
    own->slot         = shared->slot;
    own->is_publisher = shared->is_publisher ? 1 : 0;
    memcpy(own->held, held[number], sizeof own->held);
}

// ---- the system ---------------------------------------------------------------------------------

enum { ORDERED = memory_order_seq_cst };

static uint64_t lock_step(explore_kind kind, unsigned byte)
{
    return explore_step(kind, NULL, ORDERED, byte, 0, __func__);
}

bool egb_os_shared_lock_(int file, unsigned first, unsigned count)
{
    (void)file;
    (void)count;
    return lock_step(EXPLORE_LOCK, first) != 0;
}

void egb_os_shared_unlock_(int file, unsigned first, unsigned count)
{
    (void)file;
    (void)count;
    (void)lock_step(EXPLORE_UNLOCK, first);
}

bool egb_os_shared_is_locked_(int file, unsigned first, unsigned count)
{
    (void)file;
    (void)count;
    return lock_step(EXPLORE_IS_LOCKED, first) != 0;
}

// There are more slots than processes: no claim of one finds all bytes locked.
void egb_os_shared_keep_(int file, unsigned byte)
{
    (void)file;
    (void)byte;
}

bool egb_os_shared_is_locked_briefly_(int file, unsigned first, unsigned count)
{
    (void)file;
    (void)first;
    (void)count;
    return true;
}

void egb_os_shared_wait_(void* word, uint32_t value, uint64_t nanoseconds)
{
    const bool is_shared = explore_word_of(word) >= 0;
    (void)nanoseconds;
    (void
    )explore_step(is_shared ? EXPLORE_SLEEP : EXPLORE_PAUSE, word, ORDERED, value, 0, __func__);
}

void egb_os_shared_wake_(void* word)
{
    (void)explore_step(EXPLORE_WAKE, word, ORDERED, 0, 0, __func__);
}

uint64_t egb_os_nanoseconds_(void)
{
    return 0;
}

void egb_os_lock_(egb_os_mutex* mutex)
{
    (void)mutex;
}

void egb_os_unlock_(egb_os_mutex* mutex)
{
    (void)mutex;
}

size_t egb_os_program_(char* out, size_t bytes)
{
    (void)out;
    (void)bytes;
    return 0;
}

uint64_t egb_os_process_number_(void)
{
    return 0;
}

void egb_misuse(const egb_misuse_event* event)
{
    (void)event;
    explore_fail("misuse was reported");
}
