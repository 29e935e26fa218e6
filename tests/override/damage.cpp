// SPDX-License-Identifier: MIT
// Ways to end a process, with damage that no call has come across yet, or in the middle of a call.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

namespace
{

int failures = 0;

void check(bool truth, const char* what, int line)
{
    if (!truth) {
        std::fprintf(stderr, "damage.cpp:%d: %s\n", line, what);
        failures++;
    }
}
#define CHECK(truth) check((truth), #truth, __LINE__)

void work(unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) {
        void* volatile blocks[64];
        for (std::size_t j = 0; j < 64; j++) {
            blocks[j] = std::malloc(j * j * j);
        }
        for (void* const each : blocks) {
            std::free(each);
        }
    }
}

// Nothing comes across the damage before the end. A second call repairs it.
void damage_that_is_left()
{
    static char* volatile kept  = static_cast<char*>(std::malloc(40));
    volatile std::size_t behind = 40;  // no compiler shall look through it
    kept[behind]                = static_cast<char>(~kept[behind]);
}

void damage_before__exit()
{
    damage_that_is_left();
    _exit(9);
}

void damage_before_quick_exit()
{
    damage_that_is_left();
    std::quick_exit(9);
}

void damage_before_abort()
{
    damage_that_is_left();
    std::abort();
}

// The child's status tells of damage, and the parent's does not.
void damage_in_a_child()
{
    damage_that_is_left();
    const pid_t child = fork();
    if (child == 0) {
        _exit(9);
    }
    int state = 0;
    CHECK(waitpid(child, &state, 0) == child);
    CHECK(WIFSIGNALED(state) && WTERMSIG(state) == SIGABRT);
    damage_that_is_left();
}

// It has the memory of its parent, which goes on.
void damage_in_a_child_of_vfork()
{
    damage_that_is_left();
    const pid_t child = vfork();
    if (child == 0) {
        _exit(9);
    }
    int state = 0;
    CHECK(waitpid(child, &state, 0) == child);
    CHECK(WIFEXITED(state) && WEXITSTATUS(state) == 9);
    damage_that_is_left();
}

// _exit() where any call of malloc is interrupted.
void ends_in_a_handler()
{
    signal(SIGUSR1, [](int) { _exit(7); });
    for (unsigned i = 0; i < 20; i++) {
        const pid_t child = fork();
        if (child == 0) {
            const pthread_t first = pthread_self();
            std::thread([first, i] {
                work(20 * i);
                pthread_kill(first, SIGUSR1);
            }).detach();
            for (;;) {
                work(1);
            }
        }
        int state = 0;
        CHECK(waitpid(child, &state, 0) == child);
        CHECK(WIFEXITED(state) && WEXITSTATUS(state) == 7);
    }
}

}  // namespace

int main(int argc, char** argv)
{
    const std::map<std::string, void (*)()> all = {
        {"damage_that_is_left", damage_that_is_left},
        {"damage_before__exit", damage_before__exit},
        {"damage_before_quick_exit", damage_before_quick_exit},
        {"damage_before_abort", damage_before_abort},
        {"damage_in_a_child", damage_in_a_child},
        {"damage_in_a_child_of_vfork", damage_in_a_child_of_vfork},
        {"ends_in_a_handler", ends_in_a_handler},
    };
    const auto found = all.find(argc > 1 ? argv[1] : "");
    if (found == all.end()) {
        return 2;
    }
    found->second();
    return failures == 0 ? 0 : 1;
}
