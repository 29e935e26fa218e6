// SPDX-License-Identifier: MIT
// The counter "Space-Saving" of Metwally, Agrawal and El Abbadi, "Efficient Computation of Frequent
// and Top-k Elements in Data Streams", 2005: a size that is not in the full table takes the place
// of the one with the fewest requests, and their number with it. That is as many as may be too
// many.
#include "large_sizes.h"

static egb_large_size sizes[EGB_LARGE_SIZES];
static uint64_t       all_requests;

// The place of the size; else a free one; else the one with the fewest requests.
static egb_large_size* place_of_size(size_t bytes)
{
    egb_large_size* out = &sizes[0];
    for (size_t i = 0; i < EGB_LARGE_SIZES; i++) {
        egb_large_size* const one = &sizes[i];
        if (one->bytes == bytes || one->bytes == 0) {
            return one;
        }
        out = one->requests < out->requests ? one : out;
    }
    return out;
}

egb_large_counted egb_large_sizes_add_(size_t bytes)
{
    egb_large_size* const one = place_of_size(bytes);
    all_requests++;
    if (one->bytes != bytes) {
        const egb_large_size fresh = {
            .bytes = bytes, .requests = one->requests, .over = one->requests, .came = all_requests
        };
        *one = fresh;
    }
    one->requests++;
    one->in_use++;
    if (one->in_use > one->peak) {
        one->peak = one->in_use;
    }
    const egb_large_counted counted = {bytes, all_requests};
    return counted;
}

// The size may have lost its place since, and may have come again.
void egb_large_sizes_remove_(const egb_large_counted* counted)
{
    egb_large_size* const one = place_of_size(counted->bytes);
    if (counted->bytes != 0 && one->bytes == counted->bytes && counted->request >= one->came) {
        one->in_use--;
    }
}

void egb_large_sizes_restart_(void)
{
    for (size_t i = 0; i < EGB_LARGE_SIZES; i++) {
        sizes[i].requests = 0;
        sizes[i].over     = 0;
        sizes[i].peak     = sizes[i].in_use;
    }
}

egb_large_size egb_large_sizes_at_(size_t place)
{
    return sizes[place];
}
