// SPDX-License-Identifier: MIT
// The same as strict_user.cpp, in C.
#include <eggbox/eggbox.h>

struct sample {
    int64_t when;
    int64_t value;
    int64_t other;
};

EGB_FIXED_DEFINE(samples, struct sample, 12);
EGB_FIXED_DEFINE(words, uint32_t, 12);
EGB_FIXED_DEFINE_MARKED(quick_samples, struct sample, 12);
EGB_FIXED_DEFINE_UNCHECKED(bare_samples, struct sample, 12);

static unsigned char pool_bytes[EGB_POOL_BYTES(16, 3)];
static unsigned char slot_bytes[EGB_SLOTS_BYTES(16, 3)];

int main(void)
{
    samples_free(samples_alloc());
    words_free(words_alloc());
    quick_samples_free(quick_samples_alloc());
    bare_samples_free(bare_samples_alloc());
    return pool_bytes[0] + slot_bytes[0];
}
