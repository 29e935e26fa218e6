// SPDX-License-Identifier: MIT
// Room settings: the environment's settings of pools: their levels, and the grammar of the texts.
#ifndef EGGBOX_SRC_HOSTED_SETTINGS_SETTINGS_H
#define EGGBOX_SRC_HOSTED_SETTINGS_SETTINGS_H

#include "eggbox/misuse.h"

// Whether blocks of the level have red zones around them.
static inline bool egb_level_is_guarded_(egb_level level)
{
    return level == EGB_LEVEL_GUARD || level == EGB_LEVEL_TRACK;
}

// Whether pools of the level hand out blocks by magazines.
static inline bool egb_level_has_magazines_(egb_level level)
{
    return !egb_level_is_guarded_(level) && level != EGB_LEVEL_PASSTHROUGH;
}

// Reads EGGBOX_SAMPLE, and copies EGGBOX_CHECK and EGGBOX_FAIL, before the first pool is made.
// Otherwise only tests call it.
void egb_settings_read_(void);

// The text of EGGBOX_FAIL.
const char* egb_fault_setting_(void);

// The level of a pool: the first entry of EGGBOX_CHECK that fits its name, else `wanted`.
// EGB_INVALID: `wanted` is no level.
egb_status egb_level_of_(const char* name, egb_level wanted, egb_level* level);

// The level in the first entry that fits the name. False: none fits.
bool egb_level_in_(const char* entries, const char* name, egb_level* level);

// Whether an entry of EGGBOX_CHECK has the level, for any name. At any time.
bool egb_level_is_wanted_(egb_level level);

// One of the entries of such a text: [NAME-PATTERN:]VALUE.
typedef struct egb_entry {
    const char* name;
    const char* value;
    const char* end;
    bool        has_name;
} egb_entry;

// Reads the next entry and moves `*at` behind it. False: there is none.
bool egb_entry_next_(const char** at, egb_entry* entry);
bool egb_entry_fits_(const egb_entry* entry, const char* name);

// Whether the text from `*from` to `end` starts with `text`; if so, moves `*from` behind it.
bool egb_entry_starts_(const char** from, const char* end, const char* text);

// Reads a number from 1 on, of up to 18 digits. False: the text is something else.
bool egb_entry_number_(const char* from, const char* end, uint64_t* number);

// Writes the text to stderr, the first time. `has_complained`: false before; atomic.
void egb_complain_once_(bool* has_complained, const char* text, size_t bytes);

// The level for addresses that are in no pool.
egb_level egb_level_of_no_pool_(void);

#endif  // EGGBOX_SRC_HOSTED_SETTINGS_SETTINGS_H
