// SPDX-License-Identifier: MIT
// Refuses each request to the system of a scenario in turn, each time in a process of its own.
#ifndef EGGBOX_TESTS_SUPPORT_REFUSALS_HPP
#define EGGBOX_TESTS_SUPPORT_REFUSALS_HPP

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>

#include <gtest/gtest.h>

struct refused_run {
    int         requests;  // to the system
    std::size_t bytes;     // from the system that are out at the end
};

// Refuses the requests from this one to that one. If `expected` is not 0, so many bytes are out
// when the scenario was run without refusals after that.
using refused_scenario = refused_run (*)(int from, int to, std::size_t expected);

// In a child. `failed` says whether an expectation was not met there, or it died.
inline refused_run
run_in_child(refused_scenario scenario, int from, int to, std::size_t expected, bool* failed)
{
    int ends[2] = {};
    EXPECT_EQ(pipe(ends), 0);
    std::fflush(stdout);  // else each child prints it again
    const pid_t child = fork();
    if (child == 0) {
        const refused_run result = scenario(from, to, expected);
        const bool        sent   = write(ends[1], &result, sizeof result) == sizeof result;
        std::fflush(stdout);
        _exit(sent && !testing::Test::HasFailure() ? 0 : 1);
    }
    close(ends[1]);
    refused_run result{};
    EXPECT_EQ(read(ends[0], &result, sizeof result), static_cast<ssize_t>(sizeof result));
    close(ends[0]);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    *failed = status != 0;
    return result;
}

// The n-th request alone, and all from the n-th on. There are more than `least`.
inline void refuse_each(refused_scenario scenario, int least)
{
    bool              failed = false;
    const refused_run whole  = run_in_child(scenario, -1, -1, 0, &failed);
    ASSERT_FALSE(failed);
    ASSERT_GT(whole.requests, least);
    for (int n = 0; n < whole.requests; n++) {
        for (const int to : {n, n + 1, INT32_MAX}) {
            (void)run_in_child(scenario, n, to, whole.bytes, &failed);
            ASSERT_FALSE(failed) << "requests " << n << " to " << to << " refused";
        }
    }
}

#endif
