// SPDX-License-Identifier: MIT
// A test that links this file has a clock that stands still, so that nothing is purged in it.
#include <stdint.h>

uint64_t __wrap_egb_os_milliseconds_(void);

uint64_t __wrap_egb_os_milliseconds_(void)
{
    return 1000000;
}
