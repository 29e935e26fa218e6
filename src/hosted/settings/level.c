// SPDX-License-Identifier: MIT
// The level of a pool: from EGGBOX_CHECK for its name, else from its options, else "check", or
// "guard" if a tool watches.
//
//     EGGBOX_CHECK="frames:track,net*:guard,*:check"       the first that fits
//     EGGBOX_CHECK=guard                                   of every pool
#include "settings.h"

#include "../../os/os.h"
#include "sampling.h"

static bool is_text(const char* from, const char* end, const char* text)
{
    while (from != end && *from == *text && *text != '\0') {
        from++;
        text++;
    }
    return from == end && *text == '\0';
}

static bool read_level(const char* from, const char* end, egb_level* level)
{
    for (int one = EGB_LEVEL_OFF; one <= EGB_LEVEL_SAMPLE; one++) {
        if (is_text(from, end, egb_level_text((egb_level)one))) {
            *level = (egb_level)one;
            return true;
        }
    }
    return false;
}

// Whether a name fits a pattern, in which `*` stands for any text and `?` for any character. If the
// text behind a `*` does not fit, it is tried one character further; an earlier `*` need not be
// tried again.
static bool fits_name(const char* from, const char* end, const char* name)
{
    const char* star   = NULL;
    const char* behind = NULL;
    while (*name != '\0') {
        if (from != end && *from == '*') {
            star   = ++from;
            behind = name;
        } else if (from != end && (*from == '?' || *from == *name)) {
            from++;
            name++;
        } else if (star != NULL) {
            from = star;
            name = ++behind;
        } else {
            return false;
        }
    }
    while (from != end && *from == '*') {
        from++;
    }
    return from == end;
}

static const char* find(const char* from, char wanted)
{
    while (*from != wanted && *from != '\0') {
        from++;
    }
    return from;
}

void egb_complain_once_(bool* has_complained, const char* text, size_t bytes)
{
    if (!__atomic_test_and_set(has_complained, __ATOMIC_RELAXED)) {
        egb_os_write_error_(text, bytes);
    }
}

static void complain_of_level(void)
{
    static bool       has_complained;
    static const char text[] =
        "eggbox: EGGBOX_CHECK has an entry that is not LEVEL or NAME:LEVEL; the entry is ignored. "
        "The levels are off, check, sample, guard, track and passthrough\n";
    egb_complain_once_(&has_complained, text, sizeof text - 1);
}

static void complain_of_passthrough(void)
{
    static bool       has_complained;
    static const char text[] = "eggbox: level passthrough in EGGBOX_CHECK is ignored: this library "
                               "has no other malloc to pass requests on to\n";
    egb_complain_once_(&has_complained, text, sizeof text - 1);
}

bool egb_entry_next_(const char** at, egb_entry* entry)
{
    while (**at == ',') {
        (*at)++;
    }
    if (**at == '\0') {
        return false;
    }
    const char* const colon = find(*at, ':');
    entry->end              = find(*at, ',');
    entry->name             = *at;
    entry->has_name         = colon < entry->end;
    entry->value            = entry->has_name ? colon + 1 : *at;
    *at                     = entry->end;
    return true;
}

bool egb_entry_fits_(const egb_entry* entry, const char* name)
{
    return !entry->has_name || fits_name(entry->name, entry->value - 1, name);
}

bool egb_entry_starts_(const char** from, const char* end, const char* text)
{
    const char* at = *from;
    while (at != end && *text != '\0' && *at == *text) {
        at++;
        text++;
    }
    if (*text == '\0') {
        *from = at;
    }
    return *text == '\0';
}

bool egb_entry_number_(const char* from, const char* end, uint64_t* number)
{
    *number = 0;
    for (; from != end && *from >= '0' && *from <= '9' && *number < 100000000000000000u; from++) {
        *number = *number * 10 + (uint64_t)(*from - '0');
    }
    return from == end && *number != 0;
}

bool egb_level_in_(const char* entries, const char* name, egb_level* level)
{
    egb_entry entry;
    while (egb_entry_next_(&entries, &entry)) {
        egb_level one;
        if (!read_level(entry.value, entry.end, &one)) {
            complain_of_level();
        } else if (egb_entry_fits_(&entry, name)) {
            *level = one;
            return true;
        }
    }
    return false;
}

bool egb_level_is_wanted_(egb_level level)
{
    const char* entries = egb_os_variable_("EGGBOX_CHECK");
    egb_entry   entry;
    while (entries != NULL && egb_entry_next_(&entries, &entry)) {
        egb_level one;
        if (read_level(entry.value, entry.end, &one) && one == level) {
            return true;
        }
    }
    return false;
}

// Copies of the environment's settings at the first pool: another thread may change the environment
// later, and the C library's own text must not be read then. A thread that finds the copy finds all
// of it; addresses of no pool are looked at without a pool, at any time.
enum { SETTING_BYTES = 4096 };

static const char* check_setting = "";  // atomic
static const char* fail_setting  = "";  // atomic

// If the setting is empty, `to` is not touched: it is a page of its own in each process.
static const char* read_setting(const char* name, char* to)
{
    static const char too_long[] =
        "eggbox: EGGBOX_CHECK or EGGBOX_FAIL is longer than 4095 bytes; it is ignored\n";
    const char* const from  = egb_os_variable_(name);
    const size_t      bytes = from == NULL ? 0 : (size_t)(find(from, '\0') - from);
    if (bytes >= SETTING_BYTES) {
        egb_os_write_error_(too_long, sizeof too_long - 1);
    }
    return bytes == 0 || bytes >= SETTING_BYTES ? "" : __builtin_memcpy(to, from, bytes + 1);
}

void egb_settings_read_(void)
{
    static char check_copy[SETTING_BYTES];
    static char fail_copy[SETTING_BYTES];

    const char* const check = read_setting("EGGBOX_CHECK", check_copy);
    const char* const fail  = read_setting("EGGBOX_FAIL", fail_copy);
    __atomic_store_n(&check_setting, check, __ATOMIC_RELEASE);
    __atomic_store_n(&fail_setting, fail, __ATOMIC_RELEASE);
    egb_sampling_read_(egb_os_variable_("EGGBOX_SAMPLE"));
}

const char* egb_fault_setting_(void)
{
    return __atomic_load_n(&fail_setting, __ATOMIC_ACQUIRE);
}

egb_status egb_level_of_(const char* name, egb_level wanted, egb_level* level)
{
    if ((unsigned)wanted > EGB_LEVEL_SAMPLE) {
        return EGB_INVALID;
    }
    *level = wanted != EGB_LEVEL_DEFAULT ? wanted
             : egb_os_is_watched_()      ? EGB_LEVEL_GUARD
                                         : EGB_LEVEL_CHECK;
    egb_level set;
    if (egb_level_in_(__atomic_load_n(&check_setting, __ATOMIC_ACQUIRE), name, &set)) {
        if (set == EGB_LEVEL_PASSTHROUGH && !egb_os_has_malloc_()) {
            complain_of_passthrough();
        } else {
            *level = set;
        }
    }
    return EGB_OK;
}

egb_level egb_level_of_no_pool_(void)
{
    egb_level level = EGB_LEVEL_CHECK;
    (void)egb_level_of_("", EGB_LEVEL_DEFAULT, &level);
    return level;
}
