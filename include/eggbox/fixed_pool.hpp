// SPDX-License-Identifier: MIT
// Layer faces: pools of a fixed number of objects, for C++. They need no system.
#ifndef EGGBOX_FIXED_POOL_HPP
#define EGGBOX_FIXED_POOL_HPP

#include "cpp17.hpp"

#if EGB_HAS_CPP17_

  #include "fixed.h"

  #include <cstddef>
  #include <new>
  #include <type_traits>
  #include <utility>

EGB_QUIET_BEGIN_

namespace eggbox
{

/// How a fixed pool tells free blocks from blocks in use.
enum class fixed_check {
    marks,  // by a mark in every free block: egb_fixed_init(). Blocks of 4 bytes have no room for
            // a mark, and get live bits
    live_bits,  // by a bit outside the block: egb_fixed_init_checked()
    outside,    // by such a bit, and without touching a block: egb_fixed_init_outside()
    off         // not at all: egb_fixed_init_unchecked()
};

/// A fixed pool with room for N objects of type T inside it: no heap, no constructor at run time.
///
///     eggbox::fixed_pool<particle, 1000> particles;   // static, a member, or on the stack
///     particle* p = particles.make(position, speed);
///     particles.destroy(p);
///
/// All zero until its first use: a static pool therefore takes no space in the program file, is
/// usable before main, and outlives every other static object. A pool on the stack or inside a
/// dynamic object is set to zero when it is made: that costs O(N). A pool cannot be copied or
/// moved. Its end does not destroy the objects still in it: their memory is the pool's.
///
/// Blocks are as large as T, rounded up to a multiple of 4 (unchecked: at least a pointer), and
/// aligned for T.
///
/// Threads  one at a time, as for the C pool.
template <class T, std::size_t N, fixed_check Check = fixed_check::marks>
class fixed_pool
{
  public:
    using value_type = T;

    static constexpr std::size_t block_bytes =
        Check == fixed_check::off && sizeof(T) < sizeof(void*)
            ? sizeof(void*)
            : (sizeof(T) + EGB_WORD_BYTES - 1) / EGB_WORD_BYTES * EGB_WORD_BYTES;

    static_assert(!std::is_const_v<T>, "objects of a pool are made and destroyed");

    static_assert(
        EGB_FIXED_BYTES(block_bytes, N) != 0, "no pool has this many blocks of this type"
    );

    constexpr fixed_pool() noexcept          = default;
    fixed_pool(const fixed_pool&)            = delete;
    fixed_pool& operator=(const fixed_pool&) = delete;

    /// Constructs a T in a block of the pool.
    ///
    /// Returns  the object; nullptr when every block is in use. If T's constructor throws, the
    ///          block is free again and the exception passes on.
    /// Cost     O(1), and T's constructor.
    template <class... Args>
    [[nodiscard]] T* make(Args&&... args) noexcept(std::is_nothrow_constructible_v<T, Args...>)
    {
        static_assert(std::is_constructible_v<T, Args...>, "T has no constructor for these");
        void* const block = alloc();
        if (block == nullptr) {
            return nullptr;
        }
        undo     guard{*this, block};
        T* const object = ::new (block) T(std::forward<Args>(args)...);
        guard.block     = nullptr;
        return object;
    }

    /// Destroys an object of this pool and frees its block. nullptr: no effect. Any other address
    /// than that of a block in use is misuse: the handler is told, the destructor is not called.
    EGB_ALWAYS_INLINE void destroy(const T* object) noexcept
    {
        if constexpr (!std::is_trivially_destructible_v<T>) {
            if (object != nullptr && is_object(object)) {
                object->~T();
            }
        }
        free(const_cast<T*>(object));
    }

    /// A block without an object in it: egb_fixed_alloc().
    [[nodiscard]] EGB_ALWAYS_INLINE void* alloc() noexcept
    {
        if constexpr (Check == fixed_check::off) {
            if (EGB_UNLIKELY(pool_.side.newest == nullptr)) {
                return egb_fixed_alloc_unchecked_fresh_(made());
            }
            return egb_fixed_alloc_unchecked(&pool_);
        } else {
            egb_fixed known = with_constants();
            if (EGB_UNLIKELY(!egb_fixed_can_pop_(&known))) {
                return is_marked ? egb_fixed_alloc_marked_(made()) : egb_fixed_alloc_bits_(made());
            }
            void* const block = egb_fixed_pop_(&known);
            pool_.head        = known.head;
            return block;
        }
    }

    /// Gives back a block without an object in it: egb_fixed_free().
    EGB_ALWAYS_INLINE void free(void* block) noexcept
    {
        if constexpr (Check == fixed_check::off) {
            egb_fixed_free_unchecked(&pool_, block);
        } else {
            egb_fixed known = with_constants();
            if (EGB_UNLIKELY(!egb_fixed_can_push_known_(&known, block))) {
                is_marked ? egb_fixed_free_marked_(made(), block)
                          : egb_fixed_free_bits_(made(), block);
                return;
            }
            egb_fixed_push_(&known, block);
            pool_.head = known.head;
        }
    }

    /// Makes every block free again, and destroys no object: egb_fixed_clear().
    void clear() noexcept
    {
        egb_fixed_clear(made());
    }

    [[nodiscard]] static constexpr std::size_t capacity() noexcept
    {
        return N;
    }

    [[nodiscard]] std::size_t in_use() const noexcept
    {
        return egb_fixed_in_use(&pool_);
    }

    [[nodiscard]] std::size_t available() const noexcept
    {
        return N - in_use();
    }

    [[nodiscard]] std::size_t peak() const noexcept
    {
        return egb_fixed_peak(&pool_);
    }

    [[nodiscard]] bool owns(const void* block) const noexcept
    {
        return egb_fixed_owns(made(), block);
    }

    [[nodiscard]] bool is_live(const void* block) const noexcept
    {
        return egb_fixed_is_live(&pool_, block);
    }

    [[nodiscard]] bool whole() const noexcept
    {
        return egb_fixed_whole(made());
    }

  private:
    static constexpr bool is_marked = Check == fixed_check::marks && block_bytes != EGB_WORD_BYTES;
    static constexpr bool has_live_bits =
        Check == fixed_check::live_bits || (Check == fixed_check::marks && !is_marked);

    static constexpr std::size_t live_words =
        Check == fixed_check::outside ? EGB_FIXED_OUTSIDE_BYTES(N) / EGB_WORD_BYTES
        : has_live_bits               ? EGB_FIXED_LIVE_BYTES(N) / EGB_WORD_BYTES
                                      : 1;

    // Frees the block of an object whose constructor did not return.
    struct undo {
        fixed_pool& pool;
        void*       block;

        ~undo()
        {
            if (block != nullptr) {
                pool.free(block);
            }
        }
    };

    EGB_COLD void init() const noexcept
    {
        egb_status status;
        if constexpr (Check == fixed_check::outside) {
            status = egb_fixed_init_outside(
                &pool_, blocks_, sizeof blocks_, block_bytes, live_, sizeof live_
            );
        } else if constexpr (has_live_bits) {
            status = egb_fixed_init_checked(
                &pool_, blocks_, sizeof blocks_, block_bytes, live_, sizeof live_
            );
        } else if constexpr (Check == fixed_check::marks) {
            status = egb_fixed_init(&pool_, blocks_, sizeof blocks_, block_bytes);
        } else {
            status = egb_fixed_init_unchecked(&pool_, blocks_, sizeof blocks_, block_bytes);
        }
        (void)status;  // the static assertion above has made sure
    }

    // The C pool, initialised if it was not.
    egb_fixed* made() const noexcept
    {
        if (pool_.first == nullptr) {
            init();
        }
        return &pool_;
    }

    // True if the destructor may run. The first test is free's own, and therefore costs nothing.
    bool is_object(const T* object) const noexcept
    {
        if constexpr (Check == fixed_check::off) {
            return true;
        } else {
            const egb_fixed known = with_constants();
            return egb_fixed_can_push_known_(&known, object) || is_live(object);
        }
    }

    EGB_ALWAYS_INLINE egb_fixed with_constants() const noexcept
    {
        constexpr int         shift = EGB_FIXED_SHIFT_(block_bytes);
        constexpr std::size_t odd   = block_bytes >> shift;

        return egb_fixed_known_(&pool_, blocks_, EGB_FIXED_INVERSE_(odd), shift);
    }

    // All mutable, because a const call may be the first use. They start as zeros: any other value
    // would put the storage of a static pool into the program file.
    mutable egb_fixed pool_{};
    mutable egb_word  live_[live_words]{};
    alignas(
        alignof(T) > EGB_WORD_BYTES ? alignof(T) : EGB_WORD_BYTES
    ) mutable egb_word blocks_[block_bytes / EGB_WORD_BYTES * N]{};
};

}  // namespace eggbox

EGB_QUIET_END_

#endif  // EGB_HAS_CPP17_

#endif  // EGGBOX_FIXED_POOL_HPP
