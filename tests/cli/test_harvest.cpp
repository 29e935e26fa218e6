// SPDX-License-Identifier: MIT
// How the files of many processes become one report.
#include "run/harvest.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace
{

namespace fs = std::filesystem;
using json   = nlohmann::json;

// A folder as the library fills it.
class folder
{
  public:
    folder()
    {
        if (mkdtemp(path_) == nullptr) {
            std::abort();
        }
    }

    ~folder()
    {
        fs::remove_all(path_);
    }

    folder(const folder&)            = delete;
    folder& operator=(const folder&) = delete;

    std::string path() const
    {
        return path_;
    }

    std::size_t files() const
    {
        const fs::directory_iterator all(path_);
        return static_cast<std::size_t>(std::distance(begin(all), end(all)));
    }

    void write(
        std::uint64_t pid,
        std::uint64_t process_started,
        std::uint64_t started_ns,
        const json&   changes = json::object()
    ) const
    {
        json out               = json::parse(std::ifstream(EGGBOX_RUNS "/process.json"));
        out["pid"]             = pid;
        out["process_started"] = process_started;
        out["started_ns"]      = started_ns;
        out.update(changes);
        write_text(std::to_string(pid) + "-" + std::to_string(started_ns) + ".json", out.dump());
    }

    void write_text(const std::string& name, const std::string& text) const
    {
        std::ofstream(fs::path(path_) / name) << text;
    }

  private:
    char path_[64] = "/tmp/eggbox-test-XXXXXX";
};

// The number of a process that is no more.
std::uint64_t ended_process()
{
    const pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    waitpid(child, nullptr, 0);
    return static_cast<std::uint64_t>(child);
}

std::uint64_t this_process()
{
    return static_cast<std::uint64_t>(getpid());
}

tool::run_record finished(tool::harvest& of, std::uint64_t first = 0)
{
    tool::run_record run;
    of.finish(run, first);
    return run;
}

std::uint64_t allocations(const tool::process_record& of)
{
    std::uint64_t sum = 0;
    for (const tool::pool_record& each : of.pools) {
        sum += each.allocations;
    }
    return sum;
}

}  // namespace

TEST(harvest, programs_of_one_process_are_one_by_the_name_of_the_last)
{
    const folder  place;
    tool::harvest harvest{place.path()};
    place.write(900, 5, 99, {{"program", "/bin/sh"}, {"minor_faults", 100}});
    place.write(900, 5, 1000, {{"program", "/bin/cc"}, {"minor_faults", 250}});
    const tool::run_record run = finished(harvest);
    ASSERT_EQ(run.processes.size(), 1u);
    const tool::process_record& one = run.processes[0];
    EXPECT_EQ(one.program, "/bin/cc");
    EXPECT_EQ(one.processes, 1u);
    EXPECT_EQ(one.minor_faults, 250u);
    EXPECT_EQ(one.duration_s, 3.0);
    const auto single = tool::read_process(EGGBOX_RUNS "/process.json");
    EXPECT_EQ(allocations(one), 2 * allocations(single));
    ASSERT_EQ(one.pools.size(), single.pools.size());
    for (std::size_t i = 0; i < one.pools.size(); i++) {
        EXPECT_EQ(one.pools[i].peak, single.pools[i].peak);
    }
    EXPECT_EQ(one.large.allocations, 2 * single.large.allocations);
    EXPECT_EQ(one.large.peak_bytes, single.large.peak_bytes);
}

TEST(harvest, a_number_that_was_given_again_is_another_process)
{
    const folder  place;
    tool::harvest harvest{place.path()};
    place.write(900, 5, 99);
    place.write(900, 6, 1000);
    place.write(901, 0, 99);  // not known: not the same
    place.write(901, 0, 1000);
    EXPECT_EQ(finished(harvest).processes.size(), 4u);
}

TEST(harvest, files_of_processes_that_ended_are_taken_while_the_run_goes_on)
{
    const folder  place;
    tool::harvest harvest{place.path()};
    EXPECT_FALSE(harvest.look());
    place.write(ended_process(), 5, 99);
    EXPECT_TRUE(harvest.look());  // there may be another file of it, behind the one that was seen
    EXPECT_EQ(place.files(), 1u);
    EXPECT_FALSE(harvest.look());
    EXPECT_EQ(place.files(), 0u);
    EXPECT_EQ(finished(harvest).processes.size(), 1u);
}

TEST(harvest, what_a_living_process_wrote_it_may_write_again)
{
    const folder  place;
    tool::harvest harvest{place.path()};
    place.write(this_process(), 5, 99, {{"misuse", {{{"kind", "double free"}, {"count", 1}}}}});
    EXPECT_FALSE(harvest.look());
    EXPECT_FALSE(harvest.look());
    EXPECT_EQ(place.files(), 1u);
    place.write(this_process(), 5, 99, {{"misuse", {{{"kind", "double free"}, {"count", 2}}}}});
    const tool::run_record run = finished(harvest);
    EXPECT_EQ(place.files(), 0u);
    ASSERT_EQ(run.processes.size(), 1u);
    EXPECT_EQ(run.processes[0].misuse.at(0).count, 2u);
}

TEST(harvest, those_beyond_a_number_are_one_for_each_program)
{
    const folder  place;
    tool::harvest harvest{place.path(), 3};
    for (std::uint64_t pid = 900; pid < 920; pid++) {
        place.write(pid, 5, 99, {{"program", pid % 4 == 0 ? "/bin/a" : "/bin/b"}});
    }
    const tool::run_record run = finished(harvest, 919);
    ASSERT_EQ(run.processes.size(), 6u);
    EXPECT_EQ(run.processes[0].pid, 919u);  // the first, and apart, though it was there last
    EXPECT_EQ(run.processes[1].pid, 900u);
    EXPECT_EQ(run.processes[3].processes, 1u);
    EXPECT_EQ(run.processes[4].program, "/bin/a");
    EXPECT_EQ(run.processes[4].processes, 4u);
    EXPECT_EQ(run.processes[5].program, "/bin/b");
    EXPECT_EQ(run.processes[5].processes, 12u);
    const auto single = tool::read_process(EGGBOX_RUNS "/process.json");
    EXPECT_EQ(allocations(run.processes[5]), 12 * allocations(single));
    EXPECT_EQ(run.processes[5].minor_faults, 12 * single.minor_faults);
    EXPECT_EQ(run.processes[5].peak_resident_bytes, single.peak_resident_bytes);
}

TEST(harvest, half_a_file_is_counted_and_removed_and_other_files_are_left_alone)
{
    const folder  place;
    tool::harvest harvest{place.path()};
    place.write_text("900-99.json", "{\"schema\":1,");
    place.write_text("901-99.part", "{");
    place.write_text("odd.json", "{}");
    place.write(902, 5, 99);
    const tool::run_record run = finished(harvest);
    EXPECT_EQ(run.unreadable, 2u);
    EXPECT_EQ(run.processes.size(), 1u);
    EXPECT_EQ(place.files(), 1u);
}
