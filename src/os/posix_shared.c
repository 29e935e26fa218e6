// SPDX-License-Identifier: MIT
// Files whose memory processes share, with locks that the kernel drops when their process is gone.
// Linux only: other systems lack locks of an open file description, and an exact way to name a file
// only when it is complete.
#include "posix_features.h"

#include "os.h"

#if defined(__linux__)

  #include <dirent.h>
  #include <errno.h>
  #include <fcntl.h>
  #include <stdio.h>
  #include <stdlib.h>
  #include <string.h>
  #include <sys/mman.h>
  #include <sys/resource.h>
  #include <sys/stat.h>
  #include <sys/statfs.h>
  #include <sys/statvfs.h>
  #include <sys/syscall.h>
  #include <time.h>
  #include <unistd.h>

  #include "posix_calls.h"
  #include "posix_futex.h"
  #include "posix_proc.h"

// By their numbers, because headers older than the kernel do not have them.
enum { OFD_GETLK = 36, OFD_SETLK = 37, POPULATE_READ = 22, POPULATE_SHARED_WRITE = 23 };

bool egb_os_has_shared_(void)
{
    return true;
}

static egb_status status_of_file(int error)
{
    switch (error) {
        case 0: return EGB_OK;
        case ENOENT:
        case ENOTDIR: return EGB_STALE;
        case EEXIST: return EGB_BUSY;
        case ELOOP:
        case EISDIR:
        case ENXIO:
        case ENODEV: return EGB_CORRUPT;
        case EBADF: return EGB_INVALID;
        case EOPNOTSUPP:
        case ENOSYS: return EGB_UNSUPPORTED;
        default: return EGB_NO_MEMORY;
    }
}

// The answer for a descriptor that was opened, or not.
static egb_status opened_file(int* file, int descriptor, int before)
{
    const egb_status status = status_of_file(descriptor < 0 ? errno : 0);
    if (status == EGB_OK) {
        *file = descriptor;
    }
    errno = before;
    return status;
}

// The path under which the kernel knows a descriptor of this process.
typedef struct descriptor_path {
    char text[40];
} descriptor_path;

static descriptor_path path_of_descriptor(int file)
{
    descriptor_path path;
    (void)snprintf(path.text, sizeof path.text, "%s%d", EGB_POSIX_OWN_FILE_("fd/"), file);
    return path;
}

// The number behind `key` in a file of the system. UINT64_MAX: it is not there.
static uint64_t number_behind(const char* path, const char* key)
{
    char        text[512];
    const int   file = open(path, O_RDONLY | O_CLOEXEC, 0);
    const char* line = NULL;
    if (file >= 0) {
        const ssize_t bytes         = read(file, text, sizeof text - 1);
        text[bytes > 0 ? bytes : 0] = '\0';
        line                        = bytes > 0 ? strstr(text, key) : NULL;
        (void)close(file);
    }
    return line == NULL ? UINT64_MAX : (uint64_t)strtoull(line + strlen(key), NULL, 10);
}

// The memory that the system says it has for new uses. UINT64_MAX: it does not say.
static uint64_t available_bytes(void)
{
    const uint64_t kib = number_behind("/proc/meminfo", "MemAvailable:");
    return kib == UINT64_MAX ? UINT64_MAX : kib * 1024;
}

// The most bytes that files in a store may still have: its free pages, and those that the system
// may add. Some may be promised to others. UINT64_MAX: the system does not say.
static uint64_t store_bytes(uint64_t page)
{
    static const char* const names[] = {"free", "nr_overcommit", "surplus"};
    uint64_t                 pages[3];
    for (size_t i = 0; i < 3; i++) {
        char path[100];
        (void)snprintf(
            path,
            sizeof path,
            "/sys/kernel/mm/hugepages/hugepages-%llukB/%s_hugepages",
            (unsigned long long)page / 1024,
            names[i]
        );
        pages[i] = number_behind(path, "");
        if (pages[i] > UINT32_MAX) {
            return UINT64_MAX;
        }
    }
    const uint64_t added = pages[1] > pages[2] ? pages[1] - pages[2] : 0;
    return (pages[0] + added) * page;
}

// The C library writes to each page where the file system cannot allocate one: to no file that
// others use meanwhile.
static int allocate_piece(int file, off_t at, off_t bytes, bool is_new)
{
    if (is_new) {
        return posix_fallocate(file, at, bytes);
    }
    return fallocate(file, 0, at, bytes) == 0 ? 0 : errno;
}

// In pieces: older kernels begin a call again that a signal came into, and a process with a timer
// would never get to the end of a large one.
static int allocate_pieces(int file, off_t bytes, bool is_new)
{
    const off_t piece = (off_t)2 << 20;
    int         error = 0;
    for (off_t at = 0; at < bytes && (error == 0 || error == EINTR);) {
        error = allocate_piece(file, at, bytes - at < piece ? bytes - at : piece, is_new);
        at += error == 0 ? piece : 0;
    }
    return error;
}

// Large pages of a store that the administrator fills: their bytes, of a file in a hugetlbfs. Else
// 0.
static uint64_t store_page(int result, const struct statfs* facts)
{
    const uint32_t hugetlbfs = 0x958458f6;
    return result == 0 && (uint32_t)facts->f_type == hugetlbfs ? (uint64_t)facts->f_bsize : 0;
}

uint64_t egb_os_shared_page_(int file)
{
    const int      before = errno;
    struct statfs  facts  = {0};
    const uint64_t page   = store_page(fstatfs(file, &facts), &facts);
    errno                 = before;
    return page;
}

// Whether the file system is too small, however empty. One without a limit says 0.
static bool is_beyond_all(int file, uint64_t bytes)
{
    struct statvfs facts;
    return fstatvfs(file, &facts) == 0 && facts.f_blocks != 0 &&
           bytes / facts.f_frsize > facts.f_blocks;
}

// The system would rather kill processes than refuse memory for a file that has no limit of its
// own. It refuses a large page when there is none.
static bool is_beyond_memory(int file, uint64_t bytes)
{
    return egb_os_shared_page_(file) == 0 && bytes > available_bytes();
}

// A length beyond the limit of the process would raise a signal.
static int allocate_file(int file, uint64_t bytes)
{
    struct rlimit limit;
    if (bytes > PTRDIFF_MAX || (off_t)bytes < 0 || (uint64_t)(off_t)bytes != bytes) {
        return EFBIG;
    }
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        bytes > limit.rlim_cur) {
        return EFBIG;
    }
    if (is_beyond_all(file, bytes)) {
        return EFBIG;
    }
    if (is_beyond_memory(file, bytes)) {
        return ENOSPC;
    }
    return allocate_pieces(file, (off_t)bytes, true);
}

static egb_status status_of_new(int error)
{
    return error == ENOSPC || error == ENOMEM || error == EDQUOT ? EGB_NO_MEMORY : EGB_LIMIT;
}

// The folder that a path is in, which begins with a slash. Empty: it is too long.
typedef struct folder_path {
    char text[512];
} folder_path;

static folder_path folder_of(const char* path)
{
    folder_path  folder = {"/"};
    const size_t length = (size_t)(strrchr(path, '/') - path);
    if (length >= sizeof folder.text) {
        folder.text[0] = '\0';
    } else if (length > 0) {
        (void)memcpy(folder.text, path, length);
    }
    return folder;
}

uint64_t egb_os_shared_page_at_(const char* path)
{
    const int         before = errno;
    const folder_path folder = folder_of(path);
    struct statfs     facts  = {0};
    const uint64_t    page   = store_page(statfs(folder.text, &facts), &facts);
    errno                    = before;
    return page;
}

uint64_t egb_os_shared_room_(const char* path)
{
    const int         before = errno;
    const folder_path folder = folder_of(path);
    struct statvfs    facts;
    const bool        is_told = statvfs(folder.text, &facts) == 0 && facts.f_blocks != 0;
    const uint64_t    file    = is_told ? (uint64_t)facts.f_bavail * facts.f_frsize : UINT64_MAX;
    const uint64_t    page    = egb_os_shared_page_at_(path);
    const uint64_t    memory  = page == 0 ? available_bytes() : store_bytes(page);
    errno                     = before;
    return file < memory ? file : memory;
}

static int open_nameless(const char* path, unsigned mode)
{
    const folder_path folder = folder_of(path);
    const int         file   = open(folder.text, O_TMPFILE | O_RDWR | O_CLOEXEC, (mode_t)mode);
    if (file >= 0) {
        (void)fchmod(file, (mode_t)mode);  // whatever the mask of this process
    }
    return file;
}

egb_status egb_os_shared_make_(int* file, const char* path, unsigned mode, uint64_t bytes)
{
    const int before = errno;
    const int made   = path == NULL ? memfd_create("eggbox", MFD_CLOEXEC | MFD_ALLOW_SEALING)
                                    : open_nameless(path, mode);
    if (made < 0) {
        const bool       is_known = errno != EOPNOTSUPP && errno != ENOSYS;
        const egb_status status   = is_known ? status_of_new(errno) : EGB_UNSUPPORTED;
        errno                     = before;
        return status;
    }
    const int error = allocate_file(made, bytes);
    if (error != 0) {
        (void)close(made);
        errno = before;
        return status_of_new(error);
    }
    if (path == NULL) {
        (void)fcntl(made, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    }
    return opened_file(file, made, before);
}

// The kernel counts in blocks of 512 bytes here, whatever those of the file system. It counts those
// of the whole file, and that may be longer than the pool. A ramfs counts nothing, cannot allocate,
// and has no limit.
egb_status egb_os_shared_fill_(int file, uint64_t bytes)
{
    const int   before = errno;
    int         error  = 0;
    struct stat facts;
    if (fstat(file, &facts) != 0) {
        error = errno;
    } else if ((uint64_t)facts.st_blocks < (uint64_t)facts.st_size / 512) {
        const uint64_t holes   = (uint64_t)facts.st_size - (uint64_t)facts.st_blocks * 512;
        const uint64_t missing = holes < bytes ? holes : bytes;
        error =
            is_beyond_memory(file, missing) ? ENOSPC : allocate_pieces(file, (off_t)bytes, false);
    }
    errno = before;
    return error == EOPNOTSUPP ? EGB_OK : status_of_file(error);
}

egb_status egb_os_shared_name_(int file, const char* path)
{
    const int             before = errno;
    const descriptor_path own    = path_of_descriptor(file);
    const int             result = linkat(AT_FDCWD, own.text, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
    const egb_status      status = status_of_file(result == 0 ? 0 : errno);
    errno                        = before;
    return status;
}

static bool is_ordinary(int file)
{
    struct stat facts;
    return fstat(file, &facts) == 0 && S_ISREG(facts.st_mode);
}

egb_status egb_os_shared_open_(int* file, const char* path)
{
    const int before     = errno;
    const int descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
    if (descriptor >= 0 && !is_ordinary(descriptor)) {
        (void)close(descriptor);
        errno = before;
        return EGB_CORRUPT;
    }
    return opened_file(file, descriptor, before);
}

egb_status egb_os_shared_again_(int* again, int file)
{
    const int             before = errno;
    const descriptor_path own    = path_of_descriptor(file);
    const int             opened = open(own.text, O_RDWR | O_CLOEXEC | O_NOCTTY, 0);
    const egb_status      status = opened_file(again, opened, before);
    return status == EGB_STALE ? EGB_UNSUPPORTED : status;  // there is no /proc
}

egb_status egb_os_shared_of_(int* file, uint64_t pid, int number)
{
    char      path[64];
    const int before = errno;
    (void)snprintf(path, sizeof path, "/proc/%llu/fd/%d", (unsigned long long)pid, number);
    return opened_file(file, open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0), before);
}

egb_status egb_os_shared_twin_(int* file, int number)
{
    const int before = errno;
    return opened_file(file, fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), before);
}

// Below the limit of the process where it is a low one.
static int place_aside(void)
{
    enum { ASIDE = 700 };
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > ASIDE) {
        return ASIDE;
    }
    return (int)(limit.rlim_cur - limit.rlim_cur / 8) - 1;
}

int egb_os_shared_step_aside_(int file)
{
    const int before = errno;
    const int other  = fcntl(file, F_DUPFD_CLOEXEC, place_aside());
    if (other >= 0) {
        (void)close(file);
    }
    errno = before;
    return other >= 0 ? other : file;
}

void egb_os_shared_close_(int file)
{
    const int before = errno;
    (void)close(file);
    errno = before;
}

// A file that is no file in memory has no seals.
static bool is_sealed(int file)
{
    const int seals = fcntl(file, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}

egb_status egb_os_shared_look_(int file, egb_os_shared_file* out)
{
    const int   before = errno;
    const int   flags  = fcntl(file, F_GETFL);
    const bool  seals  = is_sealed(file);  // before its length is read
    struct stat facts;
    egb_status  status = EGB_INVALID;
    if (flags >= 0 && (flags & O_PATH) == 0 && fstat(file, &facts) == 0) {
        status           = S_ISREG(facts.st_mode) ? EGB_OK : EGB_CORRUPT;
        out->bytes       = (uint64_t)facts.st_size;
        out->device      = (uint64_t)facts.st_dev;
        out->number      = (uint64_t)facts.st_ino;
        out->allocated   = facts.st_blocks > 0 ? (uint64_t)facts.st_blocks * 512 : out->bytes;
        out->has_name    = facts.st_nlink > 0;
        out->is_writable = (flags & O_ACCMODE) == O_RDWR;
        out->is_sealed   = seals;
    }
    errno = before;
    return status;
}

bool egb_os_shared_read_(int file, void* to, size_t bytes)
{
    const int before = errno;
    size_t    got    = 0;
    bool      goes   = true;
    while (goes && got < bytes) {
        const ssize_t more = pread(file, (char*)to + got, bytes - got, (off_t)got);
        got += more > 0 ? (size_t)more : 0;
        goes = more > 0 || (more < 0 && errno == EINTR);
    }
    errno = before;
    return got == bytes;
}

bool egb_os_shared_is_named_(int file, const char* path)
{
    const int   before = errno;
    struct stat own;
    struct stat named;
    const bool  is = fstat(file, &own) == 0 && lstat(path, &named) == 0 &&
                    own.st_dev == named.st_dev && own.st_ino == named.st_ino;
    errno = before;
    return is;
}

void egb_os_shared_each_(
    const char* folder, const char* prefix, void (*visit)(const char* name, void* user), void* user
)
{
    const int  before = errno;
    DIR* const open   = opendir(folder);
    if (open != NULL) {
        for (struct dirent* entry = readdir(open); entry != NULL; entry = readdir(open)) {
            if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0) {
                visit(entry->d_name, user);
            }
        }
        (void)closedir(open);
    }
    errno = before;
}

// The memory is allocated already, and each page is still to be mapped. A read does that if the
// kernel has no call for it.
static void map_shared_pages(volatile const char* start, size_t bytes, bool is_writable)
{
    const size_t page = egb_os_page_bytes_();
    if (madvise(
            (void*)(uintptr_t)start, bytes, is_writable ? POPULATE_SHARED_WRITE : POPULATE_READ
        ) != 0) {
        for (size_t at = 0; at < bytes; at += page) {
            (void)start[at];
        }
    }
}

void* egb_os_shared_map_(
    int file, uint64_t offset, size_t bytes, bool is_writable, unsigned page_options
)
{
    const int   before     = errno;
    const int   protection = is_writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void* const start      = (mmap)(NULL, bytes, protection, MAP_SHARED, file, (off_t)offset);
    if (start != MAP_FAILED) {
        if ((page_options & EGB_OS_HUGE_PAGES) != 0) {
            (void)madvise(start, bytes, MADV_HUGEPAGE);
        }
        if ((page_options & EGB_OS_PREFAULT) != 0) {
            map_shared_pages(start, bytes, is_writable);
        }
    }
    errno = before;
    return start == MAP_FAILED ? NULL : start;
}

void egb_os_shared_unmap_(void* start, size_t bytes)
{
    const int before = errno;
    (void)munmap(start, bytes);
    errno = before;
}

// ---- locks --------------------------------------------------------------------------------------

// The locks are at offsets of their own: the file need not be so long.
static int
lock_call(int file, int operation, short type, unsigned first, unsigned count, short* found)
{
    enum { LOCKS_AT = 0x40000000 };
    struct flock lock = {
        .l_type   = type,
        .l_whence = SEEK_SET,
        .l_start  = (off_t)LOCKS_AT + (off_t)first,
        .l_len    = (off_t)count
    };
    const int before = errno;
    const int result = fcntl(file, operation, &lock);
    *found           = lock.l_type;
    errno            = before;
    return result;
}

bool egb_os_shared_lock_(int file, unsigned first, unsigned count)
{
    short found = 0;
    return lock_call(file, OFD_SETLK, F_WRLCK, first, count, &found) == 0;
}

void egb_os_shared_unlock_(int file, unsigned first, unsigned count)
{
    short found = 0;
    (void)lock_call(file, OFD_SETLK, F_UNLCK, first, count, &found);
}

bool egb_os_shared_is_locked_(int file, unsigned first, unsigned count)
{
    short found = 0;
    return lock_call(file, OFD_GETLK, F_WRLCK, first, count, &found) == 0 && found != F_UNLCK;
}

// A lock for reading excludes those who lock, as theirs exclude each other, and can be told apart.
void egb_os_shared_keep_(int file, unsigned byte)
{
    short found = 0;
    (void)lock_call(file, OFD_SETLK, F_RDLCK, byte, 1, &found);
}

bool egb_os_shared_is_locked_briefly_(int file, unsigned first, unsigned count)
{
    short found = 0;
    return lock_call(file, OFD_GETLK, F_RDLCK, first, count, &found) == 0 && found != F_UNLCK;
}

// ---- waiting ------------------------------------------------------------------------------------

void egb_os_shared_wait_(void* word, uint32_t value, uint64_t nanoseconds)
{
    enum { SECOND = 1000000000 };
    const struct timespec limit  = {(time_t)(nanoseconds / SECOND), (long)(nanoseconds % SECOND)};
    const int             before = errno;
    (void)syscall(SYS_futex, word, FUTEX_WAIT, value, &limit, NULL, 0);
    errno = before;
}

void egb_os_shared_wake_(void* word)
{
    const int before = errno;
    (void)syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
    errno = before;
}

#else

  #include "no_shared.h"

#endif
