// SPDX-License-Identifier: MIT
// Layer faces: pools of objects of one type for any thread, and their handles. Types and lifetimes
// only: the contracts of the calls are in pool.h.
#ifndef EGGBOX_POOL_HPP
#define EGGBOX_POOL_HPP

#include "cpp17.hpp"

#if EGB_HAS_CPP17_

  #include "guard.h"
  #include "here.hpp"
  #include "pool.h"
  #include "pool_ptr.hpp"
  #include "wait.hpp"

  #include <chrono>
  #include <cstddef>
  #include <new>
  #include <type_traits>
  #include <utility>

EGB_QUIET_BEGIN_

namespace eggbox
{

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

    /// Constructs a T in a block of the pool, and waits for the block as long as `limit`:
    /// wait_forever, or any duration. It is rounded up to milliseconds.
    ///
    ///     auto [job, status] = jobs.make_for(100ms, work);
    ///
    /// Returns  the object, or why there is none: see wait_result. If T's constructor throws, the
    ///          next thread that waits gets the block, and the exception passes on.
    /// Cost     egb_pool_alloc_for(), and T's constructor.
    template <class Rep, class Period, class... Args>
    wait_result<T*> make_for(std::chrono::duration<Rep, Period> limit, Args&&... args) const
        noexcept(std::is_nothrow_constructible_v<T, Args...>)
    {
        const wait_result<void*> block = alloc_for(limit);
        return {make_at(block.pointer, std::forward<Args>(args)...), block.status};
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

    /// A block without an object in it: egb_pool_alloc_for().
    template <class Rep, class Period>
    EGB_ALWAYS_INLINE wait_result<void*> alloc_for(std::chrono::duration<Rep, Period> limit
    ) const noexcept
    {
        wait_result<void*> given{nullptr, EGB_INVALID};
        given.status = egb_pool_alloc_for(pool_, &given.pointer, milliseconds_of_(limit));
        return given;
    }

    /// Ends the wait of every thread that waits now: they get EGB_CANCELLED. Returns how many there
    /// were: egb_pool_cancel().
    std::size_t cancel() const noexcept
    {
        return egb_pool_cancel(pool_);
    }

    /// Threads that wait for a block now: egb_pool_waiting().
    [[nodiscard]] std::size_t waiting() const noexcept
    {
        return egb_pool_waiting(pool_);
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
/// handles of it may be used at any time: threads that wait with one get EGB_STALE. Can be moved,
/// not copied.
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

    /// As pool_handle: wait for a block, with an object in it or without; end the waits of others.
    template <class Rep, class Period, class... Args>
    wait_result<T*> make_for(
        std::chrono::duration<Rep, Period> limit, Args&&... args
    ) noexcept(std::is_nothrow_constructible_v<T, Args...>)
    {
        return handle_.make_for(limit, std::forward<Args>(args)...);
    }

    template <class Rep, class Period>
    EGB_ALWAYS_INLINE wait_result<void*> alloc_for(std::chrono::duration<Rep, Period> limit
    ) noexcept
    {
        return handle_.alloc_for(limit);
    }

    std::size_t cancel() noexcept
    {
        return handle_.cancel();
    }

    [[nodiscard]] std::size_t waiting() const noexcept
    {
        return handle_.waiting();
    }

    /// make(), with an owner that is one pointer wide: empty if there is no block. The owner must
    /// end before the pool does.
    template <class... Args>
    [[nodiscard]] pool_ptr<T> make_unique(Args&&... args
    ) noexcept(noexcept(std::declval<const pool_handle<T>&>().make(std::forward<Args>(args)...)))
    {
        return pool_ptr<T>(make(std::forward<Args>(args)...));
    }

    /// make_for(), with such an owner.
    template <class Rep, class Period, class... Args>
    wait_result<pool_ptr<T>> make_unique_for(
        std::chrono::duration<Rep, Period> limit, Args&&... args
    ) noexcept(std::is_nothrow_constructible_v<T, Args...>)
    {
        const wait_result<T*> made = make_for(limit, std::forward<Args>(args)...);
        return {pool_ptr<T>(made.pointer), made.status};
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

EGB_QUIET_END_

#endif  // EGB_HAS_CPP17_

#endif  // EGGBOX_POOL_HPP
