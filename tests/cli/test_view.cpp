// SPDX-License-Identifier: MIT
// The lines of the screen of `eggbox top`.
#include "text/fold.hpp"
#include "top/view.hpp"

#include <cstdio>
#include <string>

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

// Each process has one line, whatever its name, and its name is seen on a narrow screen.
TEST(view, a_line_for_each_process_in_each_width)
{
    recorded_processes found;
    found.slots.resize(2);
    for (std::uint32_t i = 0; i < 2; i++) {
        found.slots[i].pid = 1001 + i;
        std::snprintf(
            found.slots[i].program,
            sizeof found.slots[i].program,
            "/bin/%u-%s",
            i,
            std::string(60, 'x').c_str()
        );
    }
    view_options wanted;
    wanted.by = order::name;
    for (wanted.width = 40; wanted.width < 250; wanted.width++) {
        const view seen = view_of(found, {}, {}, wanted);
        ASSERT_EQ(seen.rows.size(), 2U);
        for (std::size_t i = 0; i < 2; i++) {
            const std::string text = cut_to(seen.rows[i].text, wanted.width);
            EXPECT_EQ(text.rfind(std::to_string(1001 + i), 0), 0U) << wanted.width << text;
            EXPECT_NE(text.find("/bin/" + std::to_string(i)), std::string::npos) << text;
        }
        EXPECT_EQ(seen.head.find("pools") != std::string::npos, wanted.width >= 70) << seen.head;
    }
}

}  // namespace
