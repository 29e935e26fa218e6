// SPDX-License-Identifier: MIT
// In place of Zephyr's header.
#include <stdio.h>
#define printk printf
