// SPDX-License-Identifier: MIT
// Allocations that fail on purpose, and the library that may not ask the system any more.
#include "eggbox/guard.h"
#include "eggbox/heap.h"
#include "environment.hpp"
#include "events.hpp"
#include "levels.hpp"
#include "pools.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#if defined(__linux__)
  #include <linux/filter.h>
  #include <linux/seccomp.h>
  #include <sys/prctl.h>
  #include <sys/syscall.h>
  #include <sys/wait.h>
  #include <unistd.h>
#endif

namespace
{

egb_pool make_named(const char* name)
{
    egb_pool_options options = options_for(64);
    options.name             = name;
    return make(options);
}

class fail : public testing::Test
{
  protected:
    ~fail() override
    {
        set_variable("EGGBOX_FAIL", nullptr);
    }
};

// How many of 100 allocations fail, all made at one place.
[[gnu::noinline]] bool can_take(egb_pool pool)
{
    void* const block = egb_pool_alloc(pool);
    egb_pool_free(pool, block);
    return block != nullptr;
}

int failures_of(egb_pool pool)
{
    int failures = 0;
    for (int i = 0; i < 100; i++) {
        failures += can_take(pool) ? 0 : 1;
    }
    return failures;
}

}  // namespace

TEST_F(fail, one_in_so_many_allocations_of_the_named_pools_fails)
{
    const events unexpected;
    set_variable("EGGBOX_FAIL", "net*:every=10,frames:every=1");
    const guard net(make_named("network"));
    const guard frames(make_named("frames"));
    const guard other(make_named("other"));
    set_variable("EGGBOX_FAIL", nullptr);
    EXPECT_EQ(failures_of(net), 10);
    EXPECT_EQ(failures_of(frames), 100);
    EXPECT_EQ(failures_of(other), 0);
    EXPECT_EQ(stats_of(net).failures, 10u);
    EXPECT_EQ(stats_of(net).allocations, 90u);
    EXPECT_EQ(stats_of(net).in_use, 0u);
}

// Nothing that could come would end the wait.
TEST_F(fail, a_wait_fails_at_once)
{
    set_variable("EGGBOX_FAIL", "net:every=1");
    const guard pool(make_named("net"));
    void*       block = &block;
    EXPECT_EQ(egb_pool_alloc_for(pool, &block, EGB_FOREVER), EGB_TIMED_OUT);
    EXPECT_EQ(block, nullptr);
    EXPECT_EQ(egb_pool_alloc_for(pool, &block, 0), EGB_EMPTY);
    EXPECT_EQ(stats_of(pool).failures, 2u);
}

TEST_F(fail, once_is_the_first_of_each_place)
{
    set_variable("EGGBOX_FAIL", "*:once");
    const guard one(make_named("one"));
    EXPECT_EQ(failures_of(one), 1);
    EXPECT_EQ(failures_of(one), 0);
    void* const here = egb_pool_alloc(one);
    EXPECT_EQ(here, nullptr);
}

TEST_F(fail, a_pattern_fits_the_name_as_reports_show_it)
{
    const std::string name(63, 'n');
    set_variable("EGGBOX_FAIL", (name.substr(0, 47) + ":once").c_str());
    egb_pool_options options{};
    options.name        = name.c_str();
    options.block_bytes = 64;
    const guard pool(make(options));
    EXPECT_EQ(egb_pool_alloc(pool), nullptr);
    options.level = level_named("no such level");
    egb_pool none{};
    EXPECT_EQ(egb_pool_create(&none, &options), EGB_INVALID);
}

TEST_F(fail, an_entry_that_is_none_is_left_out_and_said_once)
{
    testing::internal::CaptureStderr();
    set_variable("EGGBOX_FAIL", "every=3,*:every=0,*:every=,*:every=3x,*:onc,*:once2,*:every=4");
    const guard pool(make_named("pool"));
    const guard again(make_named("pool"));
    EXPECT_EQ(failures_of(pool), 25);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(said.find("eggbox: EGGBOX_FAIL has an entry"), 0u) << said;
    EXPECT_EQ(said.find('\n'), said.size() - 1) << said;
}

// At level "passthrough", and where pages cannot be closed, none is sampled.
TEST_F(fail, a_sample_with_a_guard_page_is_no_way_out)
{
    const egb_status status = egb_heap_guard_pages("1/1");
    set_variable("EGGBOX_FAIL", "*:every=1");
    EXPECT_EQ(egb_malloc(6000), nullptr);  // the first of its class
    EXPECT_EQ(egb_malloc(6000), nullptr);
    EXPECT_TRUE(status == EGB_OK || status == EGB_UNSUPPORTED);
    EXPECT_EQ(egb_heap_guard_pages(nullptr), EGB_OK);
}

TEST_F(fail, nobody_is_asked_whether_to_try_again)
{
    set_variable("EGGBOX_FAIL", "*:every=1");
    static int       asked   = 0;
    egb_pool_options options = options_for(64);
    options.on_exhausted     = [](egb_pool, void*) {
        asked++;
        return EGB_EXHAUSTED_RETRY;
    };
    const guard pool(make(options));
    EXPECT_EQ(egb_pool_alloc(pool), nullptr);
    EXPECT_EQ(asked, 0);
}

TEST_F(fail, the_heap_is_made_of_pools_and_of_large_blocks)
{
    (void)egb_pool_destroy(egb_heap_pool(), EGB_DESTROY_FORCE);  // one request is made once
    set_variable("EGGBOX_FAIL", "heap 2048:every=2,large:every=3");
    int small = 0;
    int large = 0;
    for (int i = 0; i < 30; i++) {
        void* const block = egb_malloc(2000);
        void* const other = egb_malloc(1 << 20);
        small += block == nullptr ? 1 : 0;
        large += other == nullptr ? 1 : 0;
        egb_free(block);
        egb_free(other);
    }
    EXPECT_EQ(small, 15);
    EXPECT_EQ(large, 10);
    (void)egb_pool_destroy(egb_heap_pool(), EGB_DESTROY_FORCE);
}

// ---- sealed -------------------------------------------------------------------------------------

TEST(seal, a_thread_has_what_one_that_ended_had)
{
    const events   seen;
    const egb_pool pool = make(options_for(64));
    const auto     use  = [pool] {
        egb_pool_free(pool, egb_pool_alloc(pool));
    };
    ASSERT_EQ(egb_pool_reserve(pool, 100), EGB_OK);
    std::thread(use).join();
    egb_seal();
    for (int i = 0; i < 20; i++) {
        std::thread(use).join();
    }
    egb_unseal();
    EXPECT_EQ(seen.count(), 0u);
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
}

// Else another lane's blocks would not be looked for before the system is asked.
TEST(seal, a_thread_has_what_another_one_gave_back)
{
    const events       seen;
    const egb_pool     pool = make(options_for(64));
    std::vector<void*> blocks{egb_pool_alloc(pool)};
    std::thread([pool] { egb_pool_free(pool, egb_pool_alloc(pool)); }).join();
    while (stats_of(pool).in_use < stats_of(pool).capacity) {
        blocks.push_back(egb_pool_alloc(pool));
    }
    for (int i = 0; i < 500; i++) {
        egb_pool_free(pool, blocks.back());
        blocks.pop_back();
    }
    egb_seal();
    std::array<void*, 100> others{};
    std::thread([&] {  // in the place of the one that ended
        EXPECT_EQ(egb_pool_alloc_many(pool, others.data(), others.size()), others.size());
    })
        .join();
    egb_unseal();
    egb_pool_free_many(pool, others.data(), others.size());
    EXPECT_EQ(seen.count(), 0u);
    egb_pool_free_many(pool, blocks.data(), blocks.size());
    EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
}

TEST(seal, what_is_there_must_do)
{
    events      seen;
    const guard pool(make(64));
    void* const warm = egb_pool_alloc(pool);
    egb_pool_free(pool, warm);
    ASSERT_EQ(egb_pool_reserve(pool, 100), EGB_OK);
    egb_seal();
    std::vector<void*> blocks;
    for (;;) {
        void* const block = egb_pool_alloc(pool);
        if (block == nullptr) {
            break;
        }
        blocks.push_back(block);
    }
    EXPECT_GE(blocks.size(), 100u);
    EXPECT_EQ(seen.take_all(), EGB_MISUSE_SEALED);
    EXPECT_EQ(egb_pool_reserve(pool, 100000), EGB_NO_MEMORY);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_SEALED);
    EXPECT_EQ(egb_malloc(5 << 20), nullptr);
    EXPECT_EQ(seen.take_kind(), EGB_MISUSE_SEALED);
    for (void* const block : blocks) {
        egb_pool_free(pool, block);
    }
    std::thread([&] { egb_pool_free(pool, egb_pool_alloc(pool)); }).join();
    egb_unseal();
    // Without a magazine, if no thread that ended has left one.
    EXPECT_TRUE(seen.count() == 0 || seen.take_all() == EGB_MISUSE_SEALED);
    EXPECT_EQ(egb_pool_reserve(pool, 100000), EGB_OK);
    EXPECT_EQ(stats_of(pool).in_use, 0u);
}

#if defined(__linux__) && defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)

namespace
{

// From now on the kernel ends this process if it asks for memory or gives some back.
void forbid_memory_calls()
{
    const unsigned calls[] = {SYS_mmap, SYS_munmap, SYS_mprotect, SYS_madvise, SYS_mremap, SYS_brk};
    std::vector<sock_filter> program;
    program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
    for (const unsigned call : calls) {
        program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
        program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
    }
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    const sock_fprog all    = {static_cast<unsigned short>(program.size()), program.data()};
    const bool       is_set = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) == 0;
    if (!is_set) {
        _exit(77);
    }
}

void ignore(const egb_misuse_event*, void*) {}

// Uses pools and heap until both refuse, with the kernel watching. Otherwise the memory that
// earlier tests left would be enough for all of this.
int use_all(bool seals)
{
    egb_pool_trim(egb_pool{}, 0);
    const egb_pool pool = make(64);
    egb_pool_free(pool, egb_pool_alloc(pool));
    egb_free(egb_malloc(100));
    egb_misuse_set_handler(ignore, nullptr);
    if (seals) {
        egb_seal();
    }
    forbid_memory_calls();
    for (int i = 0; i < 20000; i++) {
        if (egb_pool_alloc(pool) == nullptr && egb_malloc(100) == nullptr &&
            egb_malloc(1 << 20) == nullptr) {
            return 0;
        }
    }
    return 1;
}

int status_of_child(bool seals)
{
    const pid_t child = fork();
    if (child == 0) {
        _exit(use_all(seals));
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
}

}  // namespace

TEST(seal, the_kernel_sees_no_request)
{
    const int status = status_of_child(true);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        GTEST_SKIP() << "there are no filters of system calls here";
    }
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    const int unsealed = status_of_child(false);  // or the filter would prove nothing
    EXPECT_TRUE(WIFSIGNALED(unsealed) && WTERMSIG(unsealed) == SIGSYS) << unsealed;
}

#endif

// ---- regressions --------------------------------------------------------------------------------

// Each request read the environment. While another thread enlarged the environment, such a read met
// freed memory.
TEST_F(fail, a_large_request_does_not_look_at_the_environment)
{
    std::atomic<bool> is_done{false};
    std::thread       large([&] {
        while (!is_done) {
            egb_free(egb_malloc(40000));
        }
    });
    std::thread       soiling([&] {
        for (std::size_t bytes = 100; !is_done; bytes = bytes < 30000 ? bytes + 40 : 100) {
            const std::vector<unsigned char> block(bytes, 0x55);
        }
    });
    for (int i = 0; i < 4000; i++) {
        set_variable_unread(("EGGBOX_TEST_" + std::to_string(i)).c_str(), "x");
    }
    is_done = true;
    large.join();
    soiling.join();
    for (int i = 0; i < 4000; i++) {
        set_variable(("EGGBOX_TEST_" + std::to_string(i)).c_str(), nullptr);
    }
}

namespace
{

void ask_the_heap(const egb_misuse_event* event, void* user)
{
    int* const count = static_cast<int*>(user);
    if (event->kind == EGB_MISUSE_SEALED && ++*count == 1) {
        egb_free(egb_malloc(7000));  // the class does not exist yet
    }
}

}  // namespace

TEST(seal, the_handler_may_ask_the_heap_for_a_class_that_is_not_there)
{
    int count = 0;
    (void)egb_pool_destroy(egb_heap_pool(), EGB_DESTROY_FORCE);
    set_variable("EGGBOX_CHECK", "guard");
    egb_free(egb_malloc(16));
    egb_misuse_set_handler(ask_the_heap, &count);
    egb_seal();
    EXPECT_EQ(egb_malloc(5000), nullptr);
    egb_unseal();
    egb_misuse_set_handler(nullptr, nullptr);
    EXPECT_GE(count, 1);
    set_variable("EGGBOX_CHECK", nullptr);
    (void)egb_pool_destroy(egb_heap_pool(), EGB_DESTROY_FORCE);
}

TEST(seal, what_a_large_block_had_serves_the_next)
{
    const events      unexpected;
    const std::size_t bytes = std::size_t{40} << 20;
    void*             large = egb_malloc(bytes);
    egb_seal();
    egb_free(large);
    void* const zeroed = egb_calloc(1, bytes);
    EXPECT_NE(zeroed, nullptr);
    egb_free(zeroed);
    large = egb_malloc(bytes);
    EXPECT_NE(large, nullptr);
    egb_unseal();
    egb_free(large);
}

namespace
{

// Frees more blocks than a batch holds, in several pools. Each pool then wants a second batch. Says
// how many events that were. The library gets batches by the dozen, some may be left.
std::size_t events_of_frees(std::size_t pools, events& seen)
{
    std::vector<egb_pool>           all(pools);
    std::vector<std::vector<void*>> blocks(pools);
    for (std::size_t i = 0; i < pools; i++) {
        all[i]    = make(64);
        blocks[i] = take_all(all[i], 300);
    }
    egb_seal();
    for (std::size_t i = 0; i < pools; i++) {
        give_all(all[i], blocks[i]);
    }
    const std::size_t during = seen.count();
    egb_unseal();
    EXPECT_EQ(seen.count(), during);
    for (const egb_pool pool : all) {
        EXPECT_EQ(stats_of(pool).in_use, 0u);
        EXPECT_EQ(egb_pool_destroy(pool, EGB_DESTROY_REFUSE), EGB_OK);
    }
    return during;
}

}  // namespace

// A free may need memory to make room. Then the event belongs to that free.
TEST(seal, a_free_that_would_have_had_to_ask_says_so)
{
    if (!has_magazines()) {
        GTEST_SKIP() << "there are no magazines here";
    }
    events      seen;
    std::size_t during = 0;
    for (std::size_t pools = 50; during == 0 && pools < 3000; pools = pools * 3 / 2) {
        during = events_of_frees(pools, seen);
    }
    ASSERT_GT(during, 0u);
    EXPECT_EQ(seen.take_all(), EGB_MISUSE_SEALED);
}

TEST(seal, what_a_limit_refuses_is_no_request)
{
    const events     unexpected;
    egb_pool_options options = options_for(64);
    options.level            = EGB_LEVEL_TRACK;
    options.max_blocks       = 1;
    options.reserve_blocks   = 1;
    const guard pool(make(options));
    egb_seal();
    std::thread([&] {
        void* const block = egb_pool_alloc(pool);
        EXPECT_NE(block, nullptr);
        EXPECT_EQ(egb_pool_alloc(pool), nullptr);
        egb_pool_free(pool, block);
    }).join();
    egb_unseal();
}

TEST(seal, what_is_in_quarantine_serves_before_the_system_would)
{
    const events     unexpected;
    egb_pool_options options = options_for(1000);
    options.level            = EGB_LEVEL_GUARD;
    options.reserve_blocks   = 4;
    const guard pool(make(options));
    egb_seal();
    for (int i = 0; i < 1000; i++) {
        egb_pool_free(pool, egb_pool_alloc(pool));
    }
    egb_unseal();
}

// Nothing makes the cached regions fewer then, and they are in one list with those that fit.
TEST(seal, a_region_that_fits_is_found_among_many)
{
    constexpr std::size_t unit  = 65536;
    constexpr std::size_t count = 610;
    const events          unexpected;
    std::vector<void*>    blocks;
    std::vector<void*>    between;  // keep free regions from joining
    for (std::size_t i = 0; i < count; i++) {
        blocks.push_back(egb_malloc((i < 10 ? 9 : 8) * unit));
        between.push_back(egb_malloc(unit + 1));
    }
    egb_seal();
    for (void* const block : blocks) {
        egb_free(block);
    }
    void* const again = egb_malloc(9 * unit);
    EXPECT_NE(again, nullptr);
    egb_unseal();
    egb_free(again);
    for (void* const block : between) {
        egb_free(block);
    }
}
