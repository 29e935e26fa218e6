// SPDX-License-Identifier: MIT
// The operations of the futex call. Systems with musl, such as Alpine, have the kernel's headers in
// a package of its own, which few builds install; the numbers are the kernel's interface.
#ifndef EGGBOX_SRC_OS_POSIX_FUTEX_H
#define EGGBOX_SRC_OS_POSIX_FUTEX_H

#if defined(__has_include)
  #if __has_include(<linux/futex.h>)
    #include <linux/futex.h>
  #endif
#endif
#if !defined(FUTEX_WAIT)
  #define FUTEX_WAIT         0
  #define FUTEX_WAKE         1
  #define FUTEX_WAIT_PRIVATE (FUTEX_WAIT | 128)
  #define FUTEX_WAKE_PRIVATE (FUTEX_WAKE | 128)
#endif

#endif  // EGGBOX_SRC_OS_POSIX_FUTEX_H
