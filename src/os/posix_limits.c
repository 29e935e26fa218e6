// SPDX-License-Identifier: MIT
// How much memory a process may have: its own limits, and those of its control groups on Linux.
// Some callers hold a lock, and malloc is no place for a thread to be cancelled at: so Linux is
// asked by system calls, and not by functions of the C library such as open().
#include "posix_features.h"

#include "posix_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__linux__)
  #include <sys/syscall.h>
#endif

#include "posix_calls.h"

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

// ---- the limits of the process ------------------------------------------------------------------

#if defined(__linux__)

static size_t limit_of_process(int which)
{
    struct {
        uint64_t now;
        uint64_t most;
    } limit             = {0, 0};
    const bool is_known = syscall(SYS_prlimit64, 0, which, NULL, &limit) == 0;
    return is_known && limit.now < SIZE_MAX ? (size_t)limit.now : SIZE_MAX;
}

#else

static size_t limit_of_process(int which)
{
    struct rlimit limit;
    const bool    is_known = getrlimit(which, &limit) == 0;
    return is_known && (uint64_t)limit.rlim_cur < SIZE_MAX ? (size_t)limit.rlim_cur : SIZE_MAX;
}

#endif

size_t egb_os_process_limit_(void)
{
    const int    before = errno;
    const size_t limit  = smaller(limit_of_process(RLIMIT_AS), limit_of_process(RLIMIT_DATA));
    errno               = before;
    return limit;
}

#if defined(__linux__)

// ---- the limits of its control groups -----------------------------------------------------------

enum { GROUPS_BYTES = 4096, PATH_BYTES = 2048, NUMBER_BYTES = 32 };

// Not on the stack: a thread may have 16 KiB of it. One thread at a time is here.
static char groups_text[GROUPS_BYTES];
static char group_path[PATH_BYTES];
static char file_path[PATH_BYTES];

// The usual folder of the groups of each version, and the files with their limits.
typedef struct hierarchy {
    const char* controller;
    const char* folder;
    const char* files[2];
} hierarchy;

static const hierarchy hierarchies[] = {
    {"", "/sys/fs/cgroup", {"/memory.max", "/memory.high"}},
    {"memory", "/sys/fs/cgroup/memory", {"/memory.limit_in_bytes", NULL}},
};

// The beginning of a file, as text; empty: it cannot be read. A pipe does not stop us.
static void read_start(const char* path, char* text, size_t bytes)
{
    const int  flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    const long file  = syscall(SYS_openat, AT_FDCWD, path, flags, 0);
    long       got   = 0;
    if (file >= 0) {
        got = syscall(SYS_read, file, text, bytes - 1);
        (void)syscall(SYS_close, file);
    }
    text[got > 0 ? got : 0] = '\0';
}

// Appends to a text of PATH_BYTES bytes. False: it is full.
static bool append(char* path, const char* more)
{
    const size_t length = strlen(path);
    const size_t bytes  = strlen(more) + 1;
    if (bytes > PATH_BYTES - length) {
        return false;
    }
    (void)memcpy(path + length, more, bytes);
    return true;
}

// A line that is only a number; anything else, such as "max", is no limit.
static size_t number_in(const char* text)
{
    const char* at     = text;
    size_t      number = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        const size_t digit = (size_t)(*at - '0');
        number             = number > (SIZE_MAX - digit) / 10 ? SIZE_MAX : number * 10 + digit;
    }
    return at != text && *at == '\n' ? number : SIZE_MAX;
}

static size_t limit_in_file(const char* folder, const char* name)
{
    char text[NUMBER_BYTES];
    file_path[0] = '\0';
    if (!append(file_path, folder) || !append(file_path, name)) {
        return SIZE_MAX;
    }
    read_start(file_path, text, sizeof text);
    return number_in(text);
}

// The least of the limits of the group in `group_path`, which this changes, and of all groups above
// it. The groups that a container sees may start below those that its path names: missing ones
// are passed over.
static size_t limit_of_group(const hierarchy* its, size_t shortest)
{
    size_t limit = SIZE_MAX;
    for (;;) {
        for (size_t i = 0; i < 2 && its->files[i] != NULL; i++) {
            limit = smaller(limit, limit_in_file(group_path, its->files[i]));
        }
        char* const last = strrchr(group_path, '/');
        if (last == NULL || (size_t)(last - group_path) < shortest) {
            return limit;
        }
        *last = '\0';
    }
}

// Whether the list of controllers, with commas between them, has this one.
static bool has_controller(const char* names, const char* wanted)
{
    const size_t length = strlen(wanted);
    while (names != NULL && (strncmp(names, wanted, length) != 0 ||
                             (names[length] != '\0' && names[length] != ','))) {
        const char* const comma = strchr(names, ',');
        names                   = comma == NULL ? NULL : comma + 1;
    }
    return names != NULL;
}

// A line of /proc/self/cgroup, without its end: number, controllers, path.
static size_t limit_in_line(const char* root, char* line)
{
    char* const names = strchr(line, ':');
    char* const group = names == NULL ? NULL : strchr(names + 1, ':');
    size_t      limit = SIZE_MAX;
    if (group == NULL) {
        return SIZE_MAX;
    }
    *group = '\0';
    for (size_t i = 0; i < sizeof hierarchies / sizeof hierarchies[0]; i++) {
        const hierarchy* const its = &hierarchies[i];
        group_path[0]              = '\0';
        if (!has_controller(names + 1, its->controller) || !append(group_path, root) ||
            !append(group_path, its->folder)) {
            continue;
        }
        const size_t shortest = strlen(group_path);
        // With ".." it is outside of those that the process sees: only the topmost is known then.
        if (strcmp(group + 1, "/") != 0 && strstr(group + 1, "..") == NULL) {
            (void)append(group_path, group + 1);
        }
        limit = smaller(limit, limit_of_group(its, shortest));
    }
    return limit;
}

size_t egb_posix_group_limit_(const char* root)
{
    const int before = errno;
    size_t    limit  = SIZE_MAX;
    file_path[0] = groups_text[0] = '\0';
    if (append(file_path, root) && append(file_path, "/proc/self/cgroup")) {
        read_start(file_path, groups_text, sizeof groups_text);
    }
    char* line = groups_text;
    for (char* end = strchr(line, '\n'); end != NULL; end = strchr(line, '\n')) {
        *end  = '\0';
        limit = smaller(limit, limit_in_line(root, line));
        line  = end + 1;
    }
    errno = before;
    return limit;
}

size_t egb_os_group_limit_(void)
{
    return egb_posix_group_limit_("");
}

#else

size_t egb_os_group_limit_(void)
{
    return SIZE_MAX;
}

#endif
