// SPDX-License-Identifier: MIT
// Finds the library that serves malloc from pools, and makes the value of LD_PRELOAD for it.
#pragma once

#include <string>

namespace tool
{

/// The absolute path of libeggbox-malloc.so: the value of EGGBOX_MALLOC_LIB; else the library
/// beside this command, in the installation, in `../lib`, or two folders up, as in the build tree.
/// Throws failure, whose text names each folder searched.
std::string find_malloc_library();

/// The value of LD_PRELOAD with `library` before the libraries that are preloaded already. In place
/// of libeggbox-malloc.so it has libeggbox-preload.so, if that lies beside it: it leads to the same
/// with glibc, and to nothing with another C library, which could not load ours.
std::string preload_value(const std::string& library);

/// Throws failure if LD_PRELOAD cannot hold the path: blanks and colons separate paths there.
void require_preloadable(const std::string& library);

}  // namespace tool
