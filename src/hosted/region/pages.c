// SPDX-License-Identifier: MIT
// Pages for the library itself, and for the growing pools that hold its records.
#include "pages.h"

#include "../../core/util.h"
#include "ask.h"

static size_t whole_units(size_t bytes, size_t unit)
{
    return bytes > SIZE_MAX - (unit - 1) ? 0 : egb_round_up_(bytes, unit);
}

void* egb_pages_(size_t bytes)
{
    const size_t page = egb_os_page_bytes_();
    if (page == 0) {
        return NULL;
    }
    const size_t whole  = whole_units(bytes, page);
    void* const  region = whole == 0 ? NULL : egb_ask_table_(whole, page);
    if (region != NULL && egb_ask_commit_(region, whole, 0, NULL) != EGB_OK) {
        egb_os_release_(region, whole);
        return NULL;
    }
    return region;
}

void egb_pages_release_(void* region, size_t bytes)
{
    egb_os_release_(region, whole_units(bytes, egb_os_page_bytes_()));
}

// ---- the library's own pools --------------------------------------------------------------------

// NOLINTNEXTLINE(readability-non-const-parameter): a backing's function has this type
static void* reserve_pages(void* user, size_t least, size_t* bytes)
{
    (void)user;
    (void)least;
    return egb_ask_reserve_(*bytes, EGB_UNIT_BYTES);
}

static egb_status commit_pages(void* user, void* region, size_t bytes)
{
    (void)user;
    return egb_ask_commit_(region, bytes, 0, NULL);
}

static void release_pages(void* user, void* region, size_t bytes)
{
    (void)user;
    egb_os_release_(region, bytes);
}

egb_backing egb_plain_backing_(void)
{
    const egb_backing backing = {
        reserve_pages, commit_pages, release_pages, NULL, EGB_UNIT_BYTES, true, 0
    };
    return backing;
}
