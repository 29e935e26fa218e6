// SPDX-License-Identifier: MIT
// The memory and the threads of this process, as the files of /proc show them, for a library that
// is the C library's malloc. Callers hold locks, so all is asked of the kernel itself.
#include "posix_features.h"

#include "os.h"

#if EGB_IS_MALLOC && defined(__linux__)

  #include <errno.h>
  #include <fcntl.h>
  #include <stddef.h>
  #include <sys/syscall.h>
  #include <unistd.h>

  #include "posix_proc.h"

  #include "posix_calls.h"

enum { TEXT_BYTES = 4096, LINE_BYTES = 256, THREAD_PATH = 64 };

// The text that a walk reads. Not on the stack: that may be a small one for signals.
EGB_ALIGNAS_(8) static char walked[TEXT_BYTES];

static int open_in_proc(const char* path, int flags)
{
    const int before = errno;
    const int file   = (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_RDONLY | O_CLOEXEC, 0);
    errno            = before;
    return file;
}

static void close_in_proc(int file)
{
    const int before = errno;
    (void)syscall(SYS_close, file);
    errno = before;
}

// 0: the end. Below 0: the system's number of an error, negative.
static long read_in_proc(int file, void* to, size_t bytes)
{
    const int     before = errno;
    const ssize_t got    = read(file, to, bytes);
    const long    result = got < 0 ? -(long)errno : (long)got;
    errno                = before;
    return result;
}

static bool seek_in_proc(int file, uint64_t to)
{
    const int before = errno;
  #if defined(SYS__llseek)
    uint64_t   result;
    const long done = syscall(SYS__llseek, file, to >> 32, (uint32_t)to, &result, SEEK_SET);
  #else
    const long done = syscall(SYS_lseek, file, to, SEEK_SET);
  #endif
    errno = before;
    return done >= 0;
}

// ---- memory -------------------------------------------------------------------------------------

bool egb_os_memory_open_(egb_os_memory* memory)
{
    memory->known      = 0;
    memory->is_failed  = false;
    memory->file       = open_in_proc(EGB_POSIX_OWN_FILE_("mem"), 0);
    memory->flags_file = open_in_proc(EGB_POSIX_OWN_FILE_("pagemap"), 0);
    if (memory->file < 0 || memory->flags_file < 0) {
        egb_os_memory_close_(memory);
        return false;
    }
    return true;
}

void egb_os_memory_close_(const egb_os_memory* memory)
{
    if (memory->file >= 0) {
        close_in_proc(memory->file);
    }
    if (memory->flags_file >= 0) {
        close_in_proc(memory->flags_file);
    }
}

// A read of memory that another thread gave back meanwhile fails with one of these two errors.
static bool is_gone(long result)
{
    return result == -EIO || result == -EFAULT;
}

size_t egb_os_memory_read_(egb_os_memory* memory, uintptr_t from, void* to, size_t bytes)
{
    size_t done = 0;
    long   got  = seek_in_proc(memory->file, from) ? 1 : -EINVAL;
    while (got > 0 && done < bytes) {
        got = read_in_proc(memory->file, (char*)to + done, bytes - done);
        done += got > 0 ? (size_t)got : 0;
    }
    memory->is_failed = memory->is_failed || (got < 0 && !is_gone(got));
    return done;
}

// Reads the flags from this page on.
static void read_flags(egb_os_memory* memory, uintptr_t page)
{
    const bool is_there = seek_in_proc(memory->flags_file, (uint64_t)page * sizeof(uint64_t));
    const long got =
        is_there ? read_in_proc(memory->flags_file, memory->flags, sizeof memory->flags) : 0;
    memory->first     = page;
    memory->known     = got > 0 ? (size_t)got / sizeof(uint64_t) : 0;
    memory->is_failed = memory->is_failed || memory->known == 0;
}

// A page that was never written to is not in memory, or is one of a file. All shared ones are like
// those of a file: one that was never touched is not in memory, and a read would make it.
bool egb_os_memory_is_written_(egb_os_memory* memory, uintptr_t address, bool is_shared)
{
    const uint64_t  is_there = (uint64_t)3 << 62;  // in memory, or swapped
    const uint64_t  is_file  = (uint64_t)1 << 61;
    const uintptr_t page     = address / egb_os_page_bytes_();
    if (page - memory->first >= memory->known) {
        read_flags(memory, page);
    }
    if (memory->known == 0) {
        return false;
    }
    const uint64_t flags = memory->flags[page - memory->first];
    return (flags & is_there) != 0 && (is_shared || (flags & is_file) == 0);
}

// ---- mappings -----------------------------------------------------------------------------------

// Returns the character behind the number.
static const char* read_hexadecimal(const char* text, uintptr_t* out)
{
    for (*out = 0;; text++) {
        const char digit = *text;
        if (digit >= '0' && digit <= '9') {
            *out = *out * 16 + (uintptr_t)(digit - '0');
        } else if (digit >= 'a' && digit <= 'f') {
            *out = *out * 16 + (uintptr_t)(digit - 'a' + 10);
        } else {
            return text;
        }
    }
}

static const char* behind_word(const char* text)
{
    while (*text != ' ' && *text != '\0') {
        text++;
    }
    return *text == ' ' ? text + 1 : text;
}

static bool begins_with(const char* text, const char* with)
{
    while (*with != '\0' && *text == *with) {
        text++;
        with++;
    }
    return *with == '\0';
}

static const char* behind_spaces(const char* text)
{
    while (*text == ' ') {
        text++;
    }
    return text;
}

// Memory of no file and of no device, private or shared, by the kernel's names for it. A name ends
// the line.
static bool is_of_no_file(const char* name)
{
    static const char* const names[] = {
        "[anon", "[heap]", "/dev/zero", "/memfd:", "/SYSV", "/anon_hugepage"
    };
    bool is_so = *name == '\0';
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        is_so = is_so || begins_with(name, names[i]);
    }
    return is_so;
}

// A line as 7f12a000-7f12c000 rw-p 00000000 00:00 0, and a path or a name.
static egb_os_mapping mapping_of_line(const char* line)
{
    egb_os_mapping    out     = {0, 0, false, false, false, false};
    const char* const behind  = read_hexadecimal(line, &out.start);
    const char* const allowed = read_hexadecimal(behind + (*behind == '-' ? 1 : 0), &out.end);
    const char* const number  = behind_word(behind_word(behind_word(behind_word(line))));
    const char* const name    = behind_spaces(behind_word(number));
    const bool        is_own  = begins_with(allowed, " rw") && allowed[4] == 'p';
    out.is_data               = is_own || (begins_with(allowed, " r") && is_of_no_file(name));
    out.is_shared             = begins_with(allowed, " ") && allowed[4] == 's';
    out.is_closed             = begins_with(allowed, " ---");
    out.is_first_stack        = begins_with(name, "[stack]");
    return out;
}

bool egb_os_each_mapping_(void (*visit)(const egb_os_mapping* mapping, void* user), void* user)
{
    char      line[LINE_BYTES];  // the path at its end may be cut
    size_t    length = 0;
    const int file   = open_in_proc(EGB_POSIX_OWN_FILE_("maps"), 0);
    long      got;
    if (file < 0) {
        return false;
    }
    while ((got = read_in_proc(file, walked, sizeof walked)) > 0) {
        for (long i = 0; i < got; i++) {
            if (walked[i] == '\n') {
                line[length]                 = '\0';
                const egb_os_mapping mapping = mapping_of_line(line);
                visit(&mapping, user);
                length = 0;
            } else if (length < sizeof line - 1) {
                line[length++] = walked[i];
            }
        }
    }
    close_in_proc(file);
    return got == 0;
}

// ---- threads ------------------------------------------------------------------------------------

// As the kernel has it.
typedef struct folder_entry {
    uint64_t       number;
    int64_t        next;
    unsigned short bytes;
    unsigned char  type;
    char           name[];
} folder_entry;

// The state of a thread: its system call, and the stack pointer and the program counter last; or
// "running". Empty: not known.
static void read_thread(const char* thread, char text[LINE_BYTES])
{
    static const char last[]            = "/syscall";
    char              path[THREAD_PATH] = "/proc/self/task/";
    char*             end               = path + sizeof "/proc/self/task/" - 1;
    long              got               = 0;
    while (*thread != '\0' && end < path + THREAD_PATH - sizeof last) {
        *end++ = *thread++;
    }
    (void)__builtin_memcpy(end, last, sizeof last);
    const int file = open_in_proc(path, 0);
    if (file >= 0) {
        got = read_in_proc(file, text, LINE_BYTES - 1);
        close_in_proc(file);
    }
    text[got > 0 ? got : 0] = '\0';
}

// The word before the last one. Empty: there is none.
static const char* word_before_last(const char* text)
{
    const char* before = "";
    const char* last   = "";
    for (; *text != '\0'; text++) {
        if (*text == ' ') {
            before = last;
            last   = text + 1;
        }
    }
    return before;
}

// A thread that runs gets a few milliseconds, all of them together, to wait for something.
static uintptr_t stack_of(const char* thread, unsigned* waits)
{
    enum { RUNNING_LOOKS_MAX = 50 };
    char     text[LINE_BYTES];
    uint32_t never = 0;
    read_thread(thread, text);
    for (; text[0] == 'r' && *waits < RUNNING_LOOKS_MAX; ++*waits) {
        egb_os_wait_(&never, 0, 1);
        read_thread(thread, text);
    }
    const char* const pointer = word_before_last(text);
    uintptr_t         number  = 0;
    if (begins_with(pointer, "0x")) {
        (void)read_hexadecimal(pointer + 2, &number);
    }
    return number;
}

static uint32_t thread_number(const char* name)
{
    uint32_t number = 0;
    for (; *name >= '0' && *name <= '9'; name++) {
        number = number * 10 + (uint32_t)(*name - '0');
    }
    return number;
}

bool egb_os_each_stack_(egb_os_visit_stack visit, void* user)
{
    const uint32_t own   = egb_os_thread_number_();
    unsigned       waits = 0;
    const int      file  = open_in_proc("/proc/self/task", O_DIRECTORY);
    if (file < 0) {
        return false;
    }
    const int before = errno;
    long      got;
    while ((got = syscall(SYS_getdents64, file, walked, sizeof walked)) > 0) {
        for (long at = 0; at < got;) {
            const folder_entry* const entry  = (const void*)(walked + at);
            const uint32_t            thread = thread_number(entry->name);
            if (thread != 0 && thread != own) {
                visit(thread, stack_of(entry->name, &waits), user);
            }
            at += entry->bytes;
        }
    }
    errno = before;
    close_in_proc(file);
    return got == 0;
}

#endif
