/* SPDX-License-Identifier: MIT */
/* Layer faces: the interface of elr_mpl, old and new, on eggbox pools. Put this folder on the
 * include path and link eggbox-compat and eggbox: programs for elr_mpl compile and run unchanged.
 *
 *     elr_mpl_t pool = elr_mpl_create(NULL, 256);     // or (NULL, 256, on_alloc, on_free)
 *     void*     mem  = elr_mpl_alloc(&pool);
 *     elr_mpl_free(mem);
 *     elr_mpl_destroy(&pool);
 *
 * Pools form a tree: a pool is destroyed with its parent. Every call checks its handle, in every
 * build. A handle never leads to another pool, whatever was destroyed and made since.
 *
 * docs/guide/migrate.md lists the improvements and the native name of each call. This header and
 * elr_mtx.h are for C89, too: hence the style of their comments.
 *
 * Blocks   At least obj_size bytes, aligned to 16 (to 8 for up to 8 bytes). A block is all zero
 *          when it is handed out for the first time; later it has its old contents.
 * Threads  Any thread may make any call at any time, whichever function made the pool. For
 *          elr_mpl_finalize() see there. Callbacks run with no lock held: they may use any pool.
 * Fork     Both sides may go on. The child may call elr_mpl_init() and elr_mpl_finalize(), and use
 *          new sizes of elr_mpl_alloc_multi(), only if no other thread was inside such a call.
 * Misuse   is refused, and goes to eggbox's handler (eggbox/misuse.h), which by default reports it
 *          on stderr. NULL is allowed everywhere.
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

#if defined(__GNUC__)
  #define ELR_UNUSED_ __attribute__((unused))
#else
  #define ELR_UNUSED_
#endif

/* Programs built elr_mpl with ELR_MPL_EXPORTS or _IMPORTS. Here these have no effect: the functions
 * are in the library eggbox-compat, however that is linked.
 */
#define ELR_MPL_API
#define ELR_MPL_LOCAL ELR_HELPER_LIB_LOCAL

#if defined(__cplusplus)
extern "C" {
#endif

/** Called with a block: after it was taken, or before it is given back. */
typedef void (*elr_mpl_callback)(void*);

/** A handle. It may be copied; its members are private. */
typedef struct __elr_mpl_t {
    void* pool; /* NULL: no pool */
    int   tag;  /* its number among the pools of this place */
} elr_mpl_t, *elr_mpl_ht;

/** The handle of no pool. It initialises a handle, at file scope too, and can be assigned. */
#if defined(__cplusplus)
/* The later library had a variable; programs pass its address. */
static elr_mpl_t elr_mpl_initializer_ ELR_UNUSED_ = {NULL, 0};
  #define ELR_MPL_INITIALIZER elr_mpl_initializer_
#elif defined(__GNUC__) && __GNUC__ >= 8 && !defined(__clang__)
/* No literal serves both purposes with gcc's -Wpedantic, but a constant does. */
static const elr_mpl_t elr_mpl_initializer_ ELR_UNUSED_ = {NULL, 0};
  #define ELR_MPL_INITIALIZER elr_mpl_initializer_
#elif defined(__GNUC__)
  #define ELR_MPL_INITIALIZER __extension__(elr_mpl_t){NULL, 0}
#else
  #define ELR_MPL_INITIALIZER {NULL, 0}
#endif

/** Makes the module ready. Each call needs one of elr_mpl_finalize().
 *
 * Returns  not 0; 0 if the system refused memory, or no more pools can be made. Then no
 *          elr_mpl_finalize() must follow.
 */
int elr_mpl_init(void);

/** Ends the module if it was called as often as elr_mpl_init(): destroys all remaining pools. Extra
 * calls have no effect. Other threads must not use blocks any more.
 */
void elr_mpl_finalize(void);

/** Makes a pool of blocks of `obj_size` bytes. Memory alone limits their number. The callbacks may
 * be NULL, or omitted: the older interface had two arguments.
 *
 * `fpool`     the parent, with which the pool is destroyed; NULL: the root of all pools.
 * `on_alloc`  called with each block after it was taken.
 * `on_free`   called with each block before it is given back, and with each block in use when the
 *             pool is destroyed.
 * Returns  the handle; {NULL, 0} if elr_mpl_init() was not called, `*fpool` is no pool, `obj_size`
 *          is too large for any pool, the system refused, or there are 65,535 pools.
 * Misuse   EGB_MISUSE_STALE: `*fpool` was destroyed.
 * Cost     touches no block.
 */
elr_mpl_t elr_mpl_create(
    elr_mpl_ht fpool, size_t obj_size, elr_mpl_callback on_alloc, elr_mpl_callback on_free
);

/** The same function under its names in other versions. */
elr_mpl_t elr_mpl_create_ex(
    elr_mpl_ht fpool, size_t obj_size, elr_mpl_callback on_alloc, elr_mpl_callback on_free
);
elr_mpl_t elr_mpl_create_sync(
    elr_mpl_ht fpool, size_t obj_size, elr_mpl_callback on_alloc, elr_mpl_callback on_free
);

/** Makes a pool of blocks of several sizes, for elr_mpl_alloc_multi(). elr_mpl_alloc() takes blocks
 * of the first size.
 *
 * `obj_size`  `obj_size_count` sizes, in any order.
 * Returns  as elr_mpl_create(); {NULL, 0} also if no size is given.
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

/** The same, with the argument order of intermediate versions. elr_mpl_create_multi_2() takes the
 * sizes themselves, and so does elr_mpl_create_multi() if its second argument is no number; in C
 * these sizes must be less than 4 GiB, of type int or size_t.
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

/** Returns 1 if the pool of a handle exists, 0 if it was destroyed or never made. NULL: 0. The call
 * reports nothing, takes no lock, and never reads memory that was given back.
 */
int elr_mpl_avail(elr_mpl_ht pool);

/** Takes a block.
 *
 * Returns  the block; NULL if the system refused memory, or the pool does not exist.
 * Misuse   EGB_MISUSE_STALE: the pool was destroyed.
 * Cost     O(1), as egb_pool_alloc(), plus the callback.
 */
void* elr_mpl_alloc(elr_mpl_ht pool);

/** Takes a block of at least `size` bytes. The smallest size of the pool that is large enough
 * serves. If there is none, the pool adds a size: `size` rounded up to whole KiB. Such an added
 * size also serves other requests that waste less than an eighth of their own size, or less than 1
 * KiB.
 *
 * `pool`   made by elr_mpl_create_multi() or a variant of it; NULL: a pool of the module's own.
 * Returns  as elr_mpl_alloc(); NULL also if `size` is too large for any pool, or if the pool was
 *          made with elr_mpl_create() and `size` is more than its size.
 * Cost     O(sizes of the pool); for a new size a pool is made.
 */
void* elr_mpl_alloc_multi(elr_mpl_ht pool, size_t size);

/** Returns the size for which the pool of a block was made; 0 if `mem` is NULL or no block. */
size_t elr_mpl_size(void* mem);

/** Gives a block of any pool back. NULL: no effect.
 *
 * Misuse   as egb_free(): foreign pointers, pointers into a block and double frees are always
 *          found. on_free is not called then.
 * Cost     O(1), plus the callback. While there is a pool with an on_free, one look more at the
 *          pool of each block.
 */
void elr_mpl_free(void* mem);

/** Destroys a pool and its descendants, children first, and sets `*pool` to {NULL, 0}. Blocks in
 * use end with their pool, each after the pool's on_free. No effect if the pool does not exist.
 */
void elr_mpl_destroy(elr_mpl_ht pool);

/* ---- private: calls with fewer or other arguments ------------------------------------------ */

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

  /* An omitted callback is NULL: the arguments slide to the left. */
  #define elr_mpl_create(...) ELR_MPL_CREATE_(__VA_ARGS__, NULL, NULL, ~)
  #define ELR_MPL_CREATE_(fpool, obj_size, on_alloc, on_free, ...) \
      (elr_mpl_create)((fpool), (obj_size), (on_alloc), (on_free))

  /* The sizes themselves follow if the second argument is a callback. */
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
