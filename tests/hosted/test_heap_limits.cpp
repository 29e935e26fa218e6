// SPDX-License-Identifier: MIT
// The memory that the heap keeps if memory is limited. The linker redirects the calls that read
// limits and the time to this file.
#include "heaps.hpp"

#include <cstdint>
#include <sys/wait.h>
#include <unistd.h>

namespace
{

std::uint64_t now     = 1000000;
std::size_t   group   = SIZE_MAX;
std::size_t   process = SIZE_MAX;
int           reads   = 0;

constexpr std::size_t MiB = std::size_t{1} << 20;

}  // namespace

extern "C" {
std::uint64_t __wrap_egb_os_milliseconds_(void);
std::size_t   __wrap_egb_os_group_limit_(void);
std::size_t   __wrap_egb_os_process_limit_(void);

std::uint64_t __wrap_egb_os_milliseconds_(void)
{
    return now;
}

std::size_t __wrap_egb_os_group_limit_(void)
{
    reads++;
    return group;
}

std::size_t __wrap_egb_os_process_limit_(void)
{
    return process;
}
}

namespace
{

void use_and_free(std::size_t bytes, std::size_t sum)
{
    std::vector<void*> blocks(sum / bytes);
    for (void*& block : blocks) {
        block = egb_malloc(bytes);
    }
    for (void* const block : blocks) {
        egb_free(block);
    }
}

// Only some calls look for memory that the heap could pass on: among these calls is one for sure.
void make_cold_calls()
{
    for (int call = 0; call < 70; call++) {
        egb_free(egb_malloc(PTRDIFF_MAX - MiB));
    }
}

std::size_t held_after(std::size_t bytes, std::size_t sum)
{
    use_and_free(bytes, sum);
    make_cold_calls();
    return subtree_of(egb_heap_pool()).bytes_held + heap_numbers().cached_bytes;
}

void set_limits(std::size_t of_group, std::size_t of_process)
{
    group   = of_group;
    process = of_process;
    now += 1000;
    use_and_free(MiB, 128 * MiB);  // some memory is got, so that the limits are read
}

}  // namespace

// The tests share a heap, and are run in this order.
TEST(heap_limits, short_programs_do_not_read_them)
{
    use_and_free(100, 2 * MiB);
    EXPECT_EQ(reads, 0);
    use_and_free(100, 8 * MiB);
    EXPECT_EQ(reads, 1);
    use_and_free(1000, 64 * MiB);
    EXPECT_EQ(reads, 1) << "once a second";
    now += 1000;
    use_and_free(1000000, 64 * MiB);
    EXPECT_EQ(reads, 2);
}

TEST(heap_limits, a_small_share_is_kept)
{
    for (const std::size_t bytes : sizes{16, 100, 1000, 3000, 20000, 100000, 1000000}) {
        set_limits(64 * MiB, SIZE_MAX);
        EXPECT_LE(held_after(bytes, 48 * MiB), 8 * MiB) << bytes;
        set_limits(SIZE_MAX, 32 * MiB);
        EXPECT_LE(held_after(bytes, 24 * MiB), 5 * MiB) << bytes;
        set_limits(0, SIZE_MAX);
        EXPECT_LE(held_after(bytes, 24 * MiB), 4 * MiB) << bytes;
    }
}

TEST(heap_limits, what_phases_have_taught_is_kept_within_the_share)
{
    set_limits(64 * MiB, SIZE_MAX);
    for (int phase = 0; phase < 10; phase++) {
        use_and_free(1000, 48 * MiB);
        use_and_free(1000000, 48 * MiB);
    }
    EXPECT_LE(held_after(1000, 48 * MiB), 8 * MiB);
}

TEST(heap_limits, also_where_a_thread_gives_back_by_time)
{
    (void)egb_heap_purge();
    set_limits(SIZE_MAX, SIZE_MAX);
    EXPECT_GT(held_after(1000, 48 * MiB), 40 * MiB);
    set_limits(64 * MiB, SIZE_MAX);
    EXPECT_LE(held_after(1000, 48 * MiB), 8 * MiB);
    EXPECT_LE(held_after(1000000, 48 * MiB), 8 * MiB);
}

// In the parent somebody looks at the clock, and phases have taught it a high limit.
TEST(heap_limits, the_child_of_a_fork_has_the_least_limit_again)
{
    (void)egb_heap_purge();
    set_limits(SIZE_MAX, SIZE_MAX);
    use_and_free(MiB, 300 * MiB);
    use_and_free(MiB, 300 * MiB);
    const pid_t child = fork();
    if (child == 0) {
        (void)egb_heap_trim(0);
        _exit(held_after(MiB, 400 * MiB) <= 128 * MiB ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// A filter may end a program for the calls that read them.
TEST(heap_limits, before_a_sandbox_they_are_read_a_last_time)
{
    set_limits(SIZE_MAX, SIZE_MAX);
    const int before = reads;
    group            = 64 * MiB;
    egb_heap_expect_sandbox_();
    EXPECT_EQ(reads, before + 1);
    set_limits(SIZE_MAX, SIZE_MAX);
    egb_heap_expect_sandbox_();
    EXPECT_EQ(reads, before + 1);
    EXPECT_LE(held_after(1000, 48 * MiB), 8 * MiB);
}
