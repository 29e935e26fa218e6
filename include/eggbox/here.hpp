// SPDX-License-Identifier: MIT
// Layer faces: places in the source, for pools at level "track".
#ifndef EGGBOX_HERE_HPP
#define EGGBOX_HERE_HPP

#include "base.h"

#if __has_include(<source_location>)
  #include <source_location>
#endif

EGB_QUIET_BEGIN_

namespace eggbox
{

/// The place in the source at which `here{}` is written. Level "track" records it if it is the
/// first argument of make(); it costs nothing at other levels.
///
///     connections.make(eggbox::here{}, socket)
struct here {
#if defined(__cpp_lib_source_location)
    constexpr here(std::source_location where = std::source_location::current()) noexcept
        : file(where.file_name()), line(static_cast<unsigned>(where.line()))
    {
    }
#else
    constexpr explicit here(
        const char* name = __builtin_FILE(), unsigned number = __builtin_LINE()
    ) noexcept
        : file(name), line(number)
    {
    }
#endif

    const char* file;
    unsigned    line;
};

}  // namespace eggbox

EGB_QUIET_END_

#endif  // EGGBOX_HERE_HPP
