// SPDX-License-Identifier: MIT
// Layer faces, compatibility: D. Lafreniere's stl_allocator, on pools. C++ only.
//
// Nodes of up to 512 bytes come from a pool of their size, everything else from xmalloc().
#ifndef _STL_ALLOCATOR_H
#define _STL_ALLOCATOR_H

#include "stl_nodes.h"
#include "xallocator.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

/// Ends the thread's node cache with the thread.
struct egb_xnodes_ender_ {
    egb_xnodes_ender_() {}
    egb_xnodes_ender_(const egb_xnodes_ender_&)            = delete;
    egb_xnodes_ender_& operator=(const egb_xnodes_ender_&) = delete;

    ~egb_xnodes_ender_()
    {
        egb_xnodes_end_();
    }
};

/// For a node that the thread's table does not take: there is no table yet, or no room in it.
EGB_COLD inline void egb_xnode_free_cold_(std::size_t step, void* node) noexcept
{
    if (egb_xnodes_begin_()) {
        static thread_local egb_xnodes_ender_ ender;
        (void)ender;
    }
    egb_xnode_free_(step, node);
}

/// Nodes of one size.
template <std::size_t Step>
struct egb_xnode_source_ {
    EGB_ALWAYS_INLINE static void* alloc() noexcept
    {
#if !defined(_WIN32)
        egb_xnodes_* const nodes = egb_xnodes_here_ + Step;
        egb_xnode_* const  node  = nodes->newest;
        if (EGB_LIKELY(node != nullptr)) {
            nodes->newest = node->next;
            nodes->room++;
            return node;
        }
#endif
        return egb_xnode_new_(Step);
    }

    EGB_ALWAYS_INLINE static void free(void* block) noexcept
    {
#if !defined(_WIN32)
        egb_xnodes_* const nodes = egb_xnodes_here_ + Step;
        if (EGB_LIKELY(nodes->room != 0)) {
            egb_xnode_* const node = static_cast<egb_xnode_*>(block);
            node->next             = nodes->newest;
            nodes->newest          = node;
            nodes->room--;
            return;
        }
#endif
        egb_xnode_free_cold_(Step, block);
    }
};

template <typename T>
class stl_allocator;

template <>
class stl_allocator<void>
{
  public:
    typedef void*       pointer;
    typedef const void* const_pointer;
    typedef void        value_type;

    template <class U>
    struct rebind {
        typedef stl_allocator<U> other;
    };
};

/// An allocator for the containers of the C++ library. All are equal.
///
/// Threads  As for containers: one thread at a time. One thread may fill a container and another
///          one may empty it.
template <typename T>
class stl_allocator
{
  public:
    typedef std::size_t    size_type;
    typedef std::ptrdiff_t difference_type;
    typedef T*             pointer;
    typedef const T*       const_pointer;
    typedef T&             reference;
    typedef const T&       const_reference;
    typedef T              value_type;

    template <class U>
    struct rebind {
        typedef stl_allocator<U> other;
    };

    stl_allocator() noexcept = default;

    template <class U>
    stl_allocator(const stl_allocator<U>&) noexcept
    {
    }

    /// Returns room for `n` objects, aligned for them. Without memory it calls the new-handler;
    /// with no handler it throws std::bad_alloc. Throws std::bad_array_new_length if `n` is too
    /// large for any memory.
    EGB_ALWAYS_INLINE pointer allocate(size_type n, const void* hint = nullptr)
    {
        (void)hint;
        if (is_node && EGB_LIKELY(n == 1)) {
            void* const node = egb_xnode_source_<step>::alloc();
            return static_cast<pointer>(EGB_LIKELY(node != nullptr) ? node : allocate_many(1));
        }
        return static_cast<pointer>(allocate_many(n));
    }

    /// Gives the memory of allocate(n) back.
    EGB_ALWAYS_INLINE void deallocate(pointer p, size_type n) noexcept
    {
        if (is_node && EGB_LIKELY(n == 1 && p != nullptr)) {
            egb_xnode_source_<step>::free(p);
            return;
        }
        xfree(p);
    }

    /// Older programs call these by name.
    pointer address(reference object) const noexcept
    {
        return std::addressof(object);
    }

    const_pointer address(const_reference object) const noexcept
    {
        return std::addressof(object);
    }

    size_type max_size() const noexcept
    {
        return PTRDIFF_MAX / sizeof(T);
    }

    template <class U, class... Args>
    void construct(U* place, Args&&... args)
    {
        ::new (static_cast<void*>(place)) U(std::forward<Args>(args)...);
    }

    template <class U>
    void destroy(U* object)
    {
        object->~U();
    }

  private:
    static constexpr std::size_t bytes =
        sizeof(T) < sizeof(egb_xnode_) ? sizeof(egb_xnode_) : sizeof(T);
    static constexpr bool        is_node = bytes <= EGB_XNODE_BYTES_MAX_ && alignof(T) <= 16;
    static constexpr std::size_t step =
        is_node ? (bytes + EGB_XNODE_STEP_BYTES_ - 1) / EGB_XNODE_STEP_BYTES_ : 0;

    static void* allocate_many(size_type n)
    {
        if (n > PTRDIFF_MAX / sizeof(T)) {
#if defined(__cpp_exceptions)
            throw std::bad_array_new_length();
#else
            std::abort();
#endif
        }
        return egb_xnew_(n * sizeof(T), alignof(T));
    }
};

template <typename T, typename U>
inline bool operator==(const stl_allocator<T>&, const stl_allocator<U>&) noexcept
{
    return true;
}

template <typename T, typename U>
inline bool operator!=(const stl_allocator<T>&, const stl_allocator<U>&) noexcept
{
    return false;
}

#endif  // _STL_ALLOCATOR_H
