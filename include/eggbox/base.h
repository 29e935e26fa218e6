// SPDX-License-Identifier: MIT
// Layer base: the language and the compiler, nothing else.
//
// Includes only headers that C11 promises to freestanding programs. Every other file includes this.
// Names that end in an underscore are not part of the interface, here and in every public header.
#ifndef EGGBOX_BASE_H
#define EGGBOX_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if SIZE_MAX < 0xFFFFFFFF
  #error "eggbox needs a size_t of 32 bits or more: links and counts have 32"
#endif

#define EGB_VERSION_MAJOR 0
#define EGB_VERSION_MINOR 1
#define EGB_VERSION_PATCH 0

// Clang has the attributes and built-in functions of GCC under each of its names. As clang-cl it
// does not define __GNUC__.
#if defined(__GNUC__) || defined(__clang__)
  #define EGB_HAS_GNU_C_ 1
#else
  #define EGB_HAS_GNU_C_ 0
#endif

// Distances are divided by multiplication modulo a power of two, here and there. Clang can watch
// for numbers that do not fit, and would end programs for these. Older ones do not know all names.
#if defined(__clang__) && __clang_major__ >= 13
  #define EGB_WRAPS_                                                                   \
      __attribute__((no_sanitize("unsigned-integer-overflow", "unsigned-shift-base")))
#else
  #define EGB_WRAPS_
#endif

#if EGB_HAS_GNU_C_
  #define EGB_ALWAYS_INLINE __attribute__((always_inline)) EGB_WRAPS_
#else
  #define EGB_ALWAYS_INLINE
#endif

// A hot function whose body lives in a header. In C++ it must not be `static`: an inline C++
// function that calls a static one breaks the one-definition rule. It is inlined without
// optimisation too: a debug build is then fast, and a misuse is reported at the caller's place.
#if defined(__cplusplus)
  #define EGB_INLINE                     inline EGB_ALWAYS_INLINE
  #define EGB_STATIC_ASSERT(truth, text) static_assert(truth, text)
  #define EGB_ALIGNOF_(type)             alignof(type)
  #define EGB_ALIGNAS_(bytes)            alignas(bytes)
#else
  #define EGB_INLINE                     static inline EGB_ALWAYS_INLINE
  #define EGB_STATIC_ASSERT(truth, text) _Static_assert(truth, text)
  #define EGB_ALIGNOF_(type)             _Alignof(type)
  #define EGB_ALIGNAS_(bytes)            _Alignas(bytes)
#endif

// The same for a public function. The library also has a function of that name, compiled in
// linkable.c of the layer, for callers that cannot inline it: other languages, dlsym(). C++ code
// refers to that function and never emits its own: linkers for Windows refuse two definitions.
#if defined(__cplusplus) && EGB_HAS_GNU_C_
  #define EGB_INLINE_PUBLIC extern inline __attribute__((gnu_inline, always_inline)) EGB_WRAPS_
#else
  #define EGB_INLINE_PUBLIC EGB_INLINE
#endif

// The meaning of EGB_INLINE_PUBLIC in linkable.c. Clang warns if an `inline` function that is not
// static calls a static one; GCC warns if a function is `always_inline` and not `inline`.
#if defined(__clang__)
  #define EGB_INLINE_LINKABLE_ extern EGB_ALWAYS_INLINE
#else
  #define EGB_INLINE_LINKABLE_ extern inline EGB_ALWAYS_INLINE
#endif

// A hot function that a macro of ours defines in the program's own file.
#if defined(__cplusplus) && __cplusplus >= 201703L
  #define EGB_STATIC_INLINE_ [[maybe_unused]] static inline EGB_ALWAYS_INLINE
#elif EGB_HAS_GNU_C_
  #define EGB_STATIC_INLINE_ __attribute__((unused)) static inline EGB_ALWAYS_INLINE
#else
  #define EGB_STATIC_INLINE_ static inline
#endif

// Hides the value of a variable from the optimiser. No instruction.
#if EGB_HAS_GNU_C_
  #define EGB_OPAQUE_(variable) __asm__("" : "+r"(variable))
#else
  #define EGB_OPAQUE_(variable) ((void)0)
#endif

#if EGB_HAS_GNU_C_
  #define EGB_LIKELY(condition)   __builtin_expect(!!(condition), 1)
  #define EGB_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
  #define EGB_COLD                __attribute__((cold, noinline))
  #define EGB_NODISCARD           __attribute__((warn_unused_result))
  #define EGB_MAY_ALIAS           __attribute__((may_alias))
  #define EGB_LOOSE_              __attribute__((may_alias, aligned(4)))
  // The return address of this function: names the place of a misuse in the user's code.
  #define EGB_CALLER() __builtin_return_address(0)
#else
  #define EGB_LIKELY(condition)   (condition)
  #define EGB_UNLIKELY(condition) (condition)
  #define EGB_COLD
  #define EGB_NODISCARD
  #define EGB_MAY_ALIAS
  #define EGB_LOOSE_
  #define EGB_CALLER() NULL
#endif

// A definition that gives way to the program's own. Windows has no such thing: there the linker
// leaves the library's definition in the archive if the program has its own, unless the program
// also needs other symbols of the same object file.
#if EGB_HAS_GNU_C_ && !defined(_WIN32)
  #define EGB_WEAK __attribute__((weak))
#else
  #define EGB_WEAK
#endif

// Headers cause no warnings in a program that turns them on, even with a copy of the headers among
// its own files: up to EGB_QUIET_END_, C++ compilers accept the casts of C, and other constructs of
// an interface for C; C compilers accept declarations behind statements.
// clang-format off
#if defined(__cplusplus) && defined(__clang__)
  #define EGB_QUIET_BEGIN_                                                \
      _Pragma("clang diagnostic push")                                    \
      _Pragma("clang diagnostic ignored \"-Wunknown-warning-option\"")    \
      _Pragma("clang diagnostic ignored \"-Wnrvo\"")                      \
      _Pragma("clang diagnostic ignored \"-Wold-style-cast\"")            \
      _Pragma("clang diagnostic ignored \"-Wpadded\"")                    \
      _Pragma("clang diagnostic ignored \"-Wthread-safety-negative\"")    \
      _Pragma("clang diagnostic ignored \"-Wunsafe-buffer-usage\"")       \
      _Pragma("clang diagnostic ignored \"-Wweak-vtables\"")              \
      _Pragma("clang diagnostic ignored \"-Wzero-as-null-pointer-constant\"")
  #define EGB_QUIET_END_ _Pragma("clang diagnostic pop")
#elif defined(__cplusplus) && defined(__GNUC__)
  #define EGB_QUIET_BEGIN_                                                \
      _Pragma("GCC diagnostic push")                                      \
      _Pragma("GCC diagnostic ignored \"-Weffc++\"")                      \
      _Pragma("GCC diagnostic ignored \"-Wold-style-cast\"")              \
      _Pragma("GCC diagnostic ignored \"-Wpadded\"")                      \
      _Pragma("GCC diagnostic ignored \"-Wuseless-cast\"")                \
      _Pragma("GCC diagnostic ignored \"-Wzero-as-null-pointer-constant\"")
  #define EGB_QUIET_END_ _Pragma("GCC diagnostic pop")
#elif EGB_HAS_GNU_C_
  #define EGB_QUIET_BEGIN_                                                \
      _Pragma("GCC diagnostic push")                                      \
      _Pragma("GCC diagnostic ignored \"-Wdeclaration-after-statement\"") \
      _Pragma("GCC diagnostic ignored \"-Wpadded\"")
  #define EGB_QUIET_END_ _Pragma("GCC diagnostic pop")
#else
  #define EGB_QUIET_BEGIN_
  #define EGB_QUIET_END_
#endif
// clang-format on

// The declarations of a header for C.
#if defined(__cplusplus)
  #define EGB_C_BEGIN_ \
      EGB_QUIET_BEGIN_ \
      extern "C" {
  #define EGB_C_END_ \
      }              \
      EGB_QUIET_END_
#else
  #define EGB_C_BEGIN_ EGB_QUIET_BEGIN_
  #define EGB_C_END_   EGB_QUIET_END_
#endif

// A null pointer, and a cast, in a macro of ours, which becomes a part of the program's own file.
// In C++ a value may have a comma that is in no parentheses, between arguments of a template.
#if defined(__cplusplus)
  #define EGB_NULL_ nullptr
EGB_QUIET_BEGIN_
extern "C++" {
template <class To, class From>
constexpr To egb_cast_(From value) noexcept
{
    return static_cast<To>(value);
}
}
EGB_QUIET_END_
  #define EGB_CAST_(type, ...) egb_cast_<type>(__VA_ARGS__)
#else
  #define EGB_NULL_              NULL
  #define EGB_CAST_(type, value) ((type)(value))
#endif

EGB_C_BEGIN_

/// The answer of a call that can fail. The numbers never change.
typedef enum egb_status {
    EGB_OK          = 0,  // done
    EGB_INVALID     = 1,  // an argument can never work; nothing was changed
    EGB_NO_MEMORY   = 2,  // the system refused memory, or a file; nothing was changed
    EGB_LIMIT       = 3,  // more than this pool, or the library, can ever hold
    EGB_STALE       = 4,  // the handle's pool, element or frame is gone
    EGB_BUSY        = 5,  // others stand in the way: blocks in use, another process; or not in time
    EGB_CORRUPT     = 6,  // bytes of a block's red zone, or of a pool's file, were overwritten
    EGB_UNSUPPORTED = 7,  // not on this system, or not for this pool
    EGB_EMPTY       = 8,  // no block is free, and the caller did not want to wait
    EGB_TIMED_OUT   = 9,  // no block became free in time
    EGB_CANCELLED   = 10  // the wait was ended by another thread
} egb_status;

/// `status` in a few words: "ok", "invalid argument", ...
///
/// Returns  a string that lives for ever; never NULL, whatever number is passed.
/// Threads  any.
const char* egb_status_text(egb_status status);

EGB_C_END_

#endif  // EGGBOX_BASE_H
