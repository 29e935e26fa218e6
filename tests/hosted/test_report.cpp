// SPDX-License-Identifier: MIT
// The report of a process, where nothing is as it should be: names, folders, disks, locks.
#include "cancelled.hpp"
#include "report_folder.hpp"

#include "eggbox/heap.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

extern "C" {
#include "cache/threads.h"
}

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace
{

namespace fs = std::filesystem;

class report : public report_folder
{
  protected:
    // The name of a pool in the report. Its block size is one that no other pool has.
    std::string name_in_report(const char* name) const
    {
        egb_pool_options options = {};
        options.name             = name;
        options.block_bytes      = 7777;
        egb_pool pool;
        EXPECT_EQ(egb_pool_create(&pool, &options), EGB_OK);
        EXPECT_EQ(write(), EGB_OK);
        EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
        const std::string all   = text();
        const std::size_t block = all.find("\"block_bytes\":7777");
        const std::size_t begin = all.rfind("{\"name\":\"", block) + 9;
        return all.substr(begin, all.find("\",\"parent\"", begin) - begin);
    }
};

const char* const bad = "\xEF\xBF\xBD";

const char* busy_folder;
egb_status  busy_status;

}  // namespace

// The first report of this process: nothing that a report needs once may wait for a lock.
TEST_F(report, a_signal_handler_gives_up_where_its_thread_has_a_lock)
{
    busy_folder = folder_;
    busy_status = EGB_OK;
    signal(SIGUSR1, [](int) { busy_status = egb_report_write(busy_folder); });
    egb_free(egb_malloc(1));
    egb_os_lock_(&egb_threads_.lock);  // as if the library were interrupted
    raise(SIGUSR1);
    egb_os_unlock_(&egb_threads_.lock);
    signal(SIGUSR1, SIG_DFL);
    EXPECT_EQ(busy_status, EGB_BUSY);
    EXPECT_EQ(files(), 0u);
    EXPECT_EQ(write(), EGB_OK);
}

// Else it would wait for its own thread for ever.
TEST_F(report, a_signal_handler_restarts_nothing_where_its_thread_has_a_lock)
{
    EXPECT_EQ(write(), EGB_OK);
    signal(SIGUSR1, [](int) { egb_report_restart(); });
    egb_os_lock_(&egb_threads_.lock);
    raise(SIGUSR1);
    egb_os_unlock_(&egb_threads_.lock);
    signal(SIGUSR1, SIG_DFL);
    EXPECT_EQ(write(), EGB_OK);
    EXPECT_EQ(files(), 1u);  // the same report, not that of a new process
}

// No report could be written any more if it ended there.
TEST_F(report, a_thread_that_is_to_be_cancelled_writes_it_to_the_end)
{
    egb_status status = EGB_BUSY;
    EXPECT_TRUE(comes_back_though_cancelled([&] { status = write(); }));
    EXPECT_EQ(status, EGB_OK);
    EXPECT_EQ(write(), EGB_OK);
    EXPECT_EQ(files(), 1u);
}

TEST_F(report, is_one_file_however_often_it_is_written)
{
    EXPECT_EQ(write(), EGB_OK);
    EXPECT_EQ(write(), EGB_OK);
    const std::string all = text();
    EXPECT_EQ(all.substr(0, 12), "{\"schema\":1,");
    EXPECT_EQ(all.substr(all.size() - 2), "}\n");
    EXPECT_NE(all.find("\"pid\":" + std::to_string(getpid()) + ","), std::string::npos);
    EXPECT_EQ(std::count(all.begin(), all.end(), '{'), std::count(all.begin(), all.end(), '}'));
}

TEST_F(report, names_are_text_whatever_bytes_they_are)
{
    const std::string b = bad;
    EXPECT_EQ(name_in_report("frames"), "frames");
    EXPECT_EQ(name_in_report("a\"b\\c\n\x01\x7F"), "a\\\"b\\\\c\\u000a\\u0001\\u007f");
    EXPECT_EQ(
        name_in_report("\xC3\xBC \xE2\x82\xAC \xF0\x9F\xA5\x9A"),
        "\xC3\xBC \xE2\x82\xAC \xF0\x9F\xA5\x9A"
    );
    EXPECT_EQ(name_in_report("\xFF\x80x"), b + b + "x");           // never the first of any
    EXPECT_EQ(name_in_report("\xC0\xAF"), b + b);                  // longer than need be
    EXPECT_EQ(name_in_report("\xE0\x80\x80"), b + b + b);          // the same
    EXPECT_EQ(name_in_report("\xED\xA0\x80"), b + b + b);          // half of a pair of UTF-16
    EXPECT_EQ(name_in_report("\xF4\x90\x80\x80"), b + b + b + b);  // beyond U+10FFFF
    EXPECT_EQ(name_in_report("x\xE2\x82"), "x" + b + b);           // cut short
    EXPECT_EQ(name_in_report("\xE2\x82\"y"), b + b + "\\\"y");     // broken off
}

TEST_F(report, a_name_that_is_cut_is_cut_between_characters_or_repaired)
{
    std::string long_name = "x";
    for (int i = 0; i < 40; i++) {
        long_name += "\xE2\x82\xAC";
    }
    const std::string seen = name_in_report(long_name.c_str());
    std::size_t       rest = 1;
    while (seen.compare(rest, 3, "\xE2\x82\xAC") == 0) {
        rest += 3;
    }
    EXPECT_GT(rest, 4u);
    EXPECT_TRUE(seen.size() == rest || seen.compare(rest, 3, bad) == 0) << seen;
}

TEST_F(report, a_folder_that_cannot_be_is_refused)
{
    EXPECT_EQ(egb_report_write(nullptr), EGB_INVALID);
    EXPECT_EQ(egb_report_write(std::string(5000, 'x').c_str()), EGB_INVALID);
    EXPECT_EQ(egb_report_write(std::string(4096, 'x').c_str()), EGB_INVALID);
    EXPECT_EQ(egb_report_write(std::string(4095, 'x').c_str()), EGB_NO_MEMORY);
    EXPECT_EQ(egb_report_write((std::string(folder_) + "/none").c_str()), EGB_NO_MEMORY);
    EXPECT_EQ(egb_report_write("/dev/full"), EGB_NO_MEMORY);
    EXPECT_EQ(files(), 0u);
    EXPECT_EQ(write(), EGB_OK);
}

TEST_F(report, a_path_of_nearly_four_thousand_bytes_is_taken)
{
    std::string deep = folder_;
    while (deep.size() + 220 < 4000) {
        deep += "/" + std::string(200, 'd');
        ASSERT_TRUE(fs::create_directory(deep));
    }
    EXPECT_EQ(egb_report_write(deep.c_str()), EGB_OK);
    const fs::directory_iterator all(deep);
    EXPECT_EQ(std::distance(begin(all), end(all)), 1);
}

// A limit on the size of files is a disk that is full after so many bytes, with a signal.
TEST_F(report, where_the_disk_is_full_no_half_of_it_is_left_and_the_program_goes_on)
{
    for (const rlim_t bytes : {0u, 100u, 4096u}) {
        const pid_t child = fork();
        if (child == 0) {
            const rlimit limit = {bytes, bytes};
            signal(SIGXFSZ, SIG_DFL);
            setrlimit(RLIMIT_FSIZE, &limit);
            for (std::size_t size = 16; size <= 4096; size *= 2) {
                egb_free(egb_malloc(size));  // enough classes for more than a page of text
                egb_free(egb_malloc(size + size / 2));
            }
            _exit(write() == EGB_NO_MEMORY ? 0 : 1);
        }
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0) << bytes;
        EXPECT_EQ(files(), 0u) << bytes;
    }
}

// The text of the link with this ending; empty: there is none.
std::string held(const std::string& folder, const char* ending)
{
    for (const fs::directory_entry& each : fs::directory_iterator(folder)) {
        if (each.path().extension() == ending) {
            return fs::read_symlink(each.path());
        }
    }
    return "";
}

TEST_F(report, a_mark_names_the_program_until_the_report_takes_its_place)
{
    egb_report_restart();
    egb_report_announce(folder_);
    EXPECT_EQ(held(folder_, ".begun"), fs::read_symlink("/proc/self/exe"));
    const fs::path mark = fs::directory_iterator(folder_)->path();
    EXPECT_EQ(write(), EGB_OK);
    EXPECT_NE(text(), "");
    EXPECT_EQ(fs::directory_iterator(folder_)->path().stem(), mark.stem());
    egb_report_restart();
    egb_report_announce(folder_);
    EXPECT_EQ(files(), 2u) << "that of another process";
    egb_report_announce(nullptr);
    egb_report_announce((std::string(folder_) + "/none").c_str());
    egb_report_announce(std::string(5000, 'x').c_str());
    egb_report_restart();
}

TEST_F(report, beside_the_mark_is_why_the_report_could_not_be_written)
{
    const pid_t child = fork();
    if (child == 0) {
        const rlimit limit = {100, 100};
        egb_report_restart();
        egb_report_announce(folder_);
        setrlimit(RLIMIT_FSIZE, &limit);
        _exit(write() == EGB_NO_MEMORY ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(files(), 2u);
    EXPECT_NE(held(folder_, ".begun"), "");
    EXPECT_EQ(held(folder_, ".failed"), std::to_string(EFBIG));
}

TEST_F(report, a_report_that_is_written_later_takes_back_that_it_could_not_be)
{
    rlimit before;
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit limit = {100, before.rlim_max};
    egb_report_restart();
    egb_report_announce(folder_);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const egb_status limited = write();
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_EQ(limited, EGB_NO_MEMORY);
    EXPECT_EQ(held(folder_, ".failed"), std::to_string(EFBIG));
    EXPECT_EQ(files(), 2u);
    EXPECT_EQ(write(), EGB_OK);
    EXPECT_NE(text(), "");
    egb_report_restart();
}

// The lowest number is for a standard file, and the limit leaves no other.
TEST_F(report, where_the_file_has_no_number_nothing_of_it_is_left)
{
    const pid_t child = fork();
    if (child == 0) {
        rlimit before;
        getrlimit(RLIMIT_NOFILE, &before);
        const rlimit limit  = {STDERR_FILENO + 1, before.rlim_max};
        const char*  folder = &folder_[0];  // from here on a sanitizer must not look at this object
        close(STDIN_FILENO);
        setrlimit(RLIMIT_NOFILE, &limit);
        const egb_status limited = egb_report_write(folder);
        setrlimit(RLIMIT_NOFILE, &before);
        _exit(limited == EGB_NO_MEMORY && files() == 0 && write() == EGB_OK ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_NE(text(), "");
}

// Others may write to the folder.
TEST_F(report, what_others_have_put_in_its_place_is_left_alone)
{
    ASSERT_EQ(write(), EGB_OK);
    const fs::path whole = fs::directory_iterator(folder_)->path();
    const fs::path part  = fs::path(whole).replace_extension(".part");
    const fs::path other = fs::path(folder_) / "other";
    std::ofstream(other) << "theirs";
    fs::remove(whole);
    const auto is_refused = [&](std::size_t files_before) {
        EXPECT_EQ(write(), EGB_NO_MEMORY);
        EXPECT_EQ(files(), files_before);
        fs::remove(part);
    };
    fs::create_symlink(other, part);
    is_refused(2);
    fs::create_symlink(fs::path(folder_) / "none", part);
    is_refused(2);
    fs::create_symlink("/dev/full", part);
    is_refused(2);
    fs::create_hard_link(other, part);
    is_refused(2);
    ASSERT_EQ(mkfifo(part.c_str(), 0600), 0);
    is_refused(2);
    ASSERT_TRUE(fs::create_directory(part));
    is_refused(2);
    EXPECT_EQ(fs::file_size(other), 6u);
}

TEST_F(report, beside_the_mark_is_that_its_name_was_taken)
{
    egb_report_restart();
    egb_report_announce(folder_);
    fs::path part = fs::directory_iterator(folder_)->path();
    fs::create_symlink("other", part.replace_extension(".part"));
    EXPECT_EQ(write(), EGB_NO_MEMORY);
    EXPECT_EQ(held(folder_, ".failed"), std::to_string(EEXIST));
    fs::remove(part);
    EXPECT_EQ(write(), EGB_OK);
    EXPECT_NE(text(), "");
    egb_report_restart();
}

TEST_F(report, a_link_in_place_of_the_whole_one_is_replaced)
{
    ASSERT_EQ(write(), EGB_OK);
    const fs::path whole = fs::directory_iterator(folder_)->path();
    const fs::path other = fs::path(folder_) / "other";
    std::ofstream(other) << "theirs";
    fs::remove(whole);
    fs::create_symlink(other, whole);
    EXPECT_EQ(write(), EGB_OK);
    EXPECT_FALSE(fs::is_symlink(whole));
    EXPECT_EQ(fs::status(whole).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_EQ(fs::file_size(other), 6u);
    fs::remove(whole);
    ASSERT_TRUE(fs::create_directory(whole));
    EXPECT_EQ(write(), EGB_NO_MEMORY);
    EXPECT_EQ(files(), 2u);
}

// Both write again and again, until they meet.
TEST_F(report, of_two_threads_one_is_told_that_the_other_writes)
{
    std::atomic<bool> have_met{false};
    std::atomic<int>  others{0};
    const auto        work = [&] {
        while (!have_met) {
            const egb_status status = write();
            others += status != EGB_OK && status != EGB_BUSY;
            if (status != EGB_OK) {
                have_met = true;
            }
        }
    };
    std::thread first(work);
    std::thread second(work);
    first.join();
    second.join();
    EXPECT_EQ(others, 0);
    const std::string all = text();
    EXPECT_EQ(all.substr(all.size() - 2), "}\n");
}

// In a child, because the counts change for good.
TEST_F(report, after_a_restart_requests_count_from_then_on)
{
    const pid_t child = fork();
    if (child == 0) {
        const auto counts = [&] {
            const std::string all   = (void(write()), text());
            const std::string name  = "\"name\":\"heap 112\"";
            const std::string key   = "\"allocations\":";
            const std::size_t place = all.find(key, all.find(name)) + key.size();
            fs::remove(fs::directory_iterator(folder_)->path());
            return std::atoi(all.c_str() + place);
        };
        for (int i = 0; i < 5; i++) {
            egb_free(egb_malloc(112));
        }
        const int before = counts();
        egb_report_restart();
        egb_free(egb_malloc(112));
        _exit(before >= 5 && counts() == 1 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

// This program once more, with a test that makes a pool.
TEST_F(report, a_long_argument_is_cut_and_those_behind_it_are_there)
{
    const std::string filter = "--gtest_filter=report.names_are_text*";
    const std::string longer = std::string(9000, 'x');
    const pid_t       child  = fork();
    if (child == 0) {
        setenv("EGGBOX_REPORT", folder_, 1);
        execl("/proc/self/exe", "p", filter.c_str(), longer.c_str(), "last", nullptr);
        _exit(127);
    }
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    const std::string expected =
        "\"p\",\"" + filter + "\",\"" + longer.substr(0, 4096) + "\",\"last\"";
    EXPECT_EQ(after(text(), "\"arguments\":[", "]"), expected);
}
