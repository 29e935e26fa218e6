/* SPDX-License-Identifier: MIT */
/* Layer faces, compatibility: D. Lafreniere's xallocator, on pools. For C and C++.
 *
 * The size classes are those of the original: a block has `size` + 8 bytes, rounded up to a power
 * of two, or to 396 or 768. Here the caller may use these 8 bytes. Each class has a pool; a request
 * of more than 65528 bytes gets a region of the heap. Blocks are aligned to 16 bytes. A library
 * that was built with STATIC_POOLS has static memory alone: docs/guide/migrate.md.
 *
 * Threads  Any thread may make any call but xalloc_destroy() at any time, also from constructors
 *          and destructors of static objects. A call that the thread's magazine serves takes no
 *          lock.
 * Memory   Free memory of a class goes back to the system after a second or two in which nothing
 *          was taken from the class. Calls that no magazine serves check that now and then.
 */
#ifndef _XALLOCATOR_H
#define _XALLOCATOR_H

#include "DataTypes.h"

#include <stddef.h>

#if defined(__cplusplus)
/* A program may include this file in an extern "C" of its own. */
extern "C++" {
  #include <cstdlib>
  #include <cstring>
  #include <iostream>
  #include <new>
}
  #include "new_forms.h"

extern "C" {
#endif

/** No effect: there is nothing to prepare. */
void xalloc_init(void);

/** Gives all memory but that of blocks in use back to the system; these blocks stay valid. The next
 * xmalloc() begins anew. Programs need not call this function.
 *
 * Threads  No other thread may be inside a call of this header.
 */
void xalloc_destroy(void);

/** Takes a block of at least `size` bytes. `size` 0 gets a block, too.
 *
 * Returns  the block; NULL if `size` is over PTRDIFF_MAX - 8, or the system refused.
 * Cost     egb_pool_alloc(); of more than 65528 bytes, egb_malloc()
 */
void* xmalloc(size_t size);

/** Gives a block back. NULL: no effect.
 *
 * Misuse   as egb_free(): refused, and nothing changes.
 */
void xfree(void* ptr);

/** Resizes a block. The block stays in place if `size` fits and is more than half of its room;
 * otherwise the contents move, unless a region of the heap can be resized. `ptr` NULL: as
 * xmalloc(). `size` 0: as xfree(), and returns NULL.
 *
 * Returns  the block; NULL if there is no memory: then the old block is unchanged.
 * Misuse   as egb_free(): returns NULL, and nothing changes.
 */
void* xrealloc(void* ptr, size_t size);

/** Writes a line for each class that was used, in the order of first use, to stdout, or in C++
 * programs to std::cout. Blocks In Use is exact unless other threads keep free nodes of
 * x-containers; Block Count may be a few too large.
 */
void xalloc_stats(void);

/* For C++ types of larger alignment: as xmalloc(), aligned to more than 16 bytes. */
void* egb_xmalloc_aligned_(size_t align, size_t size);

/* If xalloc_stats() writes to `from`, it writes to `to` from now on. NULL: stdout. */
typedef void (*egb_xwrite_fn_)(const char* text, size_t bytes);
void egb_xstats_to_(egb_xwrite_fn_ from, egb_xwrite_fn_ to);

/* Gives free memory back to the system. Other threads may go on. */
void egb_xtrim_(void);

#if defined(__cplusplus)
}

inline void egb_xwrite_(const char* text, size_t bytes)
{
    std::cout.write(text, static_cast<std::streamsize>(bytes)).flush();
}

  /** Every source file that includes this header has an object of this class. The last one to end,
   * after all static objects of those files, gives free memory back to the system. It does not
   * call xalloc_destroy(), because other threads may still be running when the program ends.
   */
  #define AUTOMATIC_XALLOCATOR_INIT_DESTROY
class XallocInitDestroy
{
  public:
    XallocInitDestroy()
    {
        if (count()++ == 0) {
            xalloc_init();
            egb_xstats_to_(NULL, egb_xwrite_);
        }
    }

    XallocInitDestroy(const XallocInitDestroy&)            = delete;
    XallocInitDestroy& operator=(const XallocInitDestroy&) = delete;

    ~XallocInitDestroy()
    {
        if (--count() == 0) {
            egb_xstats_to_(egb_xwrite_, NULL);
            egb_xtrim_();
        }
    }

  private:
    static INT& count()
    {
        static INT objects = 0;
        return objects;
    }
};
static XallocInitDestroy xallocInitDestroy;

/* As operator new: calls the new-handler until there is a block, and throws std::bad_alloc. */
inline void* egb_xnew_(size_t size, size_t align)
{
    for (;;) {
        void* const block = align <= 16 ? xmalloc(size) : egb_xmalloc_aligned_(align, size);
        if (block != NULL) {
            return block;
        }
        const std::new_handler handler = std::get_new_handler();
        if (handler == NULL) {
  #if defined(__cpp_exceptions)
            throw std::bad_alloc();
  #else
            std::abort();
  #endif
        }
        handler();
    }
}

  /** In a class: new and delete of objects and of arrays use xmalloc() and xfree(). Members after
   * this macro are public. Derived classes inherit the operators.
   */
  #define XALLOCATOR                         \
    public:                                  \
      EGB_XALLOCATOR_FORMS_(new, delete)     \
      EGB_XALLOCATOR_FORMS_(new[], delete[])

  #define EGB_XALLOCATOR_FORMS_(make, end)                         \
      static void* operator make(size_t size)                      \
      {                                                            \
          return egb_xnew_(size, 1);                               \
      }                                                            \
      template <class Tag, egb_if_nothrow_<Tag> = 0>               \
      static void* operator make(size_t size, const Tag&) noexcept \
      {                                                            \
          return xmalloc(size);                                    \
      }                                                            \
      template <class Place>                                       \
      static void* operator make(size_t, Place * place) noexcept   \
      {                                                            \
          return place;                                            \
      }                                                            \
      static void operator end(void* block) noexcept               \
      {                                                            \
          xfree(block);                                            \
      }                                                            \
      template <class Tag, egb_if_nothrow_<Tag> = 0>               \
      static void operator end(void* block, const Tag&) noexcept   \
      {                                                            \
          xfree(block);                                            \
      }                                                            \
      template <class Place>                                       \
      static void operator end(void*, Place*) noexcept             \
      {                                                            \
      }                                                            \
      EGB_XALLOCATOR_ALIGNED_(make, end)

  #if defined(__cpp_aligned_new)
    #define EGB_XALLOCATOR_ALIGNED_(make, end)                           \
        static void* operator make(size_t size, std::align_val_t align)  \
        {                                                                \
            return egb_xnew_(size, static_cast<size_t>(align));          \
        }                                                                \
        static void operator end(void* block, std::align_val_t) noexcept \
        {                                                                \
            xfree(block);                                                \
        }
  #else
    #define EGB_XALLOCATOR_ALIGNED_(make, end)
  #endif
#endif

#endif /* _XALLOCATOR_H */
