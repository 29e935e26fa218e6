// SPDX-License-Identifier: MIT
// The options for pages: Linux, and the answers that are right on any other POSIX system.
#include "posix_features.h"

#include "posix_page_options.h"
#include "posix_proc.h"

#if defined(__linux__)

  #include <errno.h>
  #include <fcntl.h>
  #include <stdlib.h>
  #include <string.h>
  #include <sys/mman.h>
  #include <unistd.h>

  #include "posix_calls.h"

// MADV_POPULATE_WRITE, by its number because headers older than the kernel do not have it.
enum { POPULATE_WRITE = 23 };

// Transparent large pages. MAP_HUGETLB would take them from a store that the administrator must
// have filled beforehand; when another process empties it, a touch ends the program.
void egb_posix_ask_huge_(void* region, size_t bytes)
{
    (void)madvise(region, bytes, MADV_HUGEPAGE);
}

// Bytes of the range that are in memory. Not inlined, as others with long arrays are not: a call of
// malloc that commits memory would then need as much of its stack.
static EGB_COLD size_t resident_bytes(char* region, size_t bytes)
{
    unsigned char flags[4096];  // one for each page
    const size_t  page  = egb_os_page_bytes_();
    size_t        found = 0;
    while (bytes > 0) {
        const size_t part = bytes < sizeof flags * page ? bytes : sizeof flags * page;
        if (mincore(region, part, flags) != 0) {
            break;
        }
        for (size_t i = 0; i < part / page; i++) {
            found += (flags[i] & 1u) != 0 ? page : 0;
        }
        region += part;
        bytes -= part;
    }
    return found;
}

size_t egb_posix_prefaulted_(void* region, size_t bytes, unsigned page_options)
{
    (void)page_options;
    return resident_bytes(region, bytes);
}

// Asks for all pages in one call, which says so when there is no memory, where a touch would end
// the program. (The limit of a control group kills here as well, unless its killer is turned off.)
// Kernels before 5.14 do not know the call, sandboxes forbid it, and emulators say yes and do
// nothing, so the answer is checked.
egb_posix_populated egb_posix_populate_(void* region, size_t bytes)
{
    if (madvise(region, bytes, POPULATE_WRITE) == 0) {
        return resident_bytes(region, bytes) == bytes ? EGB_POSIX_POPULATED : EGB_POSIX_UNKNOWN;
    }
    const bool is_unknown = errno == EINVAL || errno == ENOSYS || errno == EPERM;
    return is_unknown ? EGB_POSIX_UNKNOWN : EGB_POSIX_REFUSED;
}

// A file that is read line by line; only the start of a line matters.
typedef struct line_reader {
    int     file;
    ssize_t at;
    ssize_t end;
    char    line[64];
    char    bytes[4096];
} line_reader;

static bool refill(line_reader* reader)
{
    do {
        reader->end = read(reader->file, reader->bytes, sizeof reader->bytes);
    } while (reader->end < 0 && errno == EINTR);
    reader->at = 0;
    return reader->end > 0;
}

static bool read_line(line_reader* reader)
{
    size_t length = 0;
    for (;;) {
        if (reader->at == reader->end && !refill(reader)) {
            return false;
        }
        const char byte = reader->bytes[reader->at++];
        if (byte == '\n') {
            reader->line[length] = '\0';
            return true;
        }
        if (length < sizeof reader->line - 1) {
            reader->line[length++] = byte;
        }
    }
}

// A mapping as the system lists it. It may reach beyond our range, because neighbours are joined.
typedef struct mapping_part {
    unsigned long long inside;  // bytes
    unsigned long long outside;
} mapping_part;

// Reads "55f420d87000-55f420d89000 r--p ..." and says how much of it is the range.
static bool read_mapping(const char* line, uintptr_t first, size_t bytes, mapping_part* part)
{
    char*                    rest;
    const unsigned long long start = strtoull(line, &rest, 16);
    if (rest == line || *rest != '-') {
        return false;
    }
    const unsigned long long end  = strtoull(rest + 1, NULL, 16);
    const unsigned long long last = (unsigned long long)first + bytes;
    const unsigned long long low  = start > first ? start : first;
    const unsigned long long high = end < last ? end : last;
    part->inside                  = high > low ? high - low : 0;
    part->outside                 = end - start - part->inside;
    return true;
}

// Bytes of the range that certainly are in large pages: of a mapping that reaches beyond the range
// the system says only how many there are in all, so as many as fit are taken to lie outside.
EGB_COLD size_t egb_posix_huge_(const void* region, size_t bytes)
{
    static const char  field[] = "AnonHugePages:";
    const char* const  path    = EGB_POSIX_OWN_FILE_("smaps");
    line_reader        reader  = {.file = open(path, O_RDONLY | O_CLOEXEC, 0)};
    mapping_part       part    = {0, 0};
    unsigned long long found   = 0;
    if (reader.file < 0) {
        return 0;
    }
    while (read_line(&reader)) {
        if (read_mapping(reader.line, (uintptr_t)region, bytes, &part)) {
            continue;
        }
        if (part.inside > 0 && strncmp(reader.line, field, sizeof field - 1) == 0) {
            const unsigned long long huge = strtoull(reader.line + sizeof field - 1, NULL, 10);
            found += huge * 1024 > part.outside ? huge * 1024 - part.outside : 0;
        }
    }
    (void)close(reader.file);
    return found < bytes ? (size_t)found : bytes;
}

#else  // a system that we only know to be POSIX

void egb_posix_ask_huge_(void* region, size_t bytes)
{
    (void)region;
    (void)bytes;
}

// There is no portable question; but all pages that were touched came.
size_t egb_posix_prefaulted_(void* region, size_t bytes, unsigned page_options)
{
    (void)region;
    return (page_options & EGB_OS_PREFAULT) != 0 ? bytes : 0;
}

egb_posix_populated egb_posix_populate_(void* region, size_t bytes)
{
    (void)region;
    (void)bytes;
    return EGB_POSIX_UNKNOWN;
}

EGB_COLD size_t egb_posix_huge_(const void* region, size_t bytes)
{
    (void)region;
    (void)bytes;
    return 0;
}

#endif
