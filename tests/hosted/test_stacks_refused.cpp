// SPDX-License-Identifier: MIT
// The system has no memory for stacks: each request has its site alone. The linker leads the
// requests to the system to this file.
extern "C" {
#include "stacks/stacks.h"

void* __wrap_egb_os_reserve_(std::size_t bytes, std::size_t align);

void* __wrap_egb_os_reserve_(std::size_t, std::size_t)
{
    return nullptr;
}
}

#include <gtest/gtest.h>

TEST(stacks_refused, a_site_stays_a_site)
{
    egb_stacks_begin_();
    egb_stacks_restart_();
    const char site = 0;
    EXPECT_EQ(egb_stack_here_(&site), &site);
    EXPECT_EQ(egb_stacks_unknown_(), 1u);
    EXPECT_FALSE(egb_site_is_stack_(&site));
    EXPECT_EQ(egb_site_stack_(&site), nullptr);
    EXPECT_EQ(egb_site_address_(&site), &site);
    EXPECT_EQ(egb_stacks_end_(reinterpret_cast<std::uintptr_t>(&site)), 0u);
}
