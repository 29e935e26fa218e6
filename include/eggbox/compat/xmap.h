// SPDX-License-Identifier: MIT
// Layer faces, compatibility: std::map and std::multimap with stl_allocator. C++ only.
//
// The third parameter is the allocator, as in the original, or a comparator; then the fourth is the
// allocator.
#ifndef EGGBOX_COMPAT_XMAP_H
#define EGGBOX_COMPAT_XMAP_H

#include "stl_allocator.h"

// Not <functional>, which brings <algorithm>: programs have a `count` of their own.
#include <map>
#include <type_traits>
#include <utility>

template <typename T, typename = void>
struct egb_is_allocator_ : std::false_type {
};

template <typename T>
struct egb_is_allocator_<T, decltype(void(std::declval<T&>().allocate(std::size_t(1))))>
    : std::true_type {
};

template <typename K, typename V, typename Third, typename Fourth>
struct egb_xmap_parameters_ {
    static constexpr bool is_old = egb_is_allocator_<Third>::value;

    typedef typename std::conditional<is_old, std::less<K>, Third>::type compare;
    typedef typename std::conditional<is_old, Third, Fourth>::type       allocator;
};

template <
    typename K,
    typename V,
    typename Third  = std::less<K>,
    typename Fourth = stl_allocator<std::pair<const K, V>>>
using xmap = std::map<
    K,
    V,
    typename egb_xmap_parameters_<K, V, Third, Fourth>::compare,
    typename egb_xmap_parameters_<K, V, Third, Fourth>::allocator>;

template <
    typename K,
    typename V,
    typename Third  = std::less<K>,
    typename Fourth = stl_allocator<std::pair<const K, V>>>
using xmultimap = std::multimap<
    K,
    V,
    typename egb_xmap_parameters_<K, V, Third, Fourth>::compare,
    typename egb_xmap_parameters_<K, V, Third, Fourth>::allocator>;

#endif  // EGGBOX_COMPAT_XMAP_H
