// SPDX-License-Identifier: MIT
// Stands in for libeggbox-malloc.so in the tests of the command: at exit it writes a report of one
// process, docs/report-format.md, with made-up numbers. It serves nothing and allocates nothing.
//
// DOUBLE_BROKEN=1: the file ends in the middle. DOUBLE_SILENT=1: there is none, but the mark of the
// beginning. DOUBLE_ABSENT=1: nothing, as if the library had not been loaded.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A library is taken for an allocator if it defines this; the C library's own is never called.
__attribute__((visibility("default"))) void* pvalloc(size_t bytes);
void*                                        pvalloc(size_t bytes)
{
    (void)bytes;
    return NULL;
}

// The arguments as JSON strings. Enough for tests: what JSON cannot hold as it is becomes a "?".
static size_t arguments_text(char* to, size_t room)
{
    char       raw[2000];
    size_t     used = 0;
    const int  file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    const long got  = file < 0 ? 0 : (long)read(file, raw, sizeof raw - 1);
    if (file >= 0) {
        close(file);
    }
    for (long i = 0; i < got && used + 8 < room; i++) {
        if (i == 0 || raw[i - 1] == '\0') {
            used += (size_t)snprintf(to + used, room - used, "%s\"", i == 0 ? "" : ",");
        }
        const char c = raw[i];
        to[used]     = c == '\0' || c < ' ' || c == '"' || c == '\\' ? '?' : c;
        used += c != '\0';
        if (c == '\0') {
            to[used++] = '"';
        }
    }
    to[used] = '\0';
    return used;
}

static const char format[] =
    "{\"schema\":1,\"kind\":\"eggbox-process\",\"program\":\"%s\",\"arguments\":[%s],\"pid\":%d,"
    "\"parent_pid\":%d,\"duration_s\":0.25,\"level\":\"%s\",\"library\":\"0.1.0\","
    "\"peak_resident_bytes\":2097152,\"minor_faults\":120,\"major_faults\":1,\"is_measured\":true,"
    "\"pools\":["
    "{\"name\":\"heap\",\"parent\":\"\",\"is_size_class\":false,\"block_bytes\":16,"
    "\"stride_bytes\":16,\"max_blocks\":0,\"budget_bytes\":0,\"capacity\":0,\"in_use\":0,"
    "\"cached\":0,\"peak\":0,\"allocations\":0,\"frees\":0,\"failures\":0,\"chunks\":0,"
    "\"bytes_held\":0,\"requested_bytes\":0},"
    "{\"name\":\"heap 64\",\"parent\":\"heap\",\"is_size_class\":true,\"block_bytes\":64,"
    "\"stride_bytes\":64,\"max_blocks\":0,\"budget_bytes\":0,\"capacity\":1023,\"in_use\":2,"
    "\"cached\":60,\"peak\":100,\"allocations\":9000,\"frees\":8998,\"failures\":0,\"chunks\":1,"
    "\"bytes_held\":65536,\"requested_bytes\":500000}],"
    "\"large\":{\"allocations\":3,\"frees\":3,\"in_use\":0,\"peak\":2,\"bytes_in_use\":0,"
    "\"peak_bytes\":2000000,\"failures\":0},"
    "\"not_served\":[{\"reason\":\"allocated before the library took effect\",\"count\":3}],"
    "\"misuse\":[]}";

static void mark_path(char* to, size_t room, const char* folder)
{
    snprintf(to, room, "%s/%d-1.begun", folder, (int)getpid());
}

__attribute__((constructor)) static void leave_a_mark(void)
{
    const char* const folder = getenv("EGGBOX_REPORT");
    char              path[1000], program[1000] = "";
    if (folder != NULL && getenv("DOUBLE_ABSENT") == NULL &&
        readlink("/proc/self/exe", program, sizeof program - 1) > 0) {
        mark_path(path, sizeof path, folder);
        if (symlink(program, path) != 0) {
            return;
        }
    }
}

__attribute__((destructor)) static void write_report(void)
{
    const char* const folder = getenv("EGGBOX_REPORT");
    const char* const level  = getenv("EGGBOX_CHECK");
    if (folder == NULL || getenv("DOUBLE_SILENT") != NULL || getenv("DOUBLE_ABSENT") != NULL) {
        return;
    }
    char path[1000], program[1000] = "", arguments[4000], text[8000];
    if (readlink("/proc/self/exe", program, sizeof program - 1) < 0) {
        return;
    }
    snprintf(path, sizeof path, "%s/%d-1.json", folder, (int)getpid());
    arguments_text(arguments, sizeof arguments);
    int bytes = snprintf(
        text,
        sizeof text,
        format,
        program,
        arguments,
        (int)getpid(),
        (int)getppid(),
        level == NULL ? "check" : level
    );
    if (getenv("DOUBLE_BROKEN") != NULL) {
        bytes /= 2;
    }
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || write(file, text, (size_t)bytes) != bytes) {
        _exit(99);
    }
    close(file);
    mark_path(path, sizeof path, folder);
    unlink(path);
}
