// SPDX-License-Identifier: MIT
// Layer faces, compatibility: the stl_allocator in the style of before C++11. It is the same class,
// which has address(), max_size(), construct() and destroy() as well. C++ only.
#include "Fault.h"
#include "stl_allocator.h"
