// SPDX-License-Identifier: MIT
// Shared pools between real processes: forks, kills, names, and files that are no pools.
#include "shared.hpp"

#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <thread>
#include <vector>

namespace
{

// ---- forks --------------------------------------------------------------------------------------

TEST(SharedFork, gives_the_child_an_attachment_with_every_hold)
{
    egb_shared* const pool  = make_shared_pool(shared_options(4, 2));
    void* const       block = egb_shared_alloc(pool);
    egb_shared_retain(pool, block);
    const pid_t child = start_victim([] {});
    EXPECT_EQ(numbers_of(pool).attachments, 2U);
    EXPECT_EQ(egb_shared_holders(pool, 0), 3U);
    egb_shared_release(pool, block);
    egb_shared_release(pool, block);
    EXPECT_EQ(egb_shared_holders(pool, 0), 2U);  // the child's
    kill_and_reap(child);
    EXPECT_EQ(egb_shared_recover(pool), 1U);
    expect_nothing_lost(pool, 0);
    egb_shared_close(pool);
}

TEST(SharedFork, lets_a_child_of_a_child_use_what_the_first_process_held)
{
    egb_shared* const pool  = make_shared_pool(shared_options(4, 2));
    char* const       block = static_cast<char*>(egb_shared_alloc(pool));
    const pid_t       child = start_child([&] {
        const pid_t grandchild = start_child([&] {
            strcpy(block, "from afar");
            egb_shared_release(pool, block);
            void* const more = egb_shared_alloc(pool);  // a new one: the parents hold the first
            return more != nullptr && more != block;
        });
        return end_of(grandchild) == 0;
    });
    EXPECT_EQ(end_of(child), 0);
    EXPECT_STREQ(block, "from afar");
    egb_shared_release(pool, block);
    expect_nothing_lost(pool, 0);
    egb_shared_close(pool);
}

TEST(SharedFork, of_a_publisher_leaves_the_feed_to_the_parent)
{
    egb_shared* const pool  = make_shared_pool(shared_options(4, 2));
    void* const       block = egb_shared_alloc(pool);
    ASSERT_EQ(egb_shared_publish(pool, block, nullptr, nullptr), EGB_OK);
    const pid_t child = start_child([&] {
        return egb_shared_publish(pool, egb_shared_alloc(pool), nullptr, nullptr) == EGB_BUSY;
    });
    EXPECT_EQ(end_of(child), 0);
    egb_shared_close(pool);
}

TEST(SharedFork, while_other_threads_allocate_loses_nothing)
{
    egb_shared* const pool = make_shared_pool(shared_options(8, 0));
    std::atomic<bool> stop{false};
    std::thread       busy([&] {
        while (!stop) {
            egb_shared_release(pool, egb_shared_alloc(pool));
        }
    });
    for (int i = 0; i < 50; i++) {
        ASSERT_EQ(
            end_of(start_child([&] {
                void* const block = egb_shared_alloc(pool);
                egb_shared_release(pool, block);
                return block != nullptr;
            })),
            0
        );
    }
    stop = true;
    busy.join();
    expect_nothing_lost(pool, 0);
    egb_shared_close(pool);
}

// ---- kills --------------------------------------------------------------------------------------

TEST(SharedKill, is_noticed_by_the_next_alloc_that_finds_no_block)
{
    egb_shared* const pool  = make_shared_pool(shared_options(4, 0));
    const pid_t       child = start_victim([&] {
        while (egb_shared_alloc(pool) != nullptr) {
        }
    });
    EXPECT_EQ(egb_shared_alloc(pool), nullptr);
    kill_and_reap(child);
    EXPECT_NE(egb_shared_alloc(pool), nullptr);
    egb_shared_close(pool);
}

TEST(SharedKill, wakes_one_that_waits_for_a_block)
{
    egb_shared* const pool  = make_shared_pool(shared_options(1, 0));
    const pid_t       child = start_victim([&] { (void)egb_shared_alloc(pool); });
    std::thread       killer([&] {
        while (numbers_of(pool).failures < 2) {
            std::this_thread::yield();
        }
        EXPECT_EQ(kill(child, SIGKILL), 0);
    });
    void*             block = nullptr;
    EXPECT_EQ(egb_shared_alloc_wait(pool, &block, EGB_SHARED_FOREVER), EGB_OK);
    killer.join();
    EXPECT_EQ(end_of(child), -SIGKILL);
    egb_shared_close(pool);
}

TEST(SharedKill, of_a_publisher_leaves_its_frames_and_its_place)
{
    egb_shared* const pool  = make_shared_pool(shared_options(4, 2));
    const pid_t       child = start_victim([&] {
        for (uint64_t i = 1; i <= 3; i++) {
            void* const block = egb_shared_alloc(pool);
            (void)!egb_shared_publish(pool, block, &i, nullptr);
            egb_shared_release(pool, block);
        }
    });
    void* const       mine  = egb_shared_alloc(pool);
    EXPECT_EQ(egb_shared_publish(pool, mine, nullptr, nullptr), EGB_BUSY);
    kill_and_reap(child);
    egb_published out;
    ASSERT_EQ(egb_shared_next(pool, 0, 0, &out), EGB_OK);
    EXPECT_EQ(out.sequence, 2U);
    uint64_t sequence = 0;
    EXPECT_EQ(egb_shared_publish(pool, mine, nullptr, &sequence), EGB_OK);
    EXPECT_EQ(sequence, 4U);
    egb_shared_close(pool);
}

TEST(SharedKill, of_a_stopped_process_is_noticed_only_when_it_is_dead)
{
    egb_shared* const pool  = make_shared_pool(shared_options(1, 0));
    const pid_t       child = start_victim([&] { (void)egb_shared_alloc(pool); });
    EXPECT_EQ(kill(child, SIGSTOP), 0);
    EXPECT_EQ(egb_shared_recover(pool), 0U);
    EXPECT_EQ(egb_shared_alloc(pool), nullptr);
    kill_and_reap(child);
    EXPECT_EQ(egb_shared_recover(pool), 1U);
    EXPECT_NE(egb_shared_alloc(pool), nullptr);
    egb_shared_close(pool);
}

// The child keeps its block until the parent saw it: a fork also recovers what is dead, at once.
TEST(SharedKill, and_exec_with_frames_held_are_the_same)
{
    egb_shared* const pool = make_shared_pool(shared_options(1, 0));
    int               seen[2];
    ASSERT_EQ(pipe(seen), 0);
    const pid_t child = start_child([&] {
        char go = 0;
        (void)egb_shared_alloc(pool);
        return read(seen[0], &go, 1) == 1 && execlp("sleep", "sleep", "1000", nullptr) == 0;
    });
    void*       block = nullptr;
    while (egb_shared_holders(pool, 0) == 0) {
        std::this_thread::yield();
    }
    EXPECT_EQ(write(seen[1], "x", 1), 1);
    EXPECT_EQ(egb_shared_alloc_wait(pool, &block, EGB_SHARED_FOREVER), EGB_OK);
    kill_and_reap(child);
    close(seen[0]);
    close(seen[1]);
    egb_shared_close(pool);
}

// Each of these does everything, at random, until it is killed.
bool live(egb_shared* pool, unsigned seed)
{
    uint64_t after = 0;
    for (;;) {
        seed = seed * 1664525u + 1013904223u;
        egb_published out;
        void*         block = nullptr;
        switch (seed >> 29) {
            case 0:
            case 1:
            case 2:
                block = egb_shared_alloc(pool);
                if (block != nullptr) {
                    memset(block, static_cast<int>(seed & 255), 100);
                    (void)!egb_shared_publish(pool, block, nullptr, nullptr);
                }
                break;
            case 3:
            case 4:
                if (egb_shared_next(pool, after, 0, &out) == EGB_OK) {
                    after = out.sequence;
                    block = out.block;
                }
                break;
            case 5:
                if (egb_shared_take(pool, 0, &out) == EGB_OK) {
                    block = out.block;
                }
                break;
            case 6:
                if (egb_shared_latest(pool, &out) == EGB_OK) {
                    block = out.block;
                }
                break;
            default: (void)egb_shared_recover(pool);
        }
        egb_shared_release(pool, block);
    }
}

TEST(SharedKill, at_random_loses_nothing)
{
    const char* const  rounds_wanted = getenv("EGGBOX_SHARED_KILLS");
    const int          rounds        = rounds_wanted != nullptr ? atoi(rounds_wanted) : 60;
    egb_shared_options options       = shared_options(12, 4);
    options.on_full                  = EGB_SHARED_DROP_OLDEST;
    egb_shared* const pool           = make_shared_pool(options);
    pid_t             children[3]    = {};
    for (int round = 0; round < rounds; round++) {
        pid_t& one = children[round % 3];
        if (one != 0) {
            kill_and_reap(one);
        }
        one = start_child([&] { return live(pool, static_cast<unsigned>(round) * 77u + 1u); });
        usleep(static_cast<useconds_t>(round * 97 % 3000));
    }
    for (const pid_t one : children) {
        kill_and_reap(one);
    }
    (void)egb_shared_recover(pool);
    const egb_shared_numbers numbers = numbers_of(pool);
    EXPECT_EQ(numbers.in_use, numbers.only_feed);
    EXPECT_LE(numbers.only_feed, 4U);
    size_t got = 0;
    while (egb_shared_alloc(pool) != nullptr) {  // those of the feed, too
        got++;
    }
    EXPECT_EQ(got, 12U);
    egb_shared_close(pool);
}

// ---- names --------------------------------------------------------------------------------------

bool exists(const std::string& path)
{
    return access(path.c_str(), F_OK) == 0;
}

TEST(SharedName, is_there_as_long_as_an_attachment_lives)
{
    const std::string  name    = unused_name("name");
    egb_shared_options options = shared_options(2, 0);
    options.name               = name.c_str();
    options.about              = "1080p";
    options.about_bytes        = 5;
    egb_shared* const pool     = make_shared_pool(options);
    struct stat       facts    = {};
    ASSERT_EQ(stat(path_of(name).c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0600U);
    egb_shared* other = nullptr;
    ASSERT_EQ(egb_shared_attach(&other, name.c_str(), EGB_SHARED_PREFAULT), EGB_OK);
    size_t bytes = 0;
    EXPECT_EQ(memcmp(egb_shared_about(other, &bytes), "1080p", 5), 0);
    EXPECT_EQ(bytes, 5U);
    egb_shared* more = nullptr;
    EXPECT_EQ(egb_shared_create(&more, &options), EGB_BUSY);
    egb_shared_close(pool);
    EXPECT_TRUE(exists(path_of(name)));
    egb_shared_close(other);
    EXPECT_FALSE(exists(path_of(name)));
    EXPECT_EQ(egb_shared_attach(&more, name.c_str(), 0), EGB_STALE);
    EXPECT_EQ(more, nullptr);
}

// The child makes a pool of this name, and dies with it.
void leave_behind(const egb_shared_options& options)
{
    kill_and_reap(start_victim([&] {
        egb_shared* const pool = make_shared_pool(options);
        (void)egb_shared_alloc(pool);
    }));
}

TEST(SharedName, of_the_dead_is_replaced_attached_to_or_collected)
{
    const std::string  name    = unused_name("dead");
    egb_shared_options options = shared_options(2, 0);
    options.name               = name.c_str();
    leave_behind(options);
    EXPECT_TRUE(exists(path_of(name)));
    options.count          = 3;
    egb_shared* const pool = make_shared_pool(options);
    EXPECT_EQ(numbers_of(pool).count, 3U);
    expect_nothing_lost(pool, 0);
    egb_shared_close(pool);
    EXPECT_FALSE(exists(path_of(name)));

    leave_behind(options);
    egb_shared* found = nullptr;
    ASSERT_EQ(egb_shared_attach(&found, name.c_str(), 0), EGB_OK);
    EXPECT_EQ(egb_shared_gc(), 0U);  // alive again
    expect_nothing_lost(found, 0);
    egb_shared_close(found);

    leave_behind(options);
    EXPECT_GE(egb_shared_gc(), 1U);
    EXPECT_FALSE(exists(path_of(name)));
}

TEST(SharedName, of_anything_else_stays_as_it_is)
{
    const std::string  name    = unused_name("else");
    const std::string  path    = path_of(name);
    egb_shared_options options = shared_options(2, 0);
    egb_shared*        pool    = nullptr;
    options.name               = name.c_str();
    std::ofstream(path) << std::string(100000, 'x');
    EXPECT_EQ(egb_shared_create(&pool, &options), EGB_BUSY);
    EXPECT_EQ(egb_shared_attach(&pool, name.c_str(), 0), EGB_CORRUPT);
    EXPECT_EQ(egb_shared_gc(), 0U);
    EXPECT_TRUE(exists(path));
    EXPECT_EQ(unlink(path.c_str()), 0);

    EXPECT_EQ(symlink("/etc/passwd", path.c_str()), 0);
    EXPECT_EQ(egb_shared_create(&pool, &options), EGB_BUSY);
    EXPECT_EQ(egb_shared_attach(&pool, name.c_str(), 0), EGB_CORRUPT);
    EXPECT_EQ(unlink(path.c_str()), 0);
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    EXPECT_EQ(egb_shared_attach(&pool, name.c_str(), 0), EGB_CORRUPT);
    EXPECT_EQ(unlink(path.c_str()), 0);
    EXPECT_EQ(mkdir(path.c_str(), 0700), 0);
    EXPECT_EQ(egb_shared_attach(&pool, name.c_str(), 0), EGB_CORRUPT);
    EXPECT_EQ(rmdir(path.c_str()), 0);
    EXPECT_EQ(pool, nullptr);
}

// ---- bad input ----------------------------------------------------------------------------------

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
    const std::string path = "/proc/self/fd/" + std::to_string(egb_shared_fd(pool));
    const int         fd   = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    egb_shared*       more = nullptr;
    EXPECT_EQ(egb_shared_attach_fd(&more, fd, 0), EGB_INVALID);
    close(fd);
    EXPECT_NE(ftruncate(egb_shared_fd(pool), 4096), 0);  // sealed
    egb_shared_close(pool);
}

// A copy of a pool's file, with one byte changed, or cut.
egb_status attach_to_copy(const std::vector<char>& bytes, size_t length)
{
    const int copy = memfd_create("copy", MFD_CLOEXEC);
    EXPECT_EQ(write(copy, bytes.data(), length), static_cast<ssize_t>(length));
    egb_shared*      pool   = nullptr;
    const egb_status status = egb_shared_attach_fd(&pool, copy, 0);
    egb_shared_close(pool);
    close(copy);
    return status;
}

TEST(SharedDescriptor, cut_short_or_of_a_damaged_shape_is_refused)
{
    egb_shared* const pool = make_shared_pool(shared_options(2, 1));
    std::vector<char> bytes(numbers_of(pool).bytes);
    ASSERT_EQ(
        pread(egb_shared_fd(pool), bytes.data(), bytes.size(), 0),
        static_cast<ssize_t>(bytes.size())
    );
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

// Others write to the control part at random: no crash, no access outside, an answer.
TEST(SharedDamage, of_any_byte_is_answered)
{
    egb_shared* const pool    = make_shared_pool(shared_options(4, 3));
    const size_t      size    = 60000;
    char* const       control = static_cast<char*>(
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, egb_shared_fd(pool), 0)
    );
    ASSERT_NE(control, MAP_FAILED);
    size_t used = size;
    while (used > 0 && control[used - 1] == 0) {
        used--;
    }
    for (size_t at = 0; at < used + 64; at++) {
        control[at] = static_cast<char>(control[at] ^ (1 << at % 8));
        egb_published out;
        void* const   block = egb_shared_alloc(pool);
        if (block != nullptr) {
            memset(block, 1, 100);
            (void)!egb_shared_publish(pool, block, &at, nullptr);
            void* again = nullptr;
            if (egb_shared_open(pool, egb_shared_handle(pool, block), &again) == EGB_OK) {
                egb_shared_release(pool, again);
            }
            egb_shared_release(pool, block);
        }
        if (egb_shared_next(pool, 0, 0, &out) == EGB_OK) {
            memset(out.block, 2, 100);
            egb_shared_release(pool, out.block);
        }
        if (egb_shared_take(pool, 0, &out) == EGB_OK) {
            egb_shared_release(pool, out.block);
        }
        (void)egb_shared_recover(pool);
    }
    munmap(control, size);
    egb_shared_close(pool);
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
    enum { NOT_ALLOWED = 77 };
    const pid_t child = fork();
    if (child == 0) {
        if (unshare(CLONE_NEWNS) != 0 ||
            mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            mount("none", "/dev/shm", "tmpfs", 0, "size=1m") != 0) {
            _exit(NOT_ALLOWED);
        }
        egb_shared*        pool    = nullptr;
        egb_shared_options options = shared_options(4, 0);
        options.name               = "small";
        options.block_bytes        = 1 << 18;  // with the control part it is too much
        if (egb_shared_create(&pool, &options) != EGB_NO_MEMORY ||
            access(path_of("small").c_str(), F_OK) == 0) {
            _exit(1);
        }
        options.count = 3;
        if (egb_shared_create(&pool, &options) != EGB_OK) {
            _exit(2);
        }
        for (int i = 0; i < 3; i++) {
            memset(egb_shared_alloc(pool), 1, options.block_bytes);
        }
        _exit(0);
    }
    const int end = end_of(child);
    if (end == NOT_ALLOWED) {
        GTEST_SKIP() << "only root may mount";
    }
    EXPECT_EQ(end, 0);
}

}  // namespace
