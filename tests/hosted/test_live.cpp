// SPDX-License-Identifier: MIT
// The live file (EGGBOX_LIVE=1): what another process reads of the pools of this one.
#include "eggbox/heap.h"
#include "eggbox/live.h"
#include "eggbox/pool.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace
{

// The file of this process, as another one would map it; null: it has none.
const char* map_file()
{
    for (int file = 3; file < 1024; file++) {
        const std::string path   = "/proc/self/fd/" + std::to_string(file);
        char              to[64] = {};
        if (readlink(path.c_str(), to, sizeof to - 1) > 0 &&
            std::strstr(to, "memfd:eggbox") != nullptr) {
            struct stat about = {};
            fstat(file, &about);
            void* const start = mmap(
                nullptr, static_cast<std::size_t>(about.st_size), PROT_READ, MAP_SHARED, file, 0
            );
            return start == MAP_FAILED ? nullptr : static_cast<const char*>(start);
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
    for (std::uint32_t i = 0; i < header_of(file).slots; i++) {
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

TEST(live, a_process_without_a_slot_goes_on_and_is_counted)
{
    const auto test = [] {
        const egb_pool    pool  = make_frames();
        const char* const file  = map_file();
        bool              is_ok = true;
        for (std::uint32_t i = 0; i < header_of(file).slots + 4; i++) {
            const pid_t child  = fork();
            int         status = 1;
            if (child == 0) {
                _exit(egb_pool_alloc(pool) == nullptr ? 1 : 0);
            }
            waitpid(child, &status, 0);
            is_ok = is_ok && status == 0;
        }
        return is_ok && header_of(file).refused == 5;  // the slot of this process is one of them
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

TEST(live, a_descriptor_that_is_inherited_serves_where_the_path_does_not)
{
    const int file = memfd_create("eggbox", MFD_ALLOW_SEALING);
    ASSERT_EQ(ftruncate(file, static_cast<off_t>(EGB_LIVE_BYTES(2))), 0);
    const egb_live_header header = {
        EGB_LIVE_MAGIC, EGB_LIVE_VERSION, 2, EGB_LIVE_SLOT_BYTES, 4000000, 0, 0, 0
    };
    ASSERT_EQ(pwrite(file, &header, sizeof header, 0), static_cast<ssize_t>(sizeof header));
    const std::string wanted = "4000000/" + std::to_string(file);  // no process has this number
    const auto        test   = [] {
        return slot_of(map_file(), getpid()).is_linked == 1;
    };
    EXPECT_EQ(in_process(wanted.c_str(), test), 0);
    close(file);
}

}  // namespace
