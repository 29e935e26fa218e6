// SPDX-License-Identifier: MIT
// Layer faces, compatibility: the assertions of the fixed block allocators by D. Lafreniere. For C
// and C++.
#ifndef _FAULT_H
#define _FAULT_H

#include "DataTypes.h"

#if defined(__cplusplus)
extern "C" {
#endif

/// Gets every failed assertion, and every call of fb_allocator and x_allocator that cannot be
/// served: no block left, or one too large. A program may define its own function of this name; if
/// that returns, the call returns NULL.
///
/// The library's prints `file` and `line` and aborts, for assertions of the program. Of calls that
/// cannot be served it does nothing, so that they return NULL.
void FaultHandler(const char* file, unsigned short line);

// Not where a test framework has the name.
#ifndef ASSERT
  #define ASSERT() FaultHandler(__FILE__, (unsigned short)__LINE__)
#endif

#ifndef ASSERT_TRUE
  #define ASSERT_TRUE(condition)                                \
      do {                                                      \
          if (!(condition)) {                                   \
              FaultHandler(__FILE__, (unsigned short)__LINE__); \
          }                                                     \
      } while (0)
#endif

#if defined(__cplusplus)
}
#endif

#endif  // _FAULT_H
