// SPDX-License-Identifier: MIT
// Sums over runs: in how many runs a pool or a size was requested, and which run had the peak.
#include "sums/answer.hpp"
#include "sums/totals.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace
{

using namespace tool;

pool_record size_class(std::uint64_t bytes, std::uint64_t allocations, std::uint64_t failures = 0)
{
    pool_record out;
    out.name          = "heap " + std::to_string(bytes);
    out.is_size_class = true;
    out.block_bytes   = bytes;
    out.allocations   = allocations;
    out.failures      = failures;
    return out;
}

run_record run_with(const std::vector<pool_record>& pools)
{
    process_record process;
    process.pools = pools;
    return run_of({process});
}

run_record run_with_large(std::uint64_t bytes, std::uint64_t allocations, std::uint64_t peak)
{
    process_record process;
    process.large.sizes = {{bytes, allocations, 0, 0, peak}};
    return run_of({process});
}

TEST(sums, a_run_without_a_request_did_not_use_a_size_class)
{
    const totals sums = sum_up({
        run_with({size_class(64, 0)}),
        run_with({size_class(64, 10)}),
        run_with({size_class(64, 0)}),
    });
    ASSERT_EQ(sums.classes.size(), 1U);
    EXPECT_EQ(sums.classes[0].runs, 1U);
}

TEST(sums, a_run_with_refusals_alone_used_the_pool)
{
    const totals sums = sum_up({
        run_with({size_class(64, 10)}),
        run_with({size_class(64, 0, 3)}),
    });
    ASSERT_EQ(sums.classes.size(), 1U);
    EXPECT_EQ(sums.classes[0].runs, 2U);
    EXPECT_EQ(sums.classes[0].failures, 3U);
}

TEST(sums, two_processes_of_a_run_are_one_run)
{
    run_record run = run_with({size_class(64, 10)});
    run.processes.push_back(run.processes.front());
    const totals sums = sum_up({run, run});
    ASSERT_EQ(sums.classes.size(), 1U);
    EXPECT_EQ(sums.classes[0].runs, 2U);
}

TEST(sums, a_size_of_large_blocks_has_the_runs_that_requested_it)
{
    const totals sums = sum_up({
        run_with({size_class(64, 10)}),
        run_with_large(100000, 20, 3),
        run_with_large(100000, 0, 5),
        run_with_large(100000, 20, 4),
    });
    ASSERT_EQ(sums.large_sizes.size(), 1U);
    EXPECT_EQ(sums.large_sizes[0].runs, 2U);
    EXPECT_EQ(sums.large_sizes[0].peak, 5U);
    EXPECT_EQ(sums.large_sizes[0].peak_run, 2U);
}

TEST(sums, the_highest_moment_is_one_with_a_block_in_use)
{
    run_record run              = run_with({size_class(64, 10)});
    run.timeline.at_s           = {0.02, 0.04};
    run.timeline.processes      = {0, 1};
    run.timeline.bytes_in_use   = {0, 0};
    run.timeline.bytes_held     = {0, 65536};
    run.timeline.bytes_resident = {0, 65536};
    const auto lines            = [&] {
        return answer_of(sum_up({run}), {run}, {}).lines.size();
    };
    const std::size_t without = lines();
    run.timeline.bytes_in_use = {0, 640};
    EXPECT_EQ(lines(), without + 1);
}

TEST(sums, peaks_are_the_largest_of_one_pool)
{
    pool_record pool   = size_class(64, 10);
    pool.is_size_class = false;
    pool.peak          = 10;
    const totals sums  = sum_up({run_with({pool, pool, pool})});
    ASSERT_EQ(sums.others.size(), 1U);
    EXPECT_EQ(sums.others[0].peak, 10U);
    EXPECT_EQ(sums.others[0].pools, 3U);
}

}  // namespace
