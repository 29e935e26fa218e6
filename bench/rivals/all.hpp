// SPDX-License-Identifier: MIT
// Every rival with a size and a number that are known at run time only.
#ifndef EGGBOX_BENCH_RIVALS_ALL_HPP
#define EGGBOX_BENCH_RIVALS_ALL_HPP

#include "boost.hpp"
#include "eggbox.hpp"
#include "malloc.hpp"
#include "none.hpp"
#include "pmr.hpp"
#include "pool.hpp"
#include "printed.hpp"

#if defined(BENCH_WITH_TBB)
  #include "tbb.hpp"
#endif

namespace bench
{

template <class... Rivals>
struct rivals {
};

template <class... One, class... Other>
rivals<One..., Other...> join(rivals<One...>, rivals<Other...>);

template <class One, class Other>
using joined = decltype(join(One{}, Other{}));

#if defined(BENCH_WITH_TBB)
using tbb_rivals = rivals<tbb_pool, tbb_scalable>;
#else
using tbb_rivals = rivals<>;
#endif

using fixed_pools = rivals<eggbox_check, eggbox_live, eggbox_unchecked>;

using rivals_of_all_sizes =
    joined<rivals<system_malloc, boost_pool_sync, pmr_unsync, pmr_sync>, tbb_rivals>;

using all_rivals = joined<
    joined<rivals<none>, fixed_pools>,
    joined<
        rivals<eggbox_pool, eggbox_pool_off, eggbox_cache, boost_pool, printed>,
        rivals_of_all_sizes>>;

// The rivals that several threads may use at one time.
using shared_rivals = joined<
    rivals<eggbox_pool, eggbox_pool_off, eggbox_cache, system_malloc, boost_pool_sync, pmr_sync>,
    tbb_rivals>;

// The rivals for patterns of pools alone: those with a capacity, over memory they are given.
using pools_in_place = rivals<eggbox_check, eggbox_live, eggbox_unchecked, boost_pool, printed>;

// Calls `add<Rival>(arguments...)` for each.
template <class Adder, class... Rivals, class... Arguments>
void for_each(rivals<Rivals...>, Adder add, Arguments... arguments)
{
    (add.template operator()<Rivals>(arguments...), ...);
}

}  // namespace bench

#endif  // EGGBOX_BENCH_RIVALS_ALL_HPP
