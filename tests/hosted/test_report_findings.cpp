// SPDX-License-Identifier: MIT
// The report of a process: its levels, leaks and misuse, with their places.
#include "report_folder.hpp"

#include "eggbox/guard.h"

#include <atomic>
#include <chrono>
#include <thread>

extern "C" {
#include "report/misuse.h"
}

#include <sys/wait.h>
#include <unistd.h>

namespace
{

using report = report_folder;

void ignore(const egb_misuse_event*, void*) {}

}  // namespace

TEST_F(report, a_pools_level_is_the_one_it_has)
{
    const egb_pool    guarded = new_pool("watched", EGB_LEVEL_GUARD);
    const egb_pool    plain   = new_pool("plain", EGB_LEVEL_OFF);
    const std::string all     = written();
    EXPECT_EQ(
        after(all, "\"name\":\"watched\",\"parent\":\"\",\"is_size_class\":false,", ","),
        "\"level\":\"guard\""
    );
    EXPECT_EQ(
        after(all, "\"name\":\"plain\",\"parent\":\"\",\"is_size_class\":false,", ","),
        "\"level\":\"off\""
    );
    EXPECT_EQ(egb_pool_destroy(guarded, EGB_DESTROY_REFUSE), EGB_OK);
    EXPECT_EQ(egb_pool_destroy(plain, EGB_DESTROY_REFUSE), EGB_OK);
}

// In a child, because the other tests have no pool that is tracked.
TEST_F(report, leaks_are_told_with_their_places_until_they_are_freed)
{
    const pid_t child = fork();
    if (child == 0) {
        EXPECT_EQ(written().find("\"leaks\""), std::string::npos);
        const egb_pool    pool  = new_pool("leaky", EGB_LEVEL_TRACK);
        void* const       block = EGB_POOL_ALLOC(pool);
        const int         line  = __LINE__ - 1;
        const std::string all   = written();
        EXPECT_NE(
            after(all, "\"leaks\":[", "]")
                .find("test_report_findings.cpp\",\"line\":" + std::to_string(line)),
            std::string::npos
        ) << all;
        EXPECT_EQ(after(all, "\"leaked\":{", "}"), "\"places\":1,\"blocks\":1,\"bytes\":24");
        egb_report_restart();  // it was allocated before: no leak of the process that begins now
        EXPECT_EQ(after(written(), "\"leaked\":{", "}"), "\"places\":0,\"blocks\":0,\"bytes\":0");
        void* const other = egb_pool_alloc(pool);
        EXPECT_EQ(after(written(), "\"leaked\":{", "}"), "\"places\":1,\"blocks\":1,\"bytes\":24");
        EXPECT_NE(
            after(written(), "\"leaks\":[", "]").find("/test_report_findings\",\"offset\":"),
            std::string::npos
        );
        egb_pool_free(pool, block);
        egb_pool_free(pool, other);
        EXPECT_EQ(after(written(), "\"leaks\":[", "]"), "");
        _exit(HasFailure() ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST_F(report, the_last_sixteen_misuses_are_told_the_oldest_first)
{
    egb_misuse_set_handler(ignore, nullptr);
    egb_report_restart();
    EXPECT_EQ(written().find("\"events\""), std::string::npos);
    std::string expected;
    for (int i = 0; i < 20; i++) {
        const std::string name = "p" + std::to_string(i);
        const egb_pool    pool = new_pool(name, EGB_LEVEL_DEFAULT);
        int               foreign;
        egb_pool_free(pool, &foreign);
        EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
        expected += i < 4 ? "" : name + " ";
    }
    std::string seen;
    std::string rest = after(written(), "\"events\":[", "]");
    for (std::string name; !(name = after(rest, "\"pool\":\"", "\"")).empty();) {
        seen += name + " ";
        rest = rest.substr(rest.find("\"pool\"") + 1);
    }
    EXPECT_EQ(seen, expected);
    egb_report_restart();
    EXPECT_EQ(written().find("\"events\""), std::string::npos);
    egb_misuse_set_handler(nullptr, nullptr);
}

TEST_F(report, an_event_has_all_that_is_known_of_its_block)
{
    egb_misuse_set_handler(ignore, nullptr);
    egb_report_restart();
    const egb_pool pool  = new_pool("guarded", EGB_LEVEL_GUARD);
    char* const    block = static_cast<char*>(egb_pool_alloc(pool));
    block[25]            = 'x';
    egb_pool_free(pool, block);
    const std::string event = after(written(), "\"events\":[", "]");
    EXPECT_EQ(
        after(event, "{", ",\"site\""),
        "\"kind\":\"write past the end of a "
        "block\",\"pool\":\"guarded\",\"bytes\":24,\"damaged\":25"
    );
    EXPECT_NE(
        after(event, "\"site\":{", "}").find("test_report_findings\",\"offset\":"),
        std::string::npos
    ) << event;
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
    egb_misuse_set_handler(nullptr, nullptr);
}

// Each event is one that was: never half of one and half of another, here of the other pool's.
TEST_F(report, events_are_whole_while_threads_make_more_of_them)
{
    egb_misuse_set_handler(ignore, nullptr);
    egb_report_restart();
    const egb_pool pools[2] = {
        new_pool("pool 0", EGB_LEVEL_CHECK), new_pool("pool 1", EGB_LEVEL_GUARD)
    };
    void* const blocks[2] = {egb_pool_alloc(pools[0]), egb_pool_alloc(pools[1])};
    egb_pool_free(pools[0], blocks[0]);
    egb_pool_free(pools[1], blocks[1]);
    std::atomic<bool> is_over{false};
    const auto        work = [&] {
        for (int i = 0; !is_over; i++) {
            const int which = i / EGB_PAST_EVENTS_MAX % 2;
            egb_pool_free(pools[which], blocks[which]);
        }
    };
    std::thread first(work);
    std::thread second(work);
    std::size_t torn    = 0;
    std::size_t seen[2] = {0, 0};
    const auto  end     = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
    while (std::chrono::steady_clock::now() < end || seen[0] == 0 || seen[1] == 0) {
        egb_past_event    events[EGB_PAST_EVENTS_MAX];
        const std::size_t count = egb_misuse_past_(events);
        for (std::size_t one = 0; one < count; one++) {
            const bool is_guarded = std::string(events[one].pool_name) == "pool 1";
            seen[is_guarded]++;
            torn += events[one].bytes != (is_guarded ? 24u : 0u);
        }
    }
    is_over = true;
    first.join();
    second.join();
    EXPECT_EQ(torn, 0u);
    for (const egb_pool pool : pools) {
        EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
    }
    egb_misuse_set_handler(nullptr, nullptr);
}
