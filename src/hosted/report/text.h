// SPDX-License-Identifier: MIT
// Room report: text for people, put together without stdio and without malloc. What is too long
// is cut.
#ifndef EGGBOX_SRC_HOSTED_REPORT_TEXT_H
#define EGGBOX_SRC_HOSTED_REPORT_TEXT_H

#include "eggbox/base.h"

enum { EGB_TEXT_BYTES_MAX = 512 };

typedef struct egb_text_line {
    char   text[EGB_TEXT_BYTES_MAX];
    size_t bytes;
} egb_text_line;

// Copies a text of any length, cut to what fits in `bytes_max` bytes with the 0 at its end.
void egb_text_copy_(char* to, size_t bytes_max, const char* from);

void egb_text_add_(egb_text_line* line, const char* text);
void egb_text_number_(egb_text_line* line, uint64_t number);

// As 0x1234.
void egb_text_address_(egb_text_line* line, const void* address);

// A place in the code: FILE:LINE if `file` is not NULL, else the program or library it is in, with
// its address there, as addr2line and the like want it: PATH+0x1234.
void egb_text_place_(egb_text_line* line, const char* file, unsigned number, const void* site);

// Writes it to where complaints go, with a line's end, and makes it empty.
void egb_text_write_line_(egb_text_line* line);

#endif  // EGGBOX_SRC_HOSTED_REPORT_TEXT_H
