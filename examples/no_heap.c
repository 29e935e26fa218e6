// SPDX-License-Identifier: MIT
// A program without a heap, as on a microcontroller: static pools that need no call before their
// first use, a handler of its own for misuse, and the peak, which says how large the pool must be.
#include "eggbox/fixed.h"
#include "eggbox/misuse.h"

#include <stdio.h>  // in place of a serial line

struct sample {
    struct sample* next;
    unsigned       time_ms;
    int            millidegrees;
};

EGB_FIXED_DEFINE(samples, struct sample, 8);

// Replaces the library's handler. On a device: light a lamp, store the event, stop in a debugger.
void egb_misuse(const egb_misuse_event* event)
{
    printf("misuse: %s\n", egb_misuse_text(event->kind));
}

static struct sample*  oldest;
static struct sample** newest = &oldest;
static unsigned        lost_count;

// The interrupt handler of a sensor. Nothing in it blocks. On a device the main loop keeps this
// interrupt out while it uses the pool itself: one owner at a time.
static void sensor_interrupt(unsigned time_ms)
{
    struct sample* const taken = egb_fixed_alloc(&samples);
    if (taken == NULL) {
        lost_count++;
        return;
    }
    *taken  = (struct sample){NULL, time_ms, 21000 + (int)(time_ms % 7) * 10};
    *newest = taken;
    newest  = &taken->next;
}

static int send_all(void)
{
    int sum = 0;
    while (oldest != NULL) {
        struct sample* const sent = oldest;
        oldest                    = sent->next;
        sum += sent->millidegrees;
        egb_fixed_free(&samples, sent);
    }
    newest = &oldest;
    return sum;
}

int main(void)
{
    int sum = 0;
    for (unsigned time_ms = 0; time_ms < 10000; time_ms += 10) {
        sensor_interrupt(time_ms);
        if (time_ms % 60 == 50) {  // the radio is ready every 60 ms
            sum += send_all();
        }
    }
    sum += send_all();
    printf("sum %d, lost %u\n", sum, lost_count);
    printf("peak %zu of %zu\n", egb_fixed_peak(&samples), egb_fixed_capacity(&samples));

    static struct sample spare;
    egb_fixed_free(&samples, &spare);  // a mistake: not a block of this pool
    printf("in use %zu\n", egb_fixed_in_use(&samples));
    return 0;
}
