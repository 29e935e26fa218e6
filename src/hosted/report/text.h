// SPDX-License-Identifier: MIT
// Room report: text for people, built without stdio and malloc. Texts that are too long are cut.
#ifndef EGGBOX_SRC_HOSTED_REPORT_TEXT_H
#define EGGBOX_SRC_HOSTED_REPORT_TEXT_H

#include "eggbox/base.h"

enum { EGB_TEXT_BYTES_MAX = 512 };

typedef struct egb_text_line {
    char   text[EGB_TEXT_BYTES_MAX];
    size_t bytes;
} egb_text_line;

// The digits of a number as text, at least `least` of them, up to EGB_DIGITS_BYTES - 1. The base is
// 8 to 16: the digits of a lower one do not fit. Returns their start in `digits`.
enum { EGB_DIGITS_BYTES = 24 };
const char*
egb_text_digits_(char digits[EGB_DIGITS_BYTES], uint64_t number, unsigned base, unsigned least);

// Copies a text of any length, cut to fit `bytes_max` bytes with the 0 at its end.
void egb_text_copy_(char* to, size_t bytes_max, const char* from);

void egb_text_add_(egb_text_line* line, const char* text);
void egb_text_number_(egb_text_line* line, uint64_t number);

// Adds an address such as 0x1234.
void egb_text_address_(egb_text_line* line, const void* address);

// Adds a place in the code: FILE:LINE if `file` is not NULL, else the program or library with an
// offset in it, PATH+0x1234; or its address, if it is in neither. A site is where a call returns
// to, which may belong to the next line or the next function; the offset is that of the byte
// before, so that addr2line names the call.
void egb_text_place_(egb_text_line* line, const char* file, unsigned number, const void* site);

// Adds the callers of a place, as far as they fit: each behind " < ", as egb_text_place_() writes
// it. The first call of the stack is the place itself, and is left out. NULL: there are no callers.
void egb_text_callers_(egb_text_line* line, const void* const* stack);

// Writes the text and a line end to the error stream, and empties it.
void egb_text_write_line_(egb_text_line* line);

#endif  // EGGBOX_SRC_HOSTED_REPORT_TEXT_H
