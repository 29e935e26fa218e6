// SPDX-License-Identifier: MIT
// Layer faces: pools that are made when they are first needed, and the failure of operator new.
// Shared by heap.hpp and the classes of compat/, which are for C++11, too. Everything here is
// private.
#ifndef EGGBOX_MAKE_ONCE_HPP
#define EGGBOX_MAKE_ONCE_HPP

#include "pool.h"

#include <cstdint>
#include <cstdlib>
#include <new>

EGB_QUIET_BEGIN_

namespace eggbox
{

// Fails a request for which the standard does not allow nullptr: throws std::bad_alloc, or ends
// the program if it was compiled without exceptions.
[[noreturn]] EGB_COLD inline void throw_bad_alloc_()
{
#if defined(__cpp_exceptions)
    throw std::bad_alloc();
#else
    std::abort();
#endif
}

// Loads a key that another thread may be writing.
EGB_NODISCARD inline egb_pool pool_at_(const std::uint64_t* place) noexcept
{
    return egb_pool_of_key_(__atomic_load_n(place, __ATOMIC_ACQUIRE));
}

// Makes a pool and stores its key in `place`, which is 0. If several threads do so at the same
// time, all get the pool of the first. The null pool: refused.
EGB_NODISCARD inline egb_pool
make_once_(std::uint64_t* place, const egb_pool_options& options) noexcept
{
    egb_pool      made{0, 0};
    std::uint64_t key = 0;
    if (egb_pool_create(&made, &options) != EGB_OK) {
        return pool_at_(place);  // perhaps another thread's
    }
    if (__atomic_compare_exchange_n(
            place, &key, egb_pool_key_(made), false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE
        )) {
        return made;
    }
    (void)egb_pool_destroy(made, EGB_DESTROY_FORCE);
    return egb_pool_of_key_(key);
}

}  // namespace eggbox

EGB_QUIET_END_

#endif  // EGGBOX_MAKE_ONCE_HPP
