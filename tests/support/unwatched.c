// SPDX-License-Identifier: MIT
// AddressSanitizer asks a program for its options by this name. In other builds nobody calls it.
const char* __asan_default_options(void);

const char* __asan_default_options(void)
{
    return "allow_user_poisoning=0";
}
