// SPDX-License-Identifier: MIT
// The verdicts of `eggbox compare` about known numbers.
#include "compare/comparison.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace
{

tool::variant variant_of(const std::string& name, const std::vector<double>& wall_s)
{
    tool::variant out{name, name == "glibc" ? "" : "/lib/" + name + ".so", {}};
    for (const double each : wall_s) {
        out.samples.push_back({each, each / 2, each / 4, std::uint64_t{8} << 20, 100, 1, 0});
    }
    return out;
}

tool::comparison comparison_of(const std::vector<double>& glibc, const std::vector<double>& pools)
{
    tool::comparison out;
    out.command  = {"a program", "x"};
    out.runs     = static_cast<std::uint32_t>(glibc.size());
    out.warmup   = 1;
    out.variants = {variant_of("glibc", glibc), variant_of("eggbox", pools)};
    return out;
}

std::string first_line(const tool::comparison& of)
{
    const std::string page = tool::compare_page(of);
    return page.substr(0, page.find('\n'));
}

TEST(Compare, SaysHowManyTimesAsFast)
{
    EXPECT_EQ(
        first_line(comparison_of({2.0, 2.1, 1.9, 2.0}, {1.0, 1.0, 1.1, 0.9})),
        "eggbox is 2.00 ± 0.18 times as fast as glibc, with 1.00 times the memory."
    );
    EXPECT_EQ(
        first_line(comparison_of({1.0, 1.0, 1.1, 0.9}, {2.0, 2.1, 1.9, 2.0})),
        "eggbox is 2.00 ± 0.18 times as slow as glibc, with 1.00 times the memory."
    );
}

TEST(Compare, AdmitsThatItCannotTell)
{
    const std::string same =
        "eggbox is as fast as glibc, as far as these runs show, with 1.00 times the memory.";
    EXPECT_EQ(first_line(comparison_of({1.0, 1.5, 0.5, 1.0}, {1.1, 0.4, 1.5, 1.2})), same);
    EXPECT_EQ(first_line(comparison_of({0, 0, 0}, {0, 0, 0})), same);
}

TEST(Compare, AFewRunsTellNothing)
{
    EXPECT_EQ(
        first_line(comparison_of({1.0, 1.0}, {2.0, 2.0})),
        "2 runs of each, of eggbox and glibc, are too few to tell which is faster, with 1.00 times "
        "the memory."
    );
}

// It has no deviation: 0 would look like one that was measured.
TEST(Compare, OneRunHasNoSpread)
{
    const tool::comparison once = comparison_of({1.0}, {2.0});
    EXPECT_EQ(
        tool::compare_page(once),
        "1 run of each, of eggbox and glibc, is too few to tell which is faster, with 1.00 times "
        R"(the memory.

          time  ± spread     min     max  CPU time  relative  ±   CPU  ±  resident  faults
glibc   1.00 s         -  1.00 s  1.00 s  750.0 ms      1.00     1.00     8.00 MiB     101
eggbox  2.00 s         -  2.00 s  2.00 s    1.50 s      2.00  -  2.00  -  8.00 MiB     101

1 run of each, in turns, after 1 warm-up run. Times and faults are those of the program
and its children; resident is the peak of the largest process.

Next: eggbox run --report report.json -- 'a program' x
)"
    );
    const auto pools = nlohmann::json::parse(tool::compare_data(once))["variants"][1];
    EXPECT_TRUE(pools["wall_s"]["stddev"].is_null());
    EXPECT_TRUE(pools["relative_spread"].is_null());
    EXPECT_EQ(pools["relative"], 2.0);
    const auto of_hyperfine = nlohmann::json::parse(tool::compare_data_of_hyperfine(once));
    EXPECT_TRUE(of_hyperfine["results"][0]["stddev"].is_null());  // as its own
}

TEST(Compare, CpuTimeTellsWhatNoiseHides)
{
    tool::comparison noisy = comparison_of({1.0, 1.5, 0.5, 1.0}, {1.1, 0.4, 1.5, 1.2});
    for (tool::variant& each : noisy.variants) {
        for (tool::sample& run : each.samples) {
            run.user_s   = each.name == "glibc" ? 0.4 : 0.2;
            run.system_s = run.wall_s / 100;
        }
    }
    EXPECT_EQ(
        first_line(noisy),
        "eggbox is as fast as glibc, as far as these runs show, but takes 0.51 ± 0.01 times the "
        "CPU time, with 1.00 times the memory."
    );
}

TEST(Compare, MoreRunsMakeItSurer)
{
    std::vector<double> slow, fast;
    for (int i = 0; i < 100; i++) {
        slow.push_back(i % 2 == 0 ? 0.9 : 1.3);
        fast.push_back(i % 2 == 0 ? 0.8 : 1.2);
    }
    EXPECT_NE(first_line(comparison_of(slow, fast)).find("times as fast"), std::string::npos);
    slow.resize(4);
    fast.resize(4);
    EXPECT_NE(
        first_line(comparison_of(slow, fast)).find("as far as these runs show"), std::string::npos
    );
}

// It once took 2 in place of Student's t, and the distance of the quotient from 1.
TEST(Compare, SaysFastAsEasilyAsSlow)
{
    const std::vector<double> one = {1.0, 1.3, 1.6}, other = {0.72, 0.85, 1.06};
    EXPECT_NE(
        first_line(comparison_of(one, other)).find("as far as these runs show"), std::string::npos
    );
    EXPECT_NE(
        first_line(comparison_of(other, one)).find("as far as these runs show"), std::string::npos
    );
    const std::vector<double> surely = {0.51, 0.52, 0.54};
    EXPECT_NE(first_line(comparison_of(one, surely)).find("times as fast"), std::string::npos);
    EXPECT_NE(first_line(comparison_of(surely, one)).find("times as slow"), std::string::npos);
}

TEST(Compare, PrintsEveryNumber)
{
    EXPECT_EQ(
        tool::compare_page(comparison_of({2.0, 2.1, 1.9, 2.0}, {1.0, 1.0, 1.1, 0.9})),
        R"(eggbox is 2.00 ± 0.18 times as fast as glibc, with 1.00 times the memory.

          time  ± spread       min     max  CPU time  relative     ±   CPU     ±  resident  faults
glibc   2.00 s  81.65 ms    1.90 s  2.10 s    1.50 s      1.00        1.00        8.00 MiB     101
eggbox  1.00 s  81.65 ms  900.0 ms  1.10 s  750.0 ms      0.50  0.05  0.50  0.05  8.00 MiB     101

4 runs of each, in turns, after 1 warm-up run. Times and faults are those of the program
and its children; resident is the peak of the largest process.

Next: eggbox run --report report.json -- 'a program' x
)"
    );
}

TEST(Compare, GivesTheSameAsData)
{
    const auto data = nlohmann::json::parse(
        tool::compare_data(comparison_of({2.0, 2.1, 1.9, 2.0}, {1.0, 1.0, 1.1, 0.9}))
    );
    EXPECT_EQ(data["schema"], 1);
    EXPECT_EQ(data["kind"], "eggbox-comparison");
    const auto& pools = data["variants"][1];
    EXPECT_NEAR(pools["wall_s"]["mean"], 1.0, 1e-12);
    EXPECT_NEAR(pools["wall_s"]["stddev"], 0.0816497, 1e-6);
    EXPECT_NEAR(pools["relative"], 0.5, 1e-12);
    EXPECT_NEAR(pools["relative_spread"], 0.5 * 0.0912871, 1e-6);
    EXPECT_EQ(pools["peak_resident_bytes"]["max"], 8 << 20);
    EXPECT_EQ(pools["wall_times_s"].size(), 4u);
}

// The names are those of hyperfine's own scripts.
TEST(Compare, GivesTheSameAsHyperfine)
{
    tool::comparison done              = comparison_of({2.0, 2.1, 1.9, 2.2}, {1.0, 1.0, 1.1, 0.9});
    done.variants[1].samples[2].status = 3 << 8;
    const auto results = nlohmann::json::parse(tool::compare_data_of_hyperfine(done))["results"];
    ASSERT_EQ(results.size(), 2u);
    EXPECT_EQ(results[0]["command"], "'a program' x");
    EXPECT_EQ(results[1]["command"], "LD_PRELOAD=/lib/eggbox.so 'a program' x");
    EXPECT_NEAR(results[0]["median"], 2.05, 1e-12);
    EXPECT_NEAR(results[1]["mean"], 1.0, 1e-12);
    EXPECT_NEAR(results[1]["stddev"], 0.0816497, 1e-6);
    EXPECT_NEAR(results[1]["user"], 0.5, 1e-12);
    EXPECT_NEAR(results[1]["system"], 0.25, 1e-12);
    EXPECT_NEAR(results[1]["min"], 0.9, 1e-12);
    EXPECT_NEAR(results[1]["max"], 1.1, 1e-12);
    EXPECT_EQ(results[1]["times"], (std::vector<double>{1.0, 1.0, 1.1, 0.9}));
    EXPECT_EQ(results[1]["exit_codes"], (std::vector<int>{0, 0, 3, 0}));
}

}  // namespace
