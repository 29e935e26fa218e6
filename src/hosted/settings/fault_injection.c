// SPDX-License-Identifier: MIT
// Allocations that fail on purpose, so that the program's reaction can be tested.
//
//     EGGBOX_FAIL="net*:every=100,frames:once"
#include "fault_injection.h"

#include "../../os/os.h"
#include "number_set.h"
#include "settings.h"

enum { PLACES_MAX = 1024 };

EGB_ALIGNAS_(8)
static uint64_t failed[PLACES_MAX];  // sites whose first allocation has failed; atomic

static void complain_of_fail(void)
{
    static bool       has_complained;
    static const char text[] = "eggbox: EGGBOX_FAIL has an entry that is not NAME:every=NUMBER or "
                               "NAME:once; the entry is ignored\n";
    egb_complain_once_(&has_complained, text, sizeof text - 1);
}

static bool read_fail(const char* from, const char* end, egb_fault_plan* fail)
{
    if (egb_entry_starts_(&from, end, "once")) {
        fail->is_once = true;
        return from == end;
    }
    return egb_entry_starts_(&from, end, "every=") && egb_entry_number_(from, end, &fail->every);
}

egb_fault_plan egb_fault_plan_of_(const char* name)
{
    const egb_fault_plan never = {0, false, 0};
    egb_entry            entry;
    for (const char* at = egb_fault_setting_(); egb_entry_next_(&at, &entry);) {
        egb_fault_plan fail = never;
        if (!entry.has_name || !read_fail(entry.value, entry.end, &fail)) {
            complain_of_fail();
        } else if (egb_entry_fits_(&entry, name)) {
            return fail;
        }
    }
    return never;
}

// When the table is full, new sites do not fail.
static bool is_first_of(const void* site)
{
    return egb_number_set_add_(failed, PLACES_MAX, (uint64_t)(uintptr_t)site | 1) == EGB_SEEN_NEVER;
}

bool egb_fault_is_due_(egb_fault_plan* fail, const void* site)
{
    const uint64_t every = __atomic_load_n(&fail->every, __ATOMIC_RELAXED);
    if (__atomic_load_n(&fail->is_once, __ATOMIC_RELAXED)) {
        return is_first_of(site);
    }
    return every != 0 && __atomic_add_fetch(&fail->count, 1, __ATOMIC_RELAXED) % every == 0;
}
