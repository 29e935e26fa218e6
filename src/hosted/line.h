// SPDX-License-Identifier: MIT
// Layer hosted: text for people, put together without stdio and without malloc. What is too long
// is cut.
#ifndef EGGBOX_SRC_HOSTED_LINE_H
#define EGGBOX_SRC_HOSTED_LINE_H

#include "eggbox/base.h"

enum { EGB_LINE_BYTES_MAX = 512 };

typedef struct egb_line {
    char   text[EGB_LINE_BYTES_MAX];
    size_t bytes;
} egb_line;

void egb_line_text(egb_line* line, const char* text);
void egb_line_number(egb_line* line, uint64_t number);

// As 0x1234.
void egb_line_address(egb_line* line, const void* address);

// A place in the code: FILE:LINE if `file` is not NULL, else the program or library it is in, with
// its address there, as addr2line and the like want it: PATH+0x1234.
void egb_line_place(egb_line* line, const char* file, unsigned number, const void* site);

// Writes it to where complaints go, with a line's end, and makes it empty.
void egb_line_write(egb_line* line);

#endif  // EGGBOX_SRC_HOSTED_LINE_H
