// SPDX-License-Identifier: MIT
// The live file (EGGBOX_LIVE=1): what another process reads of the pools of this one.
#include "eggbox/heap.h"
#include "eggbox/live.h"
#include "eggbox/pool.h"
#include "eggbox/report.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace
{

// The file of this process, as another one would map it; null: it has none.
char* map_file()
{
    for (int file = 3; file < 1024; file++) {
        const std::string path   = "/proc/self/fd/" + std::to_string(file);
        char              to[64] = {};
        if (readlink(path.c_str(), to, sizeof to - 1) > 0 &&
            std::strstr(to, "memfd:eggbox") != nullptr) {
            struct stat about = {};
            fstat(file, &about);
            constexpr int access = PROT_READ | PROT_WRITE;
            void* const   start =
                mmap(nullptr, static_cast<std::size_t>(about.st_size), access, MAP_SHARED, file, 0);
            return start == MAP_FAILED ? nullptr : static_cast<char*>(start);
        }
    }
    return nullptr;
}

const egb_live_header& header_of(const char* file)
{
    return *reinterpret_cast<const egb_live_header*>(file);
}

const egb_live_slot& slot_of(const char* file, pid_t pid)
{
    static const egb_live_slot none = {};
    for (std::uint32_t i = 0; i < header_of(file).slot_count; i++) {
        const auto* const slot = reinterpret_cast<const egb_live_slot*>(
            file + EGB_LIVE_START + std::size_t{i} * EGB_LIVE_SLOT_BYTES
        );
        if (slot->pid == static_cast<std::uint32_t>(pid)) {
            return *slot;
        }
    }
    return none;
}

const egb_live_pool& pool_of(const egb_live_slot& slot, const char* name)
{
    static const egb_live_pool none = {};
    for (const egb_live_pool& each : slot.pools) {
        if (each.key != 0 && std::strncmp(each.name, name, sizeof each.name) == 0) {
            return each;
        }
    }
    return none;
}

// Each in a process of its own, whose EGGBOX_LIVE is `wanted`.
int in_process(const char* wanted, const std::function<bool()>& test)
{
    const pid_t child = fork();
    if (child == 0) {
        setenv("EGGBOX_LIVE", wanted, 1);
        egb_live_begin_();
        _exit(test() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

egb_pool make_frames()
{
    egb_pool         pool    = {};
    egb_pool_options options = {};
    options.name             = "frames";
    options.block_bytes      = 100;
    EXPECT_EQ(egb_pool_create(&pool, &options), EGB_OK);
    return pool;
}

TEST(live, has_the_numbers_of_a_pool)
{
    const auto test = [] {
        const egb_pool       pool = make_frames();
        const char* const    file = map_file();
        std::vector<void*>   blocks(1000);
        const egb_live_pool& seen = pool_of(slot_of(file, getpid()), "frames");
        for (void*& each : blocks) {
            each = egb_pool_alloc(pool);
        }
        const bool is_counted = seen.block_bytes == 100 && seen.in_use >= 1000 &&
                                seen.in_use - seen.in_magazines_max <= 1000 && seen.peak >= 1000 &&
                                seen.bytes_held >= 100000 && seen.failures == 0;
        for (void* const each : blocks) {
            egb_pool_free(pool, each);
        }
        const bool is_less = seen.in_use <= seen.in_magazines_max && seen.peak >= 1000;
        return is_counted && is_less && egb_pool_destroy(pool, EGB_DESTROY_REFUSE) == EGB_OK &&
               pool_of(slot_of(file, getpid()), "frames").key == 0;
    };
    EXPECT_EQ(in_process("1", test), 0);
}

// A count is at most one call of the purge away, once the time between two counts is over.
TEST(live, counts_free_blocks_in_magazines)
{
    const auto test = [] {
        std::vector<void*> blocks(1000);
        for (void*& each : blocks) {
            each = egb_malloc(100);
        }
        for (std::size_t i = 100; i < blocks.size(); i++) {
            egb_free(blocks[i]);
        }
        const char* const    file = map_file();
        const egb_live_pool& seen = pool_of(slot_of(file, getpid()), "heap 112");
        while (seen.in_magazines == 0 || seen.in_use - seen.in_magazines != 100) {
            egb_heap_purge();
        }
        const bool is_bounded = seen.in_magazines <= seen.in_magazines_max;
        for (std::size_t i = 0; i < 100; i++) {
            egb_free(blocks[i]);
        }
        egb_heap_trim(0);  // empties the magazines
        while (seen.in_magazines != 0) {
            egb_heap_purge();
        }
        return is_bounded && seen.in_use == 0;
    };
    EXPECT_EQ(in_process("1", test), 0);
}

TEST(live, counts_measured_requests_and_large_blocks_to_the_last_one)
{
    const auto test = [] {
        const char* const file = map_file();
        egb_heap_measure(true);
        for (int i = 0; i < 777; i++) {
            egb_free(egb_malloc(50));
        }
        void* const          large = egb_malloc(1 << 20);
        const egb_live_slot& slot  = slot_of(file, getpid());
        std::uint64_t        count = 0;
        std::uint64_t        bytes = 0;
        for (const egb_live_class& each : slot.classes) {
            count += each.requests;
            bytes += each.requested_bytes;
        }
        const bool is_large = slot.large.allocations == 1 && slot.large.in_use == 1 &&
                              slot.large.bytes_peak >= 1 << 20 && slot.large.frees == 0;
        egb_free(large);
        egb_heap_stats stats;
        std::uint64_t  told = 0;
        EXPECT_EQ(egb_heap_get_stats(&stats), EGB_OK);
        for (const egb_heap_class& each : stats.classes) {
            told += each.requests;
        }
        return count == 777 && bytes == 777 * 50 && is_large && slot.large.frees == 1 &&
               slot.large.in_use == 0 && told == 777;
    };
    EXPECT_EQ(in_process("1", test), 0);
}

TEST(live, a_forked_child_has_a_slot_of_its_own_which_outlives_it)
{
    const auto test = [] {
        const egb_pool    pool  = make_frames();
        const char* const file  = map_file();
        const pid_t       child = fork();
        if (child == 0) {
            for (int i = 0; i < 300; i++) {
                if (egb_pool_alloc(pool) == nullptr) {
                    _exit(1);
                }
            }
            raise(SIGKILL);
        }
        waitpid(child, nullptr, 0);
        const egb_live_slot& slot = slot_of(file, child);
        return pool_of(slot, "frames").in_use >= 300 && slot.is_forked == 1 &&
               slot.parent_pid == static_cast<std::uint32_t>(getpid()) &&
               pool_of(slot_of(file, getpid()), "frames").in_use == 0 &&
               std::strstr(slot.program, "test_live") != nullptr;
    };
    EXPECT_EQ(in_process("1", test), 0);
}

// Forks children that all are there until the last one is. True: each could allocate.
bool all_can_allocate(egb_pool pool, std::uint32_t children)
{
    int ends[2] = {};
    if (pipe(ends) != 0) {
        return false;
    }
    for (std::uint32_t i = 0; i < children; i++) {
        if (fork() == 0) {
            close(ends[1]);
            char      none = 0;
            const int is_ok =
                egb_pool_alloc(pool) != nullptr && read(ends[0], &none, sizeof none) == 0;
            _exit(is_ok ? 0 : 1);
        }
    }
    close(ends[0]);
    close(ends[1]);
    bool is_ok  = true;
    int  status = 1;
    while (waitpid(-1, &status, 0) > 0) {
        is_ok = is_ok && status == 0;
    }
    return is_ok;
}

TEST(live, a_process_without_a_slot_goes_on_and_is_counted)
{
    const auto test = [] {
        const egb_pool    pool = make_frames();
        const char* const file = map_file();
        return all_can_allocate(pool, header_of(file).slot_count + 4) &&
               header_of(file).refused == 5;  // the slot of this process is one of them
    };
    EXPECT_EQ(in_process("1", test), 0);
}

TEST(live, a_slot_that_nobody_harvests_is_free_when_its_process_has_ended)
{
    const auto test = [] {
        const egb_pool    pool  = make_frames();
        const char* const file  = map_file();
        bool              is_ok = true;
        for (std::uint32_t i = 0; i < 2 * header_of(file).slot_count; i++) {
            is_ok = is_ok && all_can_allocate(pool, 1);
        }
        return is_ok && header_of(file).refused == 0;
    };
    EXPECT_EQ(in_process("1", test), 0);
}

TEST(live, pools_that_find_no_place_are_known)
{
    const auto test = [] {
        const char* const    file = map_file();
        const egb_live_slot& slot = slot_of(file, getpid());
        make_frames();
        const bool is_none = slot.pools_beyond == 0;
        for (int i = 0; i < EGB_LIVE_POOLS; i++) {
            make_frames();
        }
        return is_none && slot.pools_beyond >= EGB_LIVE_POOLS &&
               slot.pools_beyond < 2 * EGB_LIVE_POOLS;
    };
    EXPECT_EQ(in_process("1", test), 0);
}

TEST(live, a_file_that_is_none_is_left_alone)
{
    const int other = memfd_create("other", 0);
    ASSERT_EQ(ftruncate(other, static_cast<off_t>(EGB_LIVE_BYTES(4))), 0);
    const std::string own      = std::to_string(getpid()) + "/";
    const std::string of_other = own + std::to_string(other);
    for (const std::string& wanted :
         {std::string(),
          std::string("on"),
          std::string("1/"),
          std::string("/3"),
          own + "999999",
          own + "99999999999999999999",
          of_other}) {
        EXPECT_EQ(in_process(wanted.c_str(), [] { return map_file() == nullptr; }), 0) << wanted;
    }
    char byte = 1;
    EXPECT_EQ(pread(other, &byte, 1, 0), 1);
    EXPECT_EQ(byte, 0);
    close(other);
}

// A file as `eggbox run` makes it. No process has the number of its maker.
constexpr std::uint32_t nobody = 4000000;

int make_harvested(std::uint32_t slots, int seals, std::uint64_t report_bytes = 0)
{
    const int           file  = memfd_create("eggbox", MFD_ALLOW_SEALING);
    const std::uint64_t bytes = EGB_LIVE_BYTES(slots) + slots * report_bytes;
    EXPECT_EQ(ftruncate(file, static_cast<off_t>(bytes)), 0);
    const egb_live_header header = {
        EGB_LIVE_MAGIC, EGB_LIVE_VERSION, slots, EGB_LIVE_SLOT_BYTES, nobody, 1, 0, 0, report_bytes
    };
    EXPECT_EQ(pwrite(file, &header, sizeof header, 0), static_cast<ssize_t>(sizeof header));
    EXPECT_EQ(fcntl(file, F_ADD_SEALS, seals), 0);
    return file;
}

std::string named(std::uint32_t maker, int file)
{
    return std::to_string(maker) + "/" + std::to_string(file);
}

TEST(live, a_descriptor_that_is_inherited_serves_where_the_path_does_not)
{
    const int  file = make_harvested(2, F_SEAL_SHRINK);
    const auto test = [] {
        return slot_of(map_file(), getpid()).is_linked == 1;
    };
    EXPECT_EQ(in_process(named(nobody, file).c_str(), test), 0);
    close(file);
}

// The number of the maker belongs to another process by now.
TEST(live, a_descriptor_that_is_inherited_serves_where_the_path_leads_elsewhere)
{
    const int file = make_harvested(2, F_SEAL_SHRINK);
    int       ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[0], file);  // a pipe of that number, which opens without a wait
        pause();
    }
    egb_live_header header = {};
    ASSERT_EQ(pread(file, &header, sizeof header, 0), static_cast<ssize_t>(sizeof header));
    header.maker = static_cast<std::uint32_t>(child);
    ASSERT_EQ(pwrite(file, &header, sizeof header, 0), static_cast<ssize_t>(sizeof header));
    const auto test = [] {
        return slot_of(map_file(), getpid()).is_linked == 1;
    };
    EXPECT_EQ(in_process(named(header.maker, file).c_str(), test), 0);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(ends[0]);
    close(ends[1]);
    close(file);
}

// Its owner could make it shorter, and an access behind the end is a signal.
TEST(live, a_file_that_is_not_sealed_is_left_alone)
{
    const int  file = make_harvested(2, F_SEAL_GROW);
    const auto test = [] {
        return slot_of(map_file(), getpid()).pid == 0;
    };
    EXPECT_EQ(in_process(named(nobody, file).c_str(), test), 0);
    close(file);
}

// ---- a report that no folder takes --------------------------------------------------------------

constexpr std::uint64_t room = 100 * 1024;

// The text behind the slots of the file, from the second byte of the slot's room on.
std::string report_behind(const char* file, const egb_live_slot& slot)
{
    const auto place =
        (reinterpret_cast<const char*>(&slot) - file - std::ptrdiff_t{EGB_LIVE_START}) /
        std::ptrdiff_t{EGB_LIVE_SLOT_BYTES};
    const std::uint64_t start =
        EGB_LIVE_BYTES(header_of(file).slot_count) + static_cast<std::uint64_t>(place) * room;
    return {file + start, slot.report_bytes};
}

bool ends_without_folder()
{
    setenv("EGGBOX_REPORT", "/nowhere/at/all", 1);
    return egb_report_begin_() && egb_report_end_(nullptr, 0) == EGB_OK;
}

TEST(live, a_report_that_the_folder_does_not_take_is_behind_the_slots)
{
    const int  file = make_harvested(3, F_SEAL_SHRINK, room);
    const auto test = [] {
        const char* const    all        = map_file();
        const egb_live_slot& slot       = slot_of(all, getpid());
        const bool           is_written = ends_without_folder();
        const std::string    text       = report_behind(all, slot);
        const std::string    begin      = "{\"schema\":1,\"kind\":\"eggbox-process\",";
        return is_written && slot.state == EGB_LIVE_REPORTED && text.size() > 500 &&
               text.compare(0, begin.size(), begin) == 0 &&
               text.compare(text.size() - 2, 2, "}\n") == 0;
    };
    EXPECT_EQ(in_process(named(nobody, file).c_str(), test), 0);
    close(file);
}

// As on a disk that is full for a while.
TEST(live, a_report_behind_the_slots_is_not_the_last_word_if_the_folder_takes_a_later_one)
{
    const int  file     = make_harvested(1, F_SEAL_SHRINK, room);
    char       folder[] = "/tmp/eggbox-test-XXXXXX";
    const auto test     = [&] {
        const egb_live_slot& slot = slot_of(map_file(), getpid());
        setenv("EGGBOX_REPORT", folder, 1);
        std::filesystem::remove(folder);
        const bool is_written = egb_report_begin_() && egb_report_end_(nullptr, 0) == EGB_OK;
        const bool is_behind  = slot.report_bytes != 0;
        std::filesystem::create_directory(folder);
        return is_written && is_behind && egb_report_end_(nullptr, 0) == EGB_OK &&
               slot.report_bytes == 0 && !std::filesystem::is_empty(folder);
    };
    ASSERT_NE(mkdtemp(folder), nullptr);
    EXPECT_EQ(in_process(named(nobody, file).c_str(), test), 0);
    std::filesystem::remove_all(folder);
    close(file);
}

// It is not read yet.
TEST(live, a_slot_with_a_report_behind_it_is_not_taken)
{
    const int  file = make_harvested(1, F_SEAL_SHRINK, room);
    const auto test = [] {
        const bool is_written = ends_without_folder();
        egb_live_begin_();
        return is_written && slot_of(map_file(), getpid()).state == EGB_LIVE_REPORTED &&
               header_of(map_file()).refused == 1;
    };
    EXPECT_EQ(in_process(named(nobody, file).c_str(), test), 0);
    close(file);
}

bool has_failed()
{
    const egb_live_slot& slot = slot_of(map_file(), getpid());
    return !ends_without_folder() && slot.state == EGB_LIVE_FAILED && slot.report_bytes == 0;
}

TEST(live, a_report_that_has_no_room_behind_the_slots_is_none)
{
    const std::pair<std::uint64_t, int> cases[] = {{0, ENOENT}, {100, EFBIG}};
    for (const auto& [bytes, error] : cases) {
        const int  file = make_harvested(2, F_SEAL_SHRINK, bytes);
        const auto test = [number = error] {
            return has_failed() &&
                   slot_of(map_file(), getpid()).report_error == static_cast<std::uint32_t>(number);
        };
        EXPECT_EQ(in_process(named(nobody, file).c_str(), test), 0) << bytes;
        close(file);
    }
}

// The program has closed all files, and opened one of its own under that number.
TEST(live, a_file_of_the_program_under_that_number_is_not_written_to)
{
    const int  file = make_harvested(2, F_SEAL_SHRINK, room);
    const auto test = [file] {
        const egb_live_slot& slot  = slot_of(map_file(), getpid());
        const int            other = make_harvested(2, F_SEAL_SHRINK, room);
        dup2(other, file);
        struct stat before = {};
        struct stat after  = {};
        fstat(other, &before);
        const bool is_written = ends_without_folder();
        fstat(other, &after);
        return !is_written && slot.report_bytes == 0 && before.st_blocks == after.st_blocks;
    };
    EXPECT_EQ(in_process(named(nobody, file).c_str(), test), 0);
    close(file);
}

// As in a shell script whose lines all replace the process.
TEST(live, a_program_takes_the_slot_of_the_program_that_its_process_was)
{
    std::string folder = testing::TempDir() + "liveXXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    const int  file = make_harvested(1, F_SEAL_SHRINK);
    const auto test = [&] {
        setenv("EGGBOX_REPORT", folder.c_str(), 1);
        bool is_ok = egb_report_begin_();
        for (int i = 0; i < 5; i++) {
            is_ok = is_ok && egb_report_end_(nullptr, 0) == EGB_OK &&
                    slot_of(map_file(), getpid()).state == EGB_LIVE_REPORTED;
            egb_live_begin_();
            is_ok = is_ok && slot_of(map_file(), getpid()).state == EGB_LIVE_RUNS;
        }
        return is_ok && header_of(map_file()).refused == 0;
    };
    EXPECT_EQ(in_process(named(nobody, file).c_str(), test), 0);
    close(file);
    std::filesystem::remove_all(folder);
}

// The report that was written before an exec is not the last word if the exec fails.
// The slot of a child that is gone, unseen, as one has it that became a program of its own.
egb_live_slot& slot_of_ended_program(const char* file)
{
    const pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    waitpid(child, nullptr, 0);
    auto& slot     = const_cast<egb_live_slot&>(slot_of(file, child));
    slot.is_forked = 0;
    return slot;
}

bool is_seen(const egb_live_slot& slot, int status)
{
    return slot.is_end_seen == 1 && slot.end_status == status;
}

TEST(live, a_status_goes_to_the_only_program_that_began_since)
{
    const auto test = [] {
        constexpr int        status = 3 << 8;
        const char* const    file   = map_file();
        egb_live_slot&       before = slot_of_ended_program(file);
        const std::uint64_t  since  = egb_live_now_();
        const egb_live_slot& own    = slot_of_ended_program(file);
        egb_live_slot&       forked = slot_of_ended_program(file);
        forked.is_forked            = 1;
        egb_live_wait_begins_();
        egb_live_wait_ends_(since, -1);
        const bool is_unknown = own.is_end_seen == 0;
        egb_live_wait_begins_();
        egb_live_wait_ends_(since, status);
        return is_unknown && is_seen(own, status) && before.is_end_seen == 0 &&
               forked.is_end_seen == 0;
    };
    EXPECT_EQ(in_process("1", test), 0);
}

TEST(live, a_status_that_may_be_of_several_goes_to_none)
{
    const auto test = [] {
        constexpr int        status = 3 << 8;
        const char* const    file   = map_file();
        const std::uint64_t  since  = egb_live_now_();
        const egb_live_slot& one    = slot_of_ended_program(file);
        egb_live_slot&       two    = slot_of_ended_program(file);
        egb_live_wait_begins_();
        egb_live_wait_ends_(since, status);
        const bool is_noted = one.is_end_seen != 0 || two.is_end_seen != 0;
        two.is_end_seen     = 1;
        egb_live_wait_begins_();
        egb_live_wait_begins_();
        egb_live_wait_ends_(since, status);
        egb_live_wait_ends_(since, status);
        const bool is_noted_beside = one.is_end_seen != 0;
        egb_live_wait_begins_();
        egb_live_wait_ends_(since, status);
        return !is_noted && !is_noted_beside && is_seen(one, status);
    };
    EXPECT_EQ(in_process("1", test), 0);
}

TEST(live, a_process_that_goes_on_behind_its_report_says_so)
{
    std::string folder = testing::TempDir() + "liveXXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    const auto test = [&] {
        setenv("EGGBOX_REPORT", folder.c_str(), 1);
        const egb_live_slot& slot = slot_of(map_file(), getpid());
        const bool is_written     = egb_report_begin_() && egb_report_end_(nullptr, 0) == EGB_OK &&
                                slot.state == EGB_LIVE_REPORTED;
        egb_report_go_on_();
        return is_written && slot.state == EGB_LIVE_RUNS;
    };
    EXPECT_EQ(in_process("1", test), 0);
    std::filesystem::remove_all(folder);
}

}  // namespace
