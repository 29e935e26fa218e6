// SPDX-License-Identifier: MIT
#include "process/process.hpp"

#include "text/failure.hpp"
#include "text/text.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tool
{
namespace
{

// Blocks all signals that can be passed on, so that sigtimedwait() receives them one by one with
// their senders. Signals that a fault of this process raises are not blocked.
class signals_held
{
  public:
    signals_held()
    {
        sigfillset(&held_);
        for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) {
            sigdelset(&held_, own);
        }
        sigprocmask(SIG_BLOCK, &held_, &before_);
        // With an ignored SIGCHLD, which may be inherited, wait() returns no exit status.
        struct sigaction usual = {};
        usual.sa_handler       = SIG_DFL;
        sigaction(SIGCHLD, &usual, &child_before_);
    }

    // Discards signals that arrived after the program ended: they must not end this process early.
    ~signals_held()
    {
        const timespec now = {};
        while (sigtimedwait(&held_, nullptr, &now) > 0) {
        }
        put_back();
    }

    signals_held(const signals_held&)            = delete;
    signals_held& operator=(const signals_held&) = delete;

    void put_back() const
    {
        sigaction(SIGCHLD, &child_before_, nullptr);
        sigprocmask(SIG_SETMASK, &before_, nullptr);
    }

    const sigset_t* set() const
    {
        return &held_;
    }

  private:
    sigset_t         held_         = {};
    sigset_t         before_       = {};
    struct sigaction child_before_ = {};
};

[[noreturn]] void
become(const std::vector<std::string>& command, const environment& changes, int failed)
{
    for (const auto& [name, value] : changes) {
        setenv(name.c_str(), value.c_str(), 1);
    }
    execvp(command.front().c_str(), argument_pointers(command).data());
    const int     error   = errno;
    const ssize_t written = write(failed, &error, sizeof error);
    _exit(written == sizeof error ? 127 : 126);
}

// exec closes the pipe. If exec failed, its errno arrives through the pipe.
void require_started(pid_t child, int failed, const std::string& program)
{
    int     error    = 0;
    ssize_t received = 0;
    do {
        received = read(failed, &error, sizeof error);
    } while (received < 0 && errno == EINTR);
    close(failed);
    if (received == sizeof error) {
        waitpid(child, nullptr, 0);
        throw not_executed(fmt::format("cannot run {}: {}", shown(program), std::strerror(error)));
    }
}

pid_t start(
    const std::vector<std::string>& command, const environment& changes, const signals_held& held
)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        throw failure(fmt::format("cannot create a pipe: {}", std::strerror(errno)));
    }
    std::fflush(nullptr);  // the child must not print the buffers again
    const pid_t child = fork();
    if (child == 0) {
        held.put_back();
        become(command, changes, ends[1]);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        throw failure(fmt::format("cannot create a process: {}", std::strerror(errno)));
    }
    require_started(child, ends[0], command.front());
    return child;
}

bool is_terminal_stop(int status)
{
    return WIFSTOPPED(status) && (WSTOPSIG(status) == SIGTSTP || WSTOPSIG(status) == SIGTTIN ||
                                  WSTOPSIG(status) == SIGTTOU);
}

// True if the program has ended. If the terminal stopped the program, stops this process too: the
// shell watches this process alone.
bool has_ended(pid_t child, int& status)
{
    const pid_t changed = waitpid(child, &status, WNOHANG | WUNTRACED);
    if (changed != child) {
        return false;
    }
    if (is_terminal_stop(status)) {
        kill(getpid(), SIGSTOP);
    }
    return WIFEXITED(status) || WIFSIGNALED(status);
}

// A signal of the terminal goes to the whole process group, so the program has it already, unless
// it made a group of its own, as timeout does. A signal that the program itself sends to its group
// must not come back to it.
bool is_for_program(const siginfo_t& about, pid_t child)
{
    if (about.si_signo == SIGCHLD) {
        return false;
    }
    const bool is_sent =
        about.si_code == SI_USER || about.si_code == SI_QUEUE || about.si_code == SI_TKILL;
    return is_sent ? about.si_pid != child : getpgid(child) != getpgrp();
}

timespec until(moment next)
{
    using std::chrono::nanoseconds;
    constexpr std::int64_t second = 1000000000;
    const std::int64_t     wait   = nanoseconds(next - std::chrono::steady_clock::now()).count();
    const std::int64_t     some   = std::clamp(wait, std::int64_t{0}, second);
    return {some / second, some % second};
}

}  // namespace

int process_end::exit_status() const
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int process_end::signal() const
{
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

std::string process_end::text() const
{
    return signal() != 0 ? fmt::format("signal {} ({})", signal(), strsignal(signal()))
                         : fmt::format("exit status {}", exit_status());
}

std::vector<char*> argument_pointers(const std::vector<std::string>& words)
{
    std::vector<char*> out;
    for (const std::string& word : words) {
        out.push_back(const_cast<char*>(word.c_str()));
    }
    out.push_back(nullptr);
    return out;
}

process_end run_through(
    const std::vector<std::string>& command,
    const environment&              changes,
    const std::function<moment()>&  meanwhile
)
{
    using clock = std::chrono::steady_clock;
    const signals_held held;
    const auto         begin  = clock::now();
    const pid_t        child  = start(command, changes, held);
    moment             next   = meanwhile();
    int                status = 0;
    while (!has_ended(child, status)) {
        siginfo_t      about = {};
        const timespec wait  = until(next);
        if (sigtimedwait(held.set(), &about, &wait) < 0) {
            next = meanwhile();
        } else if (is_for_program(about, child)) {
            kill(child, about.si_signo);
        }
    }
    return {child, status, std::chrono::duration<double>(clock::now() - begin).count()};
}

void end_like(const process_end& end)
{
    std::fflush(nullptr);
    if (end.signal() != 0) {
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);  // the program has written its core dump already
        struct sigaction usual = {};
        usual.sa_handler       = SIG_DFL;
        sigaction(end.signal(), &usual, nullptr);
        sigset_t just = {};
        sigemptyset(&just);
        sigaddset(&just, end.signal());
        sigprocmask(SIG_UNBLOCK, &just, nullptr);
        raise(end.signal());
    }
    std::_Exit(end.exit_status());
}

}  // namespace tool
