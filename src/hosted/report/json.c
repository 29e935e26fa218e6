// SPDX-License-Identifier: MIT
#include "json.h"

#include "../../os/os.h"
#include "text.h"

void egb_json_begin_(egb_json* out, int file)
{
    out->file        = file;
    out->error       = 0;
    out->needs_comma = false;
    out->place       = 0;
    out->end         = 0;
    out->bytes       = 0;
}

void egb_json_begin_at_(egb_json* out, int file, uint64_t place, uint64_t end)
{
    egb_json_begin_(out, file);
    out->place = place;
    out->end   = end;
}

void egb_json_flush_(egb_json* out)
{
    if (out->error == 0) {
        out->error =
            out->end == 0
                ? egb_os_write_(out->file, out->buffer, out->bytes)
                : egb_os_write_at_(out->file, out->place, out->end, out->buffer, out->bytes);
        out->place += out->bytes;
    }
    out->bytes = 0;
}

void egb_json_byte_(egb_json* out, char byte)
{
    if (out->bytes == sizeof out->buffer) {
        egb_json_flush_(out);
    }
    out->buffer[out->bytes++] = byte;
}

void egb_json_plain_(egb_json* out, const char* text)
{
    while (*text != '\0') {
        egb_json_byte_(out, *text++);
    }
}

void egb_json_digits_(egb_json* out, uint64_t number, unsigned least)
{
    char digits[EGB_DIGITS_BYTES];
    egb_json_plain_(out, egb_text_digits_(digits, number, 10, least));
}

// The length of the UTF-8 character here, in bytes; 0: invalid.
static size_t utf8_bytes(const unsigned char* text, size_t bytes)
{
    static const struct {
        unsigned char first, last;  // range of the first byte
        unsigned char least, most;  // range of the second
        unsigned char count;
    } forms[] = {
        {0x00, 0x7F, 0x00, 0x00, 1},
        {0xC2, 0xDF, 0x80, 0xBF, 2},
        {0xE0, 0xE0, 0xA0, 0xBF, 3},
        {0xE1, 0xEC, 0x80, 0xBF, 3},
        {0xED, 0xED, 0x80, 0x9F, 3},
        {0xEE, 0xEF, 0x80, 0xBF, 3},
        {0xF0, 0xF0, 0x90, 0xBF, 4},
        {0xF1, 0xF3, 0x80, 0xBF, 4},
        {0xF4, 0xF4, 0x80, 0x8F, 4},
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (text[0] < forms[i].first || text[0] > forms[i].last || bytes < forms[i].count) {
            continue;
        }
        size_t good = 1;
        if (good < forms[i].count && text[1] >= forms[i].least && text[1] <= forms[i].most) {
            good = 2;
        }
        while (good >= 2 && good < forms[i].count && (text[good] & 0xC0) == 0x80) {
            good++;
        }
        return good == forms[i].count ? good : 0;
    }
    return 0;
}

static void json_character(egb_json* out, const unsigned char* text, size_t bytes)
{
    const unsigned char first = text[0];
    if (bytes == 0) {
        egb_json_plain_(out, "\xEF\xBF\xBD");  // U+FFFD
    } else if (first == '"' || first == '\\') {
        egb_json_byte_(out, '\\');
        egb_json_byte_(out, (char)first);
    } else if (first < 0x20 || first == 0x7F) {
        egb_json_plain_(out, "\\u00");
        egb_json_byte_(out, "0123456789abcdef"[first >> 4]);
        egb_json_byte_(out, "0123456789abcdef"[first & 15]);
    } else {
        for (size_t i = 0; i < bytes; i++) {
            egb_json_byte_(out, (char)text[i]);
        }
    }
}

void egb_json_text_(egb_json* out, const char* text, size_t bytes)
{
    const unsigned char* at  = (const unsigned char*)text;
    const unsigned char* end = at + bytes;
    egb_json_byte_(out, '"');
    while (at < end) {
        const size_t one = utf8_bytes(at, (size_t)(end - at));
        json_character(out, at, one);
        at += one == 0 ? 1 : one;
    }
    egb_json_byte_(out, '"');
}

void egb_json_next_(egb_json* out)
{
    if (out->needs_comma) {
        egb_json_byte_(out, ',');
    }
    out->needs_comma = true;
}

void egb_json_open_(egb_json* out, char bracket)
{
    egb_json_byte_(out, bracket);
    out->needs_comma = false;
}

void egb_json_close_(egb_json* out, char bracket)
{
    egb_json_byte_(out, bracket);
    out->needs_comma = true;
}

void egb_json_name_(egb_json* out, const char* name)
{
    egb_json_next_(out);
    egb_json_text_(out, name, __builtin_strlen(name));
    egb_json_byte_(out, ':');
}

void egb_json_number_(egb_json* out, const char* name, uint64_t number)
{
    egb_json_name_(out, name);
    egb_json_digits_(out, number, 1);
}

void egb_json_member_(egb_json* out, const char* name, const char* text, size_t bytes)
{
    egb_json_name_(out, name);
    egb_json_text_(out, text, bytes);
}

void egb_json_word_(egb_json* out, const char* name, const char* text)
{
    egb_json_member_(out, name, text, __builtin_strlen(text));
}

void egb_json_truth_(egb_json* out, const char* name, bool truth)
{
    egb_json_name_(out, name);
    egb_json_plain_(out, truth ? "true" : "false");
}
