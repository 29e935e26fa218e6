// SPDX-License-Identifier: MIT
// Layer faces, compatibility: std::set and std::multiset with stl_allocator. C++ only.
#ifndef EGGBOX_COMPAT_XSET_H
#define EGGBOX_COMPAT_XSET_H

#include "stl_allocator.h"

// Not <functional>, which brings <algorithm>: programs have a `count` of their own.
#include <set>

template <typename K, typename Compare = std::less<K>, typename Alloc = stl_allocator<K>>
using xset = std::set<K, Compare, Alloc>;

template <typename K, typename Compare = std::less<K>, typename Alloc = stl_allocator<K>>
using xmultiset = std::multiset<K, Compare, Alloc>;

#endif  // EGGBOX_COMPAT_XSET_H
