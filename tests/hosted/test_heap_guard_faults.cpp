// SPDX-License-Identifier: MIT
// A guard page ends the program at the very access, and a message says why. Each fault is made by a
// child of this process.
#include "environment.hpp"
#include "heaps.hpp"

#include <csignal>
#include <cstdio>
#include <functional>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <ucontext.h>
#include <unistd.h>

namespace
{

constexpr std::size_t of_each_kind[] = {1, 16, 40, 1000, 5000, 131072, 140000, 3000000};

struct end {
    int         status;
    std::string said;

    // A sanitizer has a handler of its own, and ends the program in its own way.
    bool is_by_fault() const
    {
        return is_sanitized ? status != 0 : WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
    }
};

// `work` in a child, which ends well if it comes back.
end end_of(const std::function<void()>& work)
{
    int ends[2] = {};
    EXPECT_EQ(pipe(ends), 0);
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        work();
        _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    close(ends[1]);
    end  result{};
    char part[512];
    for (ssize_t got = 0; (got = read(ends[0], part, sizeof part)) > 0;) {
        result.said.append(part, static_cast<std::size_t>(got));
    }
    close(ends[0]);
    EXPECT_EQ(waitpid(child, &result.status, 0), child);
    return result;
}

volatile char* take(std::size_t bytes)
{
    return static_cast<volatile char*>(egb_malloc(bytes));
}

[[maybe_unused]] volatile char* opaque(volatile std::uintptr_t address)
{
    return reinterpret_cast<volatile char*>(address);
}

bool says(const std::string& said, const char* text)
{
    return is_sanitized || said.find(text) != std::string::npos;
}

}  // namespace

TEST(heap_guard_faults, a_byte_behind_a_block_ends_the_program)
{
    const guard_pages pages("large,1/1");
    for (const std::size_t bytes : of_each_kind) {
        const std::size_t room  = (bytes + 15) / 16 * 16;
        const end         write = end_of([&] { take(bytes)[room] = 1; });
        EXPECT_TRUE(write.is_by_fault()) << bytes;
        EXPECT_TRUE(says(write.said, " memory past the end of a block")) << write.said;
        EXPECT_TRUE(says(write.said, ("byte " + std::to_string(room)).c_str())) << write.said;
        EXPECT_TRUE(says(write.said, "allocated at ")) << write.said;
        EXPECT_TRUE(end_of([&] { (void)take(bytes)[room]; }).is_by_fault()) << bytes;
        EXPECT_EQ(end_of([&] { take(bytes)[bytes - 1] = 1; }).status, 0) << bytes;
    }
}

TEST(heap_guard_faults, any_use_after_the_free_ends_the_program)
{
    const guard_pages pages("large,1/1");
    for (const std::size_t bytes : of_each_kind) {
        for (const std::size_t place : sizes{0, bytes / 2, bytes - 1}) {
            const auto use = [&](bool is_write) {
                volatile char* const block = take(bytes);
                egb_free(const_cast<char*>(block));
                if (is_write) {
                    block[place] = 1;
                } else {
                    (void)block[place];
                }
            };
            const end read = end_of([&] { use(false); });
            EXPECT_TRUE(read.is_by_fault()) << bytes;
            EXPECT_TRUE(says(read.said, " a freed block")) << read.said;
            EXPECT_TRUE(says(read.said, "freed at ")) << read.said;
            EXPECT_TRUE(end_of([&] { use(true); }).is_by_fault()) << bytes;
        }
    }
}

TEST(heap_guard_faults, blocks_of_other_calls_have_a_page_too)
{
    const guard_pages pages("large,1/1");
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    EXPECT_TRUE(end_of([] { static_cast<volatile char*>(egb_calloc(3, 16))[48] = 1; }).is_by_fault()
    );
    for (std::size_t align = 32; align <= 1 << 20; align *= 2) {
        const std::size_t step  = align < page ? align : page;
        const std::size_t room  = (10000 + step - 1) / step * step;
        const auto        write = [&](std::size_t place) {
            return end_of([&] {
                static_cast<volatile char*>(egb_aligned_alloc(align, 10000))[place] = 1;
            });
        };
        EXPECT_EQ(write(room - 1).status, 0) << align;
        EXPECT_TRUE(write(room).is_by_fault()) << align;
    }
    EXPECT_TRUE(end_of([] {
                    void* const          old   = egb_malloc(100);
                    volatile char* const stale = static_cast<volatile char*>(old);
                    EXPECT_NE(egb_realloc(old, 200), old);
                    stale[0] = 1;
                }).is_by_fault()
    ) << "what realloc moved away from";
}

TEST(heap_guard_faults, before_a_block_there_is_a_page_too)
{
    const guard_pages pages("large,1/1");
    for (const std::size_t bytes : of_each_kind) {
        const end before = end_of([&] { *(take(bytes) - 4096) = 1; });
        EXPECT_TRUE(before.is_by_fault()) << bytes;
        EXPECT_TRUE(says(before.said, " memory before a block: 4096 bytes before the "))
            << before.said;
    }
}

// Without a move, too.
TEST(heap_guard_faults, what_realloc_made_larger_has_a_page_behind_it)
{
    const guard_pages pages("large");
    for (const std::size_t step : sizes{4096, 65536, 1000}) {
        const end result = end_of([&] {
            void* block = egb_malloc(100000);
            for (std::size_t i = 1; i <= 6; i++) {
                block = egb_realloc(block, 100000 + i * step);
            }
            volatile char* const grown = static_cast<volatile char*>(block);
            const std::size_t    room  = (100000 + 6 * step + 15) / 16 * 16;
            grown[room - 1]            = 1;
            grown[room]                = 1;
        });
        EXPECT_TRUE(result.is_by_fault()) << step;
        EXPECT_TRUE(says(result.said, " memory past the end of a block")) << result.said;
    }
}

TEST(heap_guard_faults, at_level_guard_large_blocks_need_no_other_setting)
{
    for (const char* const level : {"guard", "track"}) {
        const auto with_level = [&](void (*use)(volatile char*)) {
            return end_of([&] {
                set_variable("EGGBOX_CHECK", level);
                use(take(200000));
            });
        };
        const end past   = with_level([](volatile char* block) { block[200000] = 1; });
        const end before = with_level([](volatile char* block) { block[-4096] = 1; });
        const end late   = with_level([](volatile char* block) {
            egb_free(const_cast<char*>(block));
            block[100000] = 1;
        });
        EXPECT_TRUE(past.is_by_fault() && before.is_by_fault() && late.is_by_fault()) << level;
        EXPECT_TRUE(says(past.said, " past the end of a block: byte 200000 ")) << past.said;
        EXPECT_TRUE(says(late.said, " a freed block: byte 100000 ")) << late.said;
    }
}

TEST(heap_guard_faults, so_does_a_block_whose_free_was_another_threads)
{
    const guard_pages pages("1/1");
    EXPECT_TRUE(end_of([] {
                    volatile char* const block = take(24);
                    std::thread([&] { egb_free(const_cast<char*>(block)); }).join();
                    block[0] = 1;
                }).is_by_fault());
}

TEST(heap_guard_faults, the_child_of_a_fork_has_them_and_what_its_parent_took)
{
    const guard_pages pages("large,1/1");
    void* const       ours = egb_malloc(100);
    fill(ours, 100, 7);
    EXPECT_EQ(
        end_of([&] {
            EXPECT_TRUE(is_filled(ours, 100, 7));
            egb_free(ours);
            egb_free(egb_malloc(50000));
            (void)egb_heap_trim(0);
        }).status,
        0
    );
    EXPECT_TRUE(end_of([&] {
                    egb_free(ours);
                    *static_cast<volatile char*>(ours) = 1;
                }).is_by_fault());
    EXPECT_TRUE(is_filled(ours, 100, 7));
    egb_free(ours);
}

// As many mappings as the system allows by default are enough for as many blocks as may have one.
TEST(heap_guard_faults, large_blocks_without_end)
{
    if (sizeof(void*) == 4) {
        GTEST_SKIP() << "there are no addresses for so many";
    }
    const guard_pages  pages("large");
    std::vector<void*> blocks;
    for (int i = 0; i < 10000; i++) {
        blocks.push_back(egb_malloc(140000));
        ASSERT_NE(blocks.back(), nullptr);
        *static_cast<char*>(blocks.back()) = 1;
    }
    EXPECT_EQ(heap_numbers().guarded_in_use, 8192u);
    for (void* const block : blocks) {
        egb_free(block);
    }
    EXPECT_EQ(heap_numbers().guarded_in_use, 0u);
}

// ---- the handler --------------------------------------------------------------------------------

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

TEST(heap_guard_faults, a_handler_of_the_programs_stays)
{
    const end result = end_of([] {
        (void)std::signal(SIGSEGV, [](int) { _exit(42); });
        const guard_pages pages("1/1");
        take(16)[16] = 1;
    });
    EXPECT_TRUE(WIFEXITED(result.status) && WEXITSTATUS(result.status) == 42);
    EXPECT_EQ(result.said, "");
}

TEST(heap_guard_faults, other_faults_and_signals_end_the_program_as_ever)
{
    const auto in_child = [](void (*work)()) {
        return end_of([&] {
            (void)std::signal(SIGSEGV, SIG_DFL);
            const guard_pages pages("1/1");
            work();
        });
    };
    for (const end& result :
         {in_child([] { *opaque(8) = 1; }),
          in_child([] { (void)std::raise(SIGSEGV); }),
          in_child([] { kill(getpid(), SIGSEGV); })}) {
        EXPECT_TRUE(result.is_by_fault());
        EXPECT_EQ(result.said, "");
    }
}

#endif

TEST(heap_guard_faults, before_a_block_where_another_was_there_is_a_page_too)
{
    const guard_pages pages("1/1");
    const end         before = end_of([] {
        void* blocks[40];
        for (void*& block : blocks) {
            block = egb_malloc(40);
        }
        for (void* const block : blocks) {
            egb_free(block);
        }
        *(take(40) - 8000) = 1;
    });
    EXPECT_TRUE(before.is_by_fault());
    EXPECT_TRUE(says(before.said, " memory before a block: 8000 bytes before the 40 bytes at "))
        << before.said;
}

#if defined(__linux__) && defined(__x86_64__)

namespace
{

char* narrow_stack;

// The system finds no room for the signal's frame, and says so by a SIGSEGV which is nobody's
// access. There is room for a handler of that elsewhere.
void signal_without_room()
{
    long        number = SYS_tgkill;
    char* const top    = narrow_stack + 256;
    __asm__ volatile("mov %%rsp, %%rbx\n\tmov %1, %%rsp\n\tsyscall\n\tmov %%rbx, %%rsp"
                     : "+a"(number)
                     : "r"(top), "D"(getpid()), "S"(syscall(SYS_gettid)), "d"(SIGUSR1)
                     : "rbx", "rcx", "r11", "memory");
}

void run_on_a_narrow_stack()
{
    constexpr std::size_t page  = 4096;
    constexpr std::size_t bytes = 8 * page;
    static char           other[16 * page];
    const stack_t         elsewhere = {other, 0, sizeof other};
    (void)sigaltstack(&elsewhere, nullptr);
    (void)std::signal(SIGUSR1, [](int) {});
    void* const all =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)mprotect(all, page, PROT_NONE);
    narrow_stack = static_cast<char*>(all) + page;
    static ucontext_t context;
    static ucontext_t back;
    (void)getcontext(&context);
    context.uc_stack.ss_sp   = narrow_stack;
    context.uc_stack.ss_size = bytes - page;
    context.uc_link          = &back;
    makecontext(&context, signal_without_room, 0);
    (void)swapcontext(&back, &context);
}

}  // namespace

TEST(heap_guard_faults, a_fault_that_is_no_access_ends_the_program_as_ever)
{
    if (is_sanitized) {
        GTEST_SKIP() << "a sanitizer has a handler and a stack of its own";
    }
    ASSERT_TRUE(end_of(run_on_a_narrow_stack).is_by_fault());
    const guard_pages pages("1/1");
    EXPECT_TRUE(end_of(run_on_a_narrow_stack).is_by_fault());
}

// Addresses are all that waits in quarantine, and a request may need those.
TEST(heap_guard_faults, quarantine_makes_room_when_addresses_are_few)
{
    if (is_sanitized) {
        GTEST_SKIP() << "a sanitizer takes all addresses";
    }
    constexpr std::size_t MiB   = std::size_t{1} << 20;
    const auto            serve = [](bool is_pool) {
        const rlimit limit = {2048 * MiB, 2048 * MiB};
        EXPECT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
        void* blocks[16];
        for (void*& block : blocks) {
            block = egb_malloc(60 * MiB);
        }
        for (void* const block : blocks) {
            egb_free(block);
        }
        EXPECT_EQ(heap_numbers().quarantined, 16u);
        egb_pool_options options = {};
        options.block_bytes      = 1200 * MiB;
        egb_pool pool{};
        EXPECT_EQ(egb_pool_create(&pool, &options), EGB_OK);
        EXPECT_NE(is_pool ? egb_pool_alloc(pool) : egb_malloc(1200 * MiB), nullptr);
    };
    const guard_pages pages("large");
    EXPECT_EQ(end_of([&] { serve(false); }).status, 0);
    EXPECT_EQ(end_of([&] { serve(true); }).status, 0);
}

#endif
