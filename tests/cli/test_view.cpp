// SPDX-License-Identifier: MIT
// The lines of the screen of `eggbox top`.
#include "top/view.hpp"

#include <gtest/gtest.h>

namespace
{

using namespace tool;

std::string title_with(std::uint64_t refused)
{
    recorded_processes found;
    found.refused = refused;
    return view_of(found, {}, {}, {}).title;
}

TEST(view, a_title_counts_the_processes_without_a_slot)
{
    EXPECT_EQ(title_with(0), "0 processes, 0 B in use, 0 B held");
    EXPECT_EQ(title_with(1), "0 processes, 0 B in use, 0 B held; NOT recorded: 1 more process");
    EXPECT_EQ(title_with(5), "0 processes, 0 B in use, 0 B held; NOT recorded: 5 more processes");
}

}  // namespace
