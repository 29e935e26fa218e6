// SPDX-License-Identifier: MIT
// Texts stand one behind the other: a program that asks for one kind of text links no other, and no
// table of addresses.
#include "eggbox/base.h"
#include "eggbox/misuse.h"

// The text of this number; the first one, number 0, if there is no such number. An empty text is
// behind the last one.
static const char* text_of(const char* texts, unsigned number)
{
    const char* at = texts;
    for (; number > 0 && *at != '\0'; number--) {
        while (*at != '\0') {
            at++;
        }
        at++;
    }
    return *at != '\0' ? at : texts;
}

const char* egb_status_text(egb_status status)
{
    static const char texts[] = "unknown status\0"
                                "ok\0"
                                "invalid argument\0"
                                "the system refused memory, or a file\0"
                                "limit reached\0"
                                "stale handle\0"
                                "in use, or not in time\0"
                                "overwritten, or no pool\0"
                                "not supported here\0"
                                "no block is free\0"
                                "no block became free in time\0"
                                "the wait was cancelled\0";
    return text_of(texts, (unsigned)status + 1u);
}

const char* egb_misuse_text(egb_misuse_kind kind)
{
    static const char texts[] = "unknown misuse\0"
                                "use of a pool that was not initialised\0"
                                "free of a pointer that is not from this pool\0"
                                "free of a pointer into the middle of a block\0"
                                "free of a block that was never allocated\0"
                                "double free\0"
                                "write to a freed block\0"
                                "free of a block of another pool\0"
                                "use of a pool that was destroyed\0"
                                "write past the end of a block\0"
                                "write before the start of a block\0"
                                "request for system memory after egb_seal()\0"
                                "free with another size or alignment than requested\0";
    return text_of(texts, (unsigned)kind);
}

const char* egb_level_text(egb_level level)
{
    static const char texts[] = "unknown\0"
                                "default\0"
                                "off\0"
                                "check\0"
                                "guard\0"
                                "track\0"
                                "passthrough\0"
                                "sample\0";
    return text_of(texts, (unsigned)level + 1u);
}
