// SPDX-License-Identifier: MIT
// Temporary files and folders.
#pragma once

#include <string>

namespace tool
{

/// A path in TMPDIR or /tmp that ends in XXXXXX, for mkdtemp() and mkstemp(). `kind` is a part of
/// it.
std::string temporary_name(const std::string& kind = "");

/// A folder that is removed with its contents. If this command is killed it stays, and processes
/// may go on to write their reports there; the ten newest of such folders are left.
class temporary_folder
{
  public:
    temporary_folder();   // throws failure
    ~temporary_folder();  // calls remove()

    void remove();

    temporary_folder(const temporary_folder&)            = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;

    const std::string& path() const
    {
        return path_;
    }

  private:
    std::string path_;
    int         lock_ = -1;  // marks a folder in use; the system releases it when the process ends
};

}  // namespace tool
