// SPDX-License-Identifier: MIT
// Regions from pools that were destroyed, for pools to come: a pool that is made, used and
// destroyed within a request then asks the system for nothing. Chunks grow by doubling, so a region
// of just the size that is asked for is likely to be there. When there is no room the oldest one
// goes, so sizes that nobody asks for do not stay. The ledger's lock keeps them.
#include "pool_private.h"

enum { REGIONS_MAX = EGB_SHELF_BYTES_MAX / EGB_UNIT_BYTES };  // none is smaller

// The oldest first.
static egb_shelved regions[REGIONS_MAX];
static size_t      count;
static size_t      held;  // bytes

// Out of the list. While a region is in it a tool says who still uses it.
static egb_shelved remove_at(size_t index)
{
    const egb_shelved one = regions[index];
    count--;
    held -= one.bytes;
    for (; index < count; index++) {
        regions[index] = regions[index + 1];
    }
    egb_os_watch_open(one.region, one.bytes);
    return one;
}

// The newest of the size, whose pages are most likely still in a cache.
egb_shelved egb_shelf_take(size_t bytes)
{
    egb_shelved found = {NULL, 0, 0, 0};
    egb_os_lock(&egb_the_world.ledger);
    size_t index = count;
    while (index > 0 && regions[index - 1].bytes != bytes) {
        index--;
    }
    if (index > 0) {
        found = remove_at(index - 1);
    }
    egb_os_unlock(&egb_the_world.ledger);
    return found;
}

static void put_newest(const egb_shelved* one)
{
    egb_os_watch_close(one->region, one->bytes);
    regions[count++] = *one;
    held += one->bytes;
}

// Gives the oldest region to the system if the shelf has more than `most` bytes, and says how many
// bytes that were. Where it has not, `one` is put there; it may be NULL.
static size_t release_oldest(size_t most, const egb_shelved* one)
{
    egb_shelved oldest = {NULL, 0, 0, 0};
    egb_os_lock(&egb_the_world.ledger);
    if (held > most) {
        oldest = remove_at(0);
    } else if (one != NULL) {
        put_newest(one);
    }
    egb_os_unlock(&egb_the_world.ledger);
    if (oldest.region != NULL) {
        egb_os_release(oldest.region, oldest.bytes);
    }
    return oldest.bytes;
}

bool egb_shelf_put(const egb_shelved* one)
{
    if (one->bytes > EGB_SHELF_BYTES_MAX) {
        return false;
    }
    while (release_oldest(EGB_SHELF_BYTES_MAX - one->bytes, one) != 0) {
    }
    return true;
}

size_t egb_shelf_trim(size_t keep_bytes)
{
    size_t given = 0;
    for (;;) {
        const size_t bytes = release_oldest(keep_bytes, NULL);
        if (bytes == 0) {
            return given;
        }
        given += bytes;
    }
}
