// SPDX-License-Identifier: MIT
// Numbers that are no value of an enumeration: C++ may not even make them, a C caller may.
#include "eggbox/misuse.h"

const char* egb_test_unknown_status_text(void);
const char* egb_test_unknown_event_text(void);
const char* egb_test_unknown_level_text(void);

const char* egb_test_unknown_status_text(void)
{
    return egb_status_text((egb_status)99);
}

const char* egb_test_unknown_event_text(void)
{
    return egb_misuse_text((egb_misuse_kind)99);
}

const char* egb_test_unknown_level_text(void)
{
    return egb_level_text((egb_level)99);
}
