// SPDX-License-Identifier: MIT
// The entries of a folder.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace tool
{

/// The entries of a folder, or those before an error. Folders of processes end with their process,
/// in the middle of a list.
std::vector<std::filesystem::directory_entry>
entries_of(const std::string& folder, std::error_code& error);

}  // namespace tool
