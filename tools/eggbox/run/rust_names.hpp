// SPDX-License-Identifier: MIT
// The names of functions of Rust as people write them.
#pragma once

#include <string>

namespace tool
{

/// The path of the function whose symbol begins with _R, without generic arguments and the numbers
/// of crates. Empty if the symbol is of no known kind.
std::string rust_path(const std::string& symbol);

/// A name that was read as one of C++, without the number at its end, and with the signs that names
/// of C++ cannot have. Any other name stays as it is.
std::string as_rust_name(const std::string& name);

}  // namespace tool
