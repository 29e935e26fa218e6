// SPDX-License-Identifier: MIT
// The same on the core alone: a static pool, and a handler for misuse of the program's own.
#include <eggbox/fixed.h>
#include <eggbox/misuse.h>

#include <stdio.h>

EGB_FIXED_DEFINE_MARKED(samples, double, 4);

void egb_misuse(const egb_misuse_event* event)
{
    printf("misuse: %s\n", egb_misuse_text(event->kind));
}

int main(void)
{
    double* const sample = egb_fixed_alloc(&samples);
    const size_t  in_use = egb_fixed_in_use(&samples);
    printf("pool samples: in use %zu, peak %zu\n", in_use, egb_fixed_peak(&samples));
    egb_fixed_free(&samples, sample);
    return egb_fixed_in_use(&samples) == 0 ? 0 : 1;
}
