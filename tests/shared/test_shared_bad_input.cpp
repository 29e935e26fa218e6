// SPDX-License-Identifier: MIT
// Bad input from the program, the system and other processes: options, users, descriptors and
// limits. README.md in this folder says where the rest of the list is.
#include "shared.hpp"

#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <vector>

namespace
{

TEST(SharedOptions, out_of_range_are_invalid)
{
    egb_shared* pool = nullptr;
    const auto  made = [&](auto change) {
        egb_shared_options options = shared_options(2, 1);
        change(options);
        return egb_shared_create(&pool, &options);
    };
    using options_ref = egb_shared_options&;
    EXPECT_EQ(made([](options_ref o) { o.block_bytes = 0; }), EGB_INVALID);
    EXPECT_EQ(made([](options_ref o) { o.count = 0; }), EGB_INVALID);
    EXPECT_EQ(made([](options_ref o) { o.count = EGB_SHARED_BLOCKS_MAX + 1; }), EGB_INVALID);
    EXPECT_EQ(made([](options_ref o) { o.feed_count = 3; }), EGB_INVALID);
    EXPECT_EQ(made([](options_ref o) { o.note_bytes = 65; }), EGB_INVALID);
    EXPECT_EQ(made([](options_ref o) { o.block_align = 48; }), EGB_INVALID);
    EXPECT_EQ(made([](options_ref o) { o.block_align = 8192; }), EGB_INVALID);
    EXPECT_EQ(made([](options_ref o) { o.flags = EGB_SHARED_READ_ONLY; }), EGB_INVALID);
    EXPECT_EQ(made([](options_ref o) { o.permissions = 04777; }), EGB_INVALID);
    EXPECT_EQ(made([](options_ref o) { o.about_bytes = 4; }), EGB_INVALID);
    EXPECT_EQ(made([](options_ref o) { o.name = ""; }), EGB_INVALID);
    EXPECT_EQ(made([](options_ref o) { o.name = "a/b"; }), EGB_INVALID);
    EXPECT_EQ(made([](options_ref o) { o.name = "/tmp/"; }), EGB_INVALID);
    EXPECT_EQ(made([](options_ref o) { o.name = "/no/such/folder/x"; }), EGB_NO_MEMORY);
    EXPECT_EQ(egb_shared_create(nullptr, nullptr), EGB_INVALID);
    EXPECT_EQ(egb_shared_attach(&pool, nullptr, 0), EGB_INVALID);
    EXPECT_EQ(egb_shared_attach(&pool, "x", 8), EGB_INVALID);
    const std::string too_long(EGB_SHARED_NAME_BYTES_MAX + 1, 'n');
    EXPECT_EQ(egb_shared_attach(&pool, too_long.c_str(), 0), EGB_INVALID);
    EXPECT_EQ(pool, nullptr);
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

// 0: the pool of another version of the library was left alone while it lived, and replaced then.
int create_over_another_version()
{
    egb_shared*              pool    = nullptr;
    const egb_shared_options options = named_options("old");
    const pid_t              victim  = start_victim([&] { (void)make_shared_pool(options); });
    const int                file    = open(path_of("old").c_str(), O_RDWR | O_CLOEXEC);
    const char               version = 1;
    const bool               is_old  = pwrite(file, &version, 1, 8) == 1;
    close(file);
    const bool is_busy = egb_shared_create(&pool, &options) == EGB_BUSY && egb_shared_gc() == 0;
    kill_and_reap(victim);
    return is_old && is_busy && egb_shared_create(&pool, &options) == EGB_OK ? 0 : 1;
}

TEST(SharedName, of_a_dead_pool_of_another_version_is_replaced)
{
    expect_done(start_apart([] {
        return mount("none", "/dev/shm", "tmpfs", 0, "") != 0 ? int{NOT_ALLOWED}
                                                              : create_over_another_version();
    }));
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

// Everybody may write to it, and only its owner may remove it.
TEST(SharedName, of_another_user_that_is_dead_is_not_counted_as_removed)
{
    expect_done(start_apart([] {
        if (mount("none", "/dev/shm", "tmpfs", 0, "mode=1777") != 0) {
            return int{NOT_ALLOWED};
        }
        egb_shared*        pool    = nullptr;
        egb_shared_options options = named_options("theirs");
        options.permissions        = 0666;
        kill_and_reap(start_victim([&] { (void)make_shared_pool(options); }));
        if (setgid(65534) != 0 || setuid(65534) != 0) {
            return int{NOT_ALLOWED};
        }
        return egb_shared_gc() == 0 && egb_shared_create(&pool, &options) == EGB_BUSY ? 0 : 1;
    }));
}

// ---- descriptors --------------------------------------------------------------------------------

TEST(SharedDescriptor, that_is_no_pool_is_refused)
{
    egb_shared* pool = nullptr;
    EXPECT_EQ(egb_shared_attach_fd(&pool, -1, 0), EGB_INVALID);
    EXPECT_EQ(egb_shared_attach_fd(&pool, 9999, 0), EGB_INVALID);
    int pair[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    EXPECT_EQ(egb_shared_attach_fd(&pool, pair[0], 0), EGB_CORRUPT);
    close(pair[0]);
    close(pair[1]);
    const int empty = memfd_create("empty", MFD_CLOEXEC);
    EXPECT_EQ(egb_shared_attach_fd(&pool, empty, 0), EGB_CORRUPT);
    ASSERT_EQ(ftruncate(empty, 1 << 20), 0);
    EXPECT_EQ(egb_shared_attach_fd(&pool, empty, 0), EGB_CORRUPT);
    close(empty);
    EXPECT_EQ(pool, nullptr);
}

// As it comes over a UNIX socket to a process that shares nothing else.
TEST(SharedDescriptor, opens_the_pool_in_a_process_that_has_nothing_but_it)
{
    egb_shared* const pool  = make_shared_pool(shared_options(2, 1));
    void* const       block = egb_shared_alloc(pool);
    const uint64_t    note  = 5;
    ASSERT_EQ(egb_shared_publish(pool, block, &note, nullptr), EGB_OK);
    const int fd = dup(egb_shared_fd(pool));
    // The child of a fork, without its attachment.
    const pid_t child = start_child([&] {
        egb_shared_close(pool);
        egb_shared*   own = nullptr;
        egb_published out;
        const bool    has = egb_shared_attach_fd(&own, fd, EGB_SHARED_READ_ONLY) == EGB_OK &&
                         egb_shared_next(own, 0, 0, &out) == EGB_OK &&
                         out.note[0] + out.note[7] == 5;
        egb_shared_close(own);
        return has;
    });
    EXPECT_EQ(end_of(child), 0);
    close(fd);
    egb_shared_release(pool, block);
    expect_nothing_lost(pool, 1);
    egb_shared_close(pool);
}

TEST(SharedDescriptor, for_reading_only_is_refused)
{
    egb_shared* const pool = make_shared_pool(shared_options(2, 0));
    const int         fd   = open_file_of(pool, O_RDONLY);
    egb_shared*       more = nullptr;
    EXPECT_EQ(egb_shared_attach_fd(&more, fd, 0), EGB_INVALID);
    close(fd);
    EXPECT_NE(ftruncate(egb_shared_fd(pool), 4096), 0);  // sealed
    egb_shared_close(pool);
}

// A copy of a pool's file, with one byte changed, or cut.
egb_status attach_to_copy(const std::vector<char>& bytes, size_t length)
{
    const int        copy   = file_with(bytes, length);
    egb_shared*      pool   = nullptr;
    const egb_status status = egb_shared_attach_fd(&pool, copy, 0);
    egb_shared_close(pool);
    close(copy);
    return status;
}

TEST(SharedDescriptor, cut_short_or_of_a_damaged_shape_is_refused)
{
    egb_shared* const pool  = make_shared_pool(shared_options(2, 1));
    std::vector<char> bytes = bytes_of(pool);
    egb_shared_close(pool);
    EXPECT_EQ(attach_to_copy(bytes, bytes.size()), EGB_OK);
    for (const size_t length : {size_t{1}, size_t{4096}, bytes.size() / 2, bytes.size() - 1}) {
        EXPECT_EQ(attach_to_copy(bytes, length), EGB_CORRUPT) << length;
    }
    bytes[8]++;
    EXPECT_EQ(attach_to_copy(bytes, bytes.size()), EGB_UNSUPPORTED);  // another version
    bytes[8]--;
    for (size_t at = 12; at < 616; at++) {
        bytes[at] ^= 16;
        EXPECT_EQ(attach_to_copy(bytes, bytes.size()), EGB_CORRUPT) << at;
        bytes[at] ^= 16;
    }
}

TEST(SharedDescriptor, with_other_seals_is_refused_where_it_cannot_be_written_to)
{
    egb_shared* const       pool       = make_shared_pool(shared_options(2, 1));
    const std::vector<char> bytes      = bytes_of(pool);
    const int               no_write   = F_SEAL_WRITE;
    const int               no_more    = 0x10;  // F_SEAL_FUTURE_WRITE
    const int               may_shrink = F_SEAL_GROW;
    for (const int seal : {no_write, no_more, may_shrink}) {
        const int   copy  = file_with(bytes, bytes.size());
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

TEST(SharedLimits, answer_no_memory_and_never_a_signal)
{
    EXPECT_EQ(
        end_of(start_child([] {
            const rlimit limit = {1 << 20, 1 << 20};
            egb_shared*  pool  = nullptr;
            (void)setrlimit(RLIMIT_FSIZE, &limit);
            const egb_shared_options options = shared_options(100000, 0);
            return egb_shared_create(&pool, &options) == EGB_NO_MEMORY && pool == nullptr;
        })),
        0
    );
    EXPECT_EQ(
        end_of(start_child([] {
            const rlimit             limit   = {0, 0};
            egb_shared*              pool    = nullptr;
            const egb_shared_options options = shared_options(2, 0);
            (void)setrlimit(RLIMIT_NOFILE, &limit);
            return egb_shared_create(&pool, &options) == EGB_NO_MEMORY && pool == nullptr;
        })),
        0
    );
    egb_shared*        pool    = nullptr;
    egb_shared_options options = shared_options(1 << 20, 0);
    options.block_bytes        = size_t{1} << 30;  // 1 PiB
    EXPECT_EQ(egb_shared_create(&pool, &options), sizeof(size_t) == 8 ? EGB_NO_MEMORY : EGB_LIMIT);
    EXPECT_EQ(pool, nullptr);
}

// As in a container, whose /dev/shm is small: here 1 MiB, in a namespace of a child's own.
TEST(SharedLimits, of_a_small_dev_shm_answer_no_memory_and_what_fits_can_be_written)
{
    expect_done(start_apart([] {
        if (mount("none", "/dev/shm", "tmpfs", 0, "size=1m") != 0) {
            return int{NOT_ALLOWED};
        }
        egb_shared*        pool    = nullptr;
        egb_shared_options options = named_options("small", 4);
        options.block_bytes        = 1 << 18;  // with the control part it is too much
        if (egb_shared_create(&pool, &options) != EGB_NO_MEMORY ||
            access(path_of("small").c_str(), F_OK) == 0) {
            return 1;
        }
        options.count = 3;
        if (egb_shared_create(&pool, &options) != EGB_OK) {
            return 2;
        }
        for (int i = 0; i < 3; i++) {
            memset(egb_shared_alloc(pool), 1, options.block_bytes);
        }
        return 0;
    }));
}

// A file is opened again by its path in /proc, for the locks of an attachment.
TEST(SharedLimits, without_proc_are_unsupported)
{
    egb_shared* const pool = make_shared_pool(shared_options(2, 1));
    expect_done(start_apart([&] {
        if (mount("none", "/proc", "tmpfs", 0, "") != 0) {
            return int{NOT_ALLOWED};
        }
        egb_shared*              more  = nullptr;
        const egb_shared_options other = shared_options(2, 1);
        return egb_shared_create(&more, &other) == EGB_UNSUPPORTED &&
                       egb_shared_attach_fd(&more, egb_shared_fd(pool), 0) == EGB_UNSUPPORTED &&
                       more == nullptr
                   ? 0
                   : 1;
    }));
    egb_shared_close(pool);
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

// A container may have the /dev/shm of another one, for reading only. A descriptor still works.
int use_read_only_dev_shm()
{
    const egb_shared_options options = named_options("there", 2, 1);
    const egb_shared_options other   = named_options("other");
    egb_shared* const        there   = make_shared_pool(options);
    egb_shared*              pool    = nullptr;
    egb_shared_numbers       seen    = {};
    kill_and_reap(start_victim([&] { (void)make_shared_pool(named_options("dead")); }));
    if (mount("/dev/shm", "/dev/shm", nullptr, MS_BIND, nullptr) != 0 ||
        mount("none", "/dev/shm", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) != 0) {
        return NOT_ALLOWED;
    }
    if (egb_shared_create(&pool, &options) != EGB_NO_MEMORY ||
        egb_shared_create(&pool, &other) != EGB_NO_MEMORY ||
        egb_shared_attach(&pool, "there", EGB_SHARED_READ_ONLY) != EGB_NO_MEMORY ||
        egb_shared_look("there", &seen, nullptr, nullptr) != EGB_NO_MEMORY ||
        egb_shared_gc() != 0 || access(path_of("dead").c_str(), F_OK) != 0 || pool != nullptr) {
        return 1;
    }
    egb_shared* const reader = attach_again(there, EGB_SHARED_READ_ONLY);
    egb_published     out    = {};
    void* const       block  = egb_shared_alloc(there);
    return egb_shared_publish(there, block, nullptr, nullptr) == EGB_OK &&
                   egb_shared_next(reader, 0, 0, &out) == EGB_OK
               ? 0
               : 2;
}

TEST(SharedLimits, of_a_read_only_dev_shm_answer_no_memory)
{
    expect_done(start_apart([] {
        return mount("none", "/dev/shm", "tmpfs", 0, "size=1m") != 0 ? int{NOT_ALLOWED}
                                                                     : use_read_only_dev_shm();
    }));
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

// How often this thread went to sleep in `act`.
template <class Act>
long sleeps_in(Act act)
{
    rusage before = {};
    rusage after  = {};
    (void)getrusage(RUSAGE_THREAD, &before);
    act();
    (void)getrusage(RUSAGE_THREAD, &after);
    return after.ru_nvcsw - before.ru_nvcsw;
}

void expect_no_place(const egb_shared* pool)
{
    egb_shared* more = nullptr;
    EXPECT_EQ(egb_shared_attach_fd(&more, egb_shared_fd(pool), 0), EGB_LIMIT);
    EXPECT_EQ(more, nullptr);
}

// A place that another process has for a moment only is waited for: 20 sleeps.
TEST(SharedAttachments, that_are_62_and_alive_are_not_waited_for)
{
    const long               waited = 20;
    egb_shared* const        pool   = make_shared_pool(shared_options(2, 1));
    std::vector<egb_shared*> all    = {pool};
    while (all.size() < EGB_SHARED_ATTACHMENTS_MAX) {
        all.push_back(attach_again(pool));
    }
    EXPECT_LT(sleeps_in([&] { expect_no_place(pool); }), waited);
    pid_t child = -1;
    EXPECT_LT(sleeps_in([&] { child = start_child([] { return true; }); }), 10 * waited);
    EXPECT_EQ(end_of(child), 0);

    egb_shared_close(all.back());
    const int file = lock_byte(pool, EGB_SHARED_ATTACHMENTS_MAX - 1);  // as one that recovers
    EXPECT_GE(sleeps_in([&] { expect_no_place(pool); }), waited);
    close(file);
    all.back() = attach_again(pool);
    for (egb_shared* const one : all) {
        egb_shared_close(one);
    }
}

}  // namespace
