// SPDX-License-Identifier: MIT
// Room report: JSON, written piece by piece into a file, without malloc and without stdio.
#ifndef EGGBOX_SRC_HOSTED_REPORT_JSON_H
#define EGGBOX_SRC_HOSTED_REPORT_JSON_H

#include "eggbox/base.h"

enum { EGB_JSON_BUFFER_BYTES = 4096 };

typedef struct egb_json {
    int      file;
    int      error;        // the error of the first write that failed; 0: none
    bool     needs_comma;  // before the next member or element
    uint64_t place;        // for the next write, in a file that has others' data, too
    uint64_t end;          // the end of the room there; 0: it is a file of its own
    size_t   bytes;
    char     buffer[EGB_JSON_BUFFER_BYTES];
} egb_json;

// Starts writing to a new file.
void egb_json_begin_(egb_json* out, int file);

// The same into a part of a file.
void egb_json_begin_at_(egb_json* out, int file, uint64_t place, uint64_t end);

// Writes the rest of the buffer. After an error nothing more is written.
void egb_json_flush_(egb_json* out);

// Written unchanged; digits with zeros before them, if there are less than `least`.
void egb_json_byte_(egb_json* out, char byte);
void egb_json_plain_(egb_json* out, const char* text);
void egb_json_digits_(egb_json* out, uint64_t number, unsigned least);

// Written as a string. Invalid UTF-8 becomes U+FFFD.
void egb_json_text_(egb_json* out, const char* text, size_t bytes);

// Writes a comma, if an element or member came before in these brackets.
void egb_json_next_(egb_json* out);

// The brackets around elements or members.
void egb_json_open_(egb_json* out, char bracket);
void egb_json_close_(egb_json* out, char bracket);

// Members of an object; the first function writes only the name.
void egb_json_name_(egb_json* out, const char* name);
void egb_json_number_(egb_json* out, const char* name, uint64_t number);
void egb_json_member_(egb_json* out, const char* name, const char* text, size_t bytes);
void egb_json_word_(egb_json* out, const char* name, const char* text);
void egb_json_truth_(egb_json* out, const char* name, bool truth);

#endif  // EGGBOX_SRC_HOSTED_REPORT_JSON_H
