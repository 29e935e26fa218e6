// SPDX-License-Identifier: MIT
// Facts about a process on a POSIX system, and the file of its report.
#include "posix_features.h"

#include "os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
  #include <link.h>
#endif

uint64_t egb_os_nanoseconds_(void)
{
    struct timespec now    = {0, 0};
    const int       before = errno;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    errno = before;
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

bool egb_os_lock_soon_(egb_os_mutex* mutex)
{
    enum { LOOKS = 200 };
    const struct timespec moment = {0, 1000000};
    const int             before = errno;
    bool                  has    = egb_os_try_lock_(mutex);
    for (int look = 0; look < LOOKS && !has; look++) {
        (void)nanosleep(&moment, NULL);
        has = egb_os_try_lock_(mutex);
    }
    errno = before;
    return has;
}

#if defined(__linux__)

// ---- which file an address is in ----------------------------------------------------------------

typedef struct wanted_module {
    uintptr_t   address;
    const char* path;
    uintptr_t   offset;
} wanted_module;

static int is_in_module(struct dl_phdr_info* module, size_t bytes, void* user)
{
    wanted_module* const wanted = user;
    (void)bytes;
    for (int i = 0; i < module->dlpi_phnum; i++) {
        const ElfW(Phdr)* const part  = &module->dlpi_phdr[i];
        const uintptr_t         start = module->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && wanted->address - start < part->p_memsz) {
            wanted->path   = module->dlpi_name;
            wanted->offset = wanted->address - module->dlpi_addr;
            return 1;
        }
    }
    return 0;
}

bool egb_os_find_module_(const void* address, const char** path, uintptr_t* offset)
{
    wanted_module wanted = {(uintptr_t)address, NULL, 0};
    const int     before = errno;
    const bool    found  = dl_iterate_phdr(is_in_module, &wanted) != 0;
    errno                = before;
    if (found) {
        *path   = wanted.path;
        *offset = wanted.offset;
    }
    return found;
}

// ---- files ------------------------------------------------------------------------------------

// Not among the first three: there another thread may just now be writing.
static int above_the_standard_ones(int file)
{
    if (file < 0 || file > STDERR_FILENO) {
        return file;
    }
    const int other = fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    (void)close(file);
    return other;
}

static int open_to_read(const char* path)
{
    const int before = errno;
    const int file   = above_the_standard_ones(open(path, O_RDONLY | O_CLOEXEC));
    errno            = before;
    return file;
}

int egb_os_open_arguments_(void)
{
    return open_to_read("/proc/self/cmdline");
}

int egb_os_create_(const char* path)
{
    const int before = errno;
    const int file =
        above_the_standard_ones(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    errno = before;
    return file;
}

size_t egb_os_read_(int file, char* to, size_t bytes)
{
    const int     before = errno;
    const ssize_t got    = read(file, to, bytes);
    errno                = before;
    return got < 0 ? 0 : (size_t)got;
}

bool egb_os_write_(int file, const char* text, size_t bytes)
{
    const int before = errno;
    bool      is_ok  = true;
    while (bytes > 0 && is_ok) {
        const ssize_t written = write(file, text, bytes);
        if (written > 0) {
            text += written;
            bytes -= (size_t)written;
        }
        is_ok = written > 0 || (written < 0 && errno == EINTR);
    }
    errno = before;
    return is_ok;
}

void egb_os_close_(int file)
{
    const int before = errno;
    (void)close(file);
    errno = before;
}

// ---- what the system counts --------------------------------------------------------------------

enum { STATUS_BYTES_MAX = 2048 };

// The beginning of a file, as text; empty: it cannot be read.
static void read_text(const char* path, char text[STATUS_BYTES_MAX])
{
    const int file = open_to_read(path);
    size_t    got  = 0;
    if (file >= 0) {
        got = egb_os_read_(file, text, STATUS_BYTES_MAX - 1);
        egb_os_close_(file);
    }
    text[got] = '\0';
}

static uint64_t number_at(const char* text)
{
    uint64_t number = 0;
    while (*text == ' ' || *text == '\t') {
        text++;
    }
    for (; *text >= '0' && *text <= '9'; text++) {
        number = number * 10 + (uint64_t)(*text - '0');
    }
    return number;
}

// The 22nd value of stat. The second, the program's name, stands in brackets and may hold anything.
static uint64_t started_ticks(void)
{
    char text[STATUS_BYTES_MAX];
    read_text("/proc/self/stat", text);
    const char* at = strrchr(text, ')');
    for (int value = 2; at != NULL && value < 22; value++) {
        at = strchr(at + 1, ' ');
    }
    return at == NULL ? 0 : number_at(at);
}

// The peak of getrusage() includes earlier programs of the process, and the memory of its parent at
// the fork.
static uint64_t peak_resident_bytes(const struct rusage* used)
{
    static const char name[] = "\nVmHWM:";
    char              text[STATUS_BYTES_MAX];
    read_text("/proc/self/status", text);
    const char* const line = strstr(text, name);
    const uint64_t    kib  = line == NULL ? 0 : number_at(line + sizeof name - 1);
    return (kib != 0 ? kib : (uint64_t)used->ru_maxrss) * 1024;
}

egb_os_process egb_os_this_process_(void)
{
    struct rusage used   = {0};
    const int     before = errno;
    (void)getrusage(RUSAGE_SELF, &used);
    errno                    = before;
    const egb_os_process out = {
        .pid                 = (uint64_t)getpid(),
        .parent_pid          = (uint64_t)getppid(),
        .started_ticks       = started_ticks(),
        .peak_resident_bytes = peak_resident_bytes(&used),
        .minor_faults        = (uint64_t)used.ru_minflt,
        .major_faults        = (uint64_t)used.ru_majflt,
    };
    return out;
}

size_t egb_os_program_(char* out, size_t bytes)
{
    const int     before = errno;
    const ssize_t length = readlink("/proc/self/exe", out, bytes);
    errno                = before;
    return length < 0 ? 0 : (size_t)length;
}

bool egb_os_rename_(const char* from, const char* to)
{
    const int  before = errno;
    const bool is_ok  = rename(from, to) == 0;
    errno             = before;
    return is_ok;
}

void egb_os_remove_(const char* path)
{
    const int before = errno;
    (void)unlink(path);
    errno = before;
}

bool egb_os_has_reports_(void)
{
    return true;
}

#else
  #include "no_process.h"
#endif
