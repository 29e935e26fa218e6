// SPDX-License-Identifier: MIT
// elr_mpl: pools of several sizes. Each size is a pool. The first one is the parent of the others,
// which are therefore destroyed with it, and the head of their list in ascending order of size.
#include "elr_private.h"

#include "eggbox/lock.h"

#include <stdarg.h>

enum { ELR_EXTRA_UNIT = 1024, ELR_GIVEN_MAX = 64 };

// Held by the one thread that adds a size.
static egb_lock_ elr_multi_lock;

// The pool of elr_mpl_alloc_multi(NULL), which the first call makes. NULL: not yet.
static egb_elr_record* elr_common;

static egb_elr_record* elr_next(const egb_elr_record* record)
{
    return __atomic_load_n(&record->next, __ATOMIC_ACQUIRE);
}

// Other threads may be reading the list.
static void elr_put_in_order(egb_elr_record* first, egb_elr_record* added)
{
    egb_elr_record* place  = first;
    egb_elr_record* behind = elr_next(place);
    while (behind != NULL && behind->size < added->size) {
        place  = behind;
        behind = elr_next(place);
    }
    __atomic_store_n(&added->next, behind, __ATOMIC_RELAXED);
    __atomic_store_n(&place->next, added, __ATOMIC_RELEASE);
}

static egb_elr_record* elr_add_size(egb_elr_record* first, size_t size, bool is_extra)
{
    const egb_elr_shape   shape = {size, first->on_alloc, first->on_free};
    egb_elr_record* const added = egb_elr_make_(egb_elr_pool_of_(first), shape);
    if (added != NULL) {
        added->is_extra = is_extra;
        elr_put_in_order(first, added);
    }
    return added;
}

// ---- create -------------------------------------------------------------------------------------

static egb_elr_record* elr_make_multi(
    egb_pool         parent,
    const size_t*    sizes,
    size_t           size_count,
    elr_mpl_callback on_alloc,
    elr_mpl_callback on_free
)
{
    const egb_elr_shape   shape = {sizes[0], on_alloc, on_free};
    egb_elr_record* const first = egb_elr_make_(parent, shape);
    if (first == NULL) {
        return NULL;
    }
    first->is_multi = true;
    for (size_t i = 1; i < size_count; i++) {
        if (elr_add_size(first, sizes[i], false) == NULL) {
            egb_elr_destroy_(egb_elr_pool_of_(first));
            return NULL;
        }
    }
    return first;
}

elr_mpl_t elr_mpl_create_multi_given_(
    elr_mpl_ht       fpool,
    elr_mpl_callback on_alloc,
    elr_mpl_callback on_free,
    int              obj_size_count,
    const size_t*    obj_size,
    size_t           given
)
{
    egb_pool        parent;
    egb_elr_record* first = NULL;
    if (obj_size != NULL && obj_size_count > 0 && (size_t)obj_size_count <= given &&
        egb_elr_parent_(fpool, &parent, EGB_CALLER())) {
        first = elr_make_multi(parent, obj_size, (size_t)obj_size_count, on_alloc, on_free);
    }
    return egb_elr_handle_of_(first);
}

elr_mpl_t(elr_mpl_create_multi)(
    elr_mpl_ht       fpool,
    int              obj_size_count,
    size_t*          obj_size,
    elr_mpl_callback on_alloc,
    elr_mpl_callback on_free
)
{
    return elr_mpl_create_multi_given_(
        fpool, on_alloc, on_free, obj_size_count, obj_size, SIZE_MAX
    );
}

elr_mpl_t elr_mpl_create_multi_sync(
    elr_mpl_ht       fpool,
    int              obj_size_count,
    size_t*          obj_size,
    elr_mpl_callback on_alloc,
    elr_mpl_callback on_free
)
{
    return elr_mpl_create_multi_given_(
        fpool, on_alloc, on_free, obj_size_count, obj_size, SIZE_MAX
    );
}

elr_mpl_t elr_mpl_create_multi_1(
    elr_mpl_ht       fpool,
    elr_mpl_callback on_alloc,
    elr_mpl_callback on_free,
    int              obj_size_count,
    size_t*          obj_size
)
{
    return elr_mpl_create_multi_given_(
        fpool, on_alloc, on_free, obj_size_count, obj_size, SIZE_MAX
    );
}

// One version read the sizes as size_t, the next one as int. Programs pass either, and most a plain
// number. If an argument takes 8 bytes, an unsigned int read there is the low half of either type;
// the upper half of an int argument is undefined.
elr_mpl_t elr_mpl_create_multi_list_(
    elr_mpl_ht fpool, elr_mpl_callback on_alloc, elr_mpl_callback on_free, int obj_size_count, ...
)
{
    size_t  sizes[ELR_GIVEN_MAX];
    va_list arguments;
    va_start(arguments, obj_size_count);
    for (int i = 0; i < obj_size_count && i < ELR_GIVEN_MAX; i++) {
        sizes[i] = va_arg(arguments, unsigned int);
    }
    va_end(arguments);
    return elr_mpl_create_multi_given_(
        fpool, on_alloc, on_free, obj_size_count, sizes, ELR_GIVEN_MAX
    );
}

// ---- alloc --------------------------------------------------------------------------------------

// A size that was made for one large request must not serve much smaller requests.
static bool elr_suits(const egb_elr_record* record, size_t size)
{
    const size_t waste_max = size / 8 < ELR_EXTRA_UNIT ? ELR_EXTRA_UNIT : size / 8;
    return record->size >= size && (!record->is_extra || record->size - size < waste_max);
}

// The first size is the one that was given first, and need not be the smallest.
static egb_elr_record* elr_best(egb_elr_record* first, size_t size)
{
    egb_elr_record* best = elr_next(first);
    while (best != NULL && !elr_suits(best, size)) {
        best = elr_next(best);
    }
    const bool is_first = elr_suits(first, size) && (best == NULL || first->size <= best->size);
    return is_first ? first : best;
}

// Another thread may have added the size meanwhile.
static egb_elr_record* elr_best_or_extra(egb_elr_record* first, size_t size)
{
    egb_elr_record* best = elr_best(first, size);
    if (best != NULL || !first->is_multi || size > SIZE_MAX - ELR_EXTRA_UNIT) {
        return best;
    }
    egb_lock_take_(&elr_multi_lock);
    best = elr_best(first, size);
    if (best == NULL) {
        const size_t units = (size + ELR_EXTRA_UNIT - 1) / ELR_EXTRA_UNIT;
        best               = elr_add_size(first, units * ELR_EXTRA_UNIT, true);
    }
    egb_lock_give_(&elr_multi_lock);
    return best;
}

static egb_elr_record* elr_make_common(void)
{
    static const size_t sizes[] = {
        64, 96, 128, 192, 256, 384, 512, 768, 1024, 1280, 1536, 1792, 2048
    };
    egb_pool parent;
    return egb_elr_parent_(NULL, &parent, NULL)
               ? elr_make_multi(parent, sizes, sizeof sizes / sizeof *sizes, NULL, NULL)
               : NULL;
}

static egb_elr_record* elr_common_pool(void)
{
    egb_elr_record* common = __atomic_load_n(&elr_common, __ATOMIC_ACQUIRE);
    if (common == NULL) {
        egb_lock_take_(&elr_multi_lock);
        common = elr_common;
        if (common == NULL) {
            common = elr_make_common();
            __atomic_store_n(&elr_common, common, __ATOMIC_RELEASE);
        }
        egb_lock_give_(&elr_multi_lock);
    }
    return common;
}

void egb_elr_forget_multi_(void)
{
    __atomic_store_n(&elr_common, NULL, __ATOMIC_RELEASE);
}

void* elr_mpl_alloc_multi(elr_mpl_ht pool, size_t size)
{
    egb_pool              native;
    egb_elr_record* const first =
        pool == NULL ? elr_common_pool() : egb_elr_find_(pool, &native, EGB_CALLER());
    const egb_elr_record* const best = first == NULL ? NULL : elr_best_or_extra(first, size);
    return best == NULL ? NULL : egb_elr_take_(best, egb_elr_pool_of_(best));
}
