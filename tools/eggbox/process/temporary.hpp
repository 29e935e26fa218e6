// SPDX-License-Identifier: MIT
// Temporary files and folders.
#pragma once

#include <string>

namespace tool
{

/// A path in TMPDIR or /tmp that ends in XXXXXX, for mkdtemp() and mkstemp(). `kind` is a part of
/// it.
std::string temporary_name(const std::string& kind = "");

/// A folder that the destructor removes with its contents.
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
