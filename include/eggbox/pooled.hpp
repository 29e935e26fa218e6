// SPDX-License-Identifier: MIT
// Layer faces: class operator new and delete from pools.
#ifndef EGGBOX_POOLED_HPP
#define EGGBOX_POOLED_HPP

#include "cpp17.hpp"

#if EGB_HAS_CPP17_

  #include "heap.hpp"

  #include <cstddef>
  #include <cstdint>
  #include <new>

EGB_QUIET_BEGIN_

namespace eggbox
{

/// The source of blocks of any size for operator new: the heap of the process.
struct frame_source_ {
    [[nodiscard]] EGB_ALWAYS_INLINE static void*
    alloc(std::size_t bytes, std::size_t align) noexcept
    {
        return align <= 16 ? egb_malloc(bytes) : egb_aligned_alloc(align, bytes);
    }
};

/// The source of blocks for objects of type T: one pool of exactly their size, with the name of T,
/// made with the first object, and kept until the process ends. Requests of another size - an
/// object of a derived class, an array - go to the heap of the process. A class whose objects are
/// larger than 64 KiB, or aligned to more than a page, has no pool: all its objects come from the
/// heap.
template <class T>
class class_source_
{
  public:
    [[nodiscard]] EGB_ALWAYS_INLINE static void*
    alloc(std::size_t bytes, std::size_t align) noexcept
    {
        if (!has_pool() || bytes != sizeof(T) || align > alignof(T)) {
            return frame_source_::alloc(bytes, align);
        }
        void* block;
        return EGB_LIKELY(egb_pool_pop_(EGB_LOAD_(key_), &block)) ? block : alloc_cold();
    }

    /// The pool, for calls of pool.h. The null pool before the first object.
    [[nodiscard]] static egb_pool pool() noexcept
    {
        return pool_at_(&key_);
    }

  private:
    // Large objects do better in the heap, which keeps freed regions for the next object.
    static constexpr bool has_pool() noexcept
    {
        return sizeof(T) <= EGB_HEAP_CLASS_BYTES_MAX && alignof(T) <= heap::align_max;
    }

    EGB_COLD static void* alloc_cold() noexcept
    {
        egb_pool known = pool();
        if (known.generation == 0) {
            egb_pool_options options{};
            char             name[48];
            options.name        = name_of(name, sizeof name);
            options.block_bytes = sizeof(T);
            options.block_align = alignof(T);
            known               = make_once_(&key_, options);
        }
        return known.generation == 0 ? nullptr : egb_pool_alloc(known);
    }

    // The compiler's text for this function ends in "T = name]", perhaps with "; ..." behind. The
    // function has no template parameters of its own: clang would list them, behind a comma.
    static const char* name_of(char* name, std::size_t room) noexcept
    {
  #if EGB_HAS_GNU_C_
        const char* from = __PRETTY_FUNCTION__;
        while (from[0] != '\0' && !(from[0] == 'T' && from[1] == ' ' && from[2] == '=')) {
            from++;
        }
        from += from[0] == '\0' ? 0 : 4;
        std::size_t used = 0;
        while (used + 1 < room && *from != '\0' && *from != ']' && *from != ';') {
            name[used++] = *from++;
        }
        name[used] = '\0';
        return used == 0 ? "pooled" : name;
  #else
        (void)name;
        (void)room;
        return "pooled";
  #endif
    }

    alignas(8) static inline std::uint64_t key_ = 0;  // atomic
};

/// Asks a source as operator new does: again after each call of the new-handler; without a
/// new-handler it throws std::bad_alloc.
template <class Source>
EGB_INLINE void* alloc_or_throw_(std::size_t bytes, std::size_t align = 1)
{
    void* block = Source::alloc(bytes, align);
    while (EGB_UNLIKELY(block == nullptr)) {
        const std::new_handler handler = std::get_new_handler();
        if (handler == nullptr) {
            throw_bad_alloc_();
        }
        handler();
        block = Source::alloc(bytes, align);
    }
    return block;
}

  // Every form of class operator new and delete. An address leads to its pool, and delete therefore
  // needs neither size nor class: it is right through a pointer to a base, too. The placement forms
  // are here because the operators of a class hide the global ones.
  #define EGB_OPERATORS_FROM_(...)                                                               \
      static void* operator new(std::size_t bytes)                                               \
      {                                                                                          \
          return ::eggbox::alloc_or_throw_<__VA_ARGS__>(bytes);                                  \
      }                                                                                          \
      static void* operator new(std::size_t bytes, std::align_val_t align)                       \
      {                                                                                          \
          return ::eggbox::alloc_or_throw_<__VA_ARGS__>(bytes, static_cast<std::size_t>(align)); \
      }                                                                                          \
      static void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept               \
      {                                                                                          \
          return __VA_ARGS__::alloc(bytes, 1);                                                   \
      }                                                                                          \
      static void*                                                                               \
      operator new(std::size_t bytes, std::align_val_t align, const std::nothrow_t&) noexcept    \
      {                                                                                          \
          return __VA_ARGS__::alloc(bytes, static_cast<std::size_t>(align));                     \
      }                                                                                          \
      static void* operator new(std::size_t, void* place) noexcept                               \
      {                                                                                          \
          return place;                                                                          \
      }                                                                                          \
      static void* operator new[](std::size_t bytes)                                             \
      {                                                                                          \
          return ::eggbox::alloc_or_throw_<__VA_ARGS__>(bytes);                                  \
      }                                                                                          \
      static void* operator new[](std::size_t bytes, std::align_val_t align)                     \
      {                                                                                          \
          return ::eggbox::alloc_or_throw_<__VA_ARGS__>(bytes, static_cast<std::size_t>(align)); \
      }                                                                                          \
      static void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept             \
      {                                                                                          \
          return __VA_ARGS__::alloc(bytes, 1);                                                   \
      }                                                                                          \
      static void*                                                                               \
      operator new[](std::size_t bytes, std::align_val_t align, const std::nothrow_t&) noexcept  \
      {                                                                                          \
          return __VA_ARGS__::alloc(bytes, static_cast<std::size_t>(align));                     \
      }                                                                                          \
      static void* operator new[](std::size_t, void* place) noexcept                             \
      {                                                                                          \
          return place;                                                                          \
      }                                                                                          \
      EGB_DELETE_FORMS_(delete)                                                                  \
      EGB_DELETE_FORMS_(delete[])

  #define EGB_DELETE_FORMS_(name)                                                              \
      static void operator name(void* block) noexcept                                          \
      {                                                                                        \
          egb_free(block);                                                                     \
      }                                                                                        \
      static void operator name(void* block, std::size_t) noexcept                             \
      {                                                                                        \
          egb_free(block);                                                                     \
      }                                                                                        \
      static void operator name(void* block, std::align_val_t) noexcept                        \
      {                                                                                        \
          egb_free(block);                                                                     \
      }                                                                                        \
      static void operator name(void* block, std::size_t, std::align_val_t) noexcept           \
      {                                                                                        \
          egb_free(block);                                                                     \
      }                                                                                        \
      static void operator name(void* block, const std::nothrow_t&) noexcept                   \
      {                                                                                        \
          egb_free(block);                                                                     \
      }                                                                                        \
      static void operator name(void* block, std::align_val_t, const std::nothrow_t&) noexcept \
      {                                                                                        \
          egb_free(block);                                                                     \
      }                                                                                        \
      static void operator name(void*, void*) noexcept {}

/// Gives a class operator new and delete from a pool of its own.
///
///     class order : public eggbox::pooled<order> { ... };
///
///     order* o = new order;   // from the pool "order"
///     delete o;
///
/// All forms exist: single and array, nothrow, aligned, sized. Derived classes inherit them: their
/// objects come from the heap. A derived class has a pool of its own if it also derives from
/// pooled<itself>, and chooses between the operators of both bases:
///
///     class large_order : public order, public eggbox::pooled<large_order> {
///         EGGBOX_POOLED(large_order)
///     };
///
/// Only the nothrow forms return nullptr; the others call the new-handler, and throw
/// std::bad_alloc.
template <class Derived>
struct pooled {
    EGB_OPERATORS_FROM_(::eggbox::class_source_<Derived>)

    /// The pool: its numbers are those of the class. The null pool before the first object, and for
    /// classes without a pool.
    [[nodiscard]] static egb_pool pool() noexcept
    {
        return class_source_<Derived>::pool();
    }
};

  /// The same as a line in the class, for a class that cannot derive. Members after it are public.
  #define EGGBOX_POOLED(type)                            \
    public:                                              \
      EGB_OPERATORS_FROM_(::eggbox::class_source_<type>)

/// Frames of coroutines from the heap of the process: the base of a promise type.
///
///     struct task {
///         struct promise_type : eggbox::pooled_frame { ... };
///     };
///
/// A frame's size is known to the compiler alone; each size has its class.
///
/// A coroutine passes its own parameters to operator new of its promise if they fit. The placement
/// form of pooled<T> would put the frame of a coroutine with one pointer there: hence this class
/// has no form with a parameter that a coroutine may have, and pooled<T> is not for promises.
struct pooled_frame {
    static void* operator new(std::size_t bytes)
    {
        return alloc_or_throw_<frame_source_>(bytes);
    }

    static void* operator new(std::size_t bytes, std::align_val_t align)
    {
        return alloc_or_throw_<frame_source_>(bytes, static_cast<std::size_t>(align));
    }

    static void operator delete(void* block) noexcept
    {
        egb_free(block);
    }

    static void operator delete(void* block, std::align_val_t) noexcept
    {
        egb_free(block);
    }
};

/// The same for promises with get_return_object_on_allocation_failure(): nothing is thrown.
struct pooled_frame_nothrow {
    [[nodiscard]] static void* operator new(std::size_t bytes) noexcept
    {
        return frame_source_::alloc(bytes, 1);
    }

    static void operator delete(void* block) noexcept
    {
        egb_free(block);
    }
};

}  // namespace eggbox

EGB_QUIET_END_

#endif  // EGB_HAS_CPP17_

#endif  // EGGBOX_POOLED_HPP
