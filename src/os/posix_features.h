// SPDX-License-Identifier: MIT
// Tells the headers of a POSIX system, before the first of them is included, that we use more than
// strict C11 and POSIX. Here and not on the command line, so that users of the one-file build need
// no option for it; eggbox.c includes this before all else, because <stdint.h> of glibc already
// decides for the whole file. There is no harm where a macro means nothing.
#ifndef EGGBOX_SRC_OS_POSIX_FEATURES_H
#define EGGBOX_SRC_OS_POSIX_FEATURES_H

#if !defined(_DEFAULT_SOURCE)  // glibc, musl
  #define _DEFAULT_SOURCE 1
#endif
#if !defined(_GNU_SOURCE)  // which file an address is in
  #define _GNU_SOURCE 1
#endif
#if !defined(_DARWIN_C_SOURCE)
  #define _DARWIN_C_SOURCE 1
#endif
#if !defined(_NETBSD_SOURCE)
  #define _NETBSD_SOURCE 1
#endif

#endif  // EGGBOX_SRC_OS_POSIX_FEATURES_H
