// SPDX-License-Identifier: MIT
// Layer faces: pools for the containers and smart pointers of the C++ library.
#ifndef EGGBOX_ALLOCATOR_HPP
#define EGGBOX_ALLOCATOR_HPP

#include "cpp17.hpp"

#if EGB_HAS_CPP17_

  #include "heap.hpp"

  #include <cstddef>
  #include <cstdint>
  #include <memory>
  #include <new>
  #include <type_traits>
  #include <utility>

  #if defined(__has_include)
    #if __has_include(<version>)
      #include <version>
    #endif
  #endif

EGB_QUIET_BEGIN_

namespace eggbox
{

  /// The result of allocate_at_least(): the type of C++23 if the C++ library has it.
  #if defined(__cpp_lib_allocate_at_least) && __cpp_lib_allocate_at_least >= 202302L
template <class Pointer>
using allocation_result = std::allocation_result<Pointer, std::size_t>;
  #else
template <class Pointer>
struct allocation_result {
    Pointer     ptr;
    std::size_t count;
};
  #endif

/// An allocator for containers: from the heap of the process, or from a heap of your own.
///
///     std::map<int, int, std::less<int>, eggbox::allocator<std::pair<const int, int>>> scores;
///
///     eggbox::heap level;
///     std::list<int, eggbox::allocator<int>> frames(level);   // ends before the heap does
///
/// There is one type for both: the containers have the same type, too. An allocator made without
/// arguments uses the heap of the process, and equals every other such allocator.
///
/// Containers that are moved or swapped take their allocator along: neither copies. A container
/// that is assigned a copy keeps its own allocator; a new copy has the allocator of the original.
///
/// Threads  Any: as a container, one at a time; as a heap, all.
template <class T>
class allocator
{
  public:
    using value_type                             = T;
    using size_type                              = std::size_t;
    using difference_type                        = std::ptrdiff_t;
    using is_always_equal                        = std::false_type;
    using propagate_on_container_copy_assignment = std::false_type;
    using propagate_on_container_move_assignment = std::true_type;
    using propagate_on_container_swap            = std::true_type;

    static_assert(!std::is_const_v<T>, "objects in a container are made and destroyed");

    constexpr allocator() noexcept = default;

    /// Uses a heap, which must live longer.
    constexpr allocator(heap& of) noexcept : heap_(&of) {}

    template <class U>
    constexpr allocator(const allocator<U>& other) noexcept : heap_(other.get_heap())
    {
    }

    /// Room for `count` objects, aligned for them. Throws std::bad_alloc if there is no block, and
    /// std::bad_array_new_length if the size is beyond the address space.
    [[nodiscard]] EGB_ALWAYS_INLINE T* allocate(std::size_t count)
    {
        void* block;
        if (EGB_LIKELY(count == 1) && EGB_LIKELY(pop_one(&block))) {
            return static_cast<T*>(block);
        }
        return allocate_other(count);
    }

    /// Gives a block back, with any count from the one requested to the one obtained.
    EGB_ALWAYS_INLINE void deallocate(T* objects, std::size_t count) noexcept
    {
        if (heap_ == nullptr) {
            egb_free(objects);
        } else if (EGB_LIKELY(count == 1)) {
            heap_->free(objects, sizeof(T), alignof(T));
        } else {
            deallocate_other(objects, count);
        }
    }

    /// As allocate(), and returns the number of objects that the whole block has room for.
    [[nodiscard]] allocation_result<T*> allocate_at_least(std::size_t count)
    {
        T* const          objects = allocate(count);
        const std::size_t room    = room_of(objects, count * sizeof(T)) / sizeof(T);
        return {objects, room > count ? room : count};
    }

    /// The allocator's heap; nullptr: the heap of the process.
    [[nodiscard]] constexpr heap* get_heap() const noexcept
    {
        return heap_;
    }

    template <class U>
    friend constexpr bool operator==(const allocator& one, const allocator<U>& other) noexcept
    {
        return one.get_heap() == other.get_heap();
    }

    template <class U>
    friend constexpr bool operator!=(const allocator& one, const allocator<U>& other) noexcept
    {
        return one.get_heap() != other.get_heap();
    }

  private:
    static constexpr std::size_t heap_align = 16;  // every block of the process's heap has it

    // The whole cost of a container's node: its size is a constant, and all that follows from it is
    // constant too. Small enough for compilers to inline.
    EGB_ALWAYS_INLINE bool pop_one(void** block) const noexcept
    {
        constexpr bool is_small = sizeof(T) <= EGB_HEAP_SMALL_BYTES_ && alignof(T) <= heap_align;
        if constexpr (is_small) {
            constexpr std::size_t      step  = (sizeof(T) + heap_align - 1) / heap_align;
            const std::uint64_t* const place = heap_ != nullptr
                                                   ? heap_->place_for_(sizeof(T), alignof(T))
                                                   : &egb_heap_small_[step];
            return egb_pool_pop_(EGB_LOAD_(*place), block);
        } else {
            return false;
        }
    }

    // More than one object, a large one, or no block at hand.
    T* allocate_other(std::size_t count)
    {
        const bool  is_possible = count <= PTRDIFF_MAX / sizeof(T);
        void* const block       = is_possible ? alloc(count * sizeof(T)) : nullptr;
        if (EGB_UNLIKELY(block == nullptr)) {
            refuse(is_possible);
        }
        return static_cast<T*>(block);
    }

    void* alloc(std::size_t bytes) const noexcept
    {
        if (heap_ != nullptr) {
            return heap_->alloc(bytes, alignof(T));
        }
        return alignof(T) > heap_align ? egb_aligned_alloc(alignof(T), bytes) : egb_malloc(bytes);
    }

    void deallocate_other(T* objects, std::size_t count) noexcept
    {
        heap_->free(objects, count * sizeof(T), alignof(T));
    }

    [[noreturn]] EGB_COLD static void refuse(bool is_possible)
    {
  #if defined(__cpp_exceptions)
        if (!is_possible) {
            throw std::bad_array_new_length();
        }
  #endif
        (void)is_possible;
        throw_bad_alloc_();
    }

    // A block that is aligned by hand begins before its address: its size is not looked up.
    std::size_t room_of(void* block, std::size_t bytes) const noexcept
    {
        const bool is_by_hand = heap_ != nullptr && alignof(T) > heap::align_max;
        return is_by_hand ? bytes : egb_block_bytes(block);
    }

    heap* heap_ = nullptr;
};

/// std::make_shared() with object and counts in one block of the heap of the process.
template <class T, class... Args>
[[nodiscard]] std::shared_ptr<T> make_shared(Args&&... args)
{
    return std::allocate_shared<T>(allocator<std::remove_cv_t<T>>(), std::forward<Args>(args)...);
}

/// The same in a heap that lives longer than the last owner, weak ones included.
template <class T, class... Args>
[[nodiscard]] std::shared_ptr<T> make_shared_in(heap& of, Args&&... args)
{
    return std::allocate_shared<T>(allocator<std::remove_cv_t<T>>(of), std::forward<Args>(args)...);
}

/// Destroys the object of a heap_ptr. An empty class: a pointer with it is one pointer wide.
template <class T>
struct heap_delete {
    constexpr heap_delete() noexcept = default;

    template <class U, class = std::enable_if_t<std::is_same_v<const U, T>>>
    constexpr heap_delete(heap_delete<U>) noexcept
    {
    }

    void operator()(const T* object) const noexcept
    {
        object->~T();
        egb_free(const_cast<std::remove_const_t<T>*>(object));
    }
};

/// Owns an object in the heap of the process, and is one pointer wide. A pointer to a T does not
/// become one to a base of T: the block begins where the T does.
template <class T>
using heap_ptr = std::unique_ptr<T, heap_delete<T>>;

/// std::make_unique() of one object, in the heap of the process. Throws std::bad_alloc.
template <class T, class... Args>
[[nodiscard]] heap_ptr<T> make_unique(Args&&... args)
{
    static_assert(!std::is_array_v<T>, "one object: for arrays there is std::vector");
    using plain = std::remove_const_t<T>;

    // Frees the block of an object whose constructor did not return.
    struct undo {
        allocator<plain> from;
        plain*           block;

        ~undo()
        {
            if (block != nullptr) {
                from.deallocate(block, 1);
            }
        }
    };

    undo     guard{{}, allocator<plain>().allocate(1)};
    T* const object = ::new (static_cast<void*>(guard.block)) T(std::forward<Args>(args)...);
    guard.block     = nullptr;
    return heap_ptr<T>(object);
}

}  // namespace eggbox

EGB_QUIET_END_

#endif  // EGB_HAS_CPP17_

#endif  // EGGBOX_ALLOCATOR_HPP
