/* SPDX-License-Identifier: MIT */
/* The macros that other people's headers define under short names: a program may include eggbox
 * behind them. The standard headers are before them: some cannot be behind them themselves. */
#ifndef HOSTILE_MACROS_H
#define HOSTILE_MACROS_H

#if defined(__cplusplus)
  #include <algorithm>
  #include <atomic>
  #include <chrono>
  #include <deque>
  #include <functional>
  #include <iterator>
  #include <limits>
  #include <list>
  #include <map>
  #include <memory>
  #include <new>
  #include <queue>
  #include <set>
  #include <sstream>
  #include <stack>
  #include <stdexcept>
  #include <string>
  #include <tuple>
  #include <type_traits>
  #include <utility>
  #include <vector>
  #if __cplusplus >= 201703L
    #include <memory_resource>
    #include <optional>
  #endif
#else
  #include <stddef.h>
  #include <stdint.h>
  #include <stdio.h>
  #include <stdlib.h>
  #include <string.h>
  #include <time.h>
#endif

/* Qt, without QT_NO_KEYWORDS. */
#define slots
#define signals public
#define emit
#define foreach for
#define forever for (;;)

/* Windows, without NOMINMAX. */
#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
#define near
#define far
#define small     char
#define hyper     long long
#define interface struct
#define pascal    __stdcall
#define cdecl     __cdecl
#define CALLBACK  __stdcall
#define CONST     const
#define DELETE    0x00010000L
#define ERROR     0
#define NO_ERROR  0L
#define IN
#define OUT
#define OPTIONAL
#define STRICT 1
#define VOID   void
#define Yield()
#define GetObject     GetObjectA
#define GetMessage    GetMessageA
#define MemoryBarrier __faststorefence

/* X11. */
#define Bool     int
#define Status   int
#define None     0L
#define Always   2
#define Success  0
#define Unsorted 0

/* macOS and GLib. */
#define check(assertion)   ((void)(assertion))
#define verify(assertion)  ((void)(assertion))
#define require(assertion) ((void)(assertion))
#define MIN(a, b)          (((a) < (b)) ? (a) : (b))
#define MAX(a, b)          (((a) > (b)) ? (a) : (b))
#define ABS(a)             (((a) < 0) ? -(a) : (a))

/* Arduino. */
#define abs(x)         ((x) > 0 ? (x) : -(x))
#define bit(b)         (1UL << (b))
#define lowByte(w)     ((w) & 0xff)
#define interrupts()   sei()
#define noInterrupts() cli()
#define word(...)      makeWord(__VA_ARGS__)
#define INPUT          0
#define OUTPUT         1
#define DEFAULT        1
#define EXTERNAL       0

/* Older systems. */
#define major(device) ((device) >> 8)
#define minor(device) ((device) & 0xff)
#define linux         1
#define unix          1

#endif /* HOSTILE_MACROS_H */
