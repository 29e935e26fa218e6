// SPDX-License-Identifier: MIT
// A program with a handler of its own in place of the library's egb_misuse(): each misuse goes
// there, and the one that the library has is not called.
#include "eggbox/fixed.h"

static int              calls;
static egb_misuse_kind  kind;
static const egb_fixed* pool_of_event;
static uint32_t         region[16];

void egb_misuse(const egb_misuse_event* event)
{
    calls++;
    kind          = event->kind;
    pool_of_event = event->pool;
}

int main(void)
{
    egb_fixed pool;
    if (egb_fixed_init(&pool, region, sizeof region, 8) != EGB_OK) {
        return 1;
    }
    void* const block = egb_fixed_alloc(&pool);
    egb_fixed_free(&pool, block);
    if (calls != 0) {
        return 2;
    }
    egb_fixed_free(&pool, block);
    return calls == 1 && kind == EGB_MISUSE_DOUBLE_FREE && pool_of_event == &pool ? 0 : 3;
}
