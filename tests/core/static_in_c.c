// SPDX-License-Identifier: MIT
// The C side of test_fixed_static.cpp. Returns the line that failed, or 0.
#include "eggbox/fixed_placed.h"

typedef struct sample {
    int64_t when;
    int16_t value;
} sample;

EGB_FIXED_DEFINE(samples, sample, 12);
EGB_FIXED_DEFINE(words, uint32_t, 12);
EGB_FIXED_DEFINE_MARKED(quick_samples, sample, 12);
EGB_FIXED_DEFINE_MARKED(never_called, sample, 12);  // no warning for its functions
EGB_FIXED_DEFINE_UNCHECKED(bare_samples, sample, 12);

#if defined(__ELF__)
EGB_FIXED_DEFINE_MARKED_IN("egb_test_dma", placed_samples, sample, 12);
EGB_FIXED_DEFINE_IN("egb_test_dma", more_placed_samples, sample, 12);
EGB_FIXED_DEFINE_UNCHECKED_IN("egb_test_dma", bare_placed_samples, sample, 12);
extern char __start_egb_test_dma[], __stop_egb_test_dma[];  // from the linker

static bool is_placed(const void* block)
{
    return (const char*)block >= __start_egb_test_dma && (const char*)block < __stop_egb_test_dma;
}

static bool placed_pools_are_where_they_should_be(void)
{
    return __stop_egb_test_dma - __start_egb_test_dma == 36 * (ptrdiff_t)sizeof(sample) &&
           is_placed(placed_samples_alloc()) && is_placed(more_placed_samples_alloc()) &&
           is_placed(bare_placed_samples_alloc()) && !is_placed(bare_samples_alloc()) &&
           !is_placed(samples_alloc());
}
#else
static bool placed_pools_are_where_they_should_be(void)
{
    return true;  // other formats of object files have other names of sections
}
#endif

int egb_test_static_pools_in_c(void);

int egb_test_static_pools_in_c(void)
{
    sample* held[12];
    for (int i = 0; i < 12; i++) {
        held[i] = egb_fixed_alloc(&samples);
        if (held[i] == NULL || (uintptr_t)held[i] % _Alignof(sample) != 0) {
            return __LINE__;
        }
        *held[i] = (sample){.when = i, .value = (int16_t)i};
    }
    if (egb_fixed_alloc(&samples) != NULL) {
        return __LINE__;
    }
    for (int i = 0; i < 12; i++) {
        if (held[i]->when != i) {
            return __LINE__;
        }
        egb_fixed_free(&samples, held[i]);
    }
    if (egb_fixed_in_use(&samples) != 0 || !egb_fixed_whole(&samples)) {
        return __LINE__;
    }
    sample* const quick = quick_samples_alloc();
    if (quick == NULL || egb_fixed_in_use(&quick_samples) != 1) {
        return __LINE__;
    }
    quick_samples_free(quick);
    if (egb_fixed_in_use(&quick_samples) + egb_fixed_in_use(&never_called) != 0) {
        return __LINE__;
    }
    uint32_t* const word = egb_fixed_alloc(&words);
    if (word == NULL || egb_fixed_capacity(&words) != 12) {
        return __LINE__;
    }
    egb_fixed_free(&words, word);
    if (!placed_pools_are_where_they_should_be()) {
        return __LINE__;
    }
    return egb_fixed_whole(&words) ? 0 : __LINE__;
}
