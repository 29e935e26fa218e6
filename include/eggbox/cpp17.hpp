// SPDX-License-Identifier: MIT
// Layer faces: says once what an older C++ misses. A header that needs C++17 includes this file and
// skips the rest of itself if EGB_HAS_CPP17_ is 0, so that no other error hides this one.
#ifndef EGGBOX_CPP17_HPP
#define EGGBOX_CPP17_HPP

#if __cplusplus >= 201703L || (defined(_MSVC_LANG) && _MSVC_LANG >= 201703L)
  #define EGB_HAS_CPP17_ 1
#else
  #define EGB_HAS_CPP17_ 0
  #error "eggbox needs C++17"
#endif

#endif  // EGGBOX_CPP17_HPP
