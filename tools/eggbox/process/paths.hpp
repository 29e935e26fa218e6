// SPDX-License-Identifier: MIT
// Where files are.
#pragma once

#include <string>

namespace tool
{

/// The folder in which this command lies.
std::string own_folder();

/// The absolute path of `path`, without links. Throws failure if there is no such file.
std::string absolute_path(const std::string& path);

}  // namespace tool
