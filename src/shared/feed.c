// SPDX-License-Identifier: MIT
// The feed: a ring of the frames published last, with one publisher at a time.
//
// A frame is in the feed as long as its word has the feed's bit. The ring tells where to look. An
// entry of the ring may be stale: it is compared with its block. Only the publisher sets the bit,
// and it clears the bit of the frame whose place in the ring it needs. The publisher's death
// between two steps leaves bits without an entry, or an entry beyond the head; a repair mends both.
#include "shared_private.h"

static egb_shared_entry_* entry_of(const egb_shared* shared, uint64_t sequence)
{
    return &shared->ring[sequence % shared->shape.feed_count];
}

// ---- publish ------------------------------------------------------------------------------------

static void drop_from_feed(egb_shared* shared, size_t index)
{
    const uint64_t mine = egb_shared_bit_(shared->slot);
    if (egb_shared_word_drop_(&shared->blocks[index], EGB_SHARED_FEED_, mine)) {
        egb_shared_freed_(shared, index);
    }
}

static bool is_in_ring(const egb_shared* shared, size_t index, uint64_t head)
{
    const uint64_t                 sequence = atomic_load(&shared->blocks[index].sequence);
    const egb_shared_entry_* const entry    = entry_of(shared, sequence);
    return sequence != 0 && sequence <= head && head - sequence < shared->shape.feed_count &&
           atomic_load(&entry->sequence) == sequence && atomic_load(&entry->index) == index;
}

// A number beyond the head was stored and never published: another holder may publish the frame.
static void repair_frame(egb_shared* shared, size_t index, uint64_t head)
{
    egb_shared_block_* const block = &shared->blocks[index];
    if ((atomic_load(&block->word) & EGB_SHARED_FEED_) != 0 && !is_in_ring(shared, index, head)) {
        drop_from_feed(shared, index);
    }
    if (atomic_load(&block->sequence) > head) {
        atomic_store(&block->sequence, 0);
    }
}

// Nobody publishes meanwhile: a publisher that begins waits for the byte of repairs.
static void repair_locked(egb_shared* shared)
{
    egb_shared_state_* const state = shared->state;
    uint64_t                 head  = atomic_load(&state->head);
    // The entry was complete, and the head had not moved yet.
    if (atomic_load(&entry_of(shared, head + 1)->sequence) == head + 1) {
        head++;
        atomic_store(&state->head, head);
        egb_shared_tell_(&state->news);
    }
    for (size_t index = 0; index < shared->count; index++) {
        repair_frame(shared, index, head);
    }
}

void egb_shared_repair_feed_(egb_shared* shared)
{
    const int lock_file = shared->lock_file;
    if (shared->shape.feed_count == 0 || shared->is_publisher ||
        !egb_os_shared_lock_(lock_file, EGB_SHARED_REPAIR_BYTE_, 1)) {
        return;
    }
    if (!egb_os_shared_is_locked_(lock_file, EGB_SHARED_PUBLISHER_BYTE_, 1)) {
        repair_locked(shared);
    }
    egb_os_shared_unlock_(lock_file, EGB_SHARED_REPAIR_BYTE_, 1);
}

// EGB_OK: this attachment is the publisher; EGB_BUSY: another one is, or, with `*repairs`, another
// one repairs the feed, which takes a moment.
static egb_status become_publisher(egb_shared* shared, bool* repairs)
{
    const int lock_file = shared->lock_file;
    if (shared->is_publisher) {
        return EGB_OK;
    }
    if (!egb_os_shared_lock_(lock_file, EGB_SHARED_PUBLISHER_BYTE_, 1)) {
        return EGB_BUSY;
    }
    if (!egb_os_shared_lock_(lock_file, EGB_SHARED_REPAIR_BYTE_, 1)) {
        egb_os_shared_unlock_(lock_file, EGB_SHARED_PUBLISHER_BYTE_, 1);
        *repairs = true;
        return EGB_BUSY;
    }
    repair_locked(shared);
    shared->is_publisher = true;
    egb_os_shared_unlock_(lock_file, EGB_SHARED_REPAIR_BYTE_, 1);
    return EGB_OK;
}

// After the note and the number, the feed's bit; after that the entry, and then the head: a reader
// that finds the entry finds a whole frame.
static uint64_t enter_frame(egb_shared* shared, size_t index, const void* note)
{
    egb_shared_block_* const   block        = &shared->blocks[index];
    const uint64_t             sequence     = atomic_load(&shared->state->head) + 1;
    egb_shared_entry_* const   entry        = entry_of(shared, sequence);
    const uint64_t             old_sequence = atomic_load(&entry->sequence);
    const uint64_t             old_index    = atomic_load(&entry->index);
    const size_t               note_bytes   = (size_t)shared->shape.note_bytes;
    unsigned char* const       place        = shared->notes + index * note_bytes;
    const unsigned char* const given        = note;
    for (size_t i = 0; i < note_bytes; i++) {
        place[i] = given == NULL ? 0 : given[i];
    }
    atomic_store_explicit(&block->sequence, sequence, memory_order_release);
    (void)atomic_fetch_or(&block->word, EGB_SHARED_FEED_);
    atomic_store(&entry->sequence, 0);
    atomic_store_explicit(&entry->index, index, memory_order_release);
    atomic_store_explicit(
        &entry->generation, atomic_load(&block->generation), memory_order_release
    );
    atomic_store_explicit(&entry->sequence, sequence, memory_order_release);
    atomic_store(&shared->state->head, sequence);
    if (old_sequence != 0 && old_index < shared->count &&
        atomic_load(&shared->blocks[old_index].sequence) == old_sequence) {
        drop_from_feed(shared, (size_t)old_index);
    }
    egb_shared_tell_(&shared->state->news);
    return sequence;
}

// A number beyond the head is of a publisher at work, or of one that died before it published.
static egb_status publish_locked(
    egb_shared* shared, const void* block, const void* note, uint64_t* out, bool* repairs
)
{
    const size_t index = egb_shared_index_(shared, block);
    if (shared->is_read_only) {
        return EGB_INVALID;
    }
    if (shared->shape.feed_count == 0) {
        return EGB_UNSUPPORTED;
    }
    if (index >= shared->count || shared->held[index] == 0) {
        return EGB_INVALID;
    }
    const uint64_t before = atomic_load(&shared->blocks[index].sequence);
    if (before != 0 && before <= atomic_load(&shared->state->head)) {
        return EGB_INVALID;
    }
    const egb_status status = become_publisher(shared, repairs);
    if (status != EGB_OK) {
        return status;
    }
    if (atomic_load(&shared->blocks[index].sequence) != 0) {
        return EGB_INVALID;
    }
    const uint64_t sequence = enter_frame(shared, index, note);
    if (out != NULL) {
        *out = sequence;
    }
    return EGB_OK;
}

// A repair takes a moment, unless its process is stopped meanwhile: a second of looks.
egb_status egb_shared_publish(egb_shared* handle, void* block, const void* note, uint64_t* sequence)
{
    enum { LOOKS = 1000 };
    if (handle == NULL || block == NULL) {
        return EGB_INVALID;
    }
    egb_status status = EGB_BUSY;
    for (unsigned look = 0; look < LOOKS; look++) {
        bool              repairs = false;
        egb_shared* const shared  = egb_shared_enter_(handle);
        if (shared == NULL) {
            return EGB_STALE;
        }
        status = publish_locked(shared, block, note, sequence, &repairs);
        egb_shared_leave_(shared);
        if (!repairs) {
            break;
        }
        egb_shared_pause_();
    }
    return status;
}

// ---- next, take, latest -------------------------------------------------------------------------

// Holds frame `sequence`, if it is in the feed; for take, it then is no more.
static bool hold_published(egb_shared* shared, uint64_t sequence, bool is_take, egb_published* out)
{
    const egb_shared_entry_* const entry = entry_of(shared, sequence);
    if (sequence == 0 || atomic_load(&entry->sequence) != sequence) {
        return false;
    }
    const uint64_t index      = atomic_load(&entry->index);
    const uint64_t generation = atomic_load(&entry->generation);
    if (index >= shared->count ||
        !egb_shared_hold_(shared, (size_t)index, generation, EGB_SHARED_FEED_)) {
        return false;
    }
    egb_shared_block_* const block = &shared->blocks[index];
    if (atomic_load(&block->sequence) != sequence || (is_take && !egb_shared_word_claim_(block))) {
        egb_shared_unhold_(shared, (size_t)index);
        return false;
    }
    const size_t               note_bytes = (size_t)shared->shape.note_bytes;
    const unsigned char* const note       = shared->notes + index * note_bytes;
    for (size_t i = 0; i < sizeof out->note; i++) {
        out->note[i] = i < note_bytes ? note[i] : 0;
    }
    out->block    = shared->payload + index * shared->stride;
    out->frame    = (egb_frame){shared->shape.pool, (uint32_t)index, generation};
    out->sequence = sequence;
    return true;
}

// The first number behind `after` that the ring may still have.
static uint64_t first_after(const egb_shared* shared, uint64_t after, uint64_t head)
{
    const uint64_t kept = shared->shape.feed_count;
    return head > after && head - after > kept ? head - kept + 1 : after + 1;
}

// The oldest frame behind `after`.
static bool hold_next(egb_shared* shared, uint64_t after, bool is_take, egb_published* out)
{
    const uint64_t head = atomic_load(&shared->state->head);
    if (head <= after) {
        return false;
    }
    for (uint64_t s = first_after(shared, after, head); s != 0 && s <= head; s++) {
        if (hold_published(shared, s, is_take, out)) {
            return true;
        }
    }
    return false;
}

static void count_missed(egb_shared* shared, egb_published* out, uint64_t after)
{
    out->missed = out->sequence - after - 1;
    if (out->missed != 0) {
        (void)atomic_fetch_add(&shared->state->cards[shared->slot].missed, out->missed);
    }
}

typedef struct egb_shared_wish_ {
    bool (*find)(egb_shared* shared, const struct egb_shared_wish_* wish);
    uint64_t       after;
    egb_published* out;
} egb_shared_wish_;

static bool find_next(egb_shared* shared, const egb_shared_wish_* wish)
{
    if (!hold_next(shared, wish->after, false, wish->out)) {
        return false;
    }
    count_missed(shared, wish->out, wish->after);
    return true;
}

// Frames up to the one that this process took, or found taken, are for no take any more.
static bool find_to_take(egb_shared* shared, const egb_shared_wish_* wish)
{
    const uint64_t head = atomic_load(&shared->state->head);
    if (!hold_next(shared, shared->taken, true, wish->out)) {
        shared->taken = head > shared->taken ? head : shared->taken;
        return false;
    }
    shared->taken     = wish->out->sequence;
    wish->out->missed = 0;
    return true;
}

static bool find_latest(egb_shared* shared, const egb_shared_wish_* wish)
{
    const uint64_t head = atomic_load(&shared->state->head);
    for (uint64_t back = 0; back < shared->shape.feed_count && back < head; back++) {
        if (hold_published(shared, head - back, false, wish->out)) {
            wish->out->missed = 0;
            return true;
        }
    }
    return false;
}

// An entry beyond the head is of a publisher at work, or of one that died before it moved the head:
// then the repair moves it.
static egb_status attempt_find(egb_shared* shared, void* what)
{
    const egb_shared_wish_* const wish = what;
    if (shared->shape.feed_count == 0) {
        return EGB_UNSUPPORTED;
    }
    if (wish->find(shared, wish)) {
        return EGB_OK;
    }
    const uint64_t next = atomic_load(&shared->state->head) + 1;
    if (atomic_load(&entry_of(shared, next)->sequence) != next) {
        return EGB_BUSY;
    }
    egb_shared_repair_feed_(shared);
    return wish->find(shared, wish) ? EGB_OK : EGB_BUSY;
}

static egb_status find_until(egb_shared* handle, uint64_t timeout_ns, egb_shared_wish_ wish)
{
    if (handle == NULL || wish.out == NULL) {
        return EGB_INVALID;
    }
    return egb_shared_until_(handle, true, timeout_ns, attempt_find, &wish);
}

egb_status
egb_shared_next(egb_shared* handle, uint64_t after, uint64_t timeout_ns, egb_published* out)
{
    return find_until(handle, timeout_ns, (egb_shared_wish_){find_next, after, out});
}

egb_status egb_shared_take(egb_shared* handle, uint64_t timeout_ns, egb_published* out)
{
    return find_until(handle, timeout_ns, (egb_shared_wish_){find_to_take, 0, out});
}

egb_status egb_shared_latest(egb_shared* handle, egb_published* out)
{
    return find_until(handle, 0, (egb_shared_wish_){find_latest, 0, out});
}

// ---- when no block is free ----------------------------------------------------------------------

bool egb_shared_drop_oldest_(egb_shared* shared, size_t* index)
{
    if (shared->shape.feed_count == 0) {
        return false;
    }
    const uint64_t mine = egb_shared_bit_(shared->slot);
    const uint64_t head = atomic_load(&shared->state->head);
    for (uint64_t s = first_after(shared, 0, head); s != 0 && s <= head; s++) {
        const egb_shared_entry_* const entry = entry_of(shared, s);
        const uint64_t                 at    = atomic_load(&entry->index);
        if (atomic_load(&entry->sequence) == s && at < shared->count &&
            atomic_load(&shared->blocks[at].sequence) == s &&
            egb_shared_word_evict_(&shared->blocks[at], mine)) {
            (void)atomic_fetch_add(&shared->state->dropped, 1);
            *index = (size_t)at;
            return true;
        }
    }
    return false;
}
