// SPDX-License-Identifier: MIT
#include "text.h"

#include "../../os/os.h"

const char*
egb_text_digits_(char digits[EGB_DIGITS_BYTES], uint64_t number, unsigned base, unsigned least)
{
    char* const end   = digits + EGB_DIGITS_BYTES - 1;
    char*       first = end;
    *end              = '\0';
    while (number != 0 || end - first < (ptrdiff_t)least) {
        *--first = "0123456789abcdef"[number % base];
        number /= base;
    }
    return first;
}

void egb_text_copy_(char* to, size_t bytes_max, const char* from)
{
    size_t bytes = 0;
    for (; from[bytes] != '\0' && bytes < bytes_max - 1; bytes++) {
        to[bytes] = from[bytes];
    }
    to[bytes] = '\0';
}

void egb_text_add_(egb_text_line* line, const char* text)
{
    while (*text != '\0' && line->bytes < EGB_TEXT_BYTES_MAX - 1) {
        line->text[line->bytes++] = *text++;
    }
}

static void add_digits(egb_text_line* line, uint64_t number, unsigned base)
{
    char digits[EGB_DIGITS_BYTES];
    egb_text_add_(line, egb_text_digits_(digits, number, base, 1));
}

void egb_text_number_(egb_text_line* line, uint64_t number)
{
    add_digits(line, number, 10);
}

void egb_text_address_(egb_text_line* line, const void* address)
{
    egb_text_add_(line, "0x");
    add_digits(line, (uintptr_t)address, 16);
}

void egb_text_place_(egb_text_line* line, const char* file, unsigned number, const void* site)
{
    char      path[EGB_TEXT_BYTES_MAX];
    uintptr_t offset;
    if (file != NULL) {
        egb_text_add_(line, file);
        egb_text_add_(line, ":");
        egb_text_number_(line, number);
    } else if (egb_os_find_module_(site, path, sizeof path, &offset)) {
        egb_text_add_(line, path);
        egb_text_add_(line, "+");
        egb_text_address_(line, (const void*)(offset - 1));
    } else {
        egb_text_address_(line, site);
    }
}

void egb_text_callers_(egb_text_line* line, const void* const* stack)
{
    enum { PLACE_BYTES = 100 };  // about
    if (stack == NULL) {
        return;
    }
    while (*++stack != NULL && line->bytes + PLACE_BYTES <= EGB_TEXT_BYTES_MAX) {
        egb_text_add_(line, " < ");
        egb_text_place_(line, NULL, 0, *stack);
    }
}

void egb_text_write_line_(egb_text_line* line)
{
    line->text[line->bytes++] = '\n';
    egb_os_write_error_(line->text, line->bytes);
    line->bytes = 0;
}
