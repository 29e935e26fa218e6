// SPDX-License-Identifier: MIT
// Where processes write their reports, one file each.
#pragma once

#include <string>

namespace tool
{

/// A path in TMPDIR, or /tmp, that ends in XXXXXX for mkdtemp() and its kin.
std::string temporary_name();

/// A folder that is removed with all that is in it.
class temporary_folder
{
  public:
    temporary_folder();  // throws failure
    ~temporary_folder();

    temporary_folder(const temporary_folder&)            = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;

    const std::string& path() const
    {
        return path_;
    }

  private:
    std::string path_;
};

}  // namespace tool
