// SPDX-License-Identifier: MIT
// Every rival whose size and number are known at run time only.
#ifndef EGGBOX_BENCH_RIVALS_ALL_HPP
#define EGGBOX_BENCH_RIVALS_ALL_HPP

#include "boost.hpp"
#include "eggbox.hpp"
#include "malloc.hpp"
#include "none.hpp"
#include "pmr.hpp"
#include "printed.hpp"

namespace bench
{

template <class... Rivals>
struct rivals {
};

using all_rivals = rivals<
    none,
    eggbox_check,
    eggbox_live,
    eggbox_unchecked,
    system_malloc,
    boost_pool,
    pmr_unsync,
    pmr_sync,
    printed>;

// What the pools alone can do: those with a capacity, over memory they are given.
using pools_in_place = rivals<eggbox_check, eggbox_live, eggbox_unchecked, boost_pool, printed>;

// Calls `add<Rival>(arguments...)` for each.
template <class Adder, class... Rivals, class... Arguments>
void for_each(rivals<Rivals...>, Adder add, Arguments... arguments)
{
    (add.template operator()<Rivals>(arguments...), ...);
}

}  // namespace bench

#endif  // EGGBOX_BENCH_RIVALS_ALL_HPP
