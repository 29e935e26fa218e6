// SPDX-License-Identifier: MIT
// A static pool, without a heap: its handler for misuse, a block, and the pool's numbers.
#include <eggbox/fixed.h>
#include <eggbox/misuse.h>

#include <zephyr/sys/printk.h>

EGB_FIXED_DEFINE_MARKED(samples, double, 4);

void egb_misuse(const egb_misuse_event* event)
{
    printk("misuse: %s\n", egb_misuse_text(event->kind));
}

int main(void)
{
    double* const sample = egb_fixed_alloc(&samples);
    printk(
        "pool samples: in use %u, peak %u\n",
        (unsigned)egb_fixed_in_use(&samples),
        (unsigned)egb_fixed_peak(&samples)
    );
    egb_fixed_free(&samples, sample);
    return 0;
}
