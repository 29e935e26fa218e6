// SPDX-License-Identifier: MIT
// Layer faces, compatibility: std::list with stl_allocator. C++ only.
#ifndef EGGBOX_COMPAT_XLIST_H
#define EGGBOX_COMPAT_XLIST_H

#include "stl_allocator.h"

#include <list>

template <typename T, typename Alloc = stl_allocator<T>>
using xlist = std::list<T, Alloc>;

#endif  // EGGBOX_COMPAT_XLIST_H
