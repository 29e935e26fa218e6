// SPDX-License-Identifier: MIT
// An address range that is given back at the end of its scope.
#ifndef EGGBOX_TESTS_OS_RANGE_HPP
#define EGGBOX_TESTS_OS_RANGE_HPP

#include "os.h"

#include <utility>

class range
{
  public:
    range() = default;

    range(std::size_t bytes, std::size_t align)
        : start_(egb_os_reserve_(bytes, align)), bytes_(bytes)
    {
    }

    range(range&& other) noexcept
        : start_(std::exchange(other.start_, nullptr)), bytes_(other.bytes_)
    {
    }

    range& operator=(range&& other) noexcept
    {
        std::swap(start_, other.start_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }

    ~range()
    {
        if (start_ != nullptr) {
            egb_os_release_(start_, bytes_);
        }
    }

    char* start() const
    {
        return static_cast<char*>(start_);
    }

    std::size_t bytes() const
    {
        return bytes_;
    }

  private:
    void*       start_ = nullptr;
    std::size_t bytes_ = 0;
};

#endif  // EGGBOX_TESTS_OS_RANGE_HPP
