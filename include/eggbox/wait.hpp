// SPDX-License-Identifier: MIT
// Layer faces: how long a thread waits for a block, and what the wait gave it.
#ifndef EGGBOX_WAIT_HPP
#define EGGBOX_WAIT_HPP

#include "cpp17.hpp"

#if EGB_HAS_CPP17_

  #include "base.h"
  #include "port.h"  // EGB_FOREVER

  #include <chrono>
  #include <cstdint>
  #include <ratio>

EGB_QUIET_BEGIN_

namespace eggbox
{

/// A wait without an end.
inline constexpr std::chrono::milliseconds wait_forever{(std::chrono::milliseconds::max)()};

/// The result of a wait: a pointer, or the reason why there is none.
///
///     const auto [job, status] = jobs.make_for(100ms, work);
///
/// EGB_OK         `pointer` leads to the block, or to the object in it. On every other status it is
///                null.
/// EGB_EMPTY      No block is free, and the call did not want to wait: a duration of 0 or less.
/// EGB_TIMED_OUT  No block was freed in time.
/// EGB_CANCELLED  Another thread called cancel().
/// EGB_STALE      The pool ended before the wait did, or before the call: that is misuse.
/// EGB_INVALID    There is no pool: it was not made, or was moved from. That is misuse.
template <class Pointer>
struct [[nodiscard]] wait_result {
    Pointer    pointer;
    egb_status status;

    [[nodiscard]] explicit operator bool() const noexcept
    {
        return status == EGB_OK;
    }
};

// The duration in milliseconds, rounded up. Nothing, a negative duration and not-a-number are 0.
// 2^32 - 1 ms, which is 49 days, and more are EGB_FOREVER. A double holds each nanosecond between.
template <class Rep, class Period>
[[nodiscard]] constexpr std::uint32_t milliseconds_of_(std::chrono::duration<Rep, Period> limit
) noexcept
{
    const double ms = std::chrono::duration<double, std::milli>(limit).count();
    if (!(ms > 0)) {
        return 0;
    }
    if (ms >= EGB_FOREVER) {
        return EGB_FOREVER;
    }
    const auto whole = static_cast<std::uint32_t>(ms);
    return whole < ms ? whole + 1 : whole;
}

}  // namespace eggbox

EGB_QUIET_END_

#endif  // EGB_HAS_CPP17_

#endif  // EGGBOX_WAIT_HPP
