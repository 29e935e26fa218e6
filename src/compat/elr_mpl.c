// SPDX-License-Identifier: MIT
// elr_mpl: handles, pools, blocks, and the module.
#include "elr_private.h"

#include "eggbox/lock.h"

static egb_elr_record elr_records[EGB_POOLS_MAX + 1];

static struct {
    egb_lock_ lock;
    unsigned  inits;                // without their finalize yet
    EGB_ALIGNAS_(8) uint64_t root;  // key of the root pool; 0: none
    size_t with_on_free;            // pools that have one: if there are some, each free must look
} elr_module;

// ---- handles ------------------------------------------------------------------------------------

egb_pool egb_elr_pool_of_(const egb_elr_record* record)
{
    return egb_pool_of_key_(__atomic_load_n(&record->key, __ATOMIC_ACQUIRE));
}

elr_mpl_t egb_elr_handle_of_(const egb_elr_record* record)
{
    const elr_mpl_t none   = {NULL, 0};
    elr_mpl_t       handle = {(void*)(uintptr_t)record, 0};
    if (record == NULL) {
        return none;
    }
    handle.tag = (int)egb_elr_pool_of_(record).generation;
    return handle;
}

egb_elr_record* egb_elr_of_(egb_pool pool)
{
    egb_elr_record* const record = &elr_records[pool.slot / EGB_SLOT_STEP_];
    return pool.generation != 0 && egb_pool_key_(egb_elr_pool_of_(record)) == egb_pool_key_(pool)
               ? record
               : NULL;
}

// A handle's members may hold anything: a program may have forgotten to initialise it.
static egb_elr_record* elr_record_at(const elr_mpl_t* handle)
{
    const uintptr_t distance = (uintptr_t)handle->pool - (uintptr_t)elr_records;
    return distance < sizeof elr_records && distance % sizeof *elr_records == 0 ? handle->pool
                                                                                : NULL;
}

static void elr_report_stale(const elr_mpl_t* handle, const void* site)
{
    const egb_misuse_event event = {
        .kind        = EGB_MISUSE_STALE,
        .pool_name   = "elr",
        .pool        = handle,
        .block_index = EGB_NO_INDEX,
        .site        = site
    };
    egb_misuse(&event);
}

egb_elr_record* egb_elr_find_(const elr_mpl_t* handle, egb_pool* pool, const void* site)
{
    if (handle == NULL || handle->pool == NULL) {
        return NULL;  // the handle that a failed create returned
    }
    egb_elr_record* const record = elr_record_at(handle);
    if (record != NULL) {
        *pool = egb_elr_pool_of_(record);
        if (pool->generation == (uint32_t)handle->tag) {
            return record;
        }
    }
    if (site != NULL) {
        elr_report_stale(handle, site);
    }
    return NULL;
}

int elr_mpl_avail(elr_mpl_ht pool)
{
    egb_pool native;
    return egb_elr_find_(pool, &native, NULL) != NULL && egb_pool_alive(native);
}

// ---- pools --------------------------------------------------------------------------------------

bool egb_elr_parent_(const elr_mpl_t* fpool, egb_pool* parent, const void* site)
{
    if (fpool != NULL) {
        return egb_elr_find_(fpool, parent, site) != NULL;
    }
    *parent = egb_pool_of_key_(__atomic_load_n(&elr_module.root, __ATOMIC_ACQUIRE));
    return parent->generation != 0;
}

static void elr_drop_on_free(egb_elr_record* record)
{
    if (__atomic_exchange_n(&record->on_free, NULL, __ATOMIC_RELAXED) != NULL) {
        __atomic_fetch_sub(&elr_module.with_on_free, 1, __ATOMIC_RELAXED);
    }
}

egb_elr_record* egb_elr_make_(egb_pool parent, egb_elr_shape shape)
{
    const egb_pool_options options = {
        .name        = "elr",
        .block_bytes = shape.size == 0 ? 1 : shape.size,
        .block_align = shape.size <= 8 ? 8 : 16,  // enough for any object of this size
        .parent      = parent,
        .flags       = EGB_FRESH_ZERO,
        .level       = EGB_LEVEL_CHECK  // under a sanitizer, too: programs rely on the order
    };
    egb_pool pool;
    if (egb_pool_create(&pool, &options) != EGB_OK) {
        return NULL;
    }
    egb_elr_record* const record = &elr_records[pool.slot / EGB_SLOT_STEP_];
    elr_drop_on_free(record);  // that of a pool that egb_pool_destroy() ended
    record->size     = shape.size;
    record->on_alloc = shape.on_alloc;
    record->on_free  = shape.on_free;
    record->is_multi = false;
    record->is_extra = false;
    __atomic_store_n(&record->next, NULL, __ATOMIC_RELAXED);
    if (shape.on_free != NULL) {
        __atomic_fetch_add(&elr_module.with_on_free, 1, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&record->key, egb_pool_key_(pool), __ATOMIC_RELEASE);
    return record;
}

static elr_mpl_t elr_create(const elr_mpl_t* fpool, egb_elr_shape shape, const void* site)
{
    egb_pool parent;
    return egb_elr_handle_of_(
        egb_elr_parent_(fpool, &parent, site) ? egb_elr_make_(parent, shape) : NULL
    );
}

elr_mpl_t(elr_mpl_create)(
    elr_mpl_ht fpool, size_t obj_size, elr_mpl_callback on_alloc, elr_mpl_callback on_free
)
{
    const egb_elr_shape shape = {obj_size, on_alloc, on_free};
    return elr_create(fpool, shape, EGB_CALLER());
}

elr_mpl_t elr_mpl_create_ex(
    elr_mpl_ht fpool, size_t obj_size, elr_mpl_callback on_alloc, elr_mpl_callback on_free
)
{
    const egb_elr_shape shape = {obj_size, on_alloc, on_free};
    return elr_create(fpool, shape, EGB_CALLER());
}

elr_mpl_t elr_mpl_create_sync(
    elr_mpl_ht fpool, size_t obj_size, elr_mpl_callback on_alloc, elr_mpl_callback on_free
)
{
    const egb_elr_shape shape = {obj_size, on_alloc, on_free};
    return elr_create(fpool, shape, EGB_CALLER());
}

// ---- blocks -------------------------------------------------------------------------------------

void* egb_elr_take_(const egb_elr_record* record, egb_pool pool)
{
    void* const block = egb_pool_alloc(pool);
    if (block != NULL && record->on_alloc != NULL) {
        record->on_alloc(block);
    }
    return block;
}

void* elr_mpl_alloc(elr_mpl_ht pool)
{
    egb_pool                    native;
    const egb_elr_record* const record = egb_elr_find_(pool, &native, EGB_CALLER());
    return record == NULL ? NULL : egb_elr_take_(record, native);
}

size_t elr_mpl_size(void* mem)
{
    const egb_elr_record* const record = egb_elr_of_(egb_pool_of(mem));
    return record == NULL ? 0 : record->size;
}

// on_free must not get a block whose free will be refused. Most blocks are of pools without one:
// their record says so, and nothing takes a lock for them. Therefore it is not cold: as long as one
// pool has an on_free, every free comes here.
static void elr_look_and_free(void* mem)
{
    const uint64_t              key    = egb_mapped_key_(mem);
    const egb_pool              pool   = key != 0 ? egb_pool_of_key_(key) : egb_pool_of(mem);
    const egb_elr_record* const record = egb_elr_of_(pool);
    if (record != NULL && record->on_free != NULL && egb_pool_is_live(pool, mem)) {
        record->on_free(mem);
    }
    egb_free(mem);
}

void elr_mpl_free(void* mem)
{
    if (EGB_UNLIKELY(__atomic_load_n(&elr_module.with_on_free, __ATOMIC_RELAXED) != 0)) {
        elr_look_and_free(mem);
    } else {
        egb_free(mem);
    }
}

// ---- the end of pools ---------------------------------------------------------------------------

typedef struct elr_end {
    egb_pool         pool;
    elr_mpl_callback on_free;
} elr_end;

static void elr_end_block(void* block, void* user)
{
    const elr_end* const end = user;
    end->on_free(block);
    egb_pool_free(end->pool, block);
}

static void elr_find_last_with_on_free(egb_pool pool, void* user)
{
    egb_elr_record** const last   = user;
    egb_elr_record* const  record = egb_elr_of_(pool);
    if (record != NULL && record->on_free != NULL) {
        *last = record;
    }
}

static void elr_forget(egb_pool pool, void* unused)
{
    egb_elr_record* const record = egb_elr_of_(pool);
    (void)unused;
    if (record != NULL) {
        __atomic_store_n(&record->key, 0, __ATOMIC_RELEASE);
    }
}

// egb_pool_each() visits a parent before its children. Below the last pool with an on_free there is
// therefore no other one.
void egb_elr_destroy_(egb_pool pool)
{
    for (;;) {
        egb_elr_record* last = NULL;
        egb_pool_each(pool, elr_find_last_with_on_free, &last);
        if (last == NULL) {
            break;
        }
        elr_end end = {egb_elr_pool_of_(last), last->on_free};
        egb_pool_each_block(end.pool, elr_end_block, &end);
        elr_drop_on_free(last);
    }
    egb_pool_each(pool, elr_forget, NULL);
    (void)egb_pool_destroy(pool, EGB_DESTROY_FORCE);
}

void elr_mpl_destroy(elr_mpl_ht pool)
{
    const elr_mpl_t none = {NULL, 0};
    egb_pool        native;
    if (egb_elr_find_(pool, &native, NULL) != NULL) {
        egb_elr_destroy_(native);
    }
    if (pool != NULL) {
        *pool = none;
    }
}

// ---- the module ---------------------------------------------------------------------------------

// Makes the structures of the process and of this thread now, so that the first alloc need not. The
// chunk of the destroyed pool is reused by the first pool of the program.
static void elr_warm_up(void)
{
    const egb_pool_options options = {
        .name = "elr", .block_bytes = 16, .flags = EGB_FRESH_ZERO, .level = EGB_LEVEL_CHECK
    };
    egb_pool pool;
    if (egb_pool_create(&pool, &options) == EGB_OK) {
        egb_pool_free(pool, egb_pool_alloc(pool));
        (void)egb_pool_destroy(pool, EGB_DESTROY_FORCE);
    }
}

int elr_mpl_init(void)
{
    const egb_elr_shape shape = {1, NULL, NULL};
    const egb_pool      none  = {0, 0};
    egb_lock_take_(&elr_module.lock);
    bool is_ready = elr_module.inits != 0;
    if (!is_ready) {
        const egb_elr_record* const root = egb_elr_make_(none, shape);
        is_ready                         = root != NULL;
        if (is_ready) {
            elr_warm_up();
            __atomic_store_n(
                &elr_module.root, egb_pool_key_(egb_elr_pool_of_(root)), __ATOMIC_RELEASE
            );
        }
    }
    elr_module.inits += is_ready ? 1 : 0;
    egb_lock_give_(&elr_module.lock);
    return is_ready;
}

// The module is as before the first init when its pools are destroyed, so that a callback may call
// elr_mpl_init() again.
void elr_mpl_finalize(void)
{
    uint64_t root = 0;
    egb_lock_take_(&elr_module.lock);
    if (elr_module.inits == 1) {
        root = elr_module.root;
        __atomic_store_n(&elr_module.root, 0, __ATOMIC_RELEASE);
        egb_elr_forget_multi_();
    }
    elr_module.inits -= elr_module.inits != 0 ? 1 : 0;
    egb_lock_give_(&elr_module.lock);
    if (root != 0) {
        egb_elr_destroy_(egb_pool_of_key_(root));
    }
}
