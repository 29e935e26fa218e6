// SPDX-License-Identifier: MIT
// The promises of the layer os on a Unix: page faults, limits, forks, errno.
#include "os.h"
#include "range.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

// ---- pages --------------------------------------------------------------------------------------

namespace
{

// Runs `body` in a child of this process, and returns its result.
int in_child(const std::function<int()>& body)
{
    const pid_t child = fork();
    if (child == 0) {
        _exit(body());
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

long page_faults()
{
    rusage used = {};
    getrusage(RUSAGE_SELF, &used);
    return used.ru_minflt;
}

// Not instrumented, because a sanitizer's own notes about the memory would fault.
__attribute__((noinline, no_sanitize_address, no_sanitize_thread)) long
faults_of_touching(volatile char* start, std::size_t bytes, std::size_t page)
{
    const long before = page_faults();
    for (std::size_t i = 0; i < bytes; i += page) {
        start[i] = 1;
    }
    return page_faults() - before;
}

// The least of a few tries, because whatever else happens in the process faults too.
long least_faults(unsigned page_options)
{
    const std::size_t bytes = 512 * egb_os_page_bytes_();
    long              least = LONG_MAX;
    for (int i = 0; i < 5; i++) {
        const range one(bytes, egb_os_page_bytes_());
        EXPECT_EQ(egb_os_commit_(one.start(), bytes, page_options, nullptr), EGB_OK);
        least = std::min(least, faults_of_touching(one.start(), bytes, egb_os_page_bytes_()));
    }
    return least;
}

}  // namespace

TEST(os_pages, prefaulted_pages_do_not_fault_any_more)
{
    EXPECT_GT(least_faults(0), 0);
    EXPECT_EQ(least_faults(EGB_OS_PREFAULT), 0);
    EXPECT_EQ(least_faults(EGB_OS_PREFAULT | EGB_OS_HUGE_PAGES), 0);
}

#if defined(__linux__)

namespace
{

// mincore knows only mapped pages.
bool is_mapped(char* start, std::size_t bytes)
{
    std::vector<unsigned char> flags(bytes / egb_os_page_bytes_());
    return mincore(start, bytes, flags.data()) == 0;
}

}  // namespace

TEST(os_pages, a_released_range_is_gone_whole)
{
    const std::size_t mib = std::size_t{1} << 20;
    for (const std::size_t align : {egb_os_page_bytes_(), 64 * mib}) {
        char* start = nullptr;
        {
            const range one(mib, align);
            start = one.start();
            ASSERT_TRUE(is_mapped(start, mib));
        }
        for (std::size_t i = 0; i < mib; i += egb_os_page_bytes_()) {
            EXPECT_FALSE(is_mapped(start + i, egb_os_page_bytes_()));
        }
    }
}

namespace
{

enum answer { GOOD = 0, REFUSED_TOO_LITTLE, REFUSED_TOO_MUCH, NOT_LIMITED };

// A limit of nothing: whatever is mapped already stays.
answer reserve_under_a_limit()
{
    const std::size_t bytes = std::size_t{1} << 26;
    const std::size_t page  = egb_os_page_bytes_();
    rlimit            limit = {};
    getrlimit(RLIMIT_AS, &limit);
    const rlimit none = {0, limit.rlim_max};
    setrlimit(RLIMIT_AS, &none);
    void* const probe =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (probe != MAP_FAILED) {
        return NOT_LIMITED;
    }
    if (egb_os_reserve_(bytes, page) != nullptr || egb_os_reserve_(bytes, bytes) != nullptr) {
        return REFUSED_TOO_LITTLE;
    }
    setrlimit(RLIMIT_AS, &limit);
    void* const start = egb_os_reserve_(bytes, bytes);
    if (start == nullptr || egb_os_commit_(start, bytes, 0, nullptr) != EGB_OK) {
        return REFUSED_TOO_MUCH;
    }
    std::memset(start, 1, 1000);
    return GOOD;
}

}  // namespace

TEST(os_pages, a_limit_of_address_space_refuses_until_it_is_lifted)
{
    const int came = in_child([] { return int(reserve_under_a_limit()); });
    if (came == NOT_LIMITED) {
        GTEST_SKIP() << "the system ignores the limit, as an emulator does";
    }
    EXPECT_EQ(came, int(GOOD));
}

#endif

// ---- messages -----------------------------------------------------------------------------------

namespace
{

void to_a_pipe_that_nobody_reads()
{
    int ends[2] = {};
    EXPECT_EQ(pipe(ends), 0);
    close(ends[0]);
    dup2(ends[1], STDERR_FILENO);
}

void to_a_socket_that_nobody_reads()
{
    int ends[2] = {};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    close(ends[0]);
    dup2(ends[1], STDERR_FILENO);
}

// Others have appended to the file meanwhile: the next write is beyond the limit, wherever this
// descriptor was.
void to_a_file_that_may_not_grow()
{
    char         path[] = "/tmp/eggbox-test-XXXXXX";
    const rlimit limit  = {100, 100};
    close(mkstemp(path));
    EXPECT_EQ(truncate(path, 100), 0);
    dup2(open(path, O_WRONLY | O_APPEND), STDERR_FILENO);
    unlink(path);
    setrlimit(RLIMIT_FSIZE, &limit);
}

sigset_t just(int number)
{
    sigset_t out;
    sigemptyset(&out);
    sigaddset(&out, number);
    return out;
}

bool is_pending(int number)
{
    sigset_t all;
    sigpending(&all);
    return sigismember(&all, number) == 1;
}

bool is_blocked(int number)
{
    sigset_t all;
    pthread_sigmask(SIG_SETMASK, nullptr, &all);
    return sigismember(&all, number) == 1;
}

struct lost_message {
    void (*prepare)();
    int number;  // the signal's number
};

constexpr lost_message lost_messages[] = {
    {to_a_pipe_that_nobody_reads, SIGPIPE},
    {to_a_socket_that_nobody_reads, SIGPIPE},
    {to_a_file_that_may_not_grow, SIGXFSZ},
};

}  // namespace

TEST(os_message, that_is_lost_ends_no_program)
{
    for (const lost_message& each : lost_messages) {
        const int came = in_child([&] {
            each.prepare();
            signal(each.number, SIG_DFL);
            egb_os_write_error_("lost\n", 5);
            return is_blocked(each.number) || is_pending(each.number) ? 1 : 0;
        });
        EXPECT_EQ(came, 0) << each.number;
    }
}

TEST(os_message, that_is_lost_leaves_the_signals_of_the_program_as_they_are)
{
    for (const lost_message& each : lost_messages) {
        for (const bool has_one : {false, true}) {
            const int came = in_child([&] {
                const sigset_t one = just(each.number);
                each.prepare();
                pthread_sigmask(SIG_BLOCK, &one, nullptr);
                if (has_one) {
                    raise(each.number);
                }
                egb_os_write_error_("lost\n", 5);
                return is_pending(each.number) == has_one && is_blocked(each.number) ? 0 : 1;
            });
            EXPECT_EQ(came, 0) << each.number << has_one;
        }
    }
}

// ---- forks --------------------------------------------------------------------------------------

namespace
{

char   seen[64];
size_t seen_count;

void see(char what)
{
    seen[seen_count++ % sizeof seen] = what;
}

bool hooks_ran(const char* wanted)
{
    return std::string(seen, seen_count) == wanted;
}

bool name_fork_hooks()
{
    static const bool named = egb_os_at_fork_([] { see('<'); }, [] { see('P'); }, [] { see('C'); });
    seen_count              = 0;
    return named;
}

}  // namespace

TEST(os_fork, the_hooks_run_before_and_on_both_sides)
{
    ASSERT_TRUE(name_fork_hooks());
    EXPECT_EQ(in_child([] { return hooks_ran("<C") ? 0 : 1; }), 0);
    EXPECT_TRUE(hooks_ran("<P"));
}

#if defined(__GLIBC__)

extern "C" void  __cxa_finalize(void* library);
extern "C" void* __dso_handle;

// A thread may be in a fork when another one calls exit(): it has called the first hook by then.
TEST(os_fork, the_hooks_run_after_the_destructors_too)
{
    ASSERT_TRUE(name_fork_hooks());
    const int came = in_child([] {
        __cxa_finalize(&__dso_handle);
        seen_count = 0;
        return in_child([] { return hooks_ran("<C") ? 0 : 1; }) == 0 && hooks_ran("<P") ? 0 : 1;
    });
    EXPECT_EQ(came, 0);
}

#endif

TEST(os_fork, in_the_child_fences_work_and_a_lock_of_a_lost_thread_can_be_reset)
{
    static egb_os_mutex lock;
    const bool          can = egb_os_can_fence_threads_();
    egb_os_lock_(&lock);
    int came = -1;
    std::thread([&] {
        came = in_child([can] {
            egb_os_lock_reset_(&lock);
            egb_os_lock_(&lock);
            egb_os_unlock_(&lock);
            return (!can || egb_os_fence_threads_()) && egb_os_can_fence_threads_() == can ? 0 : 1;
        });
    }).join();
    egb_os_unlock_(&lock);
    EXPECT_EQ(came, 0);
}

// ---- errno --------------------------------------------------------------------------------------

namespace
{

void nothing(void*) {}

// Each function once, also as it fails.
std::vector<std::function<void()>> calls()
{
    static egb_os_mutex lock;
    static char*        start;
    static char*        large;
    const std::size_t   page   = egb_os_page_bytes_();
    const std::size_t   bytes  = 16 * page;
    const auto          commit = [=](unsigned page_options) {
        egb_os_obtained obtained;
        EXPECT_EQ(egb_os_commit_(start, bytes, page_options, &obtained), EGB_OK);
    };
    return {
        [] { egb_os_write_error_("", 0); },
        [] { egb_os_page_bytes_(); },
        [=] { EXPECT_EQ(egb_os_reserve_(SIZE_MAX - page + 1, page), nullptr); },
        [=] { EXPECT_EQ(egb_os_reserve_(SIZE_MAX - page + 1, 2 * page), nullptr); },
        [=] { start = static_cast<char*>(egb_os_reserve_(bytes, page)); },
        [=] { large = static_cast<char*>(egb_os_reserve_(bytes, page << 8)); },
        [=] { commit(0); },
        [=] { commit(EGB_OS_PREFAULT); },
        [=] { commit(EGB_OS_HUGE_PAGES); },
        [=] { commit(EGB_OS_HUGE_PAGES | EGB_OS_PREFAULT); },
        [=] { egb_os_release_(start, bytes); },
        [=] { egb_os_release_(large, bytes); },
        [=] { egb_os_release_(start + 1, bytes); },  // refused, for it is not at a page
        [=] { EXPECT_NE(egb_os_resize_(start + 1, page, 2 * page), EGB_OK); },
        [=] { EXPECT_NE(egb_os_move_(start + 1, page, start + bytes, 2 * page), EGB_OK); },
        [=] { EXPECT_NE(egb_os_protect_(start + 1, page, false), EGB_OK); },
        [=] { EXPECT_NE(egb_os_shut_(start + 1, page), EGB_OK); },
        [] { (void)egb_os_explain_faults_([](const void*, egb_os_access) {}); },
        [] { egb_os_milliseconds_(); },
        [] { egb_os_random_(); },
        [] { egb_os_lock_(&lock); },
        [] { egb_os_unlock_(&lock); },
        [] { egb_os_lock_reset_(&lock); },
        [] { egb_os_arm_thread_exit_(nullptr); },
        [] { egb_os_at_thread_exit_(nothing); },
        [] { egb_os_arm_thread_exit_(nullptr); },
        [] { egb_os_at_fork_(nullptr, nullptr, nullptr); },
        [] { egb_os_can_fence_threads_(); },
        [] { [[maybe_unused]] const bool done = egb_os_fence_threads_(); },
    };
}

}  // namespace

TEST(os_errno, no_call_changes_it)
{
    // In a child, because the function for the end of a thread is named once.
    const int wrong = in_child([] {
        int number = 1;
        for (const auto& call : calls()) {
            errno = EDOM;
            call();
            if (errno != EDOM) {
                return number;
            }
            number++;
        }
        return 0;
    });
    EXPECT_EQ(wrong, 0) << "the number of the call";
}
