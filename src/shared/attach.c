// SPDX-License-Identifier: MIT
// Create, attach and close.
#include "shared_private.h"

static bool has_what_it_needs(void)
{
    return EGB_SHARED_HAS_WORDS_ && egb_os_has_shared_();
}

static unsigned page_options_of(unsigned flags)
{
    return ((flags & EGB_SHARED_PREFAULT) != 0 ? EGB_OS_PREFAULT : 0u) |
           ((flags & EGB_SHARED_HUGE_PAGES) != 0 ? EGB_OS_HUGE_PAGES : 0u);
}

static size_t held_bytes_of(const egb_shared_shape_* shape)
{
    const size_t page = egb_os_page_bytes_();
    return ((size_t)shape->count * sizeof(uint32_t) + page - 1) / page * page;
}

// ---- mapping ------------------------------------------------------------------------------------

void* egb_shared_own_memory_(size_t bytes)
{
    void* const start = egb_os_reserve_(bytes, egb_os_page_bytes_());
    if (start != NULL && egb_os_commit_(start, bytes, 0, NULL) != EGB_OK) {
        egb_os_release_(start, bytes);
        return NULL;
    }
    return start;
}

static void unmap_all(egb_shared* shared)
{
    const egb_shared_shape_* const shape = &shared->shape;
    if (shared->held != NULL) {
        egb_os_release_(shared->held, held_bytes_of(shape));
    }
    if (shared->payload != NULL) {
        egb_os_shared_unmap_(shared->payload, (size_t)(shape->bytes - shape->payload_at));
    }
    if (shared->state != NULL) {
        egb_os_shared_unmap_(shared->state, (size_t)shape->payload_at);
    }
    shared->held    = NULL;
    shared->payload = NULL;
    shared->state   = NULL;
}

// Maps the file by `shared->shape`, which was checked.
static egb_status map_all(egb_shared* shared, unsigned flags)
{
    const egb_shared_shape_* const shape = &shared->shape;
    const unsigned                 pages = page_options_of(flags);
    char* const                    control =
        egb_os_shared_map_(shared->file, 0, (size_t)shape->payload_at, true, EGB_OS_PREFAULT);
    shared->state        = (egb_shared_state_*)(void*)control;
    shared->is_read_only = (flags & EGB_SHARED_READ_ONLY) != 0;
    if (control != NULL) {
        shared->payload = egb_os_shared_map_(
            shared->file,
            shape->payload_at,
            (size_t)(shape->bytes - shape->payload_at),
            !shared->is_read_only,
            pages
        );
        shared->held = egb_shared_own_memory_(held_bytes_of(shape));
    }
    if (control == NULL || shared->payload == NULL || shared->held == NULL) {
        unmap_all(shared);
        return EGB_NO_MEMORY;
    }
    shared->blocks = (egb_shared_block_*)(void*)(control + shape->blocks_at);
    shared->hints  = (_Atomic uint64_t*)(void*)(control + shape->hints_at);
    shared->ring   = (egb_shared_entry_*)(void*)(control + shape->ring_at);
    shared->count  = (size_t)shape->count;
    shared->stride = (size_t)shape->stride;
    shared->notes  = (unsigned char*)control + shape->notes_at;
    return EGB_OK;
}

// ---- the parts of an attachment -----------------------------------------------------------------

// Maps `file`, whose shape is known, and takes a slot. On failure all but `file` is undone.
static egb_status join_pool(egb_shared* shared, int file, unsigned flags)
{
    shared->file      = file;
    egb_status status = map_all(shared, flags);
    if (status != EGB_OK) {
        return status;
    }
    status = egb_os_shared_again_(&shared->lock_file, file);
    if (status != EGB_OK) {
        unmap_all(shared);
        return status;
    }
    status = egb_shared_claim_slot_(shared, shared->lock_file, &shared->slot);
    if (status != EGB_OK) {
        egb_os_shared_close_(shared->lock_file);
        unmap_all(shared);
        return status;
    }
    shared->is_publisher = false;
    shared->taken        = 0;
    egb_shared_sign_(shared);
    return EGB_OK;
}

// With the lock held: gives back its blocks and its slot, and the name if it was the last.
static void leave_pool(egb_shared* shared)
{
    const char* const path = shared->shape.path;
    egb_shared_clean_(shared, egb_shared_bit_(shared->slot));
    egb_os_shared_unlock_(shared->lock_file, shared->slot, 1);
    if (path[0] != '\0' && egb_os_shared_lock_(shared->lock_file, 0, EGB_SHARED_ATTACHMENTS_MAX) &&
        egb_os_shared_is_named_(shared->file, path)) {
        egb_os_remove_(path);
    }
    unmap_all(shared);
    egb_os_shared_close_(shared->lock_file);
    egb_os_shared_close_(shared->file);
}

// The lock was held since the record was made. Returns the handle.
static egb_shared* open_record(egb_shared* shared)
{
    egb_shared* const handle = shared->handle;
    shared->is_open          = true;
    egb_shared_leave_(shared);
    return handle;
}

void egb_shared_close(egb_shared* handle)
{
    egb_shared* const shared = handle == NULL ? NULL : egb_shared_enter_(handle);
    if (shared != NULL) {
        shared->is_open = false;
        leave_pool(shared);
        egb_shared_record_give_(shared);
    }
}

// ---- create -------------------------------------------------------------------------------------

// All is zero but the shape, the generations and the hints.
static void fill_new(egb_shared* shared)
{
    const size_t count = shared->count;
    for (size_t i = 0; i < count; i++) {
        atomic_store_explicit(&shared->blocks[i].generation, 1, memory_order_relaxed);
        (void)atomic_fetch_or_explicit(
            &shared->hints[i / 64], (uint64_t)1 << i % 64, memory_order_relaxed
        );
    }
    shared->state->shape = shared->shape;
}

// The name appears when the pool is complete and has an attachment.
static egb_status name_new(egb_shared* shared)
{
    enum { TRIES = 3 };
    const char* const path   = shared->shape.path;
    egb_status        status = egb_os_shared_name_(shared->file, path);
    for (int i = 0; i < TRIES && status == EGB_BUSY && egb_shared_remove_dead_(path); i++) {
        status = egb_os_shared_name_(shared->file, path);
    }
    return status == EGB_STALE ? EGB_NO_MEMORY : status;
}

static egb_status make_file(int* file, const egb_shared* shared, const egb_shared_options* options)
{
    enum { OWNER_ONLY = 0600 };
    const char* const name   = options->name;
    const char* const path   = name != NULL ? shared->shape.path : NULL;
    const unsigned    mode   = options->permissions != 0 ? options->permissions : OWNER_ONLY;
    const uint64_t    bytes  = shared->shape.bytes;
    egb_status        status = egb_os_shared_make_(file, path, mode, bytes);
    // A program that was killed has left a pool, and its next start needs the room.
    if (status == EGB_NO_MEMORY && name != NULL &&
        egb_shared_make_room_(path, name[0] == '/', bytes)) {
        status = egb_os_shared_make_(file, path, mode, bytes);
    }
    return status == EGB_OK || status == EGB_UNSUPPORTED ? status : EGB_NO_MEMORY;
}

static egb_status create_in(egb_shared* shared, const egb_shared_options* options)
{
    int        file   = -1;
    egb_status status = make_file(&file, shared, options);
    if (status != EGB_OK) {
        return status;
    }
    status = join_pool(shared, file, options->flags);
    if (status != EGB_OK) {
        egb_os_shared_close_(file);
        return status;
    }
    fill_new(shared);
    status = options->name == NULL ? EGB_OK : name_new(shared);
    if (status != EGB_OK) {
        leave_pool(shared);
    }
    return status;
}

egb_status egb_shared_create(egb_shared** out, const egb_shared_options* options)
{
    egb_shared_shape_ shape;
    if (out == NULL || options == NULL) {
        return EGB_INVALID;
    }
    egb_status status = egb_shared_plan_(&shape, options);
    if (status != EGB_OK) {
        return status;
    }
    if (!has_what_it_needs()) {
        return EGB_UNSUPPORTED;
    }
    egb_shared* const shared = egb_shared_record_make_();
    if (shared == NULL) {
        return EGB_NO_MEMORY;
    }
    shared->shape = shape;
    status        = create_in(shared, options);
    if (status != EGB_OK) {
        egb_shared_record_give_(shared);
        return status;
    }
    *out = open_record(shared);
    return EGB_OK;
}

// ---- attach -------------------------------------------------------------------------------------

// `file` becomes the pool's, or is closed. By its name: the last of those that had it open may have
// removed the name before this one had its slot.
static egb_status attach_file(egb_shared** out, int file, unsigned flags, bool is_by_name)
{
    egb_shared_shape_ shape;
    egb_status        status = egb_shared_read_shape_(file, &shape);
    if (status == EGB_OK) {
        status = egb_os_shared_fill_(file, shape.bytes);
    }
    egb_shared* const shared = status == EGB_OK ? egb_shared_record_make_() : NULL;
    if (status == EGB_OK && shared == NULL) {
        status = EGB_NO_MEMORY;
    }
    if (status == EGB_OK) {
        shared->shape = shape;
        status        = join_pool(shared, file, flags);
        egb_os_shared_file facts;
        if (status == EGB_OK && is_by_name &&
            (egb_os_shared_look_(file, &facts) != EGB_OK || !facts.has_name)) {
            leave_pool(shared);
            egb_shared_record_give_(shared);
            return EGB_STALE;
        }
        if (status != EGB_OK) {
            egb_shared_record_give_(shared);
        }
    }
    if (status != EGB_OK) {
        egb_os_shared_close_(file);
        return status;
    }
    *out = open_record(shared);
    return EGB_OK;
}

static bool are_flags_right(unsigned flags)
{
    return (flags & ~(EGB_SHARED_READ_ONLY | EGB_SHARED_PREFAULT | EGB_SHARED_HUGE_PAGES)) == 0;
}

egb_status egb_shared_attach(egb_shared** out, const char* name, unsigned flags)
{
    char path[sizeof((egb_shared_shape_*)NULL)->path];
    int  file = -1;
    if (out == NULL || name == NULL || !are_flags_right(flags) ||
        !egb_shared_path_(path, sizeof path, name)) {
        return EGB_INVALID;
    }
    if (!has_what_it_needs()) {
        return EGB_UNSUPPORTED;
    }
    const egb_status status = egb_os_shared_open_(&file, path);
    return status != EGB_OK ? status : attach_file(out, file, flags, true);
}

egb_status egb_shared_attach_fd(egb_shared** out, int fd, unsigned flags)
{
    egb_os_shared_file facts;
    int                file = -1;
    if (out == NULL || fd < 0 || !are_flags_right(flags)) {
        return EGB_INVALID;
    }
    if (!has_what_it_needs()) {
        return EGB_UNSUPPORTED;
    }
    egb_status status = egb_os_shared_look_(fd, &facts);
    if (status == EGB_OK && !facts.is_writable) {
        status = EGB_INVALID;
    }
    if (status == EGB_OK) {
        status = egb_os_shared_again_(&file, fd);
    }
    return status != EGB_OK ? status : attach_file(out, file, flags, false);
}

int egb_shared_fd(const egb_shared* handle)
{
    egb_shared* const shared = handle == NULL ? NULL : egb_shared_enter_(handle);
    if (shared == NULL) {
        return -1;
    }
    const int file = shared->file;
    egb_shared_leave_(shared);
    return file;
}
