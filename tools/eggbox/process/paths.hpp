// SPDX-License-Identifier: MIT
// Paths of files.
#pragma once

#include <string>

namespace tool
{

/// The folder of this command.
std::string own_folder();

/// The absolute path of `path`, with all links resolved. Throws failure if there is no such file.
std::string absolute_path(const std::string& path);

}  // namespace tool
