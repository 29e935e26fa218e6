/* SPDX-License-Identifier: MIT */
/* Layer faces, compatibility: the assertions of D. Lafreniere's fixed block allocators. For C and
 * C++.
 */
#ifndef _FAULT_H
#define _FAULT_H

#include "DataTypes.h"

#if defined(__cplusplus)
extern "C" {
#endif

/** Called for every failed assertion, and for every call of fb_allocator and x_allocator that
 * cannot be served: no block is left, or the size is too large. A program may define its own
 * function of this name; if that returns, the call returns NULL.
 *
 * The library's own function prints `file` and `line` and aborts if an assertion of the program
 * failed. If a call cannot be served it does nothing, so that the call returns NULL.
 */
void FaultHandler(const char* file, unsigned short line);

/* Test frameworks and systems may define these names. */
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

/** Refuses to compile if a constant is 0. For file scope and functions; in C++ for classes, too. */
#ifndef C_ASSERT
  #if defined(__cplusplus)
    #define C_ASSERT(condition) static_assert(condition, #condition)
  #else
    #define C_ASSERT(condition) extern char(*egb_c_assert_(void))[(condition) ? 1 : -1]
  #endif
#endif

#if defined(__cplusplus)
}
#endif

#endif /* _FAULT_H */
