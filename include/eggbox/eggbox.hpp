// SPDX-License-Identifier: MIT
// Layer faces: the C++17 face of eggbox. Types and lifetimes only; the C library does the work, and
// its headers state the cost of each call and the answer to misuse. Compiles without exceptions and
// without run-time type information.
#ifndef EGGBOX_EGGBOX_HPP
#define EGGBOX_EGGBOX_HPP

#include "cpp17.hpp"

#if EGB_HAS_CPP17_

  #include "fixed.h"
  #include "guard.h"
  #include "here.hpp"
  #include "pool.h"

  #include <cstddef>
  #include <cstdint>
  #include <memory>
  #include <new>
  #include <type_traits>
  #include <utility>

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

/// A pool of objects of type T, as a value that any thread may copy and use. It is as large as an
/// egb_pool, and every use after the end of its pool is noticed, for ever. Handles of different
/// types do not convert.
///
/// A handle made without arguments is that of the null pool, which has no blocks. Any other comes
/// from pool<T>::handle().
template <class T>
class pool_handle
{
  public:
    using value_type = T;

    static_assert(
        std::is_object_v<T> && !std::is_const_v<T>, "objects of a pool are made and destroyed"
    );

    constexpr pool_handle() noexcept = default;

    /// Constructs a T in a block of the pool.
    ///
    /// Returns  the object; nullptr when egb_pool_alloc() has no block. If T's constructor throws,
    ///          the block is free again and the exception passes on.
    /// Cost     egb_pool_alloc(), and T's constructor.
    template <class... Args>
    [[nodiscard]] T* make(Args&&... args) const
        noexcept(std::is_nothrow_constructible_v<T, Args...>)
    {
        return make_at(egb_pool_alloc(pool_), std::forward<Args>(args)...);
    }

    /// The same, with a place in the source, for level "track".
    template <class... Args>
    [[nodiscard]] T* make(here place, Args&&... args) const
        noexcept(std::is_nothrow_constructible_v<T, Args...>)
    {
        return make_at(
            egb_pool_alloc_at(pool_, place.file, place.line), std::forward<Args>(args)...
        );
    }

    /// Destroys an object of the pool and frees its block. nullptr: no effect. Any other address
    /// than that of a block in use is misuse: the handler is told, the destructor is not called.
    /// (At level "off" only addresses that are no block of this pool are noticed.)
    /// Cost     egb_pool_is_live(), unless T's destructor does nothing, and egb_pool_free().
    EGB_ALWAYS_INLINE void destroy(const T* object) const noexcept
    {
        if constexpr (!std::is_trivially_destructible_v<T>) {
            if (EGB_UNLIKELY(!egb_pool_is_live(pool_, object))) {
                egb_pool_free_cold_(pool_, const_cast<T*>(object));  // refuses it
                return;
            }
            object->~T();
        }
        free(const_cast<T*>(object));
    }

    /// A block without an object in it: egb_pool_alloc(); level "track" records the place.
    [[nodiscard]] EGB_ALWAYS_INLINE void* alloc(here place = here{}) const noexcept
    {
        return egb_pool_alloc_at(pool_, place.file, place.line);
    }

    /// Gives back a block without an object in it: egb_pool_free().
    EGB_ALWAYS_INLINE void free(void* block) const noexcept
    {
        egb_pool_free(pool_, block);
    }

    /// True if the pool exists: the handle is neither stale nor null.
    [[nodiscard]] bool alive() const noexcept
    {
        return egb_pool_alive(pool_);
    }

    /// The handle for calls of pool.h.
    [[nodiscard]] constexpr egb_pool get() const noexcept
    {
        return pool_;
    }

    friend constexpr bool operator==(pool_handle one, pool_handle other) noexcept
    {
        return one.pool_.slot == other.pool_.slot && one.pool_.generation == other.pool_.generation;
    }

    friend constexpr bool operator!=(pool_handle one, pool_handle other) noexcept
    {
        return !(one == other);
    }

  private:
    template <class>
    friend class pool;

    explicit constexpr pool_handle(egb_pool of) noexcept : pool_(of) {}

    template <class... Args>
    T* make_at(void* block, Args&&... args) const
        noexcept(std::is_nothrow_constructible_v<T, Args...>)
    {
        static_assert(std::is_constructible_v<T, Args...>, "T has no constructor for these");
        if (block == nullptr) {
            return nullptr;
        }
        undo     guard{pool_, block};
        T* const object = ::new (block) T(std::forward<Args>(args)...);
        guard.block     = nullptr;
        return object;
    }

    // Frees the block of an object whose constructor did not return.
    struct undo {
        egb_pool pool;
        void*    block;

        ~undo()
        {
            if (block != nullptr) {
                egb_pool_free(pool, block);
            }
        }
    };

    egb_pool pool_{0, 0};
};

/// Destroys the objects of a pool_ptr. An empty class: a pointer with it is one pointer wide.
template <class T, auto&... Pool>
struct destroy_in;

/// For a static pool.
template <class T, auto& Pool>
struct destroy_in<T, Pool> {
    constexpr destroy_in() noexcept = default;

    template <class U, class = std::enable_if_t<std::is_same_v<const U, T>>>
    constexpr destroy_in(destroy_in<U, Pool>) noexcept
    {
    }

    void operator()(const T* object) const noexcept
    {
        Pool.destroy(object);
    }
};

/// For any pool<T>: the object's address leads to the pool. If the pool is gone, that is misuse:
/// the handler is told, T's destructor is not called.
template <class T>
struct destroy_in<T> {
    constexpr destroy_in() noexcept = default;

    template <class U, class = std::enable_if_t<std::is_same_v<const U, T>>>
    constexpr destroy_in(destroy_in<U>) noexcept
    {
    }

    void operator()(const T* object) const noexcept
    {
        void* const    block = const_cast<std::remove_const_t<T>*>(object);
        const egb_pool pool  = egb_pool_of(block);
        if (EGB_UNLIKELY(!egb_pool_is_live(pool, block))) {
            egb_free(block);  // refuses it
            return;
        }
        object->~T();
        egb_pool_free(pool, block);
    }
};

/// Owns an object in a pool, and is one pointer wide. A static pool is part of the type:
///
///     static eggbox::fixed_pool<particle, 1000> particles;
///     eggbox::pool_ptr<particle, particles> p = eggbox::make_in<particles>(position, speed);
///
/// Any other pool is found by the object's address:
///
///     eggbox::pool<connection> connections;
///     eggbox::pool_ptr<connection> c = connections.make_unique(socket);
///
/// A pointer to a T does not become one to a base of T: the block begins where the T does.
template <class T, auto&... Pool>
using pool_ptr = std::unique_ptr<T, destroy_in<T, Pool...>>;

/// Makes an object in the static pool `Pool`. Returns an empty pointer when every block is in use.
template <auto& Pool, class... Args>
[[nodiscard]] auto make_in(Args&&... args)
{
    using pool_type = std::remove_reference_t<decltype(Pool)>;
    return pool_ptr<typename pool_type::value_type, Pool>(Pool.make(std::forward<Args>(args)...));
}

/// How to make a pool<T>: the options of the C library, with the same words for the same things.
/// Block size and alignment come from T; a larger `block_align` is kept.
using pool_options = egb_pool_options;

/// Owns a pool of objects of type T for any thread: egb_pool, with a lifetime.
///
///     eggbox::pool<connection> connections;
///     connection* c = connections.make(socket);   // any thread
///     connections.destroy(c);                     // any thread
///
/// Its end destroys the pool and its descendants, with EGB_DESTROY_FORCE; it does not destroy the
/// objects still in them. No other thread may use the pool<T> itself then, or while it is moved;
/// handles of it may be used at any time. Can be moved, not copied.
template <class T>
class pool
{
  public:
    using value_type = T;

    /// Makes a pool with the default options. Never throws: see status().
    pool() noexcept : pool(pool_options{}) {}

    explicit pool(const pool_options& options) noexcept : status_(EGB_INVALID)
    {
        pool_options known = options;
        known.block_bytes  = sizeof(T);
        known.block_align  = options.block_align > alignof(T) ? options.block_align : alignof(T);
        egb_pool made{0, 0};
        status_ = egb_pool_create(&made, &known);
        handle_ = pool_handle<T>(made);
    }

    pool(pool&& other) noexcept
        : handle_(std::exchange(other.handle_, {})),
          status_(std::exchange(other.status_, EGB_INVALID))
    {
    }

    pool& operator=(pool&& other) noexcept
    {
        if (this != &other) {
            end();
            handle_ = std::exchange(other.handle_, {});
            status_ = std::exchange(other.status_, EGB_INVALID);
        }
        return *this;
    }

    ~pool()
    {
        end();
    }

    /// The answer of egb_pool_create(). EGB_INVALID if the pool was moved from.
    [[nodiscard]] egb_status status() const noexcept
    {
        return status_;
    }

    /// True if the pool exists: it was made, not moved from, and not destroyed with its parent.
    [[nodiscard]] explicit operator bool() const noexcept
    {
        return handle_.alive();
    }

    /// As pool_handle: make, destroy, alloc and free.
    template <class... Args>
    [[nodiscard]] T* make(Args&&... args
    ) noexcept(noexcept(std::declval<const pool_handle<T>&>().make(std::forward<Args>(args)...)))
    {
        return handle_.make(std::forward<Args>(args)...);
    }

    EGB_ALWAYS_INLINE void destroy(const T* object) noexcept
    {
        handle_.destroy(object);
    }

    [[nodiscard]] EGB_ALWAYS_INLINE void* alloc(here place = here{}) noexcept
    {
        return handle_.alloc(place);
    }

    EGB_ALWAYS_INLINE void free(void* block) noexcept
    {
        handle_.free(block);
    }

    /// make(), with an owner that is one pointer wide: empty if there is no block. The owner must
    /// end before the pool does.
    template <class... Args>
    [[nodiscard]] pool_ptr<T> make_unique(Args&&... args
    ) noexcept(noexcept(std::declval<const pool_handle<T>&>().make(std::forward<Args>(args)...)))
    {
        return pool_ptr<T>(make(std::forward<Args>(args)...));
    }

    /// egb_pool_reserve()
    [[nodiscard]] egb_status reserve(std::size_t blocks) noexcept
    {
        return egb_pool_reserve(handle_.get(), blocks);
    }

    /// egb_pool_trim()
    std::size_t trim(std::size_t keep_bytes = 0) noexcept
    {
        return status() == EGB_OK ? egb_pool_trim(handle_.get(), keep_bytes) : 0;
    }

    /// egb_pool_get_stats(); all zero when there is no pool.
    [[nodiscard]] egb_pool_stats stats() const noexcept
    {
        egb_pool_stats   stats{};
        const egb_pool   one    = handle_.get();
        const egb_status status = egb_pool_get_stats(one, &stats);
        (void)status;
        return stats;
    }

    /// Blocks in the hands of callers. O(threads).
    [[nodiscard]] std::size_t in_use() const noexcept
    {
        return stats().in_use;
    }

    [[nodiscard]] pool_handle<T> handle() const noexcept
    {
        return handle_;
    }

  private:
    void end() noexcept
    {
        const egb_status status = egb_pool_destroy(handle_.get(), EGB_DESTROY_FORCE);
        (void)status;  // there was no pool, or its parent's end was before
    }

    pool_handle<T> handle_;
    egb_status     status_;
};

}  // namespace eggbox

#endif  // EGB_HAS_CPP17_

#endif  // EGGBOX_EGGBOX_HPP
