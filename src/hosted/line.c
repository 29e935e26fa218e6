// SPDX-License-Identifier: MIT
#include "line.h"

#include "../os/os.h"

void egb_line_text(egb_line* line, const char* text)
{
    while (*text != '\0' && line->bytes < EGB_LINE_BYTES_MAX - 1) {
        line->text[line->bytes++] = *text++;
    }
}

static void add_digits(egb_line* line, uint64_t number, unsigned base)
{
    char  digits[24];
    char* first = digits + sizeof digits - 1;
    *first      = '\0';
    do {
        *--first = "0123456789abcdef"[number % base];
        number /= base;
    } while (number != 0);
    egb_line_text(line, first);
}

void egb_line_number(egb_line* line, uint64_t number)
{
    add_digits(line, number, 10);
}

void egb_line_address(egb_line* line, const void* address)
{
    egb_line_text(line, "0x");
    add_digits(line, (uintptr_t)address, 16);
}

static void add_module(egb_line* line, const char* path, uintptr_t offset)
{
    char name[EGB_LINE_BYTES_MAX / 2];
    if (*path == '\0') {
        const size_t bytes = egb_os_program(name, sizeof name - 1);
        name[bytes]        = '\0';
        path               = name;
    }
    egb_line_text(line, path);
    egb_line_text(line, "+");
    egb_line_address(line, (const void*)offset);
}

void egb_line_place(egb_line* line, const char* file, unsigned number, const void* site)
{
    const char* path;
    uintptr_t   offset;
    if (file != NULL) {
        egb_line_text(line, file);
        egb_line_text(line, ":");
        egb_line_number(line, number);
    } else if (egb_os_find_module(site, &path, &offset)) {
        add_module(line, path, offset);
    } else {
        egb_line_address(line, site);
    }
}

void egb_line_write(egb_line* line)
{
    line->text[line->bytes++] = '\n';
    egb_os_write_error(line->text, line->bytes);
    line->bytes = 0;
}
