// SPDX-License-Identifier: MIT
// A plugin that another one loads by its name alone.
int neighbour(void);
int neighbour(void)
{
    return 1;
}
