// SPDX-License-Identifier: MIT
// A file that takes the place of an earlier one when it is complete.
#pragma once

#include <string>

namespace tool
{

/// `eggbox run` opens its report before the program runs, so that a path that cannot be written
/// fails at once and not after an hour of work. On a full disk the earlier file stays. A temporary
/// file is made at the end alone: whoever kills `eggbox run` would leave it, and nobody knew it.
class report_file
{
  public:
    /// `wanted`: the path; empty: a temporary file. The ten newest of these stay. Throws failure.
    explicit report_file(const std::string& wanted);
    ~report_file();  // removes an incomplete file

    report_file(const report_file&)            = delete;
    report_file& operator=(const report_file&) = delete;

    /// Returns why the text could not be written; empty: it is complete.
    std::string write(const std::string& text);

    const std::string& path() const
    {
        return path_;
    }

  private:
    bool open_part();
    bool open_temporary();

    bool        is_named_;
    std::string path_;
    std::string part_;  // the file until it is complete; empty: it is written in place
    int         file_ = -1;
};

}  // namespace tool
