// SPDX-License-Identifier: MIT
// Layer faces, compatibility: std::queue with stl_allocator. C++ only.
#ifndef EGGBOX_COMPAT_XQUEUE_H
#define EGGBOX_COMPAT_XQUEUE_H

#include "stl_allocator.h"

#include <deque>
#include <queue>

template <typename T, typename Alloc = stl_allocator<T>>
using xqueue = std::queue<T, std::deque<T, Alloc>>;

#endif  // EGGBOX_COMPAT_XQUEUE_H
