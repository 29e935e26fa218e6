// SPDX-License-Identifier: MIT
// Layer faces: the C++17 face of eggbox for objects of one type. Types and lifetimes only; the C
// library does the work, and its headers state the cost of each call and the answer to misuse.
// Compiles without exceptions and without run-time type information.
#ifndef EGGBOX_EGGBOX_HPP
#define EGGBOX_EGGBOX_HPP

#include "fixed_pool.hpp"
#include "pool.hpp"
#include "pool_ptr.hpp"

#endif  // EGGBOX_EGGBOX_HPP
