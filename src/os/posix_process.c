// SPDX-License-Identifier: MIT
// Facts about a process on a POSIX system, and the file of its report.
#include "posix_features.h"

#include "posix_clock.h"
#include "posix_loader.h"
#include "posix_proc.h"
#include "posix_threads.h"
#include "posix_write.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
  #include <link.h>
#endif

#include "posix_calls.h"

uint64_t egb_os_nanoseconds_(void)
{
    struct timespec now    = {0, 0};
    const int       before = errno;
    egb_posix_clock_(CLOCK_MONOTONIC, &now);
    errno = before;
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

// A thread that is alone has the lock itself, and would wait in vain.
bool egb_os_lock_soon_(egb_os_mutex* mutex, int milliseconds)
{
    const struct timespec moment = {0, 1000000};
    const int             before = errno;
    bool                  has    = egb_os_try_lock_(mutex);
    for (int look = 0; look < milliseconds && !has && !egb_posix_is_only_thread_(); look++) {
        (void)nanosleep(&moment, NULL);
        has = egb_os_try_lock_(mutex);
    }
    errno = before;
    return has;
}

#if defined(__linux__)

// ---- which file an address is in ----------------------------------------------------------------

// 0: it cannot be read.
static size_t read_link(const char* path, char* out, size_t bytes)
{
    const int     before = errno;
    const ssize_t length = readlink(path, out, bytes);
    errno                = before;
    return length < 0 ? 0 : (size_t)length;
}

static bool is_link(const char* path)
{
    char first;
    return read_link(path, &first, sizeof first) != 0;
}

bool egb_os_first_has_ended_(void)
{
    return !is_link("/proc/self/exe") && is_link("/proc/thread-self/exe");
}

size_t egb_os_program_(char* out, size_t bytes)
{
    return read_link(EGB_POSIX_OWN_FILE_("exe"), out, bytes);
}

typedef struct wanted_module {
    uintptr_t   address;
    uintptr_t   offset;
    uintptr_t   start;  // begin of the part of the file that the address is in
    uintptr_t   end;
    const char* name;  // "": the program
} wanted_module;

static int is_in_module(struct dl_phdr_info* module, size_t bytes, void* user)
{
    wanted_module* const wanted = user;
    (void)bytes;
    for (int i = 0; i < module->dlpi_phnum; i++) {
        const ElfW(Phdr)* const part  = &module->dlpi_phdr[i];
        const uintptr_t         start = module->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && wanted->address - start < part->p_memsz) {
            wanted->offset = wanted->address - module->dlpi_addr;
            wanted->start  = start;
            wanted->end    = start + part->p_filesz;
            wanted->name   = module->dlpi_name;
            return 1;
        }
    }
    return 0;
}

static char* add_hexadecimal(char* to, uintptr_t number)
{
    enum { BITS = 4 };
    unsigned digits = 2 * sizeof number;
    while (digits > 1 && number >> (BITS * (digits - 1)) == 0) {
        digits--;
    }
    while (digits-- > 0) {
        *to++ = "0123456789abcdef"[(number >> (BITS * digits)) & 15];
    }
    return to;
}

// The loader's name may be relative to a folder that the process has left, or be that of another
// file by now. "" is the program for it, also where the program of the system is the loader itself,
// which was told to run another file.
static size_t path_of_mapping(uintptr_t start, uintptr_t end, char* out, size_t bytes)
{
    static const char folder[] = "/proc/self/map_files/";
    const uintptr_t   page     = egb_os_page_bytes_();
    char              link[sizeof folder + 4 * sizeof(uintptr_t) + 1];
    char*             to = link;
    for (const char* from = folder; *from != '\0'; from++) {
        *to++ = *from;
    }
    to    = add_hexadecimal(to, start / page * page);
    *to++ = '-';
    to    = add_hexadecimal(to, (end + page - 1) / page * page);
    *to   = '\0';
    return read_link(link, out, bytes);
}

static bool find_module(const void* address, wanted_module* wanted)
{
    const int before = errno;
    wanted->address  = (uintptr_t)address;
    const bool found = dl_iterate_phdr(is_in_module, wanted) != 0;
    errno            = before;
    return found;
}

const char* egb_posix_loaded_as_(const void* address)
{
    wanted_module wanted;
    return find_module(address, &wanted) ? wanted.name : "";
}

bool egb_posix_is_one_library_(const void* address, const void* other)
{
    wanted_module its;
    wanted_module others;
    return find_module(address, &its) && find_module(other, &others) && its.name == others.name;
}

bool egb_os_find_module_(const void* address, char* path, size_t bytes, uintptr_t* offset)
{
    wanted_module wanted;
    if (!find_module(address, &wanted)) {
        return false;
    }
    size_t length = path_of_mapping(wanted.start, wanted.end, path, bytes - 1);
    if (length == 0) {
        length = strnlen(wanted.name, bytes - 1);
        (void)memcpy(path, wanted.name, length);
    }
    if (length == 0) {
        length = egb_os_program_(path, bytes - 1);
    }
    path[length] = '\0';
    *offset      = wanted.offset;
    return true;
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
    const int file   = above_the_standard_ones(open(path, O_RDONLY | O_CLOEXEC, 0));
    errno            = before;
    return file;
}

int egb_os_open_arguments_(void)
{
    return open_to_read(EGB_POSIX_OWN_FILE_("cmdline"));
}

int egb_os_create_(const char* path)
{
    const int before = errno;
    const int flags  = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    const int opened = open(path, flags, 0600);
    const int file   = above_the_standard_ones(opened);
    const int out    = file < 0 ? -errno : file;
    if (opened >= 0 && file < 0) {
        (void)unlink(path);
    }
    errno = before;
    return out;
}

size_t egb_os_read_(int file, char* to, size_t bytes)
{
    const int     before = errno;
    const ssize_t got    = read(file, to, bytes);
    errno                = before;
    return got < 0 ? 0 : (size_t)got;
}

int egb_os_write_(int file, const char* text, size_t bytes)
{
    return egb_posix_write_(file, NULL, text, bytes);
}

int egb_os_write_at_(int file, uint64_t place, uint64_t end, const char* text, size_t bytes)
{
    const off_t at = (off_t)place;
    return place > end || bytes > end - place ? EFBIG : egb_posix_write_(file, &at, text, bytes);
}

int egb_os_close_(int file)
{
    const int before = errno;
    const int error  = close(file) == 0 || errno == EINTR ? 0 : errno;
    errno            = before;
    return error;
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
        (void)egb_os_close_(file);
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
    read_text(EGB_POSIX_OWN_FILE_("status"), text);
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
        .pid                 = egb_os_process_number_(),
        .parent_pid          = (uint64_t)getppid(),
        .started_ticks       = started_ticks(),
        .peak_resident_bytes = peak_resident_bytes(&used),
        .minor_faults        = (uint64_t)used.ru_minflt,
        .major_faults        = (uint64_t)used.ru_majflt,
    };
    return out;
}

uint64_t egb_os_process_number_(void)
{
    return (uint64_t)getpid();
}

uint64_t egb_os_parent_number_(void)
{
    return (uint64_t)getppid();
}

bool egb_os_process_exists_(uint64_t pid)
{
    const int  before = errno;
    const bool exists = kill((pid_t)pid, 0) == 0 || errno != ESRCH;
    errno             = before;
    return exists;
}

int egb_os_rename_(const char* from, const char* to)
{
    const int before = errno;
    const int error  = rename(from, to) == 0 ? 0 : errno;
    errno            = before;
    return error;
}

void egb_os_remove_(const char* path)
{
    const int before = errno;
    (void)unlink(path);
    errno = before;
}

void egb_os_note_(const char* text, const char* path)
{
    const int before = errno;
    const int done   = symlink(text, path);
    (void)done;
    errno = before;
}

bool egb_os_has_reports_(void)
{
    return true;
}

#else
  #include "no_process.h"
#endif
