// SPDX-License-Identifier: MIT
// `eggbox top` on a terminal: looks again each second, until the user ends it.
#pragma once

#include <string>

namespace tool
{

/// Shows the processes that `wanted` names, as find_recorded(). Throws failure if stdout is no
/// terminal, or if the command was built without ncurses.
void show_screen(const std::string& wanted);

}  // namespace tool
