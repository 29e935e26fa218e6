// SPDX-License-Identifier: MIT
// A whole program with one static pool. scripts/size_table.py links it for each kind of pool with
// the library alone, and holds its bytes to a budget. DEFINE is the kind of the pool. HANDLER is 0
// for a program without a handler of misuse, 1 for one that takes no notice, 2 for one that asks
// for the words.
#include "eggbox/fixed.h"

typedef struct sample {
    int32_t when;
    int16_t value[4];
} sample;

DEFINE(samples, sample, 32);

#if HANDLER == 1
void egb_misuse(const egb_misuse_event* event)
{
    (void)event;
}
#elif HANDLER == 2
static const char* volatile said;

void egb_misuse(const egb_misuse_event* event)
{
    said = egb_misuse_text(event->kind);
}
#endif

int main(void)
{
    sample* const one = samples_alloc();
    if (one == NULL) {
        return 1;
    }
    one->when = 1;
    samples_free(one);
    return 0;
}
