// SPDX-License-Identifier: MIT
// The pools of running processes as OpenMetrics, the text format of Prometheus.
#pragma once

#include "top/find.hpp"

#include <string>

namespace tool
{

/// The format 1.0 with UTF-8. Each series is named once: pools of one name and block size in a
/// process are one.
std::string metrics_text(const recorded_processes& found);

}  // namespace tool
