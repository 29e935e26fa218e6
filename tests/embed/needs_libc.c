// SPDX-License-Identifier: MIT
// A program that must not link without a C library. If it did, the link of test_link.c would prove
// nothing.
#include "board.h"

#include <stdlib.h>

void board_main(void)
{
    CHECK(malloc(1) != NULL);
}
