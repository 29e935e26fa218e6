// SPDX-License-Identifier: MIT
// The memory of named pools: a full /dev/shm, what the dead have left there, copies with holes, and
// large pages.
#include "inside.h"
#include "shared.hpp"

#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <vector>

namespace
{

// Each pool fills more than half of /dev/shm. 0: the second is there in place of the dead first.
int create_beside_dead(const char* first, const char* second, const char* first_path)
{
    egb_shared*        pool    = nullptr;
    egb_shared_options options = named_options(first, 2);
    options.block_bytes        = 1 << 18;
    if (mount("none", "/dev/shm", "tmpfs", 0, "size=1m") != 0) {
        return NOT_ALLOWED;
    }
    kill_and_reap(start_victim([&] { (void)make_shared_pool(options); }));
    const bool is_left = access(first_path, F_OK) == 0;
    options.name       = second;
    if (!is_left || egb_shared_create(&pool, &options) != EGB_OK) {
        return 1;
    }
    options.name      = "third";
    egb_shared* third = nullptr;
    return egb_shared_create(&third, &options) == EGB_NO_MEMORY ? 0 : 2;  // 2: a living one went
}

// A program that was killed is started again, with the same name for its pool or another one.
TEST(SharedLimits, of_dev_shm_count_no_dead_pools)
{
    const std::string path = path_of("dead");
    const char* const name = path.c_str();
    expect_done(start_apart([&] { return create_beside_dead("dead", "dead", name); }));
    expect_done(start_apart([&] { return create_beside_dead("dead", "next", name); }));
    expect_done(start_apart([&] { return create_beside_dead(name, name, name); }));
    expect_done(start_apart([&] { return create_beside_dead(name, "next", name); }));
}

// A limit that no removal could lift leaves the frames of the dead in place.
TEST(SharedLimits, of_another_kind_remove_no_dead_pool)
{
    expect_done(start_apart([] {
        egb_shared*        pool    = nullptr;
        egb_shared_options options = named_options("dead");
        if (mount("none", "/dev/shm", "tmpfs", 0, "size=1m") != 0) {
            return int{NOT_ALLOWED};
        }
        kill_and_reap(start_victim([&] { (void)make_shared_pool(options); }));
        const auto is_refused = [&] {
            return egb_shared_create(&pool, &options) == EGB_NO_MEMORY && pool == nullptr &&
                   access(path_of("dead").c_str(), F_OK) == 0;
        };
        options.name        = "huge";
        options.block_bytes = 1 << 20;  // more than all of /dev/shm
        if (!is_refused()) {
            return 1;
        }
        const rlimit limit  = {4096, RLIM_INFINITY};
        options.block_bytes = 100;
        (void)setrlimit(RLIMIT_FSIZE, &limit);
        return is_refused() ? 0 : 2;
    }));
}

// A read of a page that has no memory yet would be a signal where there is none left.
TEST(SharedLimits, of_a_full_dev_shm_are_no_signal_at_a_file_with_holes)
{
    expect_done(start_apart([] {
        egb_shared*              pool    = nullptr;
        egb_shared_numbers       numbers = {};
        const egb_shared_options options = named_options("room");
        if (mount("none", "/dev/shm", "tmpfs", 0, "size=1m") != 0) {
            return int{NOT_ALLOWED};
        }
        std::ofstream("/dev/shm/eggbox-hole").close();
        if (truncate("/dev/shm/eggbox-hole", 1 << 16) != 0) {
            return 1;
        }
        std::ofstream("/dev/shm/other") << std::string(1 << 20, 'x');
        return egb_shared_create(&pool, &options) == EGB_NO_MEMORY &&
                       egb_shared_attach(&pool, "hole", 0) == EGB_CORRUPT &&
                       egb_shared_look("hole", &numbers, nullptr, nullptr) == EGB_CORRUPT &&
                       egb_shared_gc() == 0 && pool == nullptr
                   ? 0
                   : 2;
    }));
}

// ---- what removing helps ------------------------------------------------------------------------

// The control part has 64 KiB.
egb_status create_of(const char* name, size_t block_kib, egb_shared** out)
{
    egb_shared_options options = named_options(name, 1);
    options.block_bytes        = block_kib << 10;
    return egb_shared_create(out, &options);
}

bool leave_dead(const char* name, size_t block_kib)
{
    kill_and_reap(start_victim([&] {
        egb_shared* pool = nullptr;
        (void)!create_of(name, block_kib, &pool);
    }));
    return access(path_of(name).c_str(), F_OK) == 0;
}

// A living pool has 320 of 1,024 KiB, and a dead one 128.
TEST(SharedRoom, that_removing_the_dead_cannot_make_leaves_them)
{
    expect_done(start_apart([] {
        if (mount("none", "/dev/shm", "tmpfs", 0, "size=1m") != 0) {
            return int{NOT_ALLOWED};
        }
        egb_shared* living = nullptr;
        egb_shared* pool   = nullptr;
        if (create_of("living", 256, &living) != EGB_OK || !leave_dead("dead", 64)) {
            return 1;
        }
        if (create_of("next", 704, &pool) != EGB_NO_MEMORY || pool != nullptr ||
            access(path_of("dead").c_str(), F_OK) != 0) {
            return 2;
        }
        return create_of("next", 576, &pool) == EGB_OK && access(path_of("dead").c_str(), F_OK) != 0
                   ? 0
                   : 3;
    }));
}

// A living pool has 320 of 1,024 KiB; a dead one has as many, but 256 of them are a hole.
TEST(SharedRoom, that_holes_of_the_dead_do_not_have_is_not_counted)
{
    expect_done(start_apart([] {
        if (mount("none", "/dev/shm", "tmpfs", 0, "size=1m") != 0) {
            return int{NOT_ALLOWED};
        }
        egb_shared* living = nullptr;
        egb_shared* pool   = nullptr;
        if (!leave_dead("dead", 256) || create_of("living", 256, &living) != EGB_OK) {
            return 1;
        }
        const int  file   = open(path_of("dead").c_str(), O_RDWR | O_CLOEXEC);
        const int  how    = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
        const bool is_cut = fallocate(file, how, 64 << 10, 256 << 10) == 0;
        (void)close(file);
        if (!is_cut || create_of("next", 704, &pool) != EGB_NO_MEMORY ||
            access(path_of("dead").c_str(), F_OK) != 0) {
            return 2;
        }
        return create_of("next", 640, &pool) == EGB_OK && access(path_of("dead").c_str(), F_OK) != 0
                   ? 0
                   : 3;
    }));
}

// Each of the two dead pools has 128 of 1,024 KiB.
TEST(SharedRoom, that_the_dead_pool_of_the_name_has_is_enough)
{
    expect_done(start_apart([] {
        if (mount("none", "/dev/shm", "tmpfs", 0, "size=1m") != 0) {
            return int{NOT_ALLOWED};
        }
        egb_shared* pool = nullptr;
        if (!leave_dead("own", 64) || !leave_dead("other", 64)) {
            return 1;
        }
        const bool is_made = create_of("own", 832, &pool) == EGB_OK;
        return is_made && access(path_of("other").c_str(), F_OK) == 0 ? 0 : 2;
    }));
}

// Two processes create a pool each, and one of them has removed the dead when the other one looks.
TEST(SharedRoom, that_another_process_has_made_is_used)
{
    expect_done(start_apart([] {
        const std::string path = path_of("next");
        if (mount("none", "/dev/shm", "tmpfs", 0, "size=1m") != 0) {
            return int{NOT_ALLOWED};
        }
        return make_room(path.c_str(), false, 1 << 20) && make_room(path.c_str(), true, 1 << 20) &&
                       !make_room(path.c_str(), false, (1 << 20) + 1)
                   ? 0
                   : 1;
    }));
}

// ---- copies with holes --------------------------------------------------------------------------

// A copy of a pool's file without the pages that are all zero, as `cp --sparse=always` makes it.
void copy_with_holes(const egb_shared* pool, const char* path)
{
    const size_t            page  = 4096;
    const std::vector<char> zeros = std::vector<char>(page);
    const std::vector<char> bytes = bytes_of(pool);
    (void)unlink(path);
    const int copy = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    EXPECT_EQ(ftruncate(copy, static_cast<off_t>(bytes.size())), 0);
    for (size_t at = 0; at < bytes.size(); at += page) {
        if (memcmp(&bytes[at], zeros.data(), page) != 0) {
            EXPECT_EQ(pwrite(copy, &bytes[at], page, static_cast<off_t>(at)), 4096);
        }
    }
    close(copy);
}

off_t allocated_bytes(const char* path)
{
    struct stat facts = {};
    (void)stat(path, &facts);
    return facts.st_blocks * 512;
}

// 0: where there is room the holes get memory; where there is none nothing is attached.
int use_copy_with_holes()
{
    const std::string  path  = path_of("copy");
    egb_shared* const  pool  = make_shared_pool(named_options("whole"));
    const off_t        bytes = static_cast<off_t>(numbers_of(pool).bytes);
    egb_shared*        copy  = nullptr;
    egb_shared_numbers seen  = {};
    copy_with_holes(pool, path.c_str());
    if (allocated_bytes(path.c_str()) >= bytes ||
        egb_shared_attach(&copy, "copy", EGB_SHARED_READ_ONLY) != EGB_OK ||
        allocated_bytes(path.c_str()) != bytes) {
        return 1;
    }
    egb_shared_close(copy);
    copy = nullptr;
    copy_with_holes(pool, path.c_str());
    std::ofstream("/dev/shm/other") << std::string(1 << 20, 'x');
    for (const unsigned flags : {0U, EGB_SHARED_READ_ONLY, EGB_SHARED_PREFAULT}) {
        if (egb_shared_attach(&copy, "copy", flags) != EGB_NO_MEMORY || copy != nullptr) {
            return 2;
        }
    }
    return egb_shared_look("copy", &seen, nullptr, nullptr) == EGB_OK && seen.count == 2 ? 0 : 3;
}

TEST(SharedRoom, of_a_copy_with_holes_is_allocated_or_refused)
{
    expect_done(start_apart([] {
        return mount("none", "/dev/shm", "tmpfs", 0, "size=1m") != 0 ? int{NOT_ALLOWED}
                                                                     : use_copy_with_holes();
    }));
}

// Memory of the file behind the pool does not count in place of the holes.
TEST(SharedRoom, of_a_copy_with_holes_that_is_too_long_is_allocated)
{
    expect_done(start_apart([] {
        if (mount("none", "/dev/shm", "tmpfs", 0, "size=1m") != 0) {
            return int{NOT_ALLOWED};
        }
        const std::string path  = path_of("copy");
        egb_shared* const pool  = make_shared_pool(named_options("whole"));
        const off_t       bytes = static_cast<off_t>(numbers_of(pool).bytes);
        egb_shared*       copy  = nullptr;
        copy_with_holes(pool, path.c_str());
        std::ofstream(path, std::ios::app) << std::string(static_cast<size_t>(bytes), 'x');
        return egb_shared_attach(&copy, "copy", 0) == EGB_OK &&
                       allocated_bytes(path.c_str()) == 2 * bytes
                   ? 0
                   : 1;
    }));
}

// A ramfs has no limit, and does not report its allocated bytes.
TEST(SharedRoom, of_a_file_system_that_allocates_nothing_is_used)
{
    expect_done(start_apart([] {
        egb_shared* pool = nullptr;
        egb_shared* more = nullptr;
        if (mount("none", "/dev/shm", "ramfs", 0, "") != 0) {
            return int{NOT_ALLOWED};
        }
        return create_of("here", 64, &pool) == EGB_OK &&
                       egb_shared_attach(&more, "here", EGB_SHARED_READ_ONLY) == EGB_OK
                   ? 0
                   : 1;
    }));
}

// ---- large pages --------------------------------------------------------------------------------

// 0: the pool works, or is refused since the administrator gives no large pages.
int use_large_pages()
{
    const egb_shared_options options = named_options("/dev/shm/large", 2, 1);
    const file_part          payload = planned_payload(&options);
    struct statvfs           facts   = {};
    egb_shared*              pool    = nullptr;
    egb_shared*              reader  = nullptr;
    egb_published            out     = {};
    if (statvfs("/dev/shm", &facts) != 0 || facts.f_bsize <= 65536 ||
        payload.start % facts.f_bsize != 0 || payload.bytes % facts.f_bsize != 0) {
        return 1;
    }
    const egb_status status = egb_shared_create(&pool, &options);
    if (status != EGB_OK) {
        return status == EGB_NO_MEMORY && access(options.name, F_OK) != 0 ? 0 : 2;
    }
    void* const block = egb_shared_alloc(pool);
    memset(block, 1, options.block_bytes);
    return egb_shared_attach(&reader, options.name, EGB_SHARED_READ_ONLY) == EGB_OK &&
                   egb_shared_publish(pool, block, nullptr, nullptr) == EGB_OK &&
                   egb_shared_next(reader, 0, 0, &out) == EGB_OK
               ? 0
               : 3;
}

TEST(SharedRoom, of_a_hugetlbfs_is_whole_large_pages)
{
    expect_done(start_apart([] {
        return mount("none", "/dev/shm", "hugetlbfs", 0, "") != 0 ? int{NOT_ALLOWED}
                                                                  : use_large_pages();
    }));
}

size_t large_page()
{
    struct statvfs facts = {};
    return statvfs("/dev/shm", &facts) == 0 ? facts.f_bsize : 0;
}

// The system says that it has these pages in a store that is empty or full in truth.
bool say_large_pages(const char* free, const char* overcommit, const char* surplus)
{
    const std::string folder = "/sys/kernel/mm/hugepages";
    const std::string sized  = folder + "/hugepages-" + std::to_string(large_page() / 1024) + "kB/";
    if (mount("none", folder.c_str(), "tmpfs", 0, "size=1m") != 0 ||
        mkdir(sized.c_str(), 0700) != 0) {
        return false;
    }
    std::ofstream(sized + "free_hugepages") << free;
    std::ofstream(sized + "nr_overcommit_hugepages") << overcommit;
    std::ofstream(sized + "surplus_hugepages") << surplus;
    return true;
}

// A dead pool goes only if it leaves enough, and there is no dead one here.
TEST(SharedRoom, in_a_hugetlbfs_is_that_of_its_large_pages)
{
    expect_done(start_apart([] {
        const std::string path = path_of("next");
        if (mount("none", "/dev/shm", "hugetlbfs", 0, "") != 0 ||
            !say_large_pages("3\n", "5\n", "1\n")) {
            return int{NOT_ALLOWED};
        }
        const size_t page = large_page();
        return make_room(path.c_str(), true, 7 * page) &&
                       !make_room(path.c_str(), true, 7 * page + 1)
                   ? 0
                   : 1;
    }));
}

enum { NO_LARGE_PAGES = 78 };

// The first large page of a pool's file, and behind it a hole of the others.
void copy_large_with_hole(const egb_shared* pool, const char* path)
{
    const std::vector<char> bytes = bytes_of(pool);
    const int               copy  = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    EXPECT_EQ(ftruncate(copy, static_cast<off_t>(bytes.size())), 0);
    void* const start = mmap(nullptr, large_page(), PROT_READ | PROT_WRITE, MAP_SHARED, copy, 0);
    EXPECT_NE(start, MAP_FAILED);
    memcpy(start, bytes.data(), large_page());
    munmap(start, large_page());
    close(copy);
}

// 0: the hole gets a large page, though the system has no other memory left.
int use_large_copy_without_other_memory()
{
    egb_shared_options options = named_options("/dev/shm/large");
    egb_shared*        pool    = nullptr;
    egb_shared*        copy    = nullptr;
    std::ofstream("/tmp/meminfo") << "MemAvailable:       0 kB\n";
    if (egb_shared_create(&pool, &options) != EGB_OK) {
        return NO_LARGE_PAGES;
    }
    copy_large_with_hole(pool, "/dev/shm/copy");
    const auto bytes = static_cast<off_t>(numbers_of(pool).bytes);
    if (allocated_bytes("/dev/shm/copy") >= bytes ||
        mount("/tmp/meminfo", "/proc/meminfo", nullptr, MS_BIND, nullptr) != 0) {
        return 1;
    }
    return egb_shared_attach(&copy, "/dev/shm/copy", 0) == EGB_OK &&
                   allocated_bytes("/dev/shm/copy") == bytes
               ? 0
               : 2;
}

TEST(SharedRoom, of_a_copy_in_a_hugetlbfs_is_its_large_pages)
{
    const int end = end_of(start_apart([] {
        return mount("none", "/tmp", "tmpfs", 0, "size=1m") != 0 ||
                       mount("none", "/dev/shm", "hugetlbfs", 0, "") != 0
                   ? int{NOT_ALLOWED}
                   : use_large_copy_without_other_memory();
    }));
    if (end == NOT_ALLOWED || end == NO_LARGE_PAGES) {
        GTEST_SKIP() << "only root may do this, where the administrator gives four large pages";
    }
    EXPECT_EQ(end, 0);
}

}  // namespace
