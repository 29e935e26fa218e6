// SPDX-License-Identifier: MIT
// Layer faces: owners of objects in pools, one pointer wide.
#ifndef EGGBOX_POOL_PTR_HPP
#define EGGBOX_POOL_PTR_HPP

#include "cpp17.hpp"

#if EGB_HAS_CPP17_

  #include "pool.h"

  #include <memory>
  #include <type_traits>
  #include <utility>

EGB_QUIET_BEGIN_

namespace eggbox
{

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

}  // namespace eggbox

EGB_QUIET_END_

#endif  // EGB_HAS_CPP17_

#endif  // EGGBOX_POOL_PTR_HPP
