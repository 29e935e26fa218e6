// SPDX-License-Identifier: MIT
#include "redzone.h"

#include "../../os/os.h"
#include "../cache/magazine.h"
#include "../cache/peak.h"
#include "../region/obtain.h"
#include "../region/pages.h"
#include "../stacks/stacks.h"
#include "registry.h"

// Before each block of a pool with guards.
typedef struct egb_front {
    uint64_t bytes;   // that were asked for
    uint64_t canary;  // made of these and of the address
} egb_front;

// Before that, at level "track".
typedef struct egb_record {
    EGB_ALIGNAS_(EGB_REDZONE_ALIGN) const void* alloc_site;  // or stack: room stacks
    const void* free_site;  // a block in use: a mark, and as a rule NULL
    const char* alloc_file;
    uint64_t    serial;
    uint64_t    when : 44;   // enough for 500 years
    uint64_t    check : 20;  // made of what a report follows, or prints
    uint32_t    alloc_line;
    uint32_t    alloc_thread;
} egb_record;

EGB_STATIC_ASSERT(EGB_ALIGNOF_(egb_front) <= EGB_REDZONE_ALIGN, "a front stands before a block");
EGB_STATIC_ASSERT(EGB_ALIGNOF_(egb_record) <= EGB_REDZONE_ALIGN, "and a record before that");
EGB_STATIC_ASSERT(sizeof(egb_front) == EGB_POOL_FRONT_BYTES_, "as pool_bytes.h has it");
EGB_STATIC_ASSERT(sizeof(egb_record) == EGB_POOL_RECORD_BYTES_, "as pool_bytes.h has it");
EGB_STATIC_ASSERT(sizeof(egb_record) % EGB_REDZONE_ALIGN == 0, "with nothing between");

static egb_front* front_of(const void* block)
{
    return (egb_front*)(uintptr_t)block - 1;
}

static egb_record* record_of(const void* block)
{
    return (egb_record*)(void*)front_of(block) - 1;
}

static bool is_tracked(const egb_control* control)
{
    return control->level == EGB_LEVEL_TRACK;
}

// The start of the words before a block: its record, if it has one, and its front.
static void* redzone_head(const egb_control* control, const void* block)
{
    return is_tracked(control) ? (void*)record_of(block) : (void*)front_of(block);
}

// ---- sizes --------------------------------------------------------------------------------------

static size_t redzone_head_bytes(egb_level level)
{
    return sizeof(egb_front) + (level == EGB_LEVEL_TRACK ? sizeof(egb_record) : 0);
}

// Bytes of the gap in front of that, which the alignment of the block leaves.
static size_t gap_bytes(const egb_control* control)
{
    return control->depot.growing.options.lead_bytes - redzone_head_bytes(control->level);
}

// A free block has a mark in it, however small it is.
static size_t room_of(const egb_control* control)
{
    return control->block_bytes < EGB_WORD_BYTES ? EGB_WORD_BYTES : control->block_bytes;
}

static size_t filled_bytes(const egb_control* control)
{
    const size_t room = room_of(control);
    return room < EGB_FILL_BYTES_MAX ? room : EGB_FILL_BYTES_MAX;
}

// Bytes of the back of a block, if `bytes` of the block are used.
static size_t back_bytes(const egb_control* control, size_t bytes)
{
    const egb_growing_options* const options = &control->depot.growing.options;
    const size_t                     all     = options->block_bytes - options->lead_bytes - bytes;
    return all < EGB_BACK_BYTES_MAX ? all : EGB_BACK_BYTES_MAX;
}

static uint64_t pattern_key;  // atomic; 0: there was no pool with red zones yet

// The first of them makes it for all. Without random numbers it is only hard to guess.
static void make_key(void)
{
    uint64_t none   = 0;
    uint64_t number = EGB_LOAD_(pattern_key) == 0 ? egb_os_random_() : 1;
    if (number == 0) {
        number = egb_mix_(egb_os_nanoseconds_()) ^ (uintptr_t)&egb_registry_;
    }
    (void)__atomic_compare_exchange_n(
        &pattern_key, &none, number | 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED
    );
}

bool egb_has_redzones_(void)
{
    return EGB_LOAD_(pattern_key) != 0;
}

static bool has_tracked;  // atomic

bool egb_has_tracked_(void)
{
    return EGB_LOAD_(has_tracked);
}

static egb_status redzone_begin(egb_control* control)
{
    make_key();
    if (control->level == EGB_LEVEL_TRACK) {
        EGB_STORE_(has_tracked, true);
    }
    EGB_STORE_(control->redzones, egb_pages_(sizeof(egb_redzones)));
    return control->redzones != NULL ? EGB_OK : EGB_NO_MEMORY;
}

static void redzone_end(egb_control* control)
{
    if (control->redzones != NULL) {
        egb_pages_release_(control->redzones, sizeof(egb_redzones));
        EGB_STORE_(control->redzones, NULL);
    }
}

// ---- patterns -----------------------------------------------------------------------------------

// Another one for each block, and in each process: nobody knows it beforehand. No byte of it is a 0
// or a letter, which are written by mistake most often.
static uint64_t canary_of(const void* block, uint64_t bytes)
{
    uint64_t mixed = ((uint64_t)(uintptr_t)block ^ EGB_LOAD_(pattern_key)) + bytes;
    mixed          = egb_mix_(mixed ^ mixed >> 31);
    return (mixed ^ mixed >> 29) | 0x8080808080808080u;
}

// The word again and again, and at the end its first bytes.
static void write_words(unsigned char* to, size_t bytes, uint64_t word)
{
    size_t at = 0;
    for (; at + sizeof word <= bytes; at += sizeof word) {
        (void)__builtin_memcpy(to + at, &word, sizeof word);
    }
    (void)__builtin_memcpy(to + at, &word, bytes - at);
}

static void write_back(const egb_control* control, unsigned char* block, size_t bytes)
{
    write_words(block + bytes, back_bytes(control, bytes), canary_of(block, 0));
}

static void write_gap(const egb_control* control, unsigned char* block)
{
    const size_t bytes = gap_bytes(control);
    write_words((unsigned char*)redzone_head(control, block) - bytes, bytes, canary_of(block, 0));
}

// The first of `count` bytes that is not as write_words() left it; `count`: all are.
static size_t find_change(const unsigned char* bytes, size_t count, uint64_t word)
{
    unsigned char pattern[sizeof word];
    size_t        at = 0;
    (void)__builtin_memcpy(pattern, &word, sizeof pattern);
    while (at + sizeof pattern <= count &&
           __builtin_memcmp(bytes + at, pattern, sizeof pattern) == 0) {
        at += sizeof pattern;
    }
    while (at < count && bytes[at] == pattern[at % sizeof pattern]) {
        at++;
    }
    return at;
}

// The first damaged byte of the back, counted from the start of the block; 0: none.
static size_t find_overrun(const egb_control* control, const unsigned char* block, size_t bytes)
{
    const size_t count = back_bytes(control, bytes);
    const size_t at    = find_change(block + bytes, count, canary_of(block, 0));
    return at < count ? bytes + at : 0;
}

// Stands in a free block, again and again. As an address it is none that a program has: the highest
// bit is 1, and the next is 0.
static uint64_t fill_of(const void* block)
{
    return canary_of(block, UINT64_MAX) & ~((uint64_t)1 << 62);
}

static void fill(unsigned char* block, size_t bytes)
{
    write_words(block, bytes, fill_of(block));
}

// The first byte that is not as it was filled, from the word at `from` on; `bytes`: all are. As a
// rule each word equals the one before it, which is quick to see: only the first is looked at then.
static size_t find_write(const unsigned char* block, size_t from, size_t bytes)
{
    enum { PERIOD = sizeof(uint64_t) };
    const unsigned char* const start   = block + from;
    const bool                 repeats = bytes - from > PERIOD &&
                         __builtin_memcmp(start, start + PERIOD, bytes - from - PERIOD) == 0;
    const size_t count = repeats ? PERIOD : bytes - from;
    const size_t at    = find_change(start, count, fill_of(block));
    return at < count ? from + at : bytes;
}

// A report must not follow overwritten pointers, whichever block the write came from.
static uint64_t check_of(const egb_record* record)
{
    const uint64_t line = (uint64_t)record->alloc_line << 32 | record->alloc_thread;
    const uint64_t site = canary_of(record, (uint64_t)(uintptr_t)record->alloc_site);
    const uint64_t file = canary_of(record, (uint64_t)(uintptr_t)record->alloc_file);
    const uint64_t when = record->when;  // GCC would shift within its 44 bits
    return canary_of(record, site ^ file >> 7 ^ line ^ record->serial ^ when << 9) >> 8 & 0xFFFFF;
}

static bool is_record_whole(const egb_record* record)
{
    return record->check == check_of(record);
}

// ---- findings -----------------------------------------------------------------------------------

egb_history
egb_redzone_origin_(const egb_control* control, const void* block, const void** alloc_site)
{
    egb_history history = {.level = control->level, .bytes = egb_redzone_bytes_(control, block)};
    *alloc_site         = NULL;
    if (is_tracked(control) && is_record_whole(record_of(block))) {
        const egb_record* const record = record_of(block);
        *alloc_site                    = record->alloc_site;
        history.serial                 = record->serial;
        history.alloc_site             = egb_site_address_(record->alloc_site);
        history.alloc_file             = record->alloc_file;
        history.alloc_line             = record->alloc_line;
        history.alloc_thread           = record->alloc_thread;
        history.free_site = egb_is_live_in_chunk_(control, block) ? NULL : record->free_site;
    }
    return history;
}

egb_history egb_redzone_history_(const egb_control* control, const void* block)
{
    const void*       alloc_site;
    egb_history       history   = egb_redzone_origin_(control, block, &alloc_site);
    const void* const free_site = history.free_site;
    history.alloc_stack         = egb_site_stack_(alloc_site);
    history.free_site           = egb_site_address_(free_site);
    history.free_stack          = egb_site_stack_(free_site);
    return history;
}

static void note(egb_control* control, egb_misuse_kind kind, const void* block, ptrdiff_t damaged)
{
    egb_finding* const finding = &control->redzones->finding;
    if (finding->kind == 0) {
        finding->kind    = (int)kind;
        finding->block   = block;
        finding->index   = egb_chunk_index_(egb_depot_chunk_of_(&control->depot, block), block);
        finding->history = egb_redzone_history_(control, block);
        finding->history.damaged = damaged;
    }
}

static egb_finding redzone_finding(egb_control* control)
{
    const egb_finding none    = {0};
    const egb_finding finding = control->redzones->finding;
    if (finding.kind != 0) {
        control->redzones->finding = none;  // it leads to the block
    }
    return finding;
}

static bool has_canary(const void* block)
{
    const egb_front* const front = front_of(block);
    return front->canary == canary_of(block, front->bytes);
}

// Whether the bytes before a block in use are whole. It has no mark, because nobody looks for
// reachable blocks now.
static bool is_lead_whole(const egb_control* control, const void* block)
{
    const size_t               gap  = gap_bytes(control);
    const unsigned char* const head = redzone_head(control, block);
    return has_canary(block) && find_change(head - gap, gap, canary_of(block, 0)) == gap &&
           (!is_tracked(control) ||
            (is_record_whole(record_of(block)) && record_of(block)->free_site == NULL));
}

// For a block in use. If the front is damaged, nobody knows where the back begins.
static bool is_intact(egb_control* control, const void* block)
{
    if (!is_lead_whole(control, block)) {
        note(control, EGB_MISUSE_UNDERRUN, block, -1);
        return false;
    }
    const size_t place = find_overrun(control, block, (size_t)front_of(block)->bytes);
    if (place != 0) {
        note(control, EGB_MISUSE_OVERRUN, block, (ptrdiff_t)place);
        return false;
    }
    return true;
}

// The start of the fill in a block that is free in its chunk: behind its marks, if it has some.
static size_t fill_start(const egb_control* control)
{
    return egb_touches_free_(&control->depot.growing.options) ? EGB_LINK_BYTES : 0;
}

// For a free block, from byte `from` on. A tool that watches must not take the look for a use.
static bool is_untouched(egb_control* control, const void* block, size_t from)
{
    const size_t bytes = filled_bytes(control);
    if (from >= bytes) {
        return true;
    }
    egb_os_watch_open_((const unsigned char*)block + from, bytes - from);
    const size_t place = find_write(block, from, bytes);
    egb_os_watch_close_((const unsigned char*)block + from, bytes - from);
    if (place < bytes) {
        note(control, EGB_MISUSE_OVERWRITTEN, block, (ptrdiff_t)place);
    }
    return place >= bytes;
}

size_t egb_redzone_bytes_(const egb_control* control, const void* block)
{
    return has_canary(block) ? (size_t)front_of(block)->bytes : control->block_bytes;
}

bool egb_redzone_knows_bytes_(const void* block)
{
    return has_canary(block);
}

const void** egb_redzone_mark_(const void* block)
{
    return &record_of(block)->free_site;
}

uint64_t egb_redzone_when_(const void* block)
{
    return record_of(block)->when;
}

// ---- quarantine ---------------------------------------------------------------------------------

// The next call looks at this block, which waited here for long. It is in the processor's cache no
// more, nor are the words around it, which are written when it is handed out. Any address will do.
static void expect_look(const egb_control* control, const void* block)
{
    enum { AHEAD_LINE = 64, AHEAD_BYTES_MAX = 256 };
    const size_t    bytes = egb_smaller_(filled_bytes(control), AHEAD_BYTES_MAX);
    const uintptr_t start = (uintptr_t)block - sizeof(egb_front) - sizeof(egb_record);
    const uintptr_t end   = (uintptr_t)block + bytes + EGB_BACK_BYTES_MIN;
    for (uintptr_t at = start; at < end; at += AHEAD_LINE) {
        __builtin_prefetch((const void*)at, 1);
    }
}

// The block that has waited longest; there is one.
static egb_entry_ pop_oldest(egb_control* control)
{
    egb_redzones* const redzones = control->redzones;
    const egb_entry_    oldest   = redzones->quarantine[redzones->oldest];

    redzones->quarantine[redzones->oldest].block = NULL;  // it may be a block in use soon
    redzones->oldest = (redzones->oldest + 1) % EGB_QUARANTINE_BLOCKS_MAX;
    control->depot.quarantined--;
    redzones->bytes -= control->depot.growing.options.block_bytes;
    expect_look(control, redzones->quarantine[redzones->oldest].block);
    return oldest;
}

static void let_out_oldest(egb_control* control)
{
    void* const       block = pop_oldest(control).block;
    egb_chunk_* const chunk = egb_depot_chunk_of_(&control->depot, block);
    (void)is_untouched(control, block, 0);
    egb_open_link_(&control->depot, block);
    (void)egb_growing_put_(chunk, block);
}

void egb_quarantine_flush_(egb_control* control)
{
    while (control->depot.quarantined != 0) {
        let_out_oldest(control);
    }
}

static void put_into_quarantine(egb_control* control, void* block, unsigned char* state)
{
    egb_redzones* const redzones = control->redzones;
    const size_t        stride   = control->depot.growing.options.block_bytes;
    while (control->depot.quarantined != 0 &&
           (control->depot.quarantined == EGB_QUARANTINE_BLOCKS_MAX ||
            redzones->bytes + stride > EGB_QUARANTINE_BYTES_MAX)) {
        let_out_oldest(control);
    }
    const size_t      behind = redzones->oldest + control->depot.quarantined;
    egb_entry_* const entry  = &redzones->quarantine[behind % EGB_QUARANTINE_BLOCKS_MAX];
    entry->block             = block;
    entry->state             = state;
    control->depot.quarantined++;
    redzones->bytes += stride;
}

// Whether so much waits behind the oldest block.
static bool has_waited_enough(const egb_control* control)
{
    const size_t stride = control->depot.growing.options.block_bytes;
    return control->depot.quarantined > EGB_QUARANTINE_BLOCKS_ENOUGH ||
           control->redzones->bytes >= EGB_QUARANTINE_BYTES_ENOUGH + stride;
}

// ---- alloc and free -----------------------------------------------------------------------------

static void write_record(egb_control* control, const void* block, const egb_request* request)
{
    egb_record* const record = record_of(block);
    record->alloc_site       = request->site;
    record->free_site        = NULL;
    record->alloc_file       = request->file;
    record->serial           = ++control->redzones->serial;
    record->when             = egb_os_milliseconds_() & (((uint64_t)1 << 44) - 1);
    record->alloc_line       = request->line;
    record->alloc_thread     = request->thread != 0 ? request->thread : egb_os_thread_number_();
    record->check            = check_of(record) & 0xFFFFF;
}

// From quarantine if enough wait there: such a block is looked at once, and its chunk not at all.
// `from`: where its fill begins. False: there is none.
static bool take_free(egb_control* control, egb_entry_* entry, size_t* from)
{
    if (has_waited_enough(control)) {
        *entry = pop_oldest(control);
        *from  = 0;
        egb_note_peak_(&control->depot);
        return true;
    }
    *from = fill_start(control);
    return egb_take_one_(&control->depot, entry) != NULL;
}

static void*
redzone_take(egb_control* control, egb_magazine_* magazine, egb_pool pool, egb_request* request)
{
    (void)magazine;
    (void)pool;
    if (egb_is_frozen_() && !egb_growing_has_free_(&control->depot.growing)) {
        egb_quarantine_flush_(control);  // before the system would be asked
    }
    egb_entry_ entry;
    size_t     from;
    if (!take_free(control, &entry, &from)) {
        return NULL;
    }
    unsigned char* const block = entry.block;
    if (*entry.state == EGB_STATE_FREE_) {
        (void)is_untouched(control, block, from);
    }
    egb_watch_taken_(control, block, room_of(control), *entry.state);
    EGB_STORE_(*entry.state, EGB_STATE_LIVE_);
    egb_front* const front = front_of(block);
    front->bytes           = request->bytes == 0 ? control->block_bytes : request->bytes;
    front->canary          = canary_of(block, front->bytes);
    write_back(control, block, (size_t)front->bytes);
    write_gap(control, block);
    if (is_tracked(control)) {
        write_record(control, block, request);
    }
    return block;
}

static egb_free_fault redzone_give(
    egb_control* control, egb_magazine_* magazine, egb_pool pool, void* block, const void* site
)
{
    // The front, while the chunk is looked for. The address may be any number here.
    __builtin_prefetch((const void*)((uintptr_t)block - sizeof(egb_front)));
    const egb_free_request freeing = egb_free_find_(control, block);
    (void)magazine;
    (void)pool;
    if (freeing.fault.kind != 0) {
        return freeing.fault;
    }
    (void)is_intact(control, block);
    control->depot.frees++;
    EGB_STORE_(*freeing.state, EGB_STATE_FREE_);
    fill(block, filled_bytes(control));
    if (is_tracked(control)) {
        record_of(block)->free_site = site;
    }
    egb_os_watch_given_(control, block, room_of(control));
    put_into_quarantine(control, block, freeing.state);
    return freeing.fault;
}

// ---- looking ------------------------------------------------------------------------------------

static bool is_in_quarantine(const egb_control* control, const void* block)
{
    size_t at = 0;
    while (at < EGB_QUARANTINE_BLOCKS_MAX && control->redzones->quarantine[at].block != block) {
        at++;
    }
    return at < EGB_QUARANTINE_BLOCKS_MAX;
}

// In quarantine it is filled as a whole; at home it has its marks where the fill would begin. If it
// is at neither place, it was written off when its damage was told.
static bool is_free_whole(egb_control* control, const egb_chunk_* chunk, size_t index)
{
    const void* const block = chunk->fixed.first + index * chunk->fixed.stride;
    if (!egb_is_in_chunk_(&chunk->shape, index)) {
        return (chunk->lost != 0 && !is_in_quarantine(control, block)) ||
               is_untouched(control, block, 0);
    }
    if (!egb_bitmap_is_sound_(chunk, index)) {
        note(control, EGB_MISUSE_OVERWRITTEN, block, 0);
        return false;
    }
    return is_untouched(control, block, fill_start(control));
}

static bool is_block_whole(egb_control* control, const egb_chunk_* chunk, size_t index)
{
    const void* const block = chunk->fixed.first + index * chunk->fixed.stride;
    switch (egb_state_at_(&chunk->shape, index)) {
        case EGB_STATE_LIVE_: return is_intact(control, block);
        case EGB_STATE_FREE_: return is_free_whole(control, chunk, index);
        default: return true;
    }
}

void egb_redzone_look_at_(egb_control* control, const egb_chunk_* chunk)
{
    const size_t touched = egb_fixed_count_touched_(&chunk->fixed);
    for (size_t i = 0; i < touched; i++) {
        (void)is_block_whole(control, chunk, i);
    }
}

static size_t redzone_check(egb_control* control)
{
    size_t   damaged = 0;
    egb_walk walk    = {NULL, 0, 0};
    while (egb_walk_next_(control, &walk)) {
        damaged += is_block_whole(control, walk.chunk, egb_walk_index_(&walk)) ? 0 : 1;
    }
    return damaged;
}

static bool redzone_is_whole(egb_control* control, const void* block)
{
    const egb_chunk_* const chunk = egb_depot_chunk_of_(&control->depot, block);
    return chunk == NULL || is_block_whole(control, chunk, egb_chunk_index_(chunk, block));
}

// No more than was asked for: the red zone stands right behind that.
static size_t redzone_bytes_of(const egb_control* control, const void* block)
{
    return egb_is_live_in_chunk_(control, block) ? egb_redzone_bytes_(control, block)
                                                 : control->block_bytes;
}

const egb_layout egb_layout_redzone_ = {
    .has_chunks    = true,
    .head          = redzone_head_bytes,
    .back_bytes    = EGB_BACK_BYTES_MIN,
    .gap_bytes_max = EGB_GAP_BYTES_MAX,
    .align_min     = EGB_REDZONE_ALIGN,
    .take          = redzone_take,
    .give          = redzone_give,
    .bytes_of      = redzone_bytes_of,
    .is_live       = egb_is_live_in_chunk_,
    .next_window   = egb_chunk_window_,
    .check         = redzone_check,
    .is_whole      = redzone_is_whole,
    .take_finding  = redzone_finding,
    .history       = egb_redzone_history_,
    .begin         = redzone_begin,
    .end           = redzone_end,
};
