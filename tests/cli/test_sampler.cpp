// SPDX-License-Identifier: MIT
// Memory over time: what samples of a live file add up to, and how many stay.
#include "run/sampler.hpp"

#include <chrono>
#include <cstring>
#include <string>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace
{

using std::chrono::hours;
using std::chrono::seconds;
using tool::live_file;
using tool::sampler;

// The slots of a live file, as a process has them that writes there.
class slots
{
  public:
    explicit slots(const live_file& live)
    {
        const std::string variable = live.variable();
        const int         file     = std::stoi(variable.substr(variable.find('/') + 1));
        memory_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }

    ~slots()
    {
        munmap(memory_, bytes);
    }

    slots(const slots&)            = delete;
    slots& operator=(const slots&) = delete;

    egb_live_slot& operator[](std::size_t place)
    {
        char* const start = static_cast<char*>(memory_) + EGB_LIVE_START;
        return *reinterpret_cast<egb_live_slot*>(start + place * EGB_LIVE_SLOT_BYTES);
    }

    void claim(std::size_t place, pid_t pid)
    {
        (*this)[place].pid = static_cast<std::uint32_t>(pid);
        static_cast<egb_live_header*>(memory_)->claims++;
    }

  private:
    static constexpr std::size_t bytes = EGB_LIVE_BYTES(EGB_LIVE_SLOTS_MAX);

    void* memory_;
};

void set_pool(egb_live_slot& slot, std::size_t place, const std::string& name, std::uint64_t blocks)
{
    egb_live_pool& pool = slot.pools[place];
    pool.key            = place;
    pool.block_bytes    = 100;
    pool.in_use         = blocks;
    pool.bytes_held     = 1000 * blocks;
    std::strncpy(pool.name, name.c_str(), sizeof pool.name - 1);
}

TEST(sampler, a_sample_is_the_sum_of_the_processes_that_are_there)
{
    const live_file live;
    slots           all(live);
    const pid_t     gone = fork();
    if (gone == 0) {
        _exit(0);
    }
    waitpid(gone, nullptr, 0);
    const pid_t zombie = fork();
    if (zombie == 0) {
        _exit(0);
    }
    siginfo_t about = {};
    waitid(P_PID, static_cast<id_t>(zombie), &about, WEXITED | WNOWAIT);
    for (std::size_t i = 0; i < 4; i++) {
        set_pool(all[i], 1, "frames", 1 + i);
        all[i].large.bytes = 5000;
    }
    set_pool(all[1], 95, "last", 7);
    all[2].state = EGB_LIVE_REPORTED;  // it is ending
    set_pool(all[4], 1, "frames", 9);
    all.claim(0, getpid());
    all.claim(1, getpid());  // a library that the program links
    all.claim(2, getpid());
    all.claim(3, gone);
    all.claim(4, zombie);
    sampler one(live);
    one.look(sampler::clock::now() + seconds(1));
    waitpid(zombie, nullptr, 0);
    const tool::timeline_record line = one.timeline();
    ASSERT_EQ(line.at_s.size(), 1u);
    EXPECT_GE(line.at_s[0], 0.9);
    EXPECT_EQ(line.processes[0], 1u);
    EXPECT_EQ(line.bytes_in_use[0], 100u + 200u + 700u + 10000u);
    EXPECT_EQ(line.bytes_held[0], 1000u + 2000u + 7000u + 10000u);
    EXPECT_GE(line.bytes_resident[0], 100000u);
    ASSERT_EQ(line.pools.size(), 3u);
    EXPECT_EQ(line.pools[0].name, "large");
    EXPECT_EQ(line.pools[1].name, "last");
    EXPECT_EQ(line.pools[2].name, "frames");
    EXPECT_EQ(line.pools[2].bytes_in_use, std::vector<std::uint64_t>{300});
}

TEST(sampler, a_long_run_has_no_more_samples_than_a_short_one)
{
    const live_file live;
    sampler         one(live);
    const auto      begin = sampler::clock::now();
    auto            now   = begin;
    int             looks = 0;
    while (now < begin + hours(24)) {
        now = one.look(now);
        ASSERT_LT(++looks, 10000);
    }
    const tool::timeline_record line = one.timeline();
    EXPECT_GE(line.at_s.size(), 250u);
    EXPECT_LT(line.at_s.size(), 500u);
    const double least = 24 * 3600.0 / 500;
    for (std::size_t i = 1; i < line.at_s.size(); i++) {
        ASSERT_GE(line.at_s[i] - line.at_s[i - 1], least);
        ASSERT_LE(line.at_s[i] - line.at_s[i - 1], 2 * least);
    }
}

TEST(sampler, a_look_before_its_time_is_none)
{
    const live_file live;
    sampler         one(live);
    const auto      due = one.look(sampler::clock::time_point());
    EXPECT_GT(due, sampler::clock::time_point());
    EXPECT_TRUE(one.timeline().at_s.empty());
    EXPECT_GT(one.look(due), due);
    EXPECT_EQ(one.timeline().at_s.size(), 1u);
}

// The slots are not looked through again for each sample.
TEST(sampler, a_slot_that_is_claimed_later_is_in_the_next_sample)
{
    live_file live;
    slots     all(live);
    sampler   one(live);
    auto      now = sampler::clock::now() + seconds(1);
    set_pool(all[2], 1, "frames", 3);
    set_pool(all[1000], 1, "frames", 4);
    now = one.look(now);
    all.claim(1000, getpid());
    now = one.look(now);
    all.claim(2, getpid());
    now = one.look(now);
    live.release(1000, static_cast<std::uint32_t>(getpid()));
    one.look(now);
    const std::vector<std::uint64_t> right = {0, 400, 700, 300};
    EXPECT_EQ(one.timeline().bytes_in_use, right);
}

// Each process may name its pools as it likes.
TEST(sampler, names_without_number_are_one_in_the_end)
{
    const live_file live;
    slots           all(live);
    sampler         one(live);
    auto            now = sampler::clock::now() + seconds(1);
    all.claim(0, getpid());
    for (std::size_t i = 0; i < 3000; i++) {
        set_pool(all[0], 1 + i % 95, "pool " + std::to_string(i), 1);
        if (i % 95 == 94) {
            now = one.look(now);
        }
    }
    const tool::timeline_record line = one.timeline();
    ASSERT_EQ(line.pools.size(), 8u);
    EXPECT_EQ(line.pools[0].name, "other pools");
    EXPECT_EQ(line.bytes_in_use.back(), 9500u);
}

}  // namespace
