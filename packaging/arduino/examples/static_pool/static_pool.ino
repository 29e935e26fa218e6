// SPDX-License-Identifier: MIT
// A static pool, without a heap: its handler for misuse, a block, and the pool's numbers.
#include <eggbox/fixed.h>
#include <eggbox/misuse.h>

EGB_FIXED_DEFINE_MARKED(samples, double, 4);

extern "C" void egb_misuse(const egb_misuse_event* event)
{
    Serial.println(egb_misuse_text(event->kind));
}

void setup()
{
    Serial.begin(115200);
    void* const sample = egb_fixed_alloc(&samples);
    Serial.print("pool samples: in use ");
    Serial.print(egb_fixed_in_use(&samples));
    Serial.print(", peak ");
    Serial.println(egb_fixed_peak(&samples));
    egb_fixed_free(&samples, sample);
}

void loop() {}
