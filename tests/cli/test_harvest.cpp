// SPDX-License-Identifier: MIT
// How the files of many processes become one report.
#include "run/harvest.hpp"
#include "sums/totals.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace
{

namespace fs = std::filesystem;
using json   = nlohmann::json;

std::string report_text(
    std::uint64_t pid,
    std::uint64_t process_started,
    std::uint64_t started_ns,
    const json&   changes = json::object()
)
{
    json out               = json::parse(std::ifstream(EGGBOX_RUNS "/process.json"));
    out["pid"]             = pid;
    out["process_started"] = process_started;
    out["started_ns"]      = started_ns;
    out.update(changes);
    return out.dump();
}

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
        write_text(
            std::to_string(pid) + "-" + std::to_string(started_ns) + ".json",
            report_text(pid, process_started, started_ns, changes)
        );
    }

    void note(const std::string& name, const std::string& text) const
    {
        fs::create_symlink(text, fs::path(path_) / name);
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
    of.finish(run, first, {"it ended", false});
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

TEST(harvest, blocks_in_use_are_those_of_the_last_program)
{
    const folder        place;
    const std::uint64_t first = ended_process();
    place.write(first, 5, 100);
    place.write(first, 5, 200);
    tool::harvest          harvest{place.path()};
    const tool::run_record run    = finished(harvest, first);
    std::uint64_t          in_use = 0;
    ASSERT_EQ(run.processes.size(), 1u);
    for (const tool::pool_record& each : run.processes[0].pools) {
        in_use += each.in_use;
    }
    EXPECT_EQ(in_use, 5u);  // as one file says
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

TEST(harvest, a_mark_without_a_report_is_a_process_without_numbers)
{
    const folder        place;
    const std::uint64_t first  = ended_process();
    const std::uint64_t second = ended_process();
    tool::harvest       harvest{place.path()};
    place.note(std::to_string(first) + "-7.begun", "/bin/first");
    place.note(std::to_string(second) + "-7.begun", "/bin/other");
    place.note(std::to_string(second) + "-7.failed", std::to_string(ENOSPC));
    place.note(std::to_string(second) + "-8.begun", "/bin/other");
    place.note(std::to_string(second) + "-8.failed", "0");
    place.note(std::to_string(second) + "-9.begun", "/bin/other");
    place.note(std::to_string(this_process()) + "-7.begun", "/bin/this");
    place.write(second, 5, 10);
    place.note(std::to_string(second) + "-10.begun", "/bin/written");  // just about to be removed
    const tool::run_record run = finished(harvest, first);
    EXPECT_EQ(place.files(), 0u);
    EXPECT_EQ(run.processes.size(), 1u);
    std::string seen;
    for (const tool::silent_record& each : run.silent) {
        seen += each.program + ": " + each.reason.substr(0, 48) + "\n";
        EXPECT_EQ(each.processes, 1u);
    }
    EXPECT_EQ(
        seen,
        "/bin/first: it ended\n"
        "/bin/other: a lock was held when it should be written\n"
        "/bin/other: a signal or a system call of its own ended it, o\n"
        "/bin/other: it could not be written: No space left on device\n"
        "/bin/this: still running\n"
    );
    EXPECT_EQ(run.silent.at(0).pid, first);
}

TEST(harvest, a_library_that_the_program_links_has_a_record_of_its_own)
{
    const folder        place;
    const std::uint64_t first = ended_process();
    const std::uint64_t other = ended_process();
    const json          linked{{"is_linked", true}};
    place.write(first, 5, 101, linked);
    place.write(first, 5, 100);
    place.write(first, 5, 200);  // it called exec
    place.write(first, 5, 201, linked);
    place.write(other, 6, 300, linked);
    place.note(std::to_string(other) + "-250.linked", "/bin/other");
    tool::harvest          harvest{place.path()};
    const tool::run_record run = finished(harvest, first);
    ASSERT_EQ(run.processes.size(), 3u);
    EXPECT_FALSE(run.processes[0].is_linked);
    EXPECT_TRUE(run.processes[1].is_linked && run.processes[1].is_beside);
    EXPECT_EQ(run.processes[1].pid, first);
    EXPECT_TRUE(run.processes[2].is_linked && !run.processes[2].is_beside);
    ASSERT_EQ(run.silent.size(), 1u);
    EXPECT_TRUE(run.silent[0].is_linked);
    EXPECT_EQ(tool::sum_up({run}).processes, 2u);
    EXPECT_EQ(tool::sum_up({run}).silent, 0u);
}

// The child has a lease on the report of the first process, and the signal of whoever opens that
// file ends it: it runs when the last look begins, and has ended before the look is at its mark.
TEST(harvest, a_process_that_ends_during_the_last_look_was_still_running)
{
    const folder  place;
    tool::harvest harvest{place.path()};
    const auto    first = ended_process();
    place.write(first, 5, 1000);
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        const std::string path   = place.path() + "/" + std::to_string(first) + "-1000.json";
        const int         file   = open(path.c_str(), O_RDWR);
        const char        answer = fcntl(file, F_SETLEASE, F_WRLCK) == 0 ? 'y' : 'n';
        while (write(ends[1], &answer, 1) == 1) {
            pause();
        }
        _exit(1);
    }
    char has_lease = 'n';
    ASSERT_EQ(read(ends[0], &has_lease, 1), 1);
    if (has_lease == 'y') {
        place.note(std::to_string(child) + "-77.begun", "/usr/bin/late");
        const tool::run_record run = finished(harvest, first);
        ASSERT_EQ(run.silent.size(), 1u);
        EXPECT_EQ(run.silent[0].program, "/usr/bin/late");
        EXPECT_EQ(run.silent[0].reason, "still running");
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(ends[0]);
    close(ends[1]);
    if (has_lease != 'y') {
        GTEST_SKIP() << "the file system has no leases";
    }
}

TEST(harvest, processes_that_are_silent_alike_are_one_while_the_run_goes_on)
{
    const folder  place;
    tool::harvest harvest{place.path()};
    for (int i = 0; i < 20; i++) {
        place.note(std::to_string(ended_process()) + "-7.begun", "/bin/other");
    }
    while (harvest.look()) {
    }
    EXPECT_EQ(place.files(), 0u);
    const std::uint64_t first = ended_process();
    place.note(std::to_string(first) + "-7.begun", "/bin/other");
    const tool::run_record run = finished(harvest, first);
    ASSERT_EQ(run.silent.size(), 2u);
    EXPECT_EQ(run.silent[0].pid, first);
    EXPECT_EQ(run.silent[1].processes, 20u);
}

// The file as its processes have it.
class mapped_live_file
{
  public:
    explicit mapped_live_file(const tool::live_file& live)
    {
        const std::string variable = live.variable();
        file_                      = std::stoi(variable.substr(variable.find('/') + 1));
        void* const start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
        EXPECT_NE(start, MAP_FAILED);
        memory_ = static_cast<char*>(start);
    }
    ~mapped_live_file()
    {
        munmap(memory_, bytes);
    }
    mapped_live_file(const mapped_live_file&)            = delete;
    mapped_live_file& operator=(const mapped_live_file&) = delete;

    egb_live_slot& operator[](std::size_t place)
    {
        return *reinterpret_cast<egb_live_slot*>(
            memory_ + EGB_LIVE_START + place * EGB_LIVE_SLOT_BYTES
        );
    }

    // A program that wrote its report behind the slots: `text`, with `length` as its stated length.
    void leave_report(std::size_t place, const std::string& text, std::uint32_t length)
    {
        egb_live_slot& slot  = (*this)[place];
        const auto     start = static_cast<off_t>(bytes + place * EGB_LIVE_REPORT_MAX);
        slot.started_ns      = 7;
        slot.state           = EGB_LIVE_REPORTED;
        slot.report_bytes    = length;
        slot.pid             = static_cast<std::uint32_t>(ended_process());
        EXPECT_EQ(pwrite(file_, text.data(), text.size(), start), std::int64_t(text.size()));
    }

    std::int64_t blocks() const
    {
        struct stat about = {};
        fstat(file_, &about);
        return about.st_blocks;
    }

  private:
    static constexpr std::size_t bytes = EGB_LIVE_BYTES(EGB_LIVE_SLOTS_MAX);

    int   file_   = -1;
    char* memory_ = nullptr;
};

// It was killed before the claim was counted.
TEST(harvest, the_last_look_finds_a_slot_whose_claim_was_not_counted)
{
    const folder    place;
    tool::live_file live;
    tool::harvest   harvest{place.path(), 1000, 1000, &live};
    EXPECT_FALSE(harvest.look());
    mapped_live_file memory{live};
    std::strcpy(memory[5].program, "/bin/killed");
    memory[5].pid              = static_cast<std::uint32_t>(ended_process());
    const tool::run_record run = finished(harvest);
    ASSERT_EQ(run.processes.size(), 1u);
    EXPECT_EQ(run.processes[0].program, "/bin/killed");
}

// Its memory is gone with it: only the peak that was seen before is known.
TEST(harvest, of_a_killed_process_the_peak_of_its_memory_is_known_that_was_seen)
{
    const folder     place;
    tool::live_file  live;
    tool::harvest    harvest{place.path(), 1000, 1000, &live};
    mapped_live_file memory{live};
    const pid_t      child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    const std::string self = fs::read_symlink("/proc/" + std::to_string(child) + "/exe").string();
    for (const std::size_t each : {3U, 4U}) {
        std::strncpy(memory[each].program, self.c_str(), sizeof memory[each].program - 1);
        memory[each].started_ns = each;
        memory[each].pid        = static_cast<std::uint32_t>(child);
    }
    std::strcpy(memory[4].program, "/bin/another");  // it has become this one by now
    EXPECT_FALSE(harvest.look());
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const tool::run_record run = finished(harvest);
    ASSERT_EQ(run.processes.size(), 2u);
    for (const tool::process_record& each : run.processes) {
        EXPECT_NE(each.no_report, "");
        EXPECT_EQ(each.peak_resident_bytes > 100000, each.program == self) << each.program;
    }
}

// A process that went on behind its report, and was killed before anybody looked.
TEST(harvest, of_a_killed_process_the_peak_of_its_memory_is_that_of_its_report_at_least)
{
    const folder     place;
    tool::live_file  live;
    tool::harvest    harvest{place.path(), 1000, 1000, &live};
    mapped_live_file memory{live};
    egb_live_slot&   slot  = memory[3];
    slot.started_ns        = 9;
    slot.pid               = static_cast<std::uint32_t>(ended_process());
    slot.large.allocations = 9000000;  // more than the report has
    place.write(slot.pid, 0, slot.started_ns, {{"peak_resident_bytes", 5656576}});
    const tool::run_record run = finished(harvest);
    ASSERT_EQ(run.processes.size(), 1u);
    EXPECT_NE(run.processes[0].no_report, "");
    EXPECT_EQ(run.processes[0].large.allocations, 9000000u);
    EXPECT_EQ(run.processes[0].peak_resident_bytes, 5656576u);
}

// The system's own count of a process goes on over exec, too.
TEST(harvest, of_a_killed_process_the_peak_is_that_of_its_earlier_program_at_least)
{
    const folder     place;
    tool::live_file  live;
    tool::harvest    harvest{place.path(), 1000, 1000, &live};
    mapped_live_file memory{live};
    egb_live_slot&   slot = memory[3];
    slot.process_started  = 5;
    slot.started_ns       = 9;
    slot.pid              = static_cast<std::uint32_t>(ended_process());
    place.write(slot.pid, slot.process_started, 8, {{"peak_resident_bytes", 5656576}});
    const tool::run_record run = finished(harvest);
    ASSERT_EQ(run.processes.size(), 1u);
    EXPECT_NE(run.processes[0].no_report, "");
    EXPECT_EQ(run.processes[0].peak_resident_bytes, 5656576u);
}

TEST(harvest, a_report_in_the_live_file_is_one_like_others_and_its_memory_is_given_back)
{
    const folder      place;
    tool::live_file   live;
    tool::harvest     harvest{place.path(), 1000, 1000, &live};
    mapped_live_file  memory{live};
    const auto        before = memory.blocks();
    const json        named  = {{"program", "/bin/of-others"}};
    const std::string text   = report_text(40, 0, 7, named) + std::string(100000, ' ');
    memory.leave_report(5, text, static_cast<std::uint32_t>(text.size()));
    while (harvest.look()) {
    }
    EXPECT_EQ(memory.blocks(), before);
    const tool::run_record run = finished(harvest);
    ASSERT_EQ(run.processes.size(), 1u);
    EXPECT_EQ(run.processes[0].program, "/bin/of-others");
    EXPECT_EQ(run.processes[0].no_report, "");
    EXPECT_EQ(run.unreadable, 0u);
}

// The disk may be full to which the process could not write either.
TEST(harvest, a_report_in_the_live_file_needs_no_place_for_a_file)
{
    for (const bool is_looked_for : {false, true}) {
        const folder      place;
        tool::live_file   live;
        tool::harvest     harvest{place.path(), 1000, 1000, &live};
        mapped_live_file  memory{live};
        const json        misuse = {{{"kind", "double free"}, {"count", 2}}};
        const std::string text   = report_text(40, 0, 7, {{"misuse", misuse}});
        memory.leave_report(5, text, static_cast<std::uint32_t>(text.size()));
        fs::remove_all(place.path());
        while (is_looked_for && harvest.look()) {
        }
        const tool::run_record run = finished(harvest);
        ASSERT_EQ(run.processes.size(), 1u);
        EXPECT_EQ(run.processes[0].no_report, "");
        ASSERT_EQ(run.processes[0].misuse.size(), 1u);
        EXPECT_EQ(run.processes[0].misuse[0].count, 2u);
    }
}

TEST(harvest, nonsense_in_the_live_file_in_place_of_a_report_is_counted)
{
    const folder     place;
    tool::live_file  live;
    tool::harvest    harvest{place.path(), 1000, 1000, &live};
    mapped_live_file memory{live};
    memory.leave_report(0, "{\"schema\":", 11);
    memory.leave_report(EGB_LIVE_SLOTS_MAX - 1, "{}", UINT32_MAX);
    const tool::run_record run = finished(harvest);
    EXPECT_EQ(run.unreadable, 2u);
    EXPECT_TRUE(run.processes.empty());
}

TEST(harvest, a_folder_that_is_gone_is_said)
{
    const folder  place;
    tool::harvest harvest{place.path()};
    fs::remove_all(place.path());
    EXPECT_TRUE(finished(harvest).processes.empty());
    EXPECT_EQ(harvest.trouble(), "No such file or directory");
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

TEST(harvest, of_many_processes_that_leak_the_later_ones_have_no_stacks)
{
    const folder  place;
    tool::harvest harvest{place.path(), 1000, 200};
    json          stack = json::array();
    for (int i = 1; i <= 10; i++) {
        stack.push_back({{"module", "/bin/sh"}, {"offset", i}});
    }
    const json leak = {
        {"site", stack[0]},
        {"stack", stack},
        {"pool", "heap 16"},
        {"blocks", 1},
        {"bytes", 1},
        {"oldest_ms", 1}
    };
    const json changes = {{"leaks", json::array({leak})}};
    for (std::uint64_t i = 0; i < 25; i++) {
        place.write(900 + i, 5, 99, changes);
    }
    std::size_t            places = 0;
    const tool::run_record run    = finished(harvest, 900 + 24);
    ASSERT_EQ(run.processes.size(), 25u);
    for (const tool::process_record& each : run.processes) {
        ASSERT_EQ(each.leaks.size(), 1u);
        EXPECT_EQ(each.leaks[0].site.offset, 1u);
        places += each.leaks[0].stack.size();
    }
    EXPECT_EQ(places, 200u);
    EXPECT_EQ(run.processes[0].leaks[0].stack.size(), 10u);  // the leak of the program itself
}
