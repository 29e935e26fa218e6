// SPDX-License-Identifier: MIT
// The limits of a process's memory: its own, in children, and those of its control groups, read
// from files below a folder of the test.
#include "posix_limits.h"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace
{

namespace fs = std::filesystem;

constexpr std::size_t MiB = std::size_t{1} << 20;

class group_limit : public testing::Test
{
  protected:
    void SetUp() override
    {
        std::string name = (fs::temp_directory_path() / "eggbox-groups-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        root = name;
    }

    void TearDown() override
    {
        fs::remove_all(root);
    }

    void put(const std::string& path, const std::string& text) const
    {
        const fs::path file = root + path;
        fs::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }

    std::size_t limit() const
    {
        errno                   = EDOM;
        const std::size_t bytes = egb_posix_group_limit_(root.c_str());
        EXPECT_EQ(errno, EDOM);
        return bytes;
    }

    std::string root;
};

using in_child = bool();

bool is_true_in_child(in_child* body)
{
    const pid_t child = fork();
    if (child == 0) {
        _exit(body() ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status == 0;
}

bool has_limit(int which, std::size_t bytes)
{
    struct rlimit now = {};
    (void)getrlimit(which, &now);
    now.rlim_cur = bytes;
    return setrlimit(which, &now) == 0 && egb_os_process_limit_() == bytes;
}

}  // namespace

TEST_F(group_limit, of_version_2)
{
    put("/proc/self/cgroup", "0::/shop/web\n");
    put("/sys/fs/cgroup/shop/web/memory.max", "209715200\n");
    put("/sys/fs/cgroup/shop/web/memory.high", "max\n");
    EXPECT_EQ(limit(), 200 * MiB);
    put("/sys/fs/cgroup/shop/web/memory.high", "104857600\n");
    EXPECT_EQ(limit(), 100 * MiB);
    put("/sys/fs/cgroup/shop/memory.max", "52428800\n");
    EXPECT_EQ(limit(), 50 * MiB) << "of the group above";
    put("/sys/fs/cgroup/memory.max", "1048576\n");
    EXPECT_EQ(limit(), MiB) << "of the topmost";
}

TEST_F(group_limit, of_version_1)
{
    put("/proc/self/cgroup", "5:cpuset:/other\n4:cpu,memory:/shop/web\n3:pids:/p\n0::/\n");
    put("/sys/fs/cgroup/memory/shop/web/memory.limit_in_bytes", "209715200\n");
    put("/sys/fs/cgroup/memory/other/memory.limit_in_bytes", "1\n");
    EXPECT_EQ(limit(), 200 * MiB);
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "104857600\n");
    EXPECT_EQ(limit(), 100 * MiB);
}

// Its path may name groups that it does not see, as outside of its container.
TEST_F(group_limit, of_a_container)
{
    put("/sys/fs/cgroup/memory.max", "209715200\n");
    for (const char* line : {"0::/\n", "0::/docker/0123\n", "0::/../../etc\n"}) {
        put("/proc/self/cgroup", line);
        EXPECT_EQ(limit(), 200 * MiB) << line;
    }
    put("/sys/etc/memory.max", "1\n");
    EXPECT_EQ(limit(), 200 * MiB) << "that is no group";
}

TEST_F(group_limit, missing_or_hostile_files_are_no_limit)
{
    EXPECT_EQ(limit(), SIZE_MAX);
    for (const char* text :
         {"max\n",
          "",
          "\n",
          "2097",
          " 1048576\n",
          "-1\n",
          "1048576 \n",
          "0x10\n",
          "1e3\n",
          "99999999999999999999999999\n",
          "00000000000000000000000000000000000001\n"}) {
        put("/proc/self/cgroup", "0::/a\n");
        put("/sys/fs/cgroup/a/memory.max", text);
        EXPECT_EQ(limit(), SIZE_MAX) << text;
    }
    put("/sys/fs/cgroup/a/memory.max", "1048576\n");
    EXPECT_EQ(limit(), MiB);
    const std::string longest(5000, 'x');
    for (const std::string& text :
         {std::string("0::/a"),
          std::string(":::\n::\n:\n\n"),
          longest,
          "0::/" + longest + "\n",
          std::string("memory\n"),
          std::string("0:memory\n"),
          std::string("1:memoryx:/a\n")}) {
        put("/proc/self/cgroup", text);
        EXPECT_EQ(limit(), SIZE_MAX) << text;
    }
    put("/proc/self/cgroup", "0::/" + std::string(2040, '/') + "\n");
    EXPECT_EQ(limit(), SIZE_MAX) << "too long a path";
    fs::remove(root + "/proc/self/cgroup");
    ASSERT_EQ(mkfifo((root + "/proc/self/cgroup").c_str(), 0600), 0);
    EXPECT_EQ(limit(), SIZE_MAX) << "nobody waits";
}

TEST(process_limit, is_the_least_of_its_own)
{
    EXPECT_TRUE(is_true_in_child([] { return has_limit(RLIMIT_DATA, 300 * MiB); }));
    EXPECT_TRUE(is_true_in_child([] {
        struct rlimit data = {};
        (void)getrlimit(RLIMIT_DATA, &data);
        data.rlim_cur = 700 * MiB;
        return setrlimit(RLIMIT_DATA, &data) == 0 && has_limit(RLIMIT_AS, 500 * MiB);
    }));
}

// Whatever it is, here.
TEST(group_limit_here, can_be_asked_for)
{
    errno = EDOM;
    EXPECT_GT(egb_os_group_limit_(), 0u);
    EXPECT_EQ(errno, EDOM);
}
