// SPDX-License-Identifier: MIT
// The library that serves a program's malloc from pools: where it is, and how it gets in.
#pragma once

#include <string>

namespace tool
{

/// The absolute path of libeggbox-malloc.so: EGGBOX_MALLOC_LIB, else beside this command, where it
/// was installed, or in the build tree. Throws failure, with where it was looked for.
std::string find_malloc_library();

/// The value of LD_PRELOAD that puts `library` before what is preloaded already.
std::string preload_value(const std::string& library);

/// Refuses a path that LD_PRELOAD cannot name: blanks and colons separate there.
void require_preloadable(const std::string& library);

}  // namespace tool
