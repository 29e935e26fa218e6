// SPDX-License-Identifier: MIT
// Bad input from the system and from other processes: users, seals, limits, damage at work, readers
// that stop. README.md in this folder says where the rest of the list is.
#include "shared.hpp"

#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <vector>

namespace
{

enum { NOT_ALLOWED = 77 };

// The end of a child that says NOT_ALLOWED where only root can go on.
void expect_done(pid_t child)
{
    const int end = end_of(child);
    if (end == NOT_ALLOWED) {
        GTEST_SKIP() << "only root may do this";
    }
    EXPECT_EQ(end, 0);
}

// A child with mounts of its own.
template <class Work>
pid_t start_apart(Work work)
{
    const pid_t child = fork();
    if (child == 0) {
        if (unshare(CLONE_NEWNS) != 0 ||
            mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
            _exit(NOT_ALLOWED);
        }
        _exit(work());
    }
    return child;
}

egb_shared_options named_options(const char* name, size_t count = 2)
{
    egb_shared_options options = shared_options(count, 1);
    options.name               = name;
    return options;
}

TEST(SharedName, of_another_shape_is_busy_and_attached_to_as_it_is)
{
    const std::string  name  = unused_name("shape");
    egb_shared* const  pool  = make_shared_pool(named_options(name.c_str()));
    egb_shared_options other = named_options(name.c_str(), 5);
    egb_shared*        more  = nullptr;
    other.block_bytes        = 7;
    EXPECT_EQ(egb_shared_create(&more, &other), EGB_BUSY);
    EXPECT_EQ(more, nullptr);
    ASSERT_EQ(egb_shared_attach(&more, name.c_str(), 0), EGB_OK);
    EXPECT_EQ(numbers_of(more).block_bytes, 100U);
    EXPECT_EQ(numbers_of(more).count, 2U);
    egb_shared_close(more);
    egb_shared_close(pool);
}

TEST(SharedName, of_another_user_is_left_alone)
{
    expect_done(start_apart([] {
        if (setgid(65534) != 0 || mount("none", "/dev/shm", "tmpfs", 0, "mode=1777") != 0) {
            return int{NOT_ALLOWED};
        }
        egb_shared* const pool = make_shared_pool(named_options("theirs"));
        return end_of(start_child([&] {
            egb_shared_close(pool);  // the attachment that the fork gave
            egb_shared*              mine    = nullptr;
            const egb_shared_options options = named_options("theirs");
            return setuid(65534) == 0 &&
                   egb_shared_attach(&mine, "theirs", EGB_SHARED_READ_ONLY) == EGB_NO_MEMORY &&
                   egb_shared_create(&mine, &options) == EGB_BUSY && egb_shared_gc() == 0 &&
                   mine == nullptr && access(path_of("theirs").c_str(), F_OK) == 0;
        }));
    }));
}

// ---- seals --------------------------------------------------------------------------------------

int copy_of(egb_shared* pool)
{
    std::vector<char> bytes(numbers_of(pool).bytes);
    EXPECT_EQ(
        pread(egb_shared_fd(pool), bytes.data(), bytes.size(), 0),
        static_cast<ssize_t>(bytes.size())
    );
    const int copy = memfd_create("copy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    EXPECT_EQ(write(copy, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    return copy;
}

TEST(SharedDescriptor, with_other_seals_is_refused_where_it_cannot_be_written_to)
{
    egb_shared* const pool       = make_shared_pool(shared_options(2, 1));
    const int         no_write   = F_SEAL_WRITE;
    const int         no_more    = 0x10;  // F_SEAL_FUTURE_WRITE
    const int         may_shrink = F_SEAL_GROW;
    for (const int seal : {no_write, no_more, may_shrink}) {
        const int   copy  = copy_of(pool);
        egb_shared* other = nullptr;
        ASSERT_EQ(fcntl(copy, F_ADD_SEALS, seal), 0);
        const egb_status wanted = seal == may_shrink ? EGB_OK : EGB_NO_MEMORY;
        EXPECT_EQ(egb_shared_attach_fd(&other, copy, 0), wanted) << seal;
        EXPECT_EQ(egb_shared_attach_fd(&other, copy, EGB_SHARED_READ_ONLY), wanted) << seal;
        egb_shared_close(other);
        close(copy);
    }
    egb_shared_close(pool);
}

// ---- limits -------------------------------------------------------------------------------------

size_t addresses_used()
{
    size_t        pages = 0;
    std::ifstream statm("/proc/self/statm");
    statm >> pages;
    return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

size_t count_descriptors()
{
    size_t count = 0;
    for (int fd = 0; fd < 256; fd++) {
        count += fcntl(fd, F_GETFD) >= 0 ? 1U : 0U;
    }
    return count;
}

// ulimit -v
TEST(SharedLimits, of_addresses_answer_no_memory_and_leave_nothing)
{
    egb_shared_options options = shared_options(6, 1);
    options.block_bytes        = 4 << 20;
    egb_shared* const pool     = make_shared_pool(options);
    EXPECT_EQ(
        end_of(start_child([&] {
            const size_t before   = count_descriptors();
            const rlimit old      = {RLIM_INFINITY, RLIM_INFINITY};
            const rlimit low      = {addresses_used() + (8 << 20), RLIM_INFINITY};
            egb_shared*  more     = nullptr;
            const bool   is_set   = setrlimit(RLIMIT_AS, &low) == 0;
            const auto   created  = egb_shared_create(&more, &options);
            const auto   attached = egb_shared_attach_fd(&more, egb_shared_fd(pool), 0);
            (void)setrlimit(RLIMIT_AS, &old);
            return is_set && created == EGB_NO_MEMORY && attached == EGB_NO_MEMORY &&
                   more == nullptr && count_descriptors() == before &&
                   egb_shared_create(&more, &options) == EGB_OK;
        })),
        0
    );
    expect_nothing_lost(pool, 0);
    egb_shared_close(pool);
}

TEST(SharedLimits, of_a_full_dev_shm_answer_no_memory_and_of_none_too)
{
    expect_done(start_apart([] {
        egb_shared*              pool    = nullptr;
        const egb_shared_options options = named_options("room");
        if (mount("none", "/dev/shm", "tmpfs", 0, "size=1m") != 0) {
            return int{NOT_ALLOWED};
        }
        std::ofstream("/dev/shm/other") << std::string(1 << 20, 'x');
        if (egb_shared_create(&pool, &options) != EGB_NO_MEMORY ||
            access(path_of("room").c_str(), F_OK) == 0) {
            return 1;
        }
        (void)unlink("/dev/shm/other");
        if (egb_shared_create(&pool, &options) != EGB_OK) {
            return 2;
        }
        egb_shared_close(pool);
        pool = nullptr;
        if (mount("none", "/dev", "tmpfs", 0, "") != 0 ||  // without a folder shm
            egb_shared_create(&pool, &options) != EGB_NO_MEMORY ||
            egb_shared_attach(&pool, "room", 0) != EGB_STALE || egb_shared_gc() != 0) {
            return 3;
        }
        const egb_shared_options nameless = shared_options(2, 1);
        return egb_shared_create(&pool, &nameless) == EGB_OK ? 0 : 4;
    }));
}

TEST(SharedFork, beyond_the_last_attachment_leaves_the_child_without_the_pool)
{
    egb_shared* const pool  = make_shared_pool(shared_options(2, 1));
    const pid_t       other = start_victim([&] {
        egb_shared* more = nullptr;
        while (egb_shared_attach_fd(&more, egb_shared_fd(pool), 0) == EGB_OK) {
        }
    });
    void* const       block = egb_shared_alloc(pool);
    EXPECT_EQ(numbers_of(pool).attachments, EGB_SHARED_ATTACHMENTS_MAX);
    EXPECT_EQ(
        end_of(start_child([&] {
            egb_published out;
            return egb_shared_fd(pool) == -1 && egb_shared_alloc(pool) == nullptr &&
                   egb_shared_next(pool, 0, 0, &out) == EGB_STALE &&
                   egb_shared_handle(pool, block).pool == 0;
        })),
        0
    );
    EXPECT_EQ(egb_shared_holders(pool, 0), 1U);
    kill_and_reap(other);
    egb_shared_release(pool, block);
    expect_nothing_lost(pool, 0);
    egb_shared_close(pool);
}

// ---- damage at work -----------------------------------------------------------------------------

// Uses a pool whose control part changes under it. False: never.
[[noreturn]] void use_damaged(egb_shared* pool)
{
    for (uint64_t i = 0;; i++) {
        egb_published out;
        void* const   block = egb_shared_alloc(pool);
        if (block != nullptr) {
            memset(block, 1, 100);
            (void)!egb_shared_publish(pool, block, &i, nullptr);
            egb_shared_release(pool, block);
        }
        const bool is_take = i % 3 == 0;
        if ((is_take ? egb_shared_take(pool, 0, &out) : egb_shared_next(pool, 0, 0, &out)) ==
            EGB_OK) {
            (void)*static_cast<volatile char*>(out.block);
            egb_shared_release(pool, out.block);
        }
        if (i % 16 == 0) {
            (void)egb_shared_recover(pool);
        }
    }
}

// Each byte that is used of the control part is changed, twice, while two processes are at work.
TEST(SharedDamage, while_others_are_at_work_ends_none_of_them)
{
    egb_shared* const pool    = make_shared_pool(shared_options(8, 3));
    const size_t      size    = 16384;
    char* const       control = static_cast<char*>(
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, egb_shared_fd(pool), 0)
    );
    ASSERT_NE(control, MAP_FAILED);
    const pid_t workers[] = {
        start_child([&] {
            use_damaged(pool);
            return false;
        }),
        start_child([&] {
            use_damaged(pool);
            return false;
        })
    };
    for (int round = 0; round < 2; round++) {
        for (size_t at = 0; at < size; at++) {
            control[at] =
                static_cast<char>(control[at] ^ (1 << (at + static_cast<size_t>(round)) % 8));
            if (at % 64 == 0) {
                (void)usleep(100);
            }
        }
    }
    for (const pid_t worker : workers) {
        kill_and_reap(worker);  // it was alive
    }
    munmap(control, size);
    egb_shared_close(pool);
}

// Each single bit of the control part is wrong once, in a pool that has frames and is else whole:
// what a number out of range leads to is not hidden by the damage before.
void use_with_each_bit_wrong(egb_shared_full on_full)
{
    egb_shared_options options = shared_options(8, 3);
    options.on_full            = on_full;
    egb_shared* const pool     = make_shared_pool(options);
    for (uint64_t i = 0; i < 5; i++) {
        void* const block = egb_shared_alloc(pool);
        ASSERT_EQ(egb_shared_publish(pool, block, &i, nullptr), EGB_OK);
        egb_shared_release(pool, block);
    }
    std::vector<char> whole(16384);
    char* const       control = static_cast<char*>(
        mmap(nullptr, whole.size(), PROT_READ | PROT_WRITE, MAP_SHARED, egb_shared_fd(pool), 0)
    );
    ASSERT_NE(control, MAP_FAILED);
    memcpy(whole.data(), control, whole.size());
    while (whole.back() == 0) {
        whole.pop_back();
    }
    for (size_t bit = 0; bit < whole.size() * 8; bit++) {
        control[bit / 8] = static_cast<char>(control[bit / 8] ^ 1 << bit % 8);
        egb_published out;
        if (egb_shared_next(pool, 0, 0, &out) == EGB_OK) {
            (void)*static_cast<volatile char*>(out.block);
            egb_shared_release(pool, out.block);
        }
        if (egb_shared_take(pool, 0, &out) == EGB_OK) {
            egb_shared_release(pool, out.block);
        }
        std::vector<void*> all;
        while (void* const block = all.size() <= 8 ? egb_shared_alloc(pool) : nullptr) {
            memset(block, 1, 100);
            all.push_back(block);
        }
        const uint64_t note = bit;
        if (!all.empty()) {
            (void)!egb_shared_publish(pool, all[0], &note, nullptr);
        }
        for (void* const block : all) {
            egb_shared_release(pool, block);
        }
        (void)egb_shared_recover(pool);
        memcpy(control, whole.data(), whole.size());
    }
    munmap(control, whole.size());
    egb_shared_close(pool);
}

TEST(SharedDamage, of_each_single_bit_is_answered)
{
    use_with_each_bit_wrong(EGB_SHARED_FAIL);
    use_with_each_bit_wrong(EGB_SHARED_DROP_OLDEST);
}

// ---- readers that stop --------------------------------------------------------------------------

// What a reader that was stopped for very long sees: its frame as it was, and how many it missed.
TEST(SharedReader, that_was_stopped_for_ten_thousand_frames_has_its_frame_and_is_told)
{
    egb_shared_options options = shared_options(6, 3);
    options.on_full            = EGB_SHARED_DROP_OLDEST;
    egb_shared* const pool     = make_shared_pool(options);
    const auto        publish  = [&](uint64_t value) {
        void* const block = egb_shared_alloc(pool);
        memset(block, static_cast<int>(value % 251), 100);
        EXPECT_EQ(egb_shared_publish(pool, block, &value, nullptr), EGB_OK);
        egb_shared_release(pool, block);
    };
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    publish(1);
    const pid_t reader = start_child([&] {
        egb_published held;
        egb_published next;
        const bool    has =
            egb_shared_next(pool, 0, 0, &held) == EGB_OK && write(ready[1], "x", 1) == 1;
        (void)raise(SIGSTOP);
        const auto* const bytes = static_cast<const unsigned char*>(held.block);
        return has && bytes[0] == 1 && bytes[99] == 1 &&
               egb_shared_next(pool, held.sequence, 0, &next) == EGB_OK && next.sequence == 9999 &&
               next.missed == 9997;
    });
    char        go     = 0;
    ASSERT_EQ(read(ready[0], &go, 1), 1);
    int status = 0;
    ASSERT_EQ(waitpid(reader, &status, WUNTRACED), reader);
    ASSERT_TRUE(WIFSTOPPED(status));
    for (uint64_t value = 2; value <= 10001; value++) {
        publish(value);
    }
    EXPECT_EQ(kill(reader, SIGCONT), 0);
    EXPECT_EQ(end_of(reader), 0);
    (void)egb_shared_recover(pool);
    EXPECT_EQ(numbers_of(pool).in_use, 3U);
    EXPECT_EQ(numbers_of(pool).only_feed, 3U);
    EXPECT_EQ(numbers_of(pool).attachments, 1U);
    close(ready[0]);
    close(ready[1]);
    egb_shared_close(pool);
}

}  // namespace
