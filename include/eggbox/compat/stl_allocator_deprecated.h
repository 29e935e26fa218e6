// SPDX-License-Identifier: MIT
// Layer faces, compatibility: the stl_allocator in the style before C++11. The class is
// the same, and has address(), max_size(), construct() and destroy(), too. C++ only.
#include "Fault.h"
#include "stl_allocator.h"
