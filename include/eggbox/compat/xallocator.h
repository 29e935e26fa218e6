// SPDX-License-Identifier: MIT
// Layer faces, compatibility: the xallocator of D. Lafreniere, on pools. For C and C++.
//
// Classes of blocks are as there: a block is `size` and 8 bytes, rounded up to a power of two, or
// to 396 or 768. Here these 8 bytes are the caller's. Each class has a pool; requests of more than
// 65528 bytes are regions of the heap. Blocks are aligned to 16 bytes.
//
// Threads  Any thread, any call but xalloc_destroy(), at any time, static constructors and
//          destructors included. No lock while the thread's magazine of the class serves the call.
// Memory   that is free, of a class from which nothing was taken for a second or two, goes back to
//          the system: now and then a call that had to go further than its thread's magazine looks.
#ifndef _XALLOCATOR_H
#define _XALLOCATOR_H

#include "DataTypes.h"

#include <stddef.h>

#if defined(__cplusplus)
// A program may include this file in an extern "C" of its own.
extern "C++" {
  #include <cstdlib>
  #include <cstring>
  #include <iostream>
  #include <new>
}
  #include "new_forms.h"

extern "C" {
#endif

/// Has no effect: there is nothing to prepare.
void xalloc_init(void);

/// Gives all memory back to the system but that of blocks in use, which remain valid. The next
/// xmalloc() begins anew. Programs need not call it.
///
/// Threads  No other thread may be inside a call of this header.
void xalloc_destroy(void);

/// Takes a block of at least `size` bytes. Of 0 bytes: a block of its own.
///
/// Returns  NULL if `size` is over PTRDIFF_MAX, or the system refused.
/// Cost     egb_pool_alloc(); of more than 65528 bytes, egb_malloc()
void* xmalloc(size_t size);

/// Gives a block back. NULL: no effect.
///
/// Misuse   as egb_free(): refused, and nothing changes.
void xfree(void* ptr);

/// Makes a block larger or smaller. It stays where it is while it is of the same class; else its
/// contents go to another. `ptr` NULL: as xmalloc(). `size` 0: as xfree(), and returns NULL.
///
/// Returns  NULL if there is no memory; then the block is as it was.
/// Misuse   as egb_free(): returns NULL, and nothing changes.
void* xrealloc(void* ptr, size_t size);

/// Writes a line for each class to stdout, of C++ programs to std::cout, in the order in which the
/// classes were first used. Exact, as long as no other thread holds free blocks of x-containers.
void xalloc_stats(void);

// For C++, which knows of alignment: as xmalloc(), aligned to more than 16 bytes.
void* egb_xmalloc_aligned_(size_t align, size_t size);

// Where xalloc_stats() writes to from now on, if it wrote to `from`; NULL: to stdout.
typedef void (*egb_xwrite_fn_)(const char* text, size_t bytes);
void egb_xstats_to_(egb_xwrite_fn_ from, egb_xwrite_fn_ to);

// Gives free memory back to the system. Other threads may go on.
void egb_xtrim_(void);

#if defined(__cplusplus)
}

inline void egb_xwrite_(const char* text, size_t bytes)
{
    std::cout.write(text, static_cast<std::streamsize>(bytes)).flush();
}

  /// Every source file that includes this header has an object of this class. The last one that
  /// ends, after all static objects of those files, gives free memory back. It does not call
  /// xalloc_destroy(): other threads may still be at work when the program ends.
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

// As operator new: calls the new-handler until there is a block, and throws std::bad_alloc.
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

  /// In a class: new and delete, of single objects and of arrays, are xmalloc() and xfree(). What
  /// follows is public. Derived classes have it, too.
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

#endif  // _XALLOCATOR_H
