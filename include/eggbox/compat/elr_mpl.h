/* SPDX-License-Identifier: MIT */
/* Layer faces: the interface of elr_mpl, old and new, on eggbox pools. Put this folder on the
 * include path and link eggbox: programs for elr_mpl compile and run as they are.
 *
 *     elr_mpl_t pool = elr_mpl_create(NULL, 256);     // or (NULL, 256, on_alloc, on_free)
 *     void*     mem  = elr_mpl_alloc(&pool);
 *     elr_mpl_free(mem);
 *     elr_mpl_destroy(&pool);
 *
 * Pools are a tree: a pool goes with its parent. A handle is checked by every call, in every build,
 * and never leads to another pool than its own, whatever was destroyed and made since.
 *
 * What is better than it was, and each call's native name: docs/guide/migrate.md. This header and
 * elr_mtx.h are for C89, too: hence their comments.
 *
 * Blocks   At least obj_size bytes, aligned to 16 (to 8 for up to 8 bytes). A block that is handed
 *          out for the first time is all zero; later it has what was left in it.
 * Threads  Any thread, any call, at any time, whatever the name of the function that made the pool.
 *          elr_mpl_finalize() as its own comment says. Callbacks run with no lock held: they may
 *          use any pool.
 * Fork     Both sides may go on; the child with elr_mpl_init(), elr_mpl_finalize() and new sizes of
 *          elr_mpl_alloc_multi() only if no other thread was inside one of these.
 * Misuse   goes to eggbox's handler (eggbox/check.h), which by default reports it on stderr, and is
 *          refused. NULL is tolerated everywhere.
 */
#ifndef EGGBOX_COMPAT_ELR_MPL_H
#define EGGBOX_COMPAT_ELR_MPL_H

#include <stddef.h>

#if defined(_WIN32) || defined(__CYGWIN__)
  #define ELR_HELPER_LIB_IMPORT __declspec(dllimport)
  #define ELR_HELPER_LIB_EXPORT __declspec(dllexport)
  #define ELR_HELPER_LIB_LOCAL
#elif defined(__GNUC__)
  #define ELR_HELPER_LIB_IMPORT __attribute__((visibility("default")))
  #define ELR_HELPER_LIB_EXPORT __attribute__((visibility("default")))
  #define ELR_HELPER_LIB_LOCAL  __attribute__((visibility("hidden")))
#else
  #define ELR_HELPER_LIB_IMPORT
  #define ELR_HELPER_LIB_EXPORT
  #define ELR_HELPER_LIB_LOCAL
#endif

/* The functions are in eggbox's library, however that is linked: ELR_MPL_EXPORTS and _IMPORTS, with
 * which programs built elr_mpl themselves, change nothing.
 */
#define ELR_MPL_API
#define ELR_MPL_LOCAL ELR_HELPER_LIB_LOCAL

#if defined(__cplusplus)
extern "C" {
#endif

/** Called with a block: after it was taken, or before it is given back. */
typedef void (*elr_mpl_callback)(void*);

/** A handle. Copy it as you like; its members are not the program's. */
typedef struct __elr_mpl_t {
    void* pool; /* NULL: no pool */
    int   tag;  /* which of the pools that were ever in this place */
} elr_mpl_t, *elr_mpl_ht;

/** The handle of no pool: initialises a handle, at file scope too, and can be assigned to one. */
#if defined(__cplusplus)
/* In the later library a variable, whose address programs pass. */
[[maybe_unused]] static elr_mpl_t elr_mpl_initializer_ = {NULL, 0};
  #define ELR_MPL_INITIALIZER elr_mpl_initializer_
#elif defined(__GNUC__) && __GNUC__ >= 8 && !defined(__clang__)
/* With -Wpedantic gcc has no literal for both, but takes a constant. */
static const elr_mpl_t elr_mpl_initializer_ __attribute__((unused)) = {NULL, 0};
  #define ELR_MPL_INITIALIZER elr_mpl_initializer_
#elif defined(__GNUC__)
  #define ELR_MPL_INITIALIZER __extension__(elr_mpl_t){NULL, 0}
#else
  #define ELR_MPL_INITIALIZER {NULL, 0}
#endif

/** Makes the module ready. Each call needs one of elr_mpl_finalize().
 *
 * Returns  not 0; 0 if the system refused memory, or there are no more pools to be had. Then no
 *          elr_mpl_finalize() is due.
 */
int elr_mpl_init(void);

/** Ends the module when it was called as often as elr_mpl_init(): destroys all pools that are left.
 * One call too many has no effect. Blocks must not be in use by other threads any more.
 */
void elr_mpl_finalize(void);

/** Makes a pool of blocks of `obj_size` bytes, of which there may be as many as memory allows.
 * The callbacks may be NULL, or left remote: the older interface had two arguments.
 *
 * `fpool`     the parent, which the pool is destroyed with; NULL: that of all pools.
 * `on_alloc`  called with each block that was taken.
 * `on_free`   called with each block before it is given back, and with those that are still in use
 *             when the pool is destroyed.
 * Returns  the handle; {NULL, 0} if there was no elr_mpl_init(), `*fpool` is no pool, `obj_size`
 *          is too large for any pool, the system refused, or there are 65,535 pools.
 * Misuse   EGB_EVENT_STALE: `*fpool` was destroyed.
 * Cost     touches no block.
 */
elr_mpl_t elr_mpl_create(
    elr_mpl_ht fpool, size_t obj_size, elr_mpl_callback on_alloc, elr_mpl_callback on_free
);

/** The same function under the names that other versions had for it. */
elr_mpl_t elr_mpl_create_ex(
    elr_mpl_ht fpool, size_t obj_size, elr_mpl_callback on_alloc, elr_mpl_callback on_free
);
elr_mpl_t elr_mpl_create_sync(
    elr_mpl_ht fpool, size_t obj_size, elr_mpl_callback on_alloc, elr_mpl_callback on_free
);

/** Makes a pool of blocks of several sizes, for elr_mpl_alloc_multi(). To elr_mpl_alloc() it is a
 * pool of the first size.
 *
 * `obj_size`  `obj_size_count` sizes, in any order.
 * Returns  as elr_mpl_create(); {NULL, 0} also if there is no size.
 */
elr_mpl_t elr_mpl_create_multi(
    elr_mpl_ht       fpool,
    int              obj_size_count,
    size_t*          obj_size,
    elr_mpl_callback on_alloc,
    elr_mpl_callback on_free
);
elr_mpl_t elr_mpl_create_multi_sync(
    elr_mpl_ht       fpool,
    int              obj_size_count,
    size_t*          obj_size,
    elr_mpl_callback on_alloc,
    elr_mpl_callback on_free
);

/** The same, with the arguments in the order of versions in between. elr_mpl_create_multi_2() takes
 * the sizes themselves, and so does elr_mpl_create_multi() when its second argument is no number;
 * in C it takes sizes of less than 4 GiB then, as int or as size_t.
 *
 *     elr_mpl_create_multi_2(NULL, on_alloc, on_free, 3, 64, 128, 256)
 */
elr_mpl_t elr_mpl_create_multi_1(
    elr_mpl_ht       fpool,
    elr_mpl_callback on_alloc,
    elr_mpl_callback on_free,
    int              obj_size_count,
    size_t*          obj_size
);

/** Says whether the pool of a handle is there: 1, or 0 if it was destroyed, or never made. NULL: 0.
 * Reports nothing, takes no lock, and never reads memory that was given back.
 */
int elr_mpl_avail(elr_mpl_ht pool);

/** Takes a block.
 *
 * Returns  the block; NULL if the system refused memory, or there is no pool.
 * Misuse   EGB_EVENT_STALE: the pool was destroyed.
 * Cost     O(1), as egb_pool_alloc(), and the callback.
 */
void* elr_mpl_alloc(elr_mpl_ht pool);

/** Takes a block of at least `size` bytes: of the smallest of the pool's sizes that is enough. If
 * none is, of `size` rounded up to whole KiB, for which the pool makes a size more; or of one of
 * these that is less than an eighth too large.
 *
 * `pool`   made by elr_mpl_create_multi() and its kin; NULL: one pool of the module's own.
 * Returns  as elr_mpl_alloc(); NULL also if `size` is too large for any pool, or for a pool of one
 *          size alone.
 * Cost     O(sizes of the pool); for a new size a pool is made.
 */
void* elr_mpl_alloc_multi(elr_mpl_ht pool, size_t size);

/** How many bytes the pool of a block promised. 0 for NULL, and for what is no block of a pool. */
size_t elr_mpl_size(void* mem);

/** Gives a block back, of whatever pool. NULL: no effect.
 *
 * Misuse   as egb_free(): foreign pointers, pointers into a block, double frees, for certain. Then
 *          on_free is not called.
 * Cost     O(1), and the callback; a lock from the first pool on that has an on_free.
 */
void elr_mpl_free(void* mem);

/** Destroys a pool and those below it, children first, and makes `*pool` {NULL, 0}. Their blocks in
 * use go with them, each after its pool's on_free. No effect if there is no pool, or not any more.
 */
void elr_mpl_destroy(elr_mpl_ht pool);

/* ---- private: how calls with fewer or other arguments get to the functions above ----------- */

elr_mpl_t elr_mpl_create_multi_given_(
    elr_mpl_ht       fpool,
    elr_mpl_callback on_alloc,
    elr_mpl_callback on_free,
    int              obj_size_count,
    const size_t*    obj_size,
    size_t           given
);
elr_mpl_t elr_mpl_create_multi_list_(
    elr_mpl_ht fpool, elr_mpl_callback on_alloc, elr_mpl_callback on_free, int obj_size_count, ...
);

#if defined(__cplusplus)
}

/* A program may include this file in an extern "C" of its own. */
extern "C++" {

inline elr_mpl_t elr_mpl_create(elr_mpl_ht fpool, size_t obj_size)
{
    return elr_mpl_create(fpool, obj_size, NULL, NULL);
}

template <typename... Sizes>
elr_mpl_t elr_mpl_create_multi_2(
    elr_mpl_ht       fpool,
    elr_mpl_callback on_alloc,
    elr_mpl_callback on_free,
    int              obj_size_count,
    Sizes... sizes
)
{
    const size_t list[] = {static_cast<size_t>(sizes)..., 0};
    return elr_mpl_create_multi_given_(
        fpool, on_alloc, on_free, obj_size_count, list, sizeof...(sizes)
    );
}

template <typename... Sizes>
elr_mpl_t elr_mpl_create_multi(
    elr_mpl_ht       fpool,
    elr_mpl_callback on_alloc,
    elr_mpl_callback on_free,
    int              obj_size_count,
    Sizes... sizes
)
{
    return elr_mpl_create_multi_2(fpool, on_alloc, on_free, obj_size_count, sizes...);
}

} /* extern "C++" */

#else

  /* What is left remote is NULL: the arguments slide to the left. */
  #define elr_mpl_create(...) ELR_MPL_CREATE_(__VA_ARGS__, NULL, NULL, ~)
  #define ELR_MPL_CREATE_(fpool, obj_size, on_alloc, on_free, ...) \
      (elr_mpl_create)((fpool), (obj_size), (on_alloc), (on_free))

  /* A callback as the second argument is followed by the sizes themselves. */
  #define elr_mpl_create_multi(...) ELR_MPL_MULTI_(__VA_ARGS__)
  #define ELR_MPL_MULTI_(fpool, second, ...)                    \
      ELR_MPL_MULTI_OF_(second)((fpool), (second), __VA_ARGS__)
    /* clang-format off */
  #define ELR_MPL_MULTI_OF_(second)                         \
      _Generic((second),                                    \
          elr_mpl_callback: elr_mpl_create_multi_list_,     \
          void*:            elr_mpl_create_multi_list_,     \
          default:          (elr_mpl_create_multi))
    /* clang-format on */

  #define elr_mpl_create_multi_2(fpool, on_alloc, on_free, obj_size_count, ...) \
      elr_mpl_create_multi_given_(                                              \
          (fpool),                                                              \
          (on_alloc),                                                           \
          (on_free),                                                            \
          (obj_size_count),                                                     \
          (const size_t[]){__VA_ARGS__},                                        \
          sizeof((const size_t[]){__VA_ARGS__}) / sizeof(size_t)                \
      )

#endif

#endif /* EGGBOX_COMPAT_ELR_MPL_H */
