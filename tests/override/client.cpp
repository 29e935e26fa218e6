// SPDX-License-Identifier: MIT
// A program that uses malloc in hard ways, one at a time. It knows nothing of eggbox: it also runs
// on glibc alone, and its output must be the same. Exit status 1: something was not so.
#include <array>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace
{

int failures = 0;

#define CHECK(truth) check(truth, #truth, __LINE__)

void check(bool truth, const char* text, int line)
{
    if (!truth) {
        std::fprintf(stderr, "line %d: not so: %s\n", line, text);
        failures++;
    }
}

// The compiler must not know the size, nor drop an unused block.
template <class T>
T unknown(T value)
{
    volatile T hidden = value;
    return hidden;
}

bool is_aligned(const void* block, std::size_t align)
{
    return reinterpret_cast<std::uintptr_t>(block) % align == 0;
}

bool fails_with(void* block, int error)
{
    const bool is_so = block == nullptr && errno == error;
    errno            = 0;
    return is_so;
}

void errors()
{
    const std::size_t most = unknown(SIZE_MAX);
    errno                  = 0;
    CHECK(fails_with(std::malloc(most), ENOMEM));
    CHECK(fails_with(std::malloc(unknown<std::size_t>(PTRDIFF_MAX) + 1), ENOMEM));
    CHECK(fails_with(std::calloc(most / 2, 3), ENOMEM));
    CHECK(fails_with(memalign(most, 8), EINVAL));
    CHECK(fails_with(memalign(16, most), ENOMEM));
    CHECK(fails_with(valloc(most), ENOMEM));
    CHECK(fails_with(pvalloc(most), ENOMEM));
    char* const block = static_cast<char*>(std::malloc(100));
    std::strcpy(block, "kept");
    CHECK(fails_with(std::realloc(block, most), ENOMEM));
    CHECK(fails_with(reallocarray(nullptr, most / 2, 3), ENOMEM));
    CHECK(std::strcmp(block, "kept") == 0);
    void* out = block;
    errno     = 7;
    CHECK(posix_memalign(&out, unknown<std::size_t>(3), 8) == EINVAL);
    CHECK(posix_memalign(&out, unknown<std::size_t>(0), 8) == EINVAL);
    CHECK(posix_memalign(&out, unknown<std::size_t>(4), 8) == EINVAL);
    CHECK(posix_memalign(&out, 64, most) == ENOMEM);
    CHECK(out == block);
    errno = 7;
    std::free(block);
    std::free(nullptr);
    CHECK(errno == 7);
}

void calls()
{
    void* const empty = std::malloc(0);
    CHECK(empty != nullptr && std::realloc(empty, 0) == nullptr);
    for (std::size_t align = 8; align <= 1 << 20; align *= 2) {
        void* block = nullptr;
        CHECK(posix_memalign(&block, align, 100) == 0 && is_aligned(block, align));
        CHECK(malloc_usable_size(block) >= 100);
        std::free(block);
        block = aligned_alloc(align, align * 3);
        CHECK(block != nullptr && is_aligned(block, align));
        std::free(block);
    }
    void* const odd = memalign(unknown<std::size_t>(48), 10);
    CHECK(odd != nullptr && is_aligned(odd, 64));
    std::free(odd);
    const auto  page  = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* const whole = pvalloc(page + 1);
    CHECK(is_aligned(whole, page) && malloc_usable_size(whole) >= 2 * page);
    std::free(whole);
    void* const one = valloc(1);
    CHECK(is_aligned(one, page));
    std::free(one);
    CHECK(malloc_usable_size(nullptr) == 0);
    CHECK(mallopt(M_MMAP_THRESHOLD, 100000) == 1);
    char* zero = static_cast<char*>(std::calloc(3, 5000));
    for (int i = 0; i < 15000; i++) {
        CHECK(zero[i] == 0);
    }
    zero = static_cast<char*>(reallocarray(zero, 10, 50000));
    CHECK(zero != nullptr && zero[14999] == 0);
    CHECK(mallinfo2().uordblks + mallinfo2().hblkhd >= 500000);
    std::free(zero);
    (void)malloc_trim(0);
}

struct alignas(256) wide {
    char bytes[256];
};

int handler_calls = 0;

void give_up_the_third_time()
{
    if (++handler_calls == 3) {
        std::set_new_handler(nullptr);
    }
}

template <class Ask>
bool throws_bad_alloc(Ask ask)
{
    try {
        ask();
    } catch (const std::bad_alloc&) {
        return true;
    }
    return false;
}

void operators()
{
    const std::size_t most       = unknown(SIZE_MAX / 2) + 1;
    const auto        wide_align = std::align_val_t{256};
    CHECK(throws_bad_alloc([&] { ::operator delete(::operator new(most)); }));
    CHECK(throws_bad_alloc([&] { ::operator delete[](::operator new[](most)); }));
    CHECK(throws_bad_alloc([&] { ::operator delete(::operator new(most, wide_align), wide_align); })
    );
    CHECK(::operator new(most, std::nothrow) == nullptr);
    CHECK(::operator new[](most, std::nothrow) == nullptr);
    CHECK(::operator new(most, wide_align, std::nothrow) == nullptr);
    std::set_new_handler(give_up_the_third_time);
    CHECK(throws_bad_alloc([&] { ::operator delete(::operator new(most)); }));
    CHECK(handler_calls == 3);
    std::set_new_handler([] { throw std::bad_alloc(); });
    CHECK(::operator new(most, std::nothrow) == nullptr);
    std::set_new_handler(nullptr);
    const std::unique_ptr<wide>   one(new wide);
    const std::unique_ptr<wide[]> some(new wide[3]);
    CHECK(is_aligned(one.get(), 256) && is_aligned(some.get(), 256));
    delete new std::string(1000, 'x');
    delete[] new std::string[10];
}

std::uint64_t work(unsigned seed, int rounds)
{
    std::uint64_t                         sum = 0;
    std::map<unsigned, std::vector<char>> held;
    for (int i = 0; i < rounds; i++) {
        seed                   = seed * 1664525u + 1013904223u;
        std::vector<char>& one = held[seed >> 24];
        one.assign((seed >> 8) % (i % 100 == 0 ? 200000 : 600) + 1, static_cast<char>(i));
        sum += static_cast<unsigned char>(one.back()) + one.size();
    }
    return sum;
}

// Blocks that outlive the thread that made them, and those that its own end frees.
void threads()
{
    pthread_key_t keys[40];
    for (pthread_key_t& key : keys) {
        CHECK(pthread_key_create(&key, [](void* block) { std::free(block); }) == 0);
    }
    std::array<std::uint64_t, 30>                sums{};
    std::array<std::unique_ptr<std::string>, 30> left;
    for (std::size_t i = 0; i < sums.size(); i += 3) {
        std::vector<std::thread> group;
        for (std::size_t each = i; each < i + 3; each++) {
            group.emplace_back([&, each] {
                for (const pthread_key_t key : keys) {
                    pthread_setspecific(key, std::malloc(100));
                }
                thread_local std::string late(3000, 'x');
                sums[each] = work(static_cast<unsigned>(each), 3000) + late.size();
                left[each] = std::make_unique<std::string>(5000, 'y');
            });
        }
        for (std::thread& each : group) {
            each.join();
        }
    }
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < sums.size(); i++) {
        sum += sums[i] * (i + 1) + left[i]->size();
    }
    std::printf("%llu\n", static_cast<unsigned long long>(sum));
}

void forks()
{
    std::atomic<bool>        stop{false};
    std::vector<std::thread> busy;
    for (unsigned i = 0; i < 2; i++) {
        busy.emplace_back([&, i] {
            while (!stop) {
                work(i, 200);
            }
        });
    }
    for (unsigned i = 0; i < 40; i++) {
        std::fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            const bool is_same = work(i, 300) == work(i, 300);
            std::thread([&] { work(i, 300); }).join();
            i % 2 == 0 ? std::exit(is_same ? 40 : 1) : _exit(is_same ? 40 : 1);
        }
        int state = 0;
        CHECK(waitpid(child, &state, 0) == child);
        CHECK(WIFEXITED(state) && WEXITSTATUS(state) == 40);
    }
    stop = true;
    for (std::thread& each : busy) {
        each.join();
    }
}

void vforks()
{
    std::vector<std::string> held(100, std::string(200, 'x'));
    for (int i = 0; i < 20; i++) {
        const pid_t child = vfork();
        if (child == 0) {
            if (i % 2 == 0) {
                _exit(5);
            }
            execl("/proc/self/exe", "client", "five", nullptr);
            _exit(1);
        }
        int state = 0;
        CHECK(waitpid(child, &state, 0) == child);
        CHECK(WIFEXITED(state) && WEXITSTATUS(state) == 5);
        held[static_cast<std::size_t>(i)].append(1000, 'y');
    }
}

void five()
{
    _exit(5);
}

void shell()
{
    CHECK(std::system("exit 6") >> 8 == 6);
}

// Frees at exit a block that was allocated before main(), and allocates once more.
struct late {
    std::string text{std::string(1000, 'a')};

    ~late()
    {
        text.append(5000, 'b');
        const std::string more(10000, 'c');
        std::printf("the end: %zu\n", text.size() + more.size());
    }
};
late before_main;

void nothing()
{
    const char* const said = std::getenv("SAID");
    std::printf("nothing %s\n", said == nullptr ? "" : said);
}

void at_once()
{
    std::fflush(stdout);
    std::_Exit(9);
}

void at_quick_exit()
{
    CHECK(std::at_quick_exit([] { (void)write(1, "quick\n", 6); }) == 0);
    std::fflush(stdout);
    std::quick_exit(11);
}

void abort_at_once()
{
    signal(SIGABRT, SIG_IGN);
    std::abort();
}

// A program may go on after its abort(), by a way out of the handler.
jmp_buf after_abort;

void abort_and_go_on()
{
    signal(SIGABRT, [](int) { longjmp(after_abort, 1); });
    if (setjmp(after_abort) == 0) {
        std::abort();
    }
    work(4, 2000);
    std::puts("went on");
}

// This program once more, which shall do nothing, by each of the ways to become another.
void exec_again(const std::string& way)
{
    std::fflush(stdout);
    const char* const  self    = "/proc/self/exe";
    char               name[]  = "client";
    char               what[]  = "nothing";
    char               loud[]  = "SAID=yes";
    char*              words[] = {name, what, nullptr};
    std::vector<char*> names;
    for (char** each = environ; *each != nullptr; each++) {
        names.push_back(*each);
    }
    names.push_back(loud);
    names.push_back(nullptr);
    const int                                         file = open(self, O_RDONLY | O_CLOEXEC);
    const std::map<std::string, std::function<int()>> all  = {
        {"execv",
          [&] {
             return execv(self, words);
         }},
        {"execve",
          [&] {
             return execve(self, words, names.data());
         }},
        {"execvp",
          [&] {
             return execvp(self, words);
         }},
        {"execvpe",
          [&] {
             return execvpe(self, words, names.data());
         }},
        {"execl",
          [&] {
             return execl(self, name, what, nullptr);
         }},
        {"execlp",
          [&] {
             return execlp(self, name, what, nullptr);
         }},
        {"execle",
          [&] {
             return execle(self, name, what, nullptr, names.data());
         }},
        {"fexecve",
          [&] {
             return fexecve(file, words, names.data());
         }},
        {"execveat",
          [&] {
             return execveat(file, "", words, names.data(), AT_EMPTY_PATH);
         }},
    };
    (void)all.at(way)();
    CHECK(false);
}

// They fail, and the program goes on.
void exec_nothing()
{
    char        name[]  = "client";
    char* const words[] = {name, nullptr};
    CHECK(execv("/no/where", words) == -1 && errno == ENOENT);
    CHECK(execl("/no/where", name, nullptr) == -1 && errno == ENOENT);
    CHECK(execle("/no/where", name, nullptr, environ) == -1 && errno == ENOENT);
    CHECK(execlp("no-such-program", name, nullptr) == -1 && errno == ENOENT);
    CHECK(execvp("no-such-program", words) == -1 && errno == ENOENT);
    CHECK(fexecve(-1, words, environ) == -1 && errno == EINVAL);
    CHECK(execveat(-1, "", words, environ, AT_EMPTY_PATH) == -1 && errno == EBADF);
    work(5, 2000);
}

// The child shares our memory until it is another program: it must not write for us.
void spawns()
{
    char        name[]  = "client";
    char        what[]  = "nothing";
    char* const words[] = {name, what, nullptr};
    for (int i = 0; i < 5; i++) {
        pid_t child = 0;
        CHECK(posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, words, environ) == 0);
        int state = 0;
        CHECK(waitpid(child, &state, 0) == child);
        CHECK(WIFEXITED(state) && WEXITSTATUS(state) == 0);
    }
    pid_t child = 0;
    CHECK(posix_spawn(&child, "/no/where", nullptr, nullptr, words, environ) == ENOENT);
}

void plugins(const char* path)
{
    unsigned long sum = 0;
    for (int i = 0; i < 50; i++) {
        void* const plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        CHECK(plugin != nullptr);
        if (plugin != nullptr) {
            const auto use = reinterpret_cast<unsigned long (*)()>(dlsym(plugin, "use_plugin"));
            std::thread([&] { sum += use(); }).join();
            CHECK(dlclose(plugin) == 0);
        }
    }
    CHECK(dlopen("/no/where.so", RTLD_NOW) == nullptr && dlerror() != nullptr);
    std::printf("%lu\n", sum);
}

// PHP and Apache load their modules like this: the libraries of the plugin come first.
void deep_plugins(const char* path)
{
    void* const plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    CHECK(plugin != nullptr);
    const auto exchange = reinterpret_cast<char* (*)(char*)>(dlsym(plugin, "exchange"));
    const auto loads    = reinterpret_cast<bool (*)()>(dlsym(plugin, "loads_its_neighbour"));
    for (int i = 0; i < 1000; i++) {
        char* const theirs = exchange(strdup("from the program"));
        CHECK(std::strcmp(theirs, "from a plugin") == 0);
        std::free(theirs);
    }
    CHECK(loads());
    CHECK(dlclose(plugin) == 0);
}

// With neither stdin, stdout nor stderr: what opens a file next gets their numbers.
void closed()
{
    for (int file = 0; file < 3; file++) {
        close(file);
    }
    work(1, 2000);
    std::thread([] { work(2, 2000); }).join();
    CHECK(dup(100) == -1);
    std::exit(failures == 0 ? 0 : 1);
}

// ---- with the library only: on glibc the first of these ends the program ------------------------

void foreign()
{
    static char own[64];
    char* const block     = static_cast<char*>(std::malloc(40));
    char* volatile inside = own + 16;
    errno                 = 7;
    for (int i = 0; i < unknown(3); i++) {
        std::free(inside);  // three times, one place
    }
    CHECK(errno == 7);
    CHECK(fails_with(std::realloc(inside, 10), EINVAL));
    CHECK(malloc_usable_size(inside) == 0);
    char* volatile again = block;
    std::free(again);
    std::free(again);
    CHECK(fails_with(aligned_alloc(unknown<std::size_t>(48), 48), EINVAL));
    work(3, 2000);
}

// This C library may be older than C23, which has them.
void (*free_with_size)(void*, std::size_t);
void (*free_with_align)(void*, std::size_t, std::size_t);

void find_sized_frees()
{
    *reinterpret_cast<void**>(&free_with_size)  = dlsym(RTLD_DEFAULT, "free_sized");
    *reinterpret_cast<void**>(&free_with_align) = dlsym(RTLD_DEFAULT, "free_aligned_sized");
    if (free_with_size == nullptr || free_with_align == nullptr) {
        std::exit(3);
    }
}

// A block that realloc made smaller or larger may have stayed in its place.
void free_right_sizes()
{
    find_sized_frees();
    free_with_size(nullptr, 8);
    free_with_align(nullptr, 64, 8);
    for (std::size_t bytes = 0; bytes < 300000; bytes += 1 + bytes / 16) {
        free_with_size(std::malloc(bytes), bytes);
        free_with_size(std::calloc(2, bytes), 2 * bytes);
        for (const std::size_t part : {2u, 3u, 4u, 5u, 6u, 7u, 9u, 20u}) {
            const std::size_t other = bytes * part / 4 + 1;
            free_with_size(std::realloc(std::malloc(bytes), other), other);
        }
        for (const std::size_t align : {1u, 16u, 64u, 4096u, 65536u}) {
            free_with_align(aligned_alloc(align, bytes), align, bytes);
        }
    }
}

void free_wrong_sizes()
{
    find_sized_frees();
    for (const std::size_t bytes : {40u, 1000u, 5000u, 200000u}) {
        free_with_size(std::malloc(bytes), bytes / 4);
        free_with_size(std::malloc(bytes), bytes * 3);
        free_with_align(aligned_alloc(64, bytes), 64, bytes * 3);
        free_with_align(aligned_alloc(64, bytes), SIZE_MAX / 2 + 1, bytes);
        free_with_align(aligned_alloc(64, bytes), 48, bytes);
        free_with_align(aligned_alloc(64, bytes), 0, bytes);
    }
}

// From level "guard" on the size is known to the byte.
void free_one_byte_less()
{
    find_sized_frees();
    void* const block = std::realloc(std::malloc(100), 60);
    free_with_size(block, 59);
}

// The contents of a free block at level "guard".
void say_pattern()
{
    unsigned char* volatile block = static_cast<unsigned char*>(std::malloc(64));
    std::free(block);
    std::printf("%02x%02x%02x%02x", block[0], block[1], block[2], block[3]);
}

// The C library's tables of letters are found by a thread-local variable.
void letters()
{
    CHECK(std::isalpha(unknown(static_cast<int>('a'))) != 0);
}

}  // namespace

int main(int argc, char** argv)
{
    const std::string what = argc > 1 ? argv[1] : "";
    if (what == "plugins" && argc > 2) {
        plugins(argv[2]);
        deep_plugins(argv[2]);
        return failures == 0 ? 0 : 1;
    }
    if (what == "exec" && argc > 2) {
        exec_again(argv[2]);
        return 1;
    }
    const std::map<std::string, void (*)()> all = {
        {"errors", errors},
        {"calls", calls},
        {"operators", operators},
        {"threads", threads},
        {"forks", forks},
        {"vforks", vforks},
        {"five", five},
        {"shell", shell},
        {"nothing", nothing},
        {"at_once", at_once},
        {"quick_exit", at_quick_exit},
        {"abort", abort_at_once},
        {"abort_and_go_on", abort_and_go_on},
        {"exec_nothing", exec_nothing},
        {"spawns", spawns},
        {"closed", closed},
        {"foreign", foreign},
        {"free_right_sizes", free_right_sizes},
        {"free_wrong_sizes", free_wrong_sizes},
        {"free_one_byte_less", free_one_byte_less},
        {"say_pattern", say_pattern},
        {"letters", letters},
    };
    const auto found = all.find(what);
    if (found == all.end()) {
        return 2;
    }
    found->second();
    return failures == 0 ? 0 : 1;
}
