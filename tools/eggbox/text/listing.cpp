// SPDX-License-Identifier: MIT
#include "text/listing.hpp"

namespace tool
{

namespace fs = std::filesystem;

std::vector<fs::directory_entry> entries_of(const std::string& folder, std::error_code& error)
{
    std::vector<fs::directory_entry> out;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        out.push_back(*at);
    }
    return out;
}

}  // namespace tool
